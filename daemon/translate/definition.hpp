// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/translate/discovery_json.hpp"
#include "daemon/translate/mapping.hpp"

#include <string>
#include <string_view>

/// What the schemas of a CustomResourceDefinition say of their objects' `apiVersion`, which has the
/// tenant's prefix upstream (docs/decisions/162): `enum`, `default`, `pattern`, `minLength` and
/// `maxLength` of the property at the root, also within allOf, anyOf, oneOf and not, and the rules
/// in CEL at the root and at that property. An apiVersion deeper in an object is what the tenant
/// wrote, and so is what a schema says of it. Pure: any thread.
namespace zoo::translate {

/// `document` is a definition, or a patch of one; one without such places comes back as it is.
/// Code::forbidden with the place for a pattern that cannot be translated.
Result<std::string> definition_in(const Mapping& mapping, std::string document);
/// The inverse.
Result<std::string> definition_out(const Mapping& mapping, std::string document);
/// The inverse for one schema of whole objects, as OpenAPI documents have them: adds to `edits`.
void schema_out(const Mapping& mapping, JsonNode schema, JsonEdits& edits);
/// Could definition_out() change this document? Reads its bytes only: most definitions of a list
/// need not be parsed.
bool definition_may_change(const Mapping& mapping, std::string_view document);

/// Code::forbidden with the place if the schemas say something that definition_in() never makes.
Result<void> prove_definition(const Mapping& mapping, std::string_view document);
/// Makes such places right, as if the tenant had written what it reads now: for what a patch
/// makes of a definition, and for definitions that were stored before.
Result<std::string> repair_definition(const Mapping& mapping, std::string document);

} // namespace zoo::translate
