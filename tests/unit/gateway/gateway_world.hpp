// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "account_world.hpp"
#include "daemon/http/stream.hpp"
#include "scripted_upstream.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace zoo::test {

/// What a row says of zood's configuration and of the platform, by name: see Settings in
/// gateway_world.cpp, which refuses a name that it does not know.
using WorldSettings = std::map<std::string, std::string>;

/// One request of a client's, as its connection would see it. Used on the loop's thread.
class WorldClient final : public http::ServerStream {
public:
  explicit WorldClient(http::ConnectionInfo connection) : connection_(std::move(connection)) {}

  void send_head(const http::ResponseHead& head, bool end) override;
  void send_data(std::string_view bytes, bool end) override;
  bool writable() const override { return true; }
  std::size_t pending() const override { return 0; }
  void set_high_watermark(std::size_t) override {}
  void reset(http::ResetReason) override { cut_off = true; }
  void consume(std::size_t) override {}
  bool request_complete() const override { return complete; }
  const http::ConnectionInfo& connection() const override { return connection_; }

  bool over() const { return ended || cut_off; }

  http::ResponseHead head;
  std::string body;
  bool head_came = false, ended = false, cut_off = false;
  bool complete = false; ///< the request has no body

  std::unique_ptr<http::StreamHandler> handler; ///< last: it uses the stream

private:
  http::ConnectionInfo connection_;
};

/// A Gateway with all that zood puts behind it, on a loop of its own in front of a
/// ScriptedUpstream. The tenants are abc123, zzz999 and the suspended sus000; who may ask is in
/// k_people of gateway_world.cpp, what upstream holds already in world/standing.json. When the
/// constructor returns, zood has read what it follows and the policy of abc123.
class GatewayWorld {
public:
  /// For what a row says to happen; a row that holds waits for milliseconds.
  static constexpr std::chrono::seconds k_patience{30};

  explicit GatewayWorld(const WorldSettings& settings = {});
  ~GatewayWorld();

  /// Runs it on the loop and waits for it.
  void on(const std::function<void()>& task);
  /// What was to be done at once is done: several turns of the loop.
  void settle();
  /// Waits for a condition, which is asked on the loop; false after k_patience.
  bool eventually(const std::function<bool()>& holds);

  /// Lets that person ask. Throws std::runtime_error where nobody is called so.
  std::shared_ptr<WorldClient> ask(const std::string& who, http::RequestHead head,
                                   const std::string& body);
  ScriptedUpstream& upstream();
  void trust_nobody();                            ///< by a client certificate, at the account door
  void change_rights(const RightsOfJohn& rights); ///< of the users at the account door

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace zoo::test
