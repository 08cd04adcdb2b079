// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace zoo::kube {

/// What one YAML text may cost. Nodes are counted after aliases and merge keys are expanded.
/// Depth: the deepest CRD schemas seen are near 60; JSON bodies have their own limit elsewhere.
struct YamlLimits {
  std::size_t bytes = 3u << 20; ///< of the input; the JSON may be larger, bounded by `output`
  std::size_t output = 12u << 20;
  std::size_t nodes = 100'000;
  std::size_t depth = 256;
  /// A key that occurs twice is written twice, in its order: whoever reads the JSON decides.
  bool keep_repeated_keys = false;
};

/// One YAML document -> JSON text, as sigs.k8s.io/yaml (goyaml.v2, YAML 1.1) understands it:
/// y/n/yes/no/on/off are booleans, 0777 and 0o777 octal, 0x hex, 0b binary, underscores in numbers
/// are ignored, ~ and nothing are null, timestamps and sexagesimals are strings, keys that are
/// numbers or booleans become strings, anchors are expanded, `<<` merges where it stands (what
/// comes later in the mapping wins, as in goyaml.v2). The order of keys is kept; integers and
/// decimals of any length keep their digits.
///
/// Refused, with line and column (Code::bad_request): broken YAML, a second document that is not
/// empty, a key that occurs twice (in the words of goyaml.v2), .inf and .nan, keys that are null,
/// lists or mappings, an alias inside its own anchor, unknown tags, not UTF-8, control characters.
/// Above a limit: Code::too_large. Nothing throws.
Result<std::string> yaml_to_json(std::string_view yaml, const YamlLimits& limits = {});

/// Block-style YAML, two spaces, lists not indented further than their key, as kubectl prints it.
/// Strings that any reader of YAML 1.1 or 1.2 could take for something else ("123456", "1e1000",
/// "yes", "0x1f", "2026-01-01") are quoted; several lines become a block scalar where that is
/// exact. Keys in the order of the value given.
std::string json_to_yaml(const nlohmann::json& value);
std::string json_to_yaml(const nlohmann::ordered_json& value);

/// The scalar as json_to_yaml() writes it: plain where that is safe, else in double quotes.
std::string yaml_scalar(std::string_view text);

} // namespace zoo::kube
