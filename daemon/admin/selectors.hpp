// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/api/tenant.hpp"
#include "common/base/result.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace zoo::admin {

/// labelSelector and fieldSelector of a list or a watch: all requirements must hold. A value.
class Selectors {
public:
  /// Labels: `a=b`, `a==b`, `a!=b`, `a in (b,c)`, `a notin (b,c)`, `a`, `!a`
  /// (k8s.io/apimachinery/pkg/labels). Fields: metadata.name and status.phase with =, == and !=.
  /// Code::bad_request with the part that cannot be understood.
  static Result<Selectors> parse(std::string_view labels, std::string_view fields);

  bool matches(const api::Tenant& tenant) const;
  bool empty() const { return labels_.empty() && fields_.empty(); }
  /// The one ID that can match, if metadata.name is asked for; else "".
  std::string_view only_id() const { return only_id_; }

private:
  enum class Op { in, not_in, exists, absent };
  struct Requirement {
    std::string key;
    Op op = Op::exists;
    std::vector<std::string> values;
  };
  static Result<Requirement> parse_label(std::string_view part);
  static bool holds(const Requirement& requirement, const std::string* value);

  std::vector<Requirement> labels_, fields_;
  std::string only_id_;
};

} // namespace zoo::admin
