// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/store/store.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace zoo::store {

/// A zood that has the store open, as the others see it.
struct Replica {
  std::string name; ///< different for each
  std::string info; ///< what it tells of itself, JSON
  bool leads = false;
  /// How long it goes by what it knows when it is cut off from the store; 0: for ever.
  std::chrono::seconds honours{0};
};

/// That this zood lives, and whether it leads: of those that have one store open a single one runs
/// the controllers. Any thread.
///
/// Leadership ends by itself, before another zood can have it: leads() is false two seconds before
/// the store may give it away, however long this process, or its machine, has slept. What is
/// written with the fence is refused from then on by the store itself.
class Session {
public:
  virtual ~Session() = default;

  /// To be asked before each step that only the leader does; never blocks.
  virtual bool leads() const = 0;
  /// For writes of the leader's; nothing where no other zood can write, or this one does not lead.
  virtual std::optional<Fence> fence() const = 0;
  /// Told when this zood begins to lead, and when it no longer does, on a thread of the session's;
  /// at once if it leads already. Nothing: nobody is told any more when this returns. The callback
  /// must not destroy the session.
  virtual void on_change(std::function<void(bool leads)> told) = 0;
  /// Gives leadership away for good, so that another zood takes it within a moment: at the end.
  virtual void resign() = 0;
  /// Waits until every zood that has the store open has told its watches what was written until
  /// now. Returns the names of those that have not: they hang or are cut off, and go by what was
  /// before it; at the latest when their sessions have ended, after some twelve seconds. One whose
  /// session has ended otherwise than in order is named for as long as it may go on
  /// (Replica::honours), counted from when that was noticed. Errors: it is not known.
  virtual Result<std::vector<std::string>> settle() = 0;
  /// Who has the store open now, this one too; by name. Code::unavailable.
  virtual Result<std::vector<Replica>> replicas() = 0;
  /// Replica::info of this zood from now on, as the others see it a moment later. Does not block.
  virtual void tell(std::string info) = 0;
  virtual const std::string& name() const = 0;
};

/// Of a store that one zood alone has open: it leads.
class LocalSession final : public Session {
public:
  explicit LocalSession(Replica self) : self_(std::move(self)) {}
  bool leads() const override { return true; }
  std::optional<Fence> fence() const override { return std::nullopt; }
  void on_change(std::function<void(bool)> told) override {
    if (told) told(true);
  }
  void resign() override {}
  Result<std::vector<std::string>> settle() override { return std::vector<std::string>(); }
  Result<std::vector<Replica>> replicas() override {
    const std::lock_guard lock(mutex_);
    return std::vector{Replica{self_.name, self_.info, true, self_.honours}};
  }
  void tell(std::string info) override {
    const std::lock_guard lock(mutex_);
    self_.info = std::move(info);
  }
  const std::string& name() const override { return self_.name; }

private:
  std::mutex mutex_; ///< for its info
  Replica self_;
};

/// Code::unavailable: another zood leads.
tl::unexpected<Error> not_leading();

} // namespace zoo::store
