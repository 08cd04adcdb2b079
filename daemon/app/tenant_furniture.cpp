// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/tenant_furniture.hpp"

#include "common/api/terms.hpp"
#include "daemon/net/loop.hpp"
#include "daemon/tenants/controller.hpp"

#include <utility>

namespace zoo::app {
namespace {

class RoomFurnisher final : public access::Furnisher {
public:
  RoomFurnisher(accounts::Writes& writes, resources::Workers& workers)
      : writes_(writes), workers_(workers) {}

  bool concerns(std::string_view tenant) const override { return writes_.rooms().concerns(tenant); }

  void furnish(std::string_view tenant, std::string_view space, net::Loop& loop,
               std::function<void(const Result<void>&)> done) const override {
    const auto tell = [&loop, done = std::move(done)](Result<void> outcome) {
      loop.post([done, outcome = std::move(outcome)] { done(outcome); });
    };
    auto job = [this, id = std::string(tenant), name = std::string(space), tell] {
      const auto api = writes_.connections().take();
      tell(writes_.rooms().furnish(*api, id, name));
    };
    using Place = resources::Workers::Place;
    if (workers_.submit_slow(std::string(tenant), std::move(job)) != Place::given)
      tell(fail(Code::unavailable, "too many namespaces are being made at once"));
  }

private:
  accounts::Writes& writes_;
  resources::Workers& workers_;
};

api::Condition condition(bool holds, std::string reason, std::string message) {
  return {std::string(tenants::k_furnished),
          holds ? "True" : "False",
          std::move(reason),
          std::move(message),
          {}};
}

} // namespace

std::shared_ptr<const access::Furnisher> make_furnisher(accounts::Writes& writes,
                                                        resources::Workers& workers) {
  return std::make_shared<const RoomFurnisher>(writes, workers);
}

std::optional<api::Condition> furnished_condition(const api::Tenant& tenant,
                                                  const accounts::Writes* writes) {
  const auto terms = api::terms_of(tenant);
  if (!terms || (terms->hard.empty() && terms->templates.empty() && tenant.account.empty()))
    return {};
  const auto only_account = terms->hard.empty() && terms->templates.empty();
  if (writes == nullptr) {
    // An account is a remark where there are none.
    if (only_account) return {};
    return condition(false, "SwitchedOff",
                     "spec.quota.hard, spec.templates and spec.account take effect with "
                     "accounts.enabled in zood's configuration");
  }
  const auto state = writes->parts().state();
  if (!state) return condition(false, "Unknown", std::string(state.error().message()));
  if (!tenant.account.empty() && !(*state)->accounts.find(tenant.account))
    return condition(false, "NoAccount",
                     fmt::format("there is no account \"{}\": its quotas and templates do not hold "
                                 "here",
                                 tenant.account));
  if (const auto known = (*state)->spaces_of_tenant.find(tenant.id)) {
    for (const auto& space : known->names)
      for (const auto& each : writes->templates().table().in(space))
        if (each.failed && each.kept)
          return condition(
              false, "TemplateFailed",
              fmt::format("template \"{}\" cannot be made in namespace \"{}\": {} (zooctl "
                          "template status -n {})",
                          each.template_name, space.substr(tenant.id.size() + 1), each.reason,
                          space));
  }
  return condition(true, "Furnished", "");
}

} // namespace zoo::app
