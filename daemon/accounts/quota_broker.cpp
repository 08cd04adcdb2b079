// SPDX-License-Identifier: Apache-2.0
#include "daemon/accounts/quota_broker.hpp"

#include <set>
#include <utility>

namespace zoo::accounts {
namespace {

using Kind = quota::Judge::Verdict::Kind;
using std::chrono::milliseconds;

/// Of those that wait at the same time. Who comes beyond is let in: the slice decides.
constexpr std::size_t k_most_waiting = 4'096;
constexpr milliseconds k_soon{5}, k_usual{100};

} // namespace

QuotaBroker::QuotaBroker(Parts parts)
    : parts_(std::move(parts)), judge_(parts_.now()), timer_(parts_.loop) {}

void QuotaBroker::start() {
  parts_.loop.post([this] { tick(); });
}

QuotaBroker::Asked QuotaBroker::ask(quota::Judge::Ask ask, Done done) {
  const std::lock_guard lock(mutex_);
  const auto now = parts_.now();
  auto verdict = judge_.ask(ask, now);
  const bool doubted = verdict.kind == Kind::deny && verdict.doubtful;
  if (verdict.kind == Kind::allow || (verdict.kind == Kind::deny && !doubted)) {
    ++(verdict.kind == Kind::allow ? counts_.allowed : counts_.denied);
    return {std::move(verdict), nullptr};
  }
  if (waiters_.size() >= k_most_waiting) {
    if (doubted) {
      ++counts_.denied;
      return {std::move(verdict), nullptr};
    }
    judge_.let_in(ask, now);
    ++counts_.late;
    return {Verdict{}, nullptr};
  }
  const auto id = next_++;
  Waiter made{std::move(ask), std::move(done), now, now + parts_.deadline, verdict.owners, {}};
  if (doubted) made.denied = std::move(verdict);
  const auto& waiter = waiters_.emplace(id, std::move(made)).first->second;
  if (doubted) {
    parts_.doubt(waiter.owners.front());
  } else {
    move(waiter);
  }
  wake();
  return {std::nullopt, std::make_unique<Waiting>(*this, id)};
}

void QuotaBroker::refused(const quota::Judge::Ask& ask) {
  with([&](quota::Judge& judge) { judge.drop(ask, parts_.now()); });
}

void QuotaBroker::leave(std::uint64_t id, bool goes_on) {
  const std::lock_guard lock(mutex_);
  const auto found = waiters_.find(id);
  if (found == waiters_.end()) return;
  if (!found->second.denied && goes_on) judge_.let_in(found->second.ask, parts_.now());
  if (!found->second.denied && !goes_on) judge_.drop(found->second.ask, parts_.now());
  ++counts_.left;
  waiters_.erase(found);
}

void QuotaBroker::doubts_settled(const std::string& owner) {
  const std::lock_guard lock(mutex_);
  look(&owner);
}

void QuotaBroker::move(const Waiter& waiter) {
  for (const auto& owner : waiter.owners)
    parts_.move(owner);
}

/// Each who waits, in the order in which they came: so nobody overtakes within one namespace.
void QuotaBroker::look(const std::string* settled) {
  if (!waiters_.empty()) {
    const auto now = parts_.now();
    for (auto each = waiters_.begin(); each != waiters_.end();) {
      auto& [id, waiter] = *each;
      const bool late = now >= waiter.until;
      std::optional<Verdict> verdict;
      if (waiter.denied) {
        if (settled != nullptr && waiter.owners.front() == *settled) {
          auto again = judge_.ask(waiter.ask, now);
          if (again.kind != Kind::wait) {
            verdict = std::move(again);
          } else {
            waiter.denied.reset();
            waiter.owners = std::move(again.owners);
            move(waiter);
          }
        } else if (late) {
          verdict = std::move(waiter.denied);
        }
      } else if (judge_.has_room(waiter.ask, now)) {
        verdict.emplace();
        counts_.waited_us += static_cast<std::uint64_t>(
            std::chrono::duration_cast<std::chrono::microseconds>(now - waiter.since).count());
      } else if (late) {
        judge_.let_in(waiter.ask, now);
        verdict.emplace();
        ++counts_.late;
      }
      if (!verdict) {
        ++each;
        continue;
      }
      const bool denied = verdict->kind == Kind::deny;
      ++(denied ? counts_.denied : counts_.moved);
      const auto done = std::move(waiter.done);
      each = waiters_.erase(each);
      done(*verdict);
    }
  }
  if (judge_.pending() || !waiters_.empty()) wake();
}

void QuotaBroker::tick() {
  std::set<std::string, std::less<>> owners;
  bool soon = false;
  {
    const std::lock_guard lock(mutex_);
    soon_ = false;
    owners = judge_.tick(parts_.now(), std::chrono::system_clock::now());
    look(nullptr);
    soon = judge_.pending() || !waiters_.empty();
    soon_ = soon;
  }
  for (const auto& owner : owners)
    parts_.move(owner);
  timer_.start(soon ? k_soon : k_usual, [this] { tick(); });
}

void QuotaBroker::wake() {
  if (soon_.exchange(true)) return;
  parts_.loop.post([this] { timer_.start(k_soon, [this] { tick(); }); });
}

QuotaBroker::Counts QuotaBroker::counts() const {
  const std::lock_guard lock(mutex_);
  auto out = counts_;
  out.waiting = waiters_.size();
  out.objects = judge_.objects();
  out.reserved = judge_.reserved();
  return out;
}

} // namespace zoo::accounts
