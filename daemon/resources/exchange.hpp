// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/http/stream.hpp"
#include "daemon/resources/door.hpp"
#include "daemon/resources/reply.hpp"
#include "daemon/resources/scheduler.hpp"
#include "daemon/resources/workers.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace zoo::resources {

/// What the exchanges of one loop share; outlives them and the jobs they started.
struct ExchangeRoom {
  std::shared_ptr<Door> door;
  Workers& workers;
  Scheduler& scheduler;
  std::function<std::int64_t()> now; ///< Unix seconds
};

/// One request on its loop: reads the body, hands it to a worker, writes what comes back, and if
/// that is a watch, keeps writing. Loop thread only, but for the job it sends to the workers, which
/// holds Link and never the exchange.
class Exchange final : public http::StreamHandler {
public:
  Exchange(std::shared_ptr<ExchangeRoom> room, const http::RequestHead& head,
           http::ServerStream& stream);
  ~Exchange() override;

  void on_data(std::string_view bytes) override;
  void on_end() override;
  void on_reset() override;
  void on_drained() override;
  void on_leaving() override { reply_.end_watch(); }

private:
  /// Lets an answer find its exchange, if that still exists. `exchange` is the loop's; `gone`
  /// is read by workers, so that nobody works for a client who left.
  struct Link {
    Exchange* exchange = nullptr;
    std::atomic<bool> gone{false};
  };

  /// Says so, if it is refused before its body was looked at.
  bool refused();
  void finish(Answer answer, const std::string& who);
  void leave();
  void log(int status, const std::string& who, const Answer& answer) const;

  std::shared_ptr<ExchangeRoom> room_;
  http::ServerStream* stream_; ///< null once nothing may be said any more
  Reply reply_;
  Request request_;
  std::optional<Error> broken_;   ///< the head could not be understood
  std::optional<Error> stranger_; ///< whoever is at the other end is none of ours
  bool at_once_ = false;          ///< needs no name, and no body
  std::string method_, target_;
  RequestFacts facts_;
  std::size_t bytes_in_ = 0;
  std::shared_ptr<Link> link_;
  std::chrono::steady_clock::time_point began_;
  bool answered_ = false;
};

} // namespace zoo::resources
