// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/admin/request.hpp"

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>

namespace zoo::admin {

/// /openapi/v3, /openapi/v3/apis/tenant.kubezoo.io/v1alpha1 and /openapi/v2 (JSON, or protobuf,
/// which is all that kubectl before 1.27 reads); nothing for other paths. What `kubectl explain`
/// shows and `kubectl apply` checks.
std::optional<Answer> openapi_answer(const Request& request);

nlohmann::json openapi_v3(); ///< the document of tenant.kubezoo.io/v1alpha1
nlohmann::json openapi_v2();

/// An OpenAPI 2.0 document as openapi.v2.Document of gnostic-models (openapiv2/OpenAPIv2.proto):
/// as much of it as openapi_v2() uses.
std::string openapi_v2_protobuf(const nlohmann::json& document);

} // namespace zoo::admin
