// SPDX-License-Identifier: Apache-2.0
#include "daemon/resources/selectors.hpp"

#include "daemon/resources/fields.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>

namespace zoo::resources {

using nlohmann::json;

Result<Selectors> Selectors::parse(const Kind& kind, std::string_view labels,
                                   std::string_view fields) {
  Selectors out;
  ZOO_TRY(out.labels_, translate::parse_label_selector(labels));
  ZOO_TRY(out.fields_, translate::parse_field_selector(fields));
  std::vector<std::string> known = {"metadata.name"};
  if (kind.namespaced) known.emplace_back("metadata.namespace");
  known.insert(known.end(), kind.selectable.begin(), kind.selectable.end());
  for (const auto& term : out.fields_) {
    if (std::find(known.begin(), known.end(), term.key) == known.end())
      return fail(Code::bad_request, "field label not supported: {} ({}s have {})", term.key,
                  kind.kind, fmt::join(known, " and "));
    if (term.key == "metadata.name" && term.equal) out.only_name_ = term.value;
  }
  return out;
}

bool Selectors::matches(const json& object) const {
  const auto* metadata = member(object, "metadata");
  const auto* labels = metadata != nullptr ? member(*metadata, "labels") : nullptr;
  for (const auto& requirement : labels_) {
    const auto* value = labels != nullptr ? member(*labels, requirement.key.c_str()) : nullptr;
    std::optional<std::string_view> given;
    if (value != nullptr && value->is_string()) given = value->get_ref<const std::string&>();
    if (!translate::fulfils(requirement, given)) return false;
  }
  return std::all_of(fields_.begin(), fields_.end(), [&](const translate::FieldTerm& term) {
    return (text_at(object, term.key) == term.value) == term.equal;
  });
}

} // namespace zoo::resources
