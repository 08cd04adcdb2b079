// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/admin/api_types.hpp"
#include "daemon/admin/door.hpp"
#include "daemon/admin/router.hpp"
#include "daemon/admin/server.hpp"
#include "daemon/resources/workers.hpp"
#include "daemon/http/stream.hpp"

#include <cstdint>
#include <functional>
#include <memory>

namespace zoo::audit {
class Log;
}

namespace zoo::admin {

/// What all loops' AdminServices share. Made by the composition root, which destroys in this
/// order: listeners and loops' connections, then stop() of `workers`, then the loops, then the
/// rest.
struct AdminContext {
  tenants::TenantService& tenants;
  StatusSource& status;
  Workers& workers;
  DoorOptions door;
  std::function<std::int64_t()> now; ///< Unix seconds, any thread; empty: the system's clock
  audit::Log* audit = nullptr;       ///< told of every request that is over; null: there is none
};

struct ExchangeRoom;

/// The admin API (DESIGN 11): Kubernetes-shaped, for zooctl and kubectl. One a loop; all calls on
/// that loop's thread; nothing in here blocks it. Each request is read whole (1 MiB at most), then
/// a worker asks who it is (door.hpp) and answers it (router.hpp), and the answer is posted back;
/// if the client has gone by then, it is dropped. One log line a request.
///
///   AdminService service(context, *scheduler);   // scheduler = make_scheduler(loop)
class AdminService final : public http::Service {
public:
  AdminService(const AdminContext& context, Scheduler& scheduler);
  ~AdminService() override;

  std::unique_ptr<http::StreamHandler> on_request(http::RequestHead head,
                                                  http::ServerStream& stream) override;

private:
  std::shared_ptr<ExchangeRoom> room_;
};

} // namespace zoo::admin
