// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/translate/mapping.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Names that are good upstream only because the tenant's prefix stands before them. Pure, any
/// thread.
namespace zoo::translate {

struct KindFacts;

/// "-dash" is no name of a PriorityClass, "foofoo--dash" is one. What goes upstream in its place is
/// one that upstream refuses as well, together with whatever else is wrong with the object, and in
/// the same words once the names are put back.
struct Misnamed {
  std::string own;      ///< the tenant's name
  std::string prefixed; ///< where it would lie
  std::string upstream; ///< what is sent instead; begins with `prefixed`
  /// Texts of upstream's refusal, and what they are to the tenant; in this order.
  std::vector<std::pair<std::string, std::string>> words;
};

/// Of the name of an object without a namespace that is to be made; nullopt: the name is good, or
/// upstream refuses it with its prefix too. The rules: k8s.io/apimachinery pkg/api/validation
/// (NameIsDNSSubdomain; NameIsDNSLabel for namespaces) and pkg/api/validate/content
/// (IsPathSegmentName, for RBAC and certificate requests). `facts`: of the kind; null: the name
/// is not mapped.
std::optional<Misnamed> misnamed(const Mapping& mapping, const KindFacts* facts,
                                 std::string_view name);

/// `object` with the upstream name in place of the prefixed one in metadata.name.
std::string with_upstream_name(const Misnamed& misnamed, std::string object);

/// A text of upstream's refusal.
std::string words_out(const Misnamed& misnamed, std::string text);

} // namespace zoo::translate
