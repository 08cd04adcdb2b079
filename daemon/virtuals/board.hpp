// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/resources/backing.hpp"
#include "daemon/store/store.hpp"
#include "daemon/virtuals/object.hpp"

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

namespace zoo::virtuals {

/// The records' kind in the store; their keys: `<tenant>/<uid>/<resource>.<group>/<name>`.
inline constexpr std::string_view k_record_kind = "virtual-object";
/// Records of the last revision that was given to an object of a kind beside upstream's.
inline constexpr std::string_view k_order_kind = "virtual-order";

/// Whose objects. The UID keeps a tenant that came back under its ID apart from the earlier one.
struct Owner {
  std::string id, uid;
  std::string prefix() const { return id + "/" + uid + "/"; }
};
std::string record_key(const Owner& owner, const Kind& kind, std::string_view name);

struct Event {
  std::size_t bytes() const; ///< of what it adds to those before it
  std::int64_t revision = 0;
  ObjectPtr before; ///< null: it was made
  ObjectPtr after;  ///< null: it is gone
  ObjectPtr last;   ///< of a removal: the last state with the removal's revision
  ObjectPtr left;   ///< of a change: `before` with the change's revision
};

/// The objects of one tenant and kind at one moment, and how they came to be. Immutable.
struct Set {
  using Objects = std::map<std::string, ObjectPtr, std::less<>>;
  Objects objects;
  std::int64_t floor = 0;   ///< events up to this revision are not known any more
  std::deque<Event> recent; ///< after it, in order; at most Board::k_events and k_event_bytes
  std::size_t recent_bytes = 0;
  std::size_t bytes = 0; ///< of the objects
  /// Names of records that only remember a removal; of kinds that stand beside upstream's, whose
  /// last one says after a restart how far back the set is known.
  std::set<std::string, std::less<>> graves;

  /// The objects as they were; nullopt: too long ago.
  std::optional<Objects> at(std::int64_t revision) const;
};

/// What zood keeps of virtual kinds, for reading: fed by the store's watch, read by event loops
/// under a lock of a few instructions. Outlived by the store.
class Board {
public:
  static constexpr std::size_t k_events = 256;
  static constexpr std::size_t k_event_bytes = 4u << 20;

  /// `lives`: is this tenant still served? What a dead one leaves is forgotten.
  static Result<std::unique_ptr<Board>> start(store::Store& store,
                                              std::function<bool(const Owner&)> lives);
  ~Board();
  Board(const Board&) = delete;

  struct Reading {
    std::shared_ptr<const Set> set; ///< never null
    std::int64_t revision = 0;      ///< of the moment: a watch may begin here
    /// No write of a kind that stands beside upstream's has a revision that cannot be read yet.
    bool settled = true;
  };
  Reading read(const Owner& owner, const Kind& kind) const;
  std::int64_t revision() const;

  /// While it lives, the set is not settled: a revision is being taken for it.
  class Writing {
  public:
    Writing(Board& board, const Owner& owner, const Kind& kind);
    ~Writing();
    Writing(const Writing&) = delete;

  private:
    Board& board_;
    std::string key_;
  };

  /// Waits until `revision` can be read, so that who wrote it reads it. Not for event loops.
  bool wait_for(std::int64_t revision, std::chrono::milliseconds longest) const;

  /// `on_change` comes on the store's thread, after the change can be read; it must be quick.
  class Subscription {
  public:
    Subscription() = default;
    Subscription(Board* board, std::string key, std::uint64_t number)
        : board_(board), key_(std::move(key)), number_(number) {}
    Subscription(Subscription&& other) noexcept
        : board_(std::exchange(other.board_, nullptr)), key_(std::move(other.key_)),
          number_(other.number_) {}
    Subscription& operator=(Subscription&& other) noexcept;
    ~Subscription() { reset(); }
    void reset();

  private:
    Board* board_ = nullptr;
    std::string key_;
    std::uint64_t number_ = 0;
  };
  Subscription subscribe(const Owner& owner, const Kind& kind, std::function<void()> on_change);

private:
  explicit Board(std::function<bool(const Owner&)> lives) : lives_(std::move(lives)) {}
  void change(const store::Change& change);
  /// One change of a record, read.
  struct Step {
    std::string name;
    ObjectPtr object;          ///< as the record has it; of a removal its last state
    std::int64_t revision = 0; ///< of the change
    bool grave = false;        ///< the record only remembers a removal
    bool forgotten = false;    ///< the record is gone
  };
  std::shared_ptr<const Set> after(const std::shared_ptr<const Set>& old, const Kind& kind,
                                   const Step& step) const;

  std::function<bool(const Owner&)> lives_;
  mutable std::mutex mutex_;
  mutable std::condition_variable moved_;
  std::unordered_map<std::string, std::shared_ptr<const Set>> sets_; ///< by key without name
  std::map<std::string, int, std::less<>> writing_;                  ///< by the same
  using Listeners = std::map<std::uint64_t, std::function<void()>>;
  std::unordered_map<std::string, Listeners> listeners_; ///< by the same
  std::uint64_t last_listener_ = 0;
  std::int64_t revision_ = 0, begun_ = 0;
  store::Subscription subscription_; // last: ends first
};

/// Revisions that a value in the store carries: of a kind that stands beside upstream's, its
/// metadata.resourceVersion; and whether it only remembers a removal.
inline constexpr std::string_view k_grave = "zoodGone"; ///< a member of such a value
using resources::version_of;

/// Removes everything of a tenant that is no more. Blocking.
Result<void> sweep(store::Store& store, const Owner& owner);

} // namespace zoo::virtuals
