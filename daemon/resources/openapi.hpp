// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/resources/kind.hpp"
#include "daemon/resources/request.hpp"

#include <nlohmann/json_fwd.hpp>

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace zoo::resources {

/// What `kubectl explain` shows and `kubectl apply` checks: OpenAPI 3.0 a group and version, and
/// 2.0 for all kinds together. Kinds of the core group are left out: upstream's documents tell of
/// them. Made once of the rows; any thread.
class OpenApi {
public:
  /// `title` of the documents: "zood admin API".
  OpenApi(std::span<const KindPtr> kinds, std::string_view title);

  /// /openapi/v3, /openapi/v3/apis/<group>/<version> and /openapi/v2 (JSON, or protobuf, which is
  /// all that kubectl before 1.27 reads); nothing for other paths.
  std::optional<Answer> answer(const Request& request) const;

private:
  std::map<std::string, std::string> v3_; ///< by "apis/<group>/<version>"
  std::string v2_, v2_protobuf_;
};

/// The documents as JSON; `kinds` of v3 are of one group and version.
nlohmann::json openapi_v3(std::span<const KindPtr> kinds, std::string_view title);
nlohmann::json openapi_v2(std::span<const KindPtr> kinds, std::string_view title);

/// An OpenAPI 2.0 document as openapi.v2.Document of gnostic-models (openapiv2/OpenAPIv2.proto):
/// as much of it as openapi_v2() uses.
std::string openapi_v2_protobuf(const nlohmann::json& document);

} // namespace zoo::resources
