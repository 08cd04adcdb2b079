// SPDX-License-Identifier: Apache-2.0
#include "daemon/admin/service.hpp"

#include "common/api/tenant.hpp"
#include "common/kube/age.hpp"
#include "daemon/admin/router.hpp"
#include "daemon/audit/log.hpp"

#include <utility>

namespace zoo::admin {
namespace {

audit::Decision decision_of(int status) {
  return status == 401   ? audit::Decision::unauthenticated
         : status == 403 ? audit::Decision::forbid
         : status == 499 ? audit::Decision::none
                         : audit::Decision::allow;
}

class AdminDoor final : public resources::Door {
public:
  explicit AdminDoor(AdminContext context)
      : options_(std::move(context.door)), audit_(context.audit),
        router_(context.tenants, context.status, context.workers,
                context.now ? std::move(context.now) : kube::unix_now, context.audit) {}

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
  const auto& facts = finished.facts;
  audit::Entry entry;
  entry.time = std::chrono::system_clock::now();
  entry.took = finished.took;
  entry.door = name();
  if (facts.resource == api::k_tenant_resource)
    entry.tenant = finished.answer.object.empty() ? facts.name : finished.answer.object;
  entry.user = finished.who == "-" ? std::string_view() : finished.who;
  entry.peer = finished.peer;
  entry.verb = facts.verb.empty() ? finished.method : std::string_view(facts.verb);
  entry.group = facts.group;
  entry.version = facts.version;
  entry.resource = facts.resource;
  entry.subresource = facts.subresource;
  entry.name = facts.name;
  if (facts.resource.empty()) entry.path = finished.target;
  entry.code = finished.status;
  entry.bytes_in = finished.bytes_in;
  entry.bytes_out = finished.answer.body.size();
  entry.decision = decision_of(finished.status);
  audit_->add(std::nullopt, entry);
}

} // namespace

std::shared_ptr<resources::Door> make_door(AdminContext context) {
  return std::make_shared<AdminDoor>(std::move(context));
}

} // namespace zoo::admin
