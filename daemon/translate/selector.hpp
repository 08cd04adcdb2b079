// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/translate/mapping.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Field and label selectors (k8s.io/apimachinery pkg/fields and pkg/labels): parse, translate
/// inward, write again. Values without state, any thread; errors are Code::bad_request in the API
/// server's words.
namespace zoo::translate {

/// One comma-separated term; the value unescaped.
struct FieldTerm {
  std::string key;
  bool equal = true; ///< false: `!=`
  std::string value;
  bool operator==(const FieldTerm&) const = default;
};

Result<std::vector<FieldTerm>> parse_field_selector(std::string_view text);
std::string serialize_field_selector(const std::vector<FieldTerm>& terms);

enum class LabelOperator : std::uint8_t {
  exists,
  not_exists,
  equals,
  double_equals,
  not_equals,
  in,
  not_in,
  greater,
  less,
};

struct LabelRequirement {
  std::string key;
  LabelOperator op = LabelOperator::exists;
  std::vector<std::string> values; ///< sorted, each once
  bool operator==(const LabelRequirement&) const = default;
};

Result<std::vector<LabelRequirement>> parse_label_selector(std::string_view text);
/// Keys and values that a label may have.
bool valid_label_key(std::string_view key);
bool valid_label_value(std::string_view value);
std::string serialize_label_selector(const std::vector<LabelRequirement>& requirements);

/// Does an object whose label `requirement.key` is `value` (nullopt: it has none) fulfil it? The
/// rule of Requirement.Matches in k8s.io/apimachinery pkg/labels.
bool fulfils(const LabelRequirement& requirement, std::optional<std::string_view> value);

/// What the selectors are asked of.
struct SelectorScope {
  std::string_view group, resource;
  bool namespaced = true;
  std::string_view name_space; ///< of the request path, in the tenant's name
};

/// Both selectors inward. `field`: values of the keys that hold names (metadata.name on
/// cluster-scoped kinds, metadata.namespace, involvedObject.*, regarding.*, spec.signerName, and
/// the apiVersion of a tenant's own kinds); other keys pass. `label`: kubernetes.io/metadata.name
/// on namespaces; for namespaces the requirement of the tenant label is added. Code::forbidden for
/// a selector that names the tenant label.
Result<std::string> field_selector_in(const Mapping& mapping, const SelectorScope& scope,
                                      std::string_view text);
Result<std::string> label_selector_in(const Mapping& mapping, const SelectorScope& scope,
                                      std::string_view text);

/// Outward, for checks and messages: drops the tenant label's requirement and strips names. A
/// value that is not the tenant's becomes "".
Result<std::string> field_selector_out(const Mapping& mapping, const SelectorScope& scope,
                                       std::string_view text);
Result<std::string> label_selector_out(const Mapping& mapping, const SelectorScope& scope,
                                       std::string_view text);

} // namespace zoo::translate
