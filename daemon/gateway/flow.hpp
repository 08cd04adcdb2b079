// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"

#include <string_view>

namespace zoo::gateway {

/// What an authorized request turns into: straight through, a range list, a watch, ... One object
/// per exchange, owned by it, on its loop. A flow answers through the Exchange and is destroyed
/// with it, or soon after it has answered; while it lives, the Exchange lives. What it has asked of
/// others may come later: they ask the Exchange whether it is alive() and not done(), before the
/// flow.
class Flow {
public:
  virtual ~Flow() = default;
  virtual void start() = 0;
  virtual void on_drained() {}                     ///< the client's buffer has room again
  virtual void on_tunnel_data(std::string_view) {} ///< after a 101
  virtual void on_tunnel_end() {}
  /// Of a request that stays open, every Gateway::k_recheck: is what it shows still his to see? It
  /// may end the exchange.
  virtual void recheck() {}
  /// zood is about to stop: what would stay open for as long as its client likes, and can be ended
  /// in order, does so soon. Comes after start(), and may come more than once.
  virtual void leave() {}
  /// Does it keep anything once it has answered? Then it goes in the loop's next turn. Else it goes
  /// with the exchange, which is nearly always sooner; but a client that does not read its answer
  /// keeps that for minutes, and nothing counts what the flow has.
  virtual bool keeps_much() const { return true; }
};

/// Code::too_many_requests: Exchange::buffer() said no.
Error held_too_much();

} // namespace zoo::gateway
