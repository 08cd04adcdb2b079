// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/access/turns.hpp"
#include "daemon/reconcile/queue.hpp"
#include "daemon/reconcile/runner.hpp"
#include "daemon/store/session.hpp"
#include "daemon/store/store.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace zoo::replicas {

/// Records of who has a tenant's turn: the key is the tenant's UID.
inline constexpr std::string_view k_turn_kind = "turn";

struct TurnTimes {
  std::chrono::milliseconds wait{10'000}; ///< that a write waits for the turn at most
  /// After the zood that has a turn was missed: what it had sent upstream has come to its end.
  std::chrono::milliseconds mourning{60'000};
  std::chrono::milliseconds doubt{60'000};  ///< after a write whose outcome is not known
  std::chrono::milliseconds idle{600'000};  ///< then the record of a turn that nobody uses goes
  std::chrono::milliseconds look{1'000};    ///< between looks while somebody waits
  std::chrono::milliseconds granted{1'000}; ///< for those that have waited to take the turn
  std::chrono::milliseconds stale{8'000};   ///< without a word of the store no turn is given out
};

/// Turns as records of a store that several zoods have open. Whoever has a turn keeps it until
/// another zood asks for it, so that a tenant that comes to one zood alone costs one write. A zood
/// that gets a turn lets those in that have waited, and then passes it on. Threads "turns-1" and so
/// on block for the store; one of the store's tells of changes.
class SharedTurns final : public access::Turns {
public:
  using Clock = reconcile::Queue::Clock;

  /// Both outlive it, and so does whatever `wake` reaches.
  SharedTurns(store::Store& store, store::Session& session, TurnTimes times = {});
  /// Gives away what this zood has, as far as the store can be reached. No turn is out by then.
  ~SharedTurns() override;
  SharedTurns(const SharedTurns&) = delete;
  SharedTurns& operator=(const SharedTurns&) = delete;

  Result<void> start(unsigned threads = 2);
  Answer take(const std::string& tenant, Clock::time_point since,
              std::function<void()> wake) override;

  // docs/limits.md
  static constexpr std::size_t k_most_waiting = 1'024, k_most_of_one = 128;

private:
  class Held;
  using Wakes = std::vector<std::function<void()>>;
  struct Waiting {
    Clock::time_point since;
    std::function<void()> wake;
  };
  /// A turn that this zood has, or that somebody here waits for.
  struct Room {
    bool mine = false;
    bool wanted = false;          ///< by another zood: only those that are granted get it
    std::uint64_t generation = 0; ///< of the time that it is mine
    std::size_t out = 0;          ///< turns that are there
    std::size_t granted = 0;      ///< those that were woken, until `granted_until`
    Clock::time_point granted_until{}, doubt_until{}, used{};
    std::string missing; ///< the zood that has it and is missed, since `missed`
    Clock::time_point missed{};
    std::vector<Waiting> waiting;
    std::optional<Error> trouble; ///< why it was not to be had at `troubled`
    Clock::time_point troubled{};
  };
  struct Record {
    std::string holder;              ///< "": there is no record
    std::vector<std::string> wanted; ///< by whom, in the order in which they get it
    std::int64_t revision = 0;       ///< 0: there is no record
  };

  reconcile::Reconciler reconciler();
  Result<reconcile::Next> look(const std::string& tenant);
  Result<reconcile::Next> look_at_own(const std::string& tenant, Record record);
  Result<reconcile::Next> look_at_others(const std::string& tenant, Record record);
  void failed(const std::string& tenant, const Error& error);
  void heard(const store::Change& change);
  void given_back(const std::string& tenant, bool in_doubt);
  void set_mine(const std::string& tenant, const Record& record);
  void wake_late(const std::string& tenant);
  Wakes take_waiting(Room& room, Clock::time_point before); ///< under the lock

  Result<Record> read(const std::string& tenant);
  /// False: somebody else has written meanwhile.
  Result<bool> write(const std::string& tenant, const Record& record);
  Result<bool> pass_on(const std::string& tenant, Record record, bool ask_again);
  Result<bool> lives(const std::string& holder);
  bool is_mourned(const std::string& tenant, const std::string& holder);

  store::Store& store_;
  store::Session& session_;
  const TurnTimes times_;
  const std::string self_; ///< the session's name, "/", and a word that no earlier process had
  const Clock::time_point started_ = Clock::now();
  std::mutex mutex_;
  std::map<std::string, Room, std::less<>> rooms_; ///< by the tenant's UID
  std::size_t waiting_ = 0;                        ///< in all of them
  std::uint64_t generations_ = 0;
  store::Subscription changes_;
  reconcile::Queue queue_;
  std::optional<reconcile::Runner> runner_; ///< its threads use all the rest
};

} // namespace zoo::replicas
