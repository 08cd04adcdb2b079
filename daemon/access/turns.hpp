// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace zoo::access {

/// Which of several zoods gives out the room below a tenant's ceilings: one at a time, so that
/// their writes cannot pass a ceiling together (docs/decisions/290-a-turn-at-the-ceilings.md).
class Turns {
public:
  /// The turn stays with this zood for as long as one of these is there. Destroyed on any thread.
  class Turn {
  public:
    virtual ~Turn() = default;
    /// It is not known whether the write that it was taken for has been done, or still will be: the
    /// turn stays for as long as that may last. Any thread.
    virtual void doubt() = 0;
  };
  struct Answer {
    std::unique_ptr<Turn> turn; ///< null: it is not this zood's, `wake` comes
    /// Another number than at the last answer: another zood has had the turn in between, and what
    /// was counted before is worth nothing.
    std::uint64_t generation = 0;
    /// Set: there is none to be had. Code::unavailable: the store is away; Code::too_many_requests:
    /// too many wait, or this one has waited for too long.
    std::optional<Error> error;
  };
  virtual ~Turns() = default;
  /// `tenant`: UID. `since`: when this was asked first for the same write. `wake` comes once, on
  /// any thread, when it is worth asking again: only after an answer without turn and error. Any
  /// thread; never blocks.
  virtual Answer take(const std::string& tenant, std::chrono::steady_clock::time_point since,
                      std::function<void()> wake) = 0;
};

} // namespace zoo::access
