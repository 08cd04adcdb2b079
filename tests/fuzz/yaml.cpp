// SPDX-License-Identifier: Apache-2.0
// Any YAML: what is made of it is JSON within its limits; JSON under YAML's name means the same.
#include "common/kube/yaml.hpp"

#include "daemon/translate/json.hpp"
#include "tests/fuzz/invariant.hpp"

#include <cstdint>
#include <string>

namespace {

/// A decimal's negative zero is -0 in JSON, as Go writes it, and YAML reads that as the integer 0.
std::string without_negative_zero(std::string_view json) {
  std::string out;
  bool quoted = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    if (quoted && json[i] == '\\') { // and what is escaped
      out += json.substr(i++, 2);
      continue;
    }
    if (json[i] == '"') quoted = !quoted;
    const auto rest = json.substr(i);
    const bool exponent = i > 0 && (json[i - 1] == 'e' || json[i - 1] == 'E');
    const bool zero = !quoted && !exponent && rest.starts_with("-0") &&
                      (rest.size() == 2 || rest.find_first_of("0123456789.eE", 2) != 2);
    if (!zero) out += json[i];
  }
  return out;
}

} // namespace

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
    if (again)
      invariant(*again == without_negative_zero(*json), "JSON under YAML's name means the same",
                *json);
  }
  return 0;
}
