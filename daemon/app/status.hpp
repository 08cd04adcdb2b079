// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/admin/server.hpp"

#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <utility>

namespace zoo::audit {
class Log;
}
namespace zoo::net {
class Listener;
}
namespace zoo::upstream {
class Credential;
}

namespace zoo::app {

/// What zood tells of itself: `zooctl status`. Any thread; status() asks the upstream.
class Status final : public admin::StatusSource {
public:
  Status(const upstream::Credential& credential, const net::Listener& listener, std::size_t workers,
         std::string advertise, std::string socket, const audit::Log& audit);
  void set_admin_listen(std::string address);
  /// Its URL, and who says by which CA it is verified; before the first request.
  void set_account_door(std::string server, std::function<std::string()> ca_pem);

  admin::ServerStatus status() override;
  std::string not_ready() const override { return not_ready_ ? not_ready_() : std::string(); }
  /// What not_ready() says; before anybody asks. Any thread, never blocks.
  void set_not_ready(std::function<std::string()> why) { not_ready_ = std::move(why); }
  void metrics(MetricText& out) override { measure_(out); }
  /// Who tells metrics() what; before the first request.
  void set_measure(std::function<void(MetricText&)> measure) { measure_ = std::move(measure); }

private:
  const upstream::Credential& credential_;
  const net::Listener& listener_;
  const audit::Log& audit_;
  std::size_t workers_;
  std::string advertise_, socket_, account_door_;
  std::function<std::string()> account_ca_;
  mutable std::mutex mutex_;
  std::string admin_listen_;
  std::function<void(MetricText&)> measure_ = [](MetricText&) {};
  std::function<std::string()> not_ready_;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
};

} // namespace zoo::app
