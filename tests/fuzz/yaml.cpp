// SPDX-License-Identifier: Apache-2.0
// Any YAML: what is made of it is JSON within its limits; JSON under YAML's name means the same.
#include "common/kube/yaml.hpp"

#include "daemon/translate/json.hpp"
#include "tests/fuzz/invariant.hpp"

#include <cstdint>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  zoo::kube::YamlLimits limits;
  limits.output = 64 * 1024;
  limits.nodes = 2'000;
  for (const bool keep : {false, true}) {
    limits.keep_repeated_keys = keep;
    const auto json = zoo::kube::yaml_to_json(text, limits);
    if (!json) continue;
    invariant(json->size() <= limits.output + 1'024, "within its limit");
    const auto checked = zoo::translate::check_json(*json, {});
    invariant(checked.has_value(), "what is made of it is JSON", *json);
    const auto again = zoo::kube::yaml_to_json(*json, limits);
    if (again) invariant(*again == *json, "JSON under YAML's name means the same", *json);
  }
  return 0;
}
