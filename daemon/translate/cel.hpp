// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/translate/mapping.hpp"

#include <string>
#include <string_view>

/// CEL of admission policies and webhooks' match conditions (docs/decisions/041). Upstream
/// evaluates it over upstream's names; where an expression reads the name of a namespace, the
/// prefix is cut off in the expression itself:
///
///     object.metadata.namespace == 'team'
///     dyn(object.metadata.namespace.replace('foofoo-', '', 1)) == 'team'
///
/// Read so: metadata.namespace of object, oldObject and params, request.namespace, and
/// namespaceObject.metadata.name. In strings, in comments and under has() nothing is changed. Pure:
/// any thread; linear in the length of the expression.
namespace zoo::translate {

std::string cel_in(const Mapping& mapping, std::string_view expression);
/// The inverse: what the tenant wrote.
std::string cel_out(const Mapping& mapping, std::string_view expression);
/// Text that repeats expressions, as upstream's refusals do: without what cel_in() put into them.
/// Where the compiler points at a column below the line, it is that of the tenant's own line.
std::string cel_text_out(const Mapping& mapping, std::string_view text);

/// Does the expression read the variable `authorizer`? Outside strings and comments.
bool cel_asks_authorizer(std::string_view expression);

} // namespace zoo::translate
