// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/resources/options.hpp"
#include "daemon/resources/owners.hpp"
#include "daemon/translate/headers.hpp"
#include "daemon/virtuals/kinds.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

/// What a write makes of an object: the rules of k8s.io/apiserver pkg/registry/rest and of the
/// kinds' strategies, on whole JSON values. Pure.
namespace zoo::virtuals {

using resources::Writer;

/// Of one write: an object of k_max_object_bytes may be written with spaces.
inline constexpr std::size_t k_max_body_bytes = std::size_t{512} << 10;

struct Body {
  translate::BodyFormat format = translate::BodyFormat::json;
  std::string_view text;
};

/// A new object out of a create's body (or of an apply's, `path_name` given): names, metadata of
/// the server's, status empty. Code::bad_request, Code::invalid.
Result<nlohmann::json> created(const Kind& kind, const Body& body, std::string_view path_name,
                               const Writer& writer);

/// The object after an update or a patch of `old`, with what the writer may not change put back.
/// Equal to `old` if nothing was changed. `force`: of an apply. Code::conflict for a precondition
/// (uid, resourceVersion) that does not hold.
Result<nlohmann::json> changed(const Kind& kind, const nlohmann::json& old, const Body& body,
                               const Writer& writer, bool force);

/// The same with `spec` as upstream completed it; counts the generation and writes managedFields.
void settle(const nlohmann::json& old, nlohmann::json& now, const Writer& writer, bool applied);

/// What zood itself says about an object: status.conditions[type]. False: it was so already.
bool set_condition(nlohmann::json& object, std::string_view type, std::string_view status,
                   std::string_view reason, const std::string& message, const Writer& writer);

/// Of a DELETE's body; an empty one wishes nothing. Code::bad_request.
Result<resources::DeleteOptions> delete_options(std::string_view body);

std::string member(const nlohmann::json& object, std::string_view name); ///< "" if no string
const nlohmann::json& metadata_of(const nlohmann::json& object);
bool has_finalizers(const nlohmann::json& object);

inline constexpr std::string_view k_modified =
    "the object has been modified; please apply your changes to the latest version and try again";

} // namespace zoo::virtuals
