// SPDX-License-Identifier: Apache-2.0
#include "daemon/admin/service.hpp"

#include "daemon/admin/exchange.hpp"

#include <ctime>

namespace zoo::admin {

AdminService::AdminService(const AdminContext& context, Scheduler& scheduler) {
  auto whole = context;
  if (!whole.now) whole.now = [] { return static_cast<std::int64_t>(std::time(nullptr)); };
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
