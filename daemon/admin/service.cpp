// SPDX-License-Identifier: Apache-2.0
#include "daemon/admin/service.hpp"

#include "common/api/tenant.hpp"
#include "common/kube/age.hpp"
#include "daemon/admin/audit.hpp"
#include "daemon/admin/router.hpp"
#include "daemon/audit/log.hpp"

#include <utility>

namespace zoo::admin {
namespace {

class AdminDoor final : public resources::Door {
public:
  explicit AdminDoor(AdminContext context)
      : options_(std::move(context.door)), audit_(context.audit),
        router_(context.tenants, context.status, context.workers,
                context.now ? std::move(context.now) : kube::unix_now, context.audit,
                context.aggregated, std::move(context.kinds)) {
    router_.set_uninstall_accounts(std::move(context.uninstall_accounts));
    router_.set_backup(context.backup);
    router_.set_store(context.store);
    router_.set_quotas(context.quotas);
  }

  std::string_view name() const override { return "admin"; }
  std::optional<Error> stranger(const http::ConnectionInfo& peer) const override {
    return admin::stranger(peer);
  }
  bool is_at_once(const Request& request) const override { return Router::is_health(request); }
  Answer at_once(const Request& request) override { return router_.health(request); }
  Workers::Kind kind(const Request& request) const override { return Router::kind(request); }
  Result<Who> identify(const http::ConnectionInfo& peer, const Request& /*request*/) override {
    return admin::identify(peer, options_);
  }
  Answer handle(const Request& request) override { return router_.handle(request); }
  void over(const resources::Finished& finished) override;

private:
  const DoorOptions options_;
  audit::Log* const audit_;
  Router router_;
};

void AdminDoor::over(const resources::Finished& finished) {
  if (audit_ == nullptr) return;
  auto entry = entry_of(finished, name());
  if (finished.facts.resource == api::k_tenant_resource)
    entry.tenant = finished.answer.object.empty() ? finished.facts.name : finished.answer.object;
  audit_->add(std::nullopt, entry);
}

} // namespace

std::shared_ptr<resources::Door> make_door(AdminContext context) {
  return std::make_shared<AdminDoor>(std::move(context));
}

} // namespace zoo::admin
