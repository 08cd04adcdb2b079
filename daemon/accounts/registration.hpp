// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/api/aggregated_door.hpp"
#include "common/base/result.hpp"
#include "daemon/upstream/control_api.hpp"

#include <nlohmann/json_fwd.hpp>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace zoo::accounts {

/// Where kube-apiserver reaches the door: an IP address, of which EndpointSlices refuse those of
/// this machine alone.
struct DoorAddress {
  std::string ip;
  std::uint16_t port = 0;
};
/// "192.0.2.7:7445", "[2001:db8::7]:7445". Code::usage: no IP address, or one that an EndpointSlice
/// does not take (loopback, link-local, unspecified, multicast), or no port.
Result<DoorAddress> parse_door_address(std::string_view text);

/// The objects as zood makes them.
nlohmann::json door_service();
/// `service_uid`: of the Service, with which it goes; empty: it goes with nothing.
nlohmann::json door_slice(const DoorAddress& address, const std::string& service_uid = {});
nlohmann::json door_api_service(const std::string& ca_pem);

/// Of a look at the objects upstream. Blocks.
Result<api::aggregated::State> look_at_door(upstream::ControlApi& api);
/// Takes the door away upstream, the APIService first. One that is another's stays. Blocks.
Result<void> remove_door(upstream::ControlApi& api);

/// Keeps the door registered upstream: the Service, its EndpointSlice and the APIService are made
/// when the door is ready, put back when somebody has changed or removed them, and taken away when
/// it is switched off or zood ends. One thread, "accounts-door"; everything public may be called
/// from any thread.
class Registration {
public:
  struct Parts {
    std::function<std::unique_ptr<upstream::ControlApi>()> api;
    std::string ca_pem; ///< of the CA that the door's certificate is by
    DoorAddress address;
    /// Does the door answer? Asked before it is registered; blocks. The error says what is missing.
    std::function<Result<void>()> ready;
    /// Other zoods serve behind the same Service, too: their slices stay, and withdraw() takes
    /// away no more than this zood's own, if there is another.
    bool keep = false;
  };
  explicit Registration(Parts parts);
  ~Registration();
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;

  void start();
  /// Ends the thread, withdraws nothing. Idempotent.
  void stop();
  void touch(); ///< something has changed upstream: look soon

  /// zood ends: takes the APIService away, then what it led to; waits for that no longer than
  /// `limit`, and says so in the log if it did not come to pass.
  /// Nothing is registered any more afterwards.
  void withdraw(std::chrono::milliseconds limit);

  /// Remembered upstream, in an annotation of namespace zoo-system. On return it is in force: off,
  /// the objects are gone; on, they will be made soon. Blocks.
  Result<void> switch_to(bool on);

  /// Looks now. Blocks.
  Result<api::aggregated::State> look() const;
  /// Why the door is not registered, or not as it should be; "": nothing is wrong as far as is
  /// known.
  std::string trouble() const;

private:
  void run();
  /// One look, and what follows from it.
  Result<void> settle(upstream::ControlApi& api);
  Result<void> leave(upstream::ControlApi& api);
  using Step = Result<void> (Registration::*)(upstream::ControlApi& api);
  /// One of these two. What it throws is an error that it returns.
  Result<void> attempt(Step step);
  Result<void> put_slice(upstream::ControlApi& api) const;

  const Parts parts_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool touched_ = true, ending_ = false, withdraw_ = false, withdrawn_ = false;
  std::string trouble_;
  std::string told_;      ///< the trouble that the log has been told of last
  bool standing_ = false; ///< it was registered when last looked at
  std::mutex settling_;   ///< one change upstream at a time
  std::thread thread_;
};

} // namespace zoo::accounts
