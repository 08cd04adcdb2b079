// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/translate/mapping.hpp"

#include <cstdint>
#include <string>
#include <string_view>

/// CEL in a tenant's objects: admission policies, match conditions of webhooks, and the rules of
/// definitions of custom resources (docs/decisions/041 and 162). Upstream evaluates it over
/// upstream's names. Where an expression reads the name of a namespace or of an API group, zood
/// cuts the prefix off in the expression itself, and takes the cut out again when the object is
/// read:
///
///     object.metadata.namespace == 'team'
///     dyn(object.metadata.namespace.replace('foofoo-', '', 1)) == 'team'
///
/// In strings, in comments and under has() nothing is changed. Pure: any thread; linear in the
/// length of the expression.
namespace zoo::translate {

/// Where an expression stands, which decides what its variables are.
enum class CelPlace : std::uint8_t {
  /// A policy or a webhook's match condition. Cut: metadata.namespace of object, oldObject and
  /// params, request.namespace, namespaceObject.metadata.name; `group` of request.kind, .resource,
  /// .requestKind and .requestResource; apiVersion, apiGroup and apiGroups of whatever has them.
  admission,
  /// A rule at the root of a definition's schema. Cut: apiVersion of self and oldSelf.
  object,
  object_optional_old, ///< the same with optionalOldSelf: oldSelf is an optional
  /// A rule of the schema's member apiVersion. Cut: self and oldSelf.
  api_version,
  api_version_optional_old,
};

std::string cel_in(const Mapping& mapping, std::string_view expression,
                   CelPlace place = CelPlace::admission);
/// The inverse: what the tenant wrote.
std::string cel_out(const Mapping& mapping, std::string_view expression,
                    CelPlace place = CelPlace::admission);
/// Text that repeats expressions, as upstream's refusals do: without what cel_in() put into them.
/// Where the compiler points at a column below the line, it is that of the tenant's own line.
std::string cel_text_out(const Mapping& mapping, std::string_view text);

/// Why an expression of a policy or match condition cannot be made right by a cut, as a clause with
/// the rule and the way out; "" if it can. `mutates`: it stands in a MutatingAdmissionPolicy, whose
/// expressions also make what is stored.
std::string_view cel_refusal(std::string_view expression, bool mutates);

} // namespace zoo::translate
