// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/accounts/saga.hpp"
#include "daemon/accounts/state.hpp"
#include "daemon/accounts/tenant_source.hpp"
#include "daemon/templates/keeper.hpp"

#include <nlohmann/json_fwd.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace zoo::accounts {

/// The TemplateInstances that stand in an Account's spec.space.templateInstances, as a space of it
/// has them: each has a name that stays the same while its entry does. Entries without a template
/// are left out. Pure.
std::vector<nlohmann::json> wanted_instances(const Account& account, std::string_view space);
/// The same in a tenant's namespace: those of spec.templates, then those of spec.account. Pure.
std::vector<nlohmann::json> wanted_instances(const State& state, const TenantTerms& terms,
                                             std::string_view space);

/// What the predefined parameters stand for in a tenant's namespace: its name is the tenant's own,
/// and its labels and annotations, which the tenant sets, stand for nothing. Pure.
templates::Surroundings surroundings_in(const State& state, const TenantTerms& terms,
                                        std::string_view id, std::string_view space);

/// Where an instance in this namespace is. Nothing: there is no such namespace. `tenants`: null:
/// instances in tenants' namespaces are nobody's. Pure.
std::optional<templates::Place> place_in(const State& state, const TenantSource* tenants,
                                         std::string_view name_space);

/// The templates of namespaces. Any thread; calls block.
class SpaceTemplates {
public:
  explicit SpaceTemplates(templates::Keeper& keeper) : keeper_(keeper) {}

  /// Before anybody has access to a new space: makes the instances of the account's list and of the
  /// space's annotation, and deploys them. `patience`: how long this call may wait for a chart;
  /// Code::timeout says what is not ready by then. Code::invalid: an instance has failed.
  Result<void> furnish(upstream::ControlApi& api, const std::string& space, const Account& account,
                       std::chrono::milliseconds patience);

  /// A space that there is has the instances of the account's list, and none of another list. A
  /// null account: nobody owns it, and what is there is kept for nobody any more.
  Result<void> keep(upstream::ControlApi& api, const std::string& space, const Account* account);

  /// The same with these instances, in any namespace.
  Result<void> furnish(upstream::ControlApi& api, const std::string& space,
                       const std::vector<nlohmann::json>& wanted, const templates::Surroundings& at,
                       std::chrono::milliseconds patience);
  Result<void> keep(upstream::ControlApi& api, const std::string& space,
                    const std::vector<nlohmann::json>& wanted, const templates::Surroundings& at);
  /// Are there instances that are kept in this namespace? Never blocks.
  bool any_kept(std::string_view space) const;

private:
  Result<void> set_free(upstream::ControlApi& api, const std::string& space);
  Result<void> remove(upstream::ControlApi& api, const nlohmann::json& live,
                      const templates::Surroundings& at);
  Result<void> give_way(upstream::ControlApi& api, const std::string& space,
                        const nlohmann::json& wanted, const templates::Surroundings& at);

  templates::Keeper& keeper_;
};

} // namespace zoo::accounts
