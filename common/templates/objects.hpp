// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"

#include <nlohmann/json.hpp>

#include <compare>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

/// What a template may make in a namespace. Pure; any thread.
namespace zoo::templates {

/// Of one instance.
inline constexpr std::size_t k_most_objects = 500;
inline constexpr std::size_t k_most_bytes = 4u << 20;

/// Label of every object that an instance has made: mark_of() its name.
inline constexpr std::string_view k_instance_label = "zoo.kubezoo.io/template-instance";
/// Annotation of a TemplateInstance, "true": its objects do not go with it.
inline constexpr std::string_view k_no_owner = "templateinstance.config.kiosk.sh/no-owner";
/// Annotation of an object, "keep": it stays when its template does not have it any more.
inline constexpr std::string_view k_resource_policy = "helm.sh/resource-policy";
/// Annotation of an object, "ignore": it is not put back when somebody else has changed it.
inline constexpr std::string_view k_drift = "zoo.kubezoo.io/drift";

/// The name of an instance as the value of a label: as it is, or, if it is longer than a label may
/// be, its beginning, an underscore, which no name has, and 32 hex digits of its digest: of two
/// instances never the same.
std::string mark_of(std::string_view instance);

/// Which object it is, within one namespace.
struct ObjectRef {
  std::string api_version, kind, name;
  auto operator<=>(const ObjectRef&) const = default;
  /// Whatever the version: the same object has one.
  std::string identity() const { return group() + '/' + kind + '/' + name; }
  std::string group() const; ///< of the API; "" is the core group
  std::string title() const; ///< for people: NetworkPolicy "deny"
};
ObjectRef ref_of(const nlohmann::json& object);

/// The objects of a stream of YAML documents, empty ones left out. Code::invalid, with the number
/// of the document, if one is no object; Code::too_large.
Result<std::vector<nlohmann::json>> objects_of_yaml(std::string_view text);

/// The objects as they are to be applied in `name_space`, in the order in which Helm installs
/// kinds. Lists are taken apart; fields that only a server sets are left out. Code::invalid with
/// the object if one has no apiVersion, kind or name, names another namespace, stands there twice,
/// is of a kind that zood keeps for itself, or carries labels or a name by which zood knows its
/// own; Code::too_large above k_most_objects or k_most_bytes.
Result<std::vector<nlohmann::json>> prepare_objects(std::vector<nlohmann::json> objects,
                                                    std::string_view name_space);

} // namespace zoo::templates
