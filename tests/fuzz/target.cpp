// SPDX-License-Identifier: Apache-2.0
// Of any request line: what goes upstream is canonical, lies inside the tenant, and no path of a
// namespace leaves it; query strings there and back are stable.
#include "daemon/translate/target.hpp"

#include "tests/fuzz/invariant.hpp"
#include "tests/fuzz/tenant.hpp"

#include <array>
#include <cstdint>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace zoo::translate;
  if (size < 1) return 0;
  constexpr std::array methods = {"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "XX"};
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (const auto params = parse_query(text)) {
    const auto written = serialize_query(*params);
    const auto again = parse_query(written);
    invariant(again.has_value() && *again == *params, "a query there and back", written);
    static_cast<void>(parse_list_options(*params));
    static_cast<void>(parse_write_options(*params, true, true));
  }
  const auto target = parse_target(methods[data[0] % methods.size()], text);
  if (!target) return 0;
  for (const auto* bad : {"//", "/./", "/../", "\\"}) {
    if (target->rest.empty())
      invariant(target->path.find(bad) == std::string::npos, "a canonical path", target->path);
  }
  for (const auto* each : {&target->group, &target->version, &target->resource,
                           &target->subresource, &target->name, &target->name_space}) {
    invariant(each->find('/') == std::string::npos || each == &target->subresource,
              "no slash inside a segment", *each);
    invariant(*each != "." && *each != "..", "no dots for a segment", *each);
  }
  if (!target->resource_request) return 0;
  for (const bool namespaced : {true, false}) {
    const auto path = upstream_path(*target, namespaced, fuzz_tenant());
    if (!path) continue;
    const auto own = path->substr(0, path->size() - target->rest.size());
    for (const auto* bad : {"//", "/./", "/../", "?", "#", " ", "%2f", "%2F", "%2e", "%00"})
      invariant(own.find(bad) == std::string::npos, "upstream's path is canonical", *path);
    if (!target->name_space.empty() && target->resource != "namespaces") {
      const auto at = own.find("/namespaces/");
      invariant(at != std::string::npos && own.compare(at + 12, 7, "abc123-") == 0,
                "a path in a namespace is in the tenant's", *path);
    }
    // Read again as upstream reads it, it means the same kind of thing.
    const auto read = parse_target(methods[data[0] % methods.size()], *path);
    invariant(read.has_value(), "upstream's path is a path", *path);
    invariant(read->resource == target->resource || target->resource == "clusterrolebindings",
              "of the same resource", *path);
    invariant(read->subresource == target->subresource, "and subresource", *path);
  }
  return 0;
}
