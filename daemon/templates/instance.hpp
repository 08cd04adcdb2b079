// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/templates/objects.hpp"
#include "common/templates/parameters.hpp"
#include "common/templates/template.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// A TemplateInstance of config.kiosk.sh. Pure; any thread.
namespace zoo::templates {

/// Label "true" of what zood keeps for the account that owns a space: of a TemplateInstance that
/// stands in the Account's list, and of the objects that it has made.
inline constexpr std::string_view k_kept_label = "zoo.kubezoo.io/managed";

struct Instance {
  std::string name_space, name, uid;
  std::string template_name;
  Values values; ///< spec.parameters
  std::int64_t generation = 0;
  bool sync = false;     ///< spec.sync
  bool kept = false;     ///< carries k_kept_label
  bool no_owner = false; ///< its objects do not go with it
  bool deleting = false;
  // status
  bool deployed = false;          ///< "Deployed"
  bool failed = false;            ///< "Failed"
  bool was_kept = false;          ///< `kept` of its last deployment
  std::int64_t observed = 0;      ///< the generation that was deployed
  std::string reason;             ///< why it failed
  std::string applied_version;    ///< the Template's resourceVersion of the last deployment
  std::vector<ObjectRef> objects; ///< that were made, or are being made

  /// Is it to follow its Template, and are its objects to be put back when somebody changes them?
  bool follows() const { return sync || kept; }
  /// Is it deployed as it says now? What stands and does not follow is left alone.
  bool stands() const { return deployed && observed == generation && was_kept == kept; }
  /// The group that the RoleBinding of this instance names.
  std::string group() const { return "zoo:templates:" + uid; }
  std::string key() const { return name_space + '/' + name; }
};

/// Nothing if this is no object with a name and a namespace.
std::optional<Instance> read_instance(const nlohmann::json& object);

/// What has become of an instance, for its status.
struct Report {
  enum class What : std::uint8_t {
    progress, ///< one that is Deployed or Failed stays so until the attempt has ended
    deployed,
    failed,
  };
  What what = What::progress;
  std::string reason; ///< of a failure, in kiosk's words; or of a phase: Rendering, Applying
  std::string message;
  std::string template_version;   ///< that was deployed
  std::vector<ObjectRef> objects; ///< that there are, or may be
  std::int64_t now = 0;           ///< Unix seconds
};

/// The status after this report. `before`: the one that stands. Equal but for times if nothing has
/// changed, and then `before` itself.
nlohmann::json status_of(const Instance& instance, const nlohmann::json& before,
                         const Report& report);

} // namespace zoo::templates
