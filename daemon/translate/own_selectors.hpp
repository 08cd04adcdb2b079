// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/translate/discovery_json.hpp"
#include "daemon/translate/mapping.hpp"

#include <string>
#include <string_view>
#include <vector>

/// The namespaceSelectors of admission objects, which hold the tenant's label upstream so that they
/// act on its namespaces alone. A selector is owned as a whole: of an object that several managers
/// apply, each for some of its members, it may be added only where nobody has set one. Pure, any
/// thread.
namespace zoo::translate {

/// Where an admission object has a selector that zood sees to.
struct SelectorPlace {
  JsonNode owner; ///< the webhook, or a policy's matchConstraints; nothing where that is missing
  std::string webhook; ///< its name; "" of a policy
  std::string field;   ///< the owner's key in managedFields: k:{"name":"a.b.c"}, f:matchConstraints
};
std::vector<SelectorPlace> selector_places(JsonNode object);

/// Does this selector hold nothing but the tenant's label?
bool is_bare(JsonNode selector);

/// `body`: what `manager` applies, in upstream's names, without added selectors. `stored`: the
/// object that it is applied to, as upstream has it. Adds the tenant's selector where the result
/// would have none: to webhooks that are new, and where this manager alone had set one that it does
/// not name any more.
Result<std::string> with_own_selectors(const Mapping& mapping, std::string body, JsonNode stored,
                                       std::string_view manager);

} // namespace zoo::translate
