// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/http/stream.hpp"
#include "daemon/resources/door.hpp"
#include "daemon/resources/scheduler.hpp"
#include "daemon/resources/workers.hpp"

#include <cstdint>
#include <functional>
#include <memory>

namespace zoo::resources {

struct ExchangeRoom;

/// Serves an API of zood's own to the connections of one loop. One a loop; all calls on that loop's
/// thread; nothing in here blocks it. Each request is read whole (1 MiB at most), then a worker
/// asks the door who it is and lets it answer, and the answer is posted back; if the client has
/// gone by then, it is dropped. One log line a request.
///
/// The composition root destroys in this order: listeners and loops' connections, then stop() of
/// the workers, then the loops, then the rest.
///
///   ApiService service(door, workers, *scheduler);   // scheduler = make_scheduler(loop)
class ApiService final : public http::Service {
public:
  /// `now`: Unix seconds, any thread; empty: the system's clock.
  ApiService(std::shared_ptr<Door> door, Workers& workers, Scheduler& scheduler,
             std::function<std::int64_t()> now = {});
  ~ApiService() override;

  std::unique_ptr<http::StreamHandler> on_request(http::RequestHead head,
                                                  http::ServerStream& stream) override;

private:
  std::shared_ptr<ExchangeRoom> room_;
};

} // namespace zoo::resources
