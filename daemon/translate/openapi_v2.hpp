// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>

/// OpenAPI 2.0 made of documents of OpenAPI 3.0, so that /openapi/v2 costs what a tenant's own
/// groups cost and not what everybody's do: upstream's own document has all custom groups in it.
/// What changes between the two is what kube-openapi and apiextensions-apiserver do
/// (pkg/controller/openapi/v2/conversion.go): no nullable, no anyOf, oneOf or not, no defaults, no
/// schema where kubectl cannot cope with it. Values without state, any thread.
namespace zoo::translate {

/// Members of an object by their names: each value is JSON.
using JsonMembers = std::map<std::string, std::string, std::less<>>;

/// What one or several group-versions put into the document.
struct OpenApiPart {
  JsonMembers paths, definitions, parameters;
  std::string version; ///< info.version of the document it comes from

  /// Adds what `other` has and this has not. A definition that both have keeps all its
  /// group-version-kinds.
  void merge(const OpenApiPart& other);
  std::size_t bytes() const;
};

/// `document`: one of /openapi/v3/..., already in the tenant's names. Code::internal if it is none.
Result<OpenApiPart> openapi_v2_part(std::string_view document);

/// The document in pieces, in this order: `{"swagger":...,"paths":{` + paths of A + paths of B +
/// `},"definitions":{` + ... Pieces of what all tenants share can so be kept, compressed even.
struct OpenApiText {
  std::string paths, definitions, parameters; ///< members with commas between them, no braces
};
/// Without the members that `known` has; each piece that is not empty then begins with a comma, to
/// stand behind that of `known`.
OpenApiText openapi_v2_text(const OpenApiPart& part, const OpenApiPart* known = nullptr);
std::string openapi_v2_begin(std::string_view version); ///< up to and with `"paths":{`
inline constexpr std::string_view k_openapi_v2_definitions = "},\"definitions\":{";
inline constexpr std::string_view k_openapi_v2_parameters = "},\"parameters\":{";
/// Behind the parameters.
inline constexpr std::string_view k_openapi_v2_end =
    "},\"securityDefinitions\":{\"BearerToken\":{\"description\":\"Bearer Token authentication\","
    "\"type\":\"apiKey\",\"name\":\"authorization\",\"in\":\"header\"}},"
    "\"security\":[{\"BearerToken\":[]}]}\n";

} // namespace zoo::translate
