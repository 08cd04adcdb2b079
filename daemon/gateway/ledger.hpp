// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/api/terms.hpp"
#include "daemon/access/turns.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace zoo::gateway {

/// How much one write would have of what a ceiling counts.
struct Charge {
  api::Counted what = api::Counted::objects;
  std::string key;          ///< of the object, in upstream's names; "" until upstream makes one up
  std::uint64_t amount = 1; ///< that the object has afterwards
  bool more = false;        ///< `amount` comes on top of what it has
};

/// What tenants store, against their ceilings (docs/decisions/121). Of each tenant and thing that
/// is counted it knows every object's amount: counted upstream at first use, then followed by what
/// passes through zood. A write reserves before it leaves, and its answer settles the reservation,
/// so that writes at the same time cannot pass a ceiling together. What left without zood's
/// knowledge is found out by counting again before anything is refused. Of several zoods only the
/// one that has the tenant's turn asks (access/turns.hpp). Pure bookkeeping, no I/O; thread-safe,
/// sharded by tenant.
class Ledger {
public:
  using Clock = std::chrono::steady_clock;

  /// Room that is held for one write. Destroyed unsettled: the outcome is not known, so that it
  /// counts as written until the next count.
  class Hold {
  public:
    Hold(Hold&& other) noexcept;
    Hold& operator=(Hold&&) = delete;
    ~Hold();
    /// `answered`: bytes of the object that upstream says it has stored; 0: nobody knows.
    void keep(std::uint64_t answered = 0) { settle(Outcome::written, answered); }
    void drop() { settle(Outcome::refused); }
    /// The turn that this was asked in: given back with the outcome.
    void keep_turn(std::unique_ptr<access::Turns::Turn> turn) { turn_ = std::move(turn); }

  private:
    friend class Ledger;
    enum class Outcome : std::uint8_t { written, refused, unknown };
    Hold(Ledger* ledger, std::string tenant, std::vector<Charge> charges)
        : ledger_(ledger), tenant_(std::move(tenant)), charges_(std::move(charges)) {}
    void settle(Outcome outcome, std::uint64_t answered = 0);
    Ledger* ledger_;
    std::string tenant_;
    std::vector<Charge> charges_;
    std::unique_ptr<access::Turns::Turn> turn_; ///< null: no other zood writes
  };

  struct Full {
    api::Counted what;
    std::uint64_t requested, used, limit;
  };
  /// Exactly one is set: room for all charges, what has to be counted before it can be said, or
  /// the first ceiling in the way.
  struct Answer {
    std::optional<Hold> hold;
    std::optional<api::Counted> count;
    std::optional<Full> full;
  };
  /// `tenant`: UID. Charges that no ceiling in `quota` speaks of cost nothing. `since`: when this
  /// was asked first; a count that began later is not repeated for it. `generation`: of the turn
  /// that this is asked in; what was counted in another one is forgotten. Nothing: no other zood
  /// writes, or nothing that needs a turn is asked for.
  Answer reserve(const std::string& tenant, const api::Quota& quota, std::vector<Charge> charges,
                 Clock::time_point now, Clock::time_point since,
                 std::optional<std::uint64_t> generation = {});
  /// Does one zood at a time give out room for this? Objects and bytes are counted by each for
  /// itself.
  static bool needs_turn(const Charge& charge);

  /// True: the caller counts, and says so by finish_count() or abandon_count(). False: somebody
  /// does; `wake` comes once, on any thread, when it is worth asking again.
  bool begin_count(const std::string& tenant, api::Counted what, Clock::time_point now,
                   std::function<void()> wake);
  using Amounts = std::unordered_map<std::string, std::uint64_t>; ///< by key
  void finish_count(const std::string& tenant, api::Counted what, const Amounts& found);
  void abandon_count(const std::string& tenant, api::Counted what);

  /// Something of the tenant's was or is being removed: what is counted is too much for a while.
  void removed(const std::string& tenant, Clock::time_point now);

  /// As far as it is known.
  std::map<api::Counted, std::uint64_t> used(const std::string& tenant) const;

  // docs/limits.md
  static constexpr std::chrono::minutes k_idle{10};      ///< then an account is forgotten
  static constexpr std::chrono::seconds k_again{1};      ///< between counts that find nothing
  static constexpr std::chrono::milliseconds k_soon{50}; ///< the same, while things are removed
  static constexpr int k_dear = 10;                   ///< times these where all kinds are counted
  static constexpr std::chrono::minutes k_removal{2}; ///< how long a removal may take
  /// Objects are made by upstream's controllers too: how long a count of them is believed.
  static constexpr std::chrono::minutes k_believed{5};

private:
  struct Item {
    std::uint64_t stored = 0;
    std::vector<std::uint64_t> reserved;
    std::uint64_t amount() const;
  };
  struct Account {
    std::unordered_map<std::string, Item> items;
    std::uint64_t total = 0;
    bool known = false, counting = false;
    std::uint64_t generation = 0; ///< of the turn in which it was counted
    Clock::time_point counted{}, asked{}, removal{};
    std::unordered_set<std::string> touched; ///< written while it is being counted
    std::vector<std::function<void()>> waiting;
    template <class F>
    void change(const std::string& key, F apply);
    bool stale(api::Counted what, Clock::time_point now) const;
    bool worth_counting(api::Counted what, Clock::time_point now, Clock::time_point since) const;
    bool idle(Clock::time_point now) const;
  };
  using Accounts = std::array<std::optional<Account>, api::k_counted>;
  struct Shard {
    mutable std::mutex mutex;
    std::unordered_map<std::string, Accounts> tenants;
    Clock::time_point swept{};
  };
  Shard& shard_of(const std::string& tenant) const;
  void settle(const std::string& tenant, const std::vector<Charge>& charges, Hold::Outcome outcome,
              std::uint64_t answered);
  static void sweep(Shard& shard, Clock::time_point now);

  mutable std::array<Shard, 16> shards_;
  std::atomic<std::uint64_t> unnamed_{0};
};

} // namespace zoo::gateway
