// SPDX-License-Identifier: Apache-2.0
#include "daemon/resources/service.hpp"

#include "common/kube/age.hpp"
#include "daemon/resources/exchange.hpp"

#include <utility>

namespace zoo::resources {

ApiService::ApiService(std::shared_ptr<Door> door, Workers& workers, Scheduler& scheduler,
                       std::function<std::int64_t()> now)
    : room_(std::make_shared<ExchangeRoom>(ExchangeRoom{std::move(door), workers, scheduler,
                                                        now ? std::move(now) : kube::unix_now})) {}

ApiService::~ApiService() = default;

std::unique_ptr<http::StreamHandler> ApiService::on_request(http::RequestHead head,
                                                            http::ServerStream& stream) {
  return std::make_unique<Exchange>(room_, std::move(head), stream);
}

} // namespace zoo::resources
