// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/accounts/view_changes.hpp"
#include "daemon/resources/backing.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

namespace zoo::accounts {

/// The state, and who waits for it to change: the one engine behind all doors. Each change of a
/// view is the difference of two States for one caller, so that a grant is ADDED and a revocation
/// DELETED, and a watch is resumed by the difference to an older State. Thread-safe.
class Views {
public:
  using Now = std::function<std::chrono::steady_clock::time_point()>;
  /// `now`: by which States are remembered for ten minutes; any thread.
  explicit Views(Now now = std::chrono::steady_clock::now);
  ~Views();
  Views(const Views&) = delete;
  Views& operator=(const Views&) = delete;

  /// The Follower's publications, in order; on its loop.
  void published(const StatePtr& before, const StatePtr& now, const Touched& touched);

  /// The newest State. Code::unavailable, with the reason, while it is not to be believed.
  Result<StatePtr> state() const;

  /// One object as the caller sees it; null: he does not.
  static resources::ObjectPtr object_of(const State& state, ViewOf what, const resources::Who& who,
                                        std::string_view name);
  /// The objects that the caller may see, in the order of their names, `limit` at most (0 = all).
  /// `space`: of which namespace, for ViewOf::instances; "": of all.
  static resources::Page list(const State& state, ViewOf what, const resources::Who& who,
                              std::string_view after, std::size_t limit,
                              std::string_view space = {});
  /// Every change behind `revision` (0: from now on) of what the caller may see. Code::expired if
  /// that is longer ago than what is remembered. `on_change` comes on the Follower's loop, or from
  /// inside this call, in order.
  Result<std::unique_ptr<resources::Subscription>>
  watch(ViewOf what, const resources::Who& who, std::int64_t revision,
        std::function<void(const resources::Change&)> on_change);

  /// Blocks until `holds` is true of a State, or the time is over (false).
  bool wait(const std::function<bool(const State&)>& holds, std::chrono::milliseconds most) const;

private:
  struct Impl;
  std::shared_ptr<Impl> impl_; ///< subscriptions share it
};

/// The caller as the evaluator of rights wants him.
authz::User user_of(const resources::Who& who);

} // namespace zoo::accounts
