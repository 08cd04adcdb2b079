// SPDX-License-Identifier: Apache-2.0
// Whatever bytes a client calls protobuf: what is read of them is JSON, and there and back is
// stable. As an answer of upstream's they come out in protobuf as they would in JSON.
#include "daemon/translate/discovery_json.hpp"
#include "daemon/translate/json.hpp"
#include "daemon/translate/json_protobuf.hpp"
#include "daemon/translate/protobuf_json.hpp"
#include "daemon/translate/rewrite.hpp"
#include "daemon/translate/wire_rewrite.hpp"
#include "tests/fuzz/invariant.hpp"
#include "tests/fuzz/tenant.hpp"
#include "tests/fuzz/wire_pieces.hpp"

#include <cstdint>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

/// The same object as the items of a list, whose continue token is the tenant's own.
void list_outward(const zoo::translate::Root& root, const std::string& version,
                  const std::string& object, const std::string& shown) {
  using namespace zoo::translate;
  const auto list = [&](std::string_view token, const std::string& item) {
    return json_to_protobuf(R"({"apiVersion":")" + version + R"(","kind":")" +
                            std::string(root.kind) +
                            R"(List","metadata":{"resourceVersion":"7","continue":")" +
                            std::string(token) + R"("},"items":[)" + item + "," + item + "]}");
  };
  const auto stored = list("next", object), wanted = list("sealed, and longer: next", shown);
  if (!stored || !wanted) return;
  const auto seal = [](std::string_view token) {
    return "sealed, and longer: " + std::string(token);
  };
  const WireContext context{fuzz_tenant(), root, "team", seal};
  const auto got = list_in_pieces(context, *stored, stored->size());
  invariant(got.has_value(), "a list can be rewritten as it is", object);
  invariant(without_filler(*got) == *wanted, "a list's items are those of JSON", object);
  for (const std::size_t step : {1 + object.size() % 50, std::size_t{100}})
    invariant(list_in_pieces(context, *stored, step) == *got, "in pieces of any size", object);
}

/// `object`: what `bytes` say in JSON.
void outward(std::string_view bytes, const std::string& object) {
  using namespace zoo::translate;
  const auto tree = JsonTree::parse(object);
  if (!tree) return;
  const auto version = tree->root()["apiVersion"].string();
  const auto slash = version.find('/');
  const auto* root = find_root(slash == std::string::npos ? "" : version.substr(0, slash),
                               tree->root()["kind"].string());
  if (root == nullptr || !has_wire_form(*root, version)) return;
  RewriteContext context{fuzz_tenant(), Direction::outward, "team"};
  std::string shown;
  if (!rewrite(*root, context, object, shown)) return;
  list_outward(*root, version, object, shown);
  const auto slow = json_to_protobuf(shown);
  const auto fast = wire_outward({fuzz_tenant(), *root, "team", {}}, bytes);
  if (!slow) return;
  // An envelope without an object is none that upstream sends.
  if (!fast && tree->root().children().size() == 2) return;
  invariant(fast.has_value(), "it can be rewritten as it is", object);
  const auto wanted = protobuf_to_json(*slow), got = protobuf_to_json(*fast);
  if (!wanted) return;
  invariant(got.has_value(), "what is written can be read", *wanted);
  const auto written = json_to_protobuf(*got); // null and absent become the same, as in `slow`
  invariant(written && protobuf_to_json(*written) == *wanted, "both ways lead to the same",
            *wanted);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace zoo::translate;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const WireContext maps{fuzz_tenant(), root_of("", "ConfigMap"), "team", {}};
  const auto list = list_in_pieces(maps, bytes, size + 1);
  invariant(list.has_value() == list_in_pieces(maps, bytes, 1 + size % 50).has_value(),
            "a list or none, in pieces of any size", "");
  if (list) invariant(!without_filler(*list).empty(), "its lengths are right", *list);
  std::string object;
  if (const auto read = protobuf_to_json(bytes)) {
    invariant(check_json(*read).has_value(), "what is read is JSON", *read);
    object = *read;
    outward(bytes, object);
  } else if (check_json(bytes)) {
    object = bytes; // the other way round: any object into protobuf
    static_cast<void>(event_to_protobuf(bytes));
  } else {
    return 0;
  }
  const auto written = json_to_protobuf(object);
  if (!written) return 0;
  const auto again = protobuf_to_json(*written);
  if (!again) return 0; // a list, a Status: what only answers are
  const auto twice = json_to_protobuf(*again);
  invariant(twice.has_value(), "what was read can be written", *again);
  const auto stable = protobuf_to_json(*twice);
  invariant(stable.has_value() && *stable == *again, "there and back is stable", *again);
  return 0;
}
