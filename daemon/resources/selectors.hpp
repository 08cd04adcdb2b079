// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/resources/kind.hpp"
#include "daemon/translate/selector.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace zoo::resources {

/// labelSelector and fieldSelector of a list or a watch: all requirements must hold. A value.
class Selectors {
public:
  /// Fields: metadata.name, metadata.namespace of a kind that has one, and what the kind names.
  /// Code::bad_request with the part that cannot be understood.
  static Result<Selectors> parse(const Kind& kind, std::string_view labels,
                                 std::string_view fields);

  bool matches(const nlohmann::json& object) const;
  bool empty() const { return labels_.empty() && fields_.empty(); }
  /// The one name that can match, if metadata.name is asked for; else "".
  std::string_view only_name() const { return only_name_; }

private:
  std::vector<translate::LabelRequirement> labels_;
  std::vector<translate::FieldTerm> fields_;
  std::string only_name_;
};

} // namespace zoo::resources
