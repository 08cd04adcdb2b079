// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/net/listener.hpp"
#include "daemon/net/workers.hpp"

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

namespace zoo::app {

/// What load balancers and supervisors ask, in plain HTTP, without credentials and on a thread of
/// its own: GET and HEAD of /readyz (200 while clients may be sent here, else 503) and of /livez
/// (500 when one of zood's threads has stopped to answer). Nothing else is there, and the answer is
/// one word. Owned by Zood, made before all that takes time.
class Health {
public:
  enum class State : std::uint8_t { starting, ready, leaving };

  /// Code::io if `address` cannot be listened on.
  static Result<std::unique_ptr<Health>> open(const std::string& address);
  ~Health();
  Health(const Health&) = delete;
  Health& operator=(const Health&) = delete;

  std::string address() const;                     ///< with the real port
  void set(State state) { facts_->state = state; } ///< any thread
  struct Asks {
    std::function<std::chrono::milliseconds()> lag; ///< of the slowest loop (LoopLag)
    /// Is what upstream serves known? Begins to find out, if not.
    std::function<bool()> knows;
  };
  /// Once; asked from this object's thread, until close().
  void watch(Asks asks);
  void close(); ///< answers no more; twice is once

private:
  struct Facts {
    std::atomic<State> state = State::starting;
    Asks asks; ///< on the loop's thread
  };
  class Answering;
  Health();

  std::shared_ptr<Facts> facts_ = std::make_shared<Facts>();
  net::Workers loop_;
  std::unique_ptr<net::Listener> listener_;
};

} // namespace zoo::app
