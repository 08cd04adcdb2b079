// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/translate/openapi_v2.hpp"

#include <string>
#include <string_view>

/// OpenAPI 2.0 as openapi.v2.Document of gnostic-models (openapiv2/OpenAPIv2.proto), which is all
/// that kubectl before 1.27 reads. Values without state, any thread.
namespace zoo::translate {

/// Fields of a Document. One behind the other they are one Document, since protobuf unites what it
/// finds of one field: swagger and info first, then any number of parts.
std::string openapi_v2_proto_begin(std::string_view version);
/// Paths, definitions and parameters without those that `known` has.
std::string openapi_v2_proto(const OpenApiPart& part, const OpenApiPart* known = nullptr);

/// The media type of the answer if this is one that Accept may ask it by, else "".
std::string_view openapi_v2_proto_type(std::string_view accept);

} // namespace zoo::translate
