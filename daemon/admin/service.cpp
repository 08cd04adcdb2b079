// SPDX-License-Identifier: Apache-2.0
#include "daemon/admin/service.hpp"

#include "common/kube/age.hpp"
#include "daemon/admin/exchange.hpp"

namespace zoo::admin {

AdminService::AdminService(const AdminContext& context, Scheduler& scheduler) {
  auto whole = context;
  if (!whole.now) whole.now = kube::unix_now;
  Router router(whole.tenants, whole.status, whole.workers, whole.now, whole.audit);
  room_ =
      std::make_shared<ExchangeRoom>(ExchangeRoom{std::move(whole), scheduler, std::move(router)});
}

AdminService::~AdminService() = default;

std::unique_ptr<http::StreamHandler> AdminService::on_request(http::RequestHead head,
                                                              http::ServerStream& stream) {
  return std::make_unique<Exchange>(room_, std::move(head), stream);
}

} // namespace zoo::admin
