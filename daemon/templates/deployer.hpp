// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "common/kube/client.hpp"
#include "common/templates/kinds.hpp"
#include "common/templates/template.hpp"
#include "daemon/templates/acting.hpp"
#include "daemon/templates/instance.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace zoo::templates {

/// One object as upstream has it after it was applied.
struct Applied {
  KindPath kind;
  ObjectRef ref;
  std::string digest; ///< digest_of() it
};

/// What an object says, but for what changes by itself: its status, its version, and who has set
/// which field. Two that are equal have the same digest.
std::string digest_of(nlohmann::json object);

/// How an attempt to deploy an instance ended.
struct Outcome {
  bool deployed = false;
  bool waits = false;          ///< its chart is being fetched or rendered: `message` says what for
  std::string reason, message; ///< unless it is deployed
  std::vector<Applied> applied;
};

/// What a chart is rendered for.
struct ChartWish {
  Chart chart;
  std::string name_space, values;
  std::string whose; ///< turn it is: an account's name, "tenant/ID" or "namespace/NAME"
};

struct DeployerParts {
  Acting::Connect connect_as;
  std::function<std::int64_t()> now; ///< Unix seconds
  /// The chart's objects as YAML. `wait`: how long this call may take; Code::timeout if it goes on
  /// behind it, and then the same wish is asked again. Null: there are no charts.
  std::function<Result<std::string>(upstream::ControlApi&, const ChartWish&,
                                    std::chrono::milliseconds wait)>
      render;
  /// An object in the words of a tenant as it is to be stored upstream, proven to be the tenant's.
  /// Null: there are no tenants.
  using Inward =
      std::function<Result<nlohmann::json>(const std::string& tenant, const nlohmann::json&)>;
  Inward inward{};
};

/// Makes the objects of a TemplateInstance, and puts them right again. They are applied on the
/// server as k_user, who has in the instance's namespace what the Template's role gives and
/// nothing else anywhere: so upstream itself refuses what the role does not allow, and what would
/// widen it. In a tenant's namespace they are rendered in the tenant's words, and applied as the
/// tenant's own user, whom upstream's policies hold inside the tenant, with the same role. Any
/// thread; calls block.
class Deployer {
public:
  explicit Deployer(DeployerParts parts) : parts_(std::move(parts)), acting_(parts_.connect_as) {}

  /// One attempt, and its status. `api`: as zood. `live`: the instance as it was read. A failure
  /// that is the template's or the instance's is told in the outcome and in the status; what this
  /// attempt has made is taken away again then. Errors are passing ones: to be tried again.
  /// `until`: nothing more is begun behind it (Code::timeout).
  Result<Outcome> deploy(upstream::ControlApi& api, const nlohmann::json& live,
                         const Surroundings& at, std::chrono::steady_clock::time_point until,
                         std::chrono::milliseconds chart_wait);

  /// Says in the status that it failed.
  Result<Outcome> refuse(upstream::ControlApi& api, const nlohmann::json& live, std::string reason,
                         std::string message);

  /// Takes away what an instance has made in a tenant's namespace, before it is removed itself: its
  /// objects there have no owner. Those that say that they are to stay, stay.
  Result<void> clear(upstream::ControlApi& api, const nlohmann::json& live, const Surroundings& at,
                     std::chrono::steady_clock::time_point until);

private:
  struct Plan {
    std::string template_version, role;
    std::vector<nlohmann::json> objects;
    std::vector<KindPath> kinds; ///< of each of them
  };
  struct Attempt;
  Result<void> plan(Attempt& attempt, Plan& out);
  Result<std::vector<nlohmann::json>> stored_objects(const Attempt& attempt,
                                                     std::vector<nlohmann::json> objects);
  Result<void> bind(Attempt& attempt, const std::string& role);
  Result<void> apply(Attempt& attempt, const Plan& plan, upstream::ControlApi& as_template);
  Result<void> admit_name(const Attempt& attempt, const KindPath& kind, const ObjectRef& ref,
                          upstream::ControlApi& as_template);
  Result<nlohmann::json> apply_once(Attempt& attempt, const std::string& path,
                                    const nlohmann::json& object, const kube::Query& query,
                                    upstream::ControlApi& as_template);
  Result<nlohmann::json> apply_one(Attempt& attempt, const KindPath& kind,
                                   const nlohmann::json& object, upstream::ControlApi& as_template);
  Result<void> prune(Attempt& attempt, const Plan& plan, upstream::ControlApi& as_template);
  void take_back(Attempt& attempt, upstream::ControlApi& as_template);
  Result<Outcome> end_failed(Attempt& attempt, std::string reason, std::string message);
  Result<void> tell_progress(Attempt& attempt, const std::string& message);
  Result<void> write(Attempt& attempt, Report report);

  const DeployerParts parts_;
  Acting acting_;
  Kinds kinds_;
};

std::string instance_path(std::string_view name_space, std::string_view name);
std::string template_path(std::string_view name);

} // namespace zoo::templates
