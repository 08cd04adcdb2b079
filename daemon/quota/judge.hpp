// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/quota/slice_view.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zoo::quota {

/// A namespace has at most one owner of each kind, and their slices have different names.
enum class OwnerKind : std::uint8_t { account, tenant };
inline constexpr std::size_t k_owner_kinds = 2;

/// Whose namespaces share a limit.
struct Owner {
  std::string title; ///< "account team": in refusals
  std::vector<Limit> limits;
  std::set<std::string, std::less<>> spaces;
  OwnerKind kind = OwnerKind::account;
  /// What tenants' namespaces begin with, by namespace: "foofoo-". A refusal there speaks of those
  /// that begin so alone, and leaves that out; one elsewhere has all names as they are.
  std::map<std::string, std::string, std::less<>> prefixes{};
  bool operator==(const Owner&) const = default;
};

/// What may be created: the objects that there are and those that were let in a moment ago, of all
/// namespaces of an owner, against its limit; and whether the slice of the one namespace has room,
/// as every API server sees it. The limit is exact by the first: what a ResourceQuota says is used
/// may be too little beside deletes (docs/decisions/221). Pure bookkeeping, told of everything from
/// outside; not thread-safe.
class Judge {
public:
  using Clock = std::chrono::steady_clock;
  using Time = Clock::time_point;
  struct Settings {
    Clock::duration visible = std::chrono::milliseconds(10); ///< behind the last server's watch
    Clock::duration unseen = std::chrono::milliseconds(50);  ///< where not every server is watched
    Clock::duration reservation = std::chrono::seconds(5);   ///< of what was let in and not seen
    Clock::duration young = std::chrono::seconds(5);       ///< what was let in before is not known
    Clock::duration low = std::chrono::milliseconds(100);  ///< `used` too low, until it is repaired
    Clock::duration high = std::chrono::milliseconds(700); ///< too high, with nothing under way
    Clock::duration again = std::chrono::seconds(1);       ///< until it is told of once more
  };
  Judge(Time started, Settings settings) : settings_(settings), started_(started) {}
  explicit Judge(Time started) : Judge(started, Settings()) {}

  /// From now on it is this one that lets in: what another has let in is not known for a while.
  void begin(Time now) { started_ = now; }

  // ---- what there is
  void set_owner(const std::string& name, Owner owner, Time now); ///< no limits: it has none
  /// An object was stored or has changed. `uid` may not be empty.
  void seen(const std::string& space, const std::string& key, const std::string& uid, Cost cost,
            Time now);
  void gone(const std::string& space, const std::string& key, std::string_view uid, Time now);
  /// All objects of a kind ("pods") were told of: the others of it are gone.
  void keep(std::string_view kind,
            const std::function<bool(const std::string& space, const std::string& key)>& there,
            Time now);
  /// The kinds of which every object is known.
  void set_known(std::set<std::string, std::less<>> kinds) { known_ = std::move(kinds); }
  /// Which servers' watches of slices are open. Room counts so long behind the last of them, and
  /// Settings::unseen where there is a server whose watch is not.
  void set_servers(std::vector<bool> heard, Time now);
  void slice_seen(std::size_t server, const std::string& space, const std::string& slice_name,
                  std::int64_t revision, const Slice& slice, Time now);
  void slice_written(const std::string& space, const std::string& slice_name, std::int64_t revision,
                     const Slice& slice, Time now);
  void slice_gone(const std::string& space, const std::string& slice_name);

  // ---- who asks
  struct Ask {
    std::string space, key, uid;
    Cost cost;
    bool dry_run = false;
  };
  struct Verdict {
    enum class Kind : std::uint8_t { allow, deny, wait } kind = Kind::allow;
    std::string text;                  ///< of a denial
    std::vector<std::string> owners{}; ///< of the namespace; of a denial the one whose limit it is
    bool doubtful = false; ///< it was denied because of what was let in and was not seen since
  };
  /// What is let in is reserved at once. `wait`: there is room for the owner, and not in the slice
  /// yet; has_room() says when there is.
  Verdict ask(const Ask& ask, Time now);
  /// Why a namespace with all that there is in it cannot become this owner's, as a denial says it;
  /// "": it can. Nothing is reserved.
  std::string no_room(const std::string& owner, const std::string& space, Time now) const;
  /// Of one that waits: is there room by now? It is let in then.
  bool has_room(const Ask& ask, Time now);
  void let_in(const Ask& ask, Time now); ///< the slice may decide
  /// Whoever asked has gone, or upstream has refused it.
  void drop(const Ask& ask, Time now) { dismiss({ask.space, ask.key, ask.uid}, now); }
  /// What was let in longer ago than that and was not seen: space, key and UID.
  struct Doubt {
    std::string space, key, uid;
  };
  std::vector<Doubt> doubts(const std::string& owner, Clock::duration age, Time now) const;
  void dismiss(const Doubt& doubt, Time now); ///< it is not there

  // ---- who moves
  /// What a slice must leave, and what it lacks, with what was let in and what waits.
  Slice with_asked(const std::string& space, const std::string& slice_name, Slice slice) const;
  /// Before a slice is lowered. False: what was let in meanwhile would not fit.
  bool lowering(const std::string& space, const std::string& slice_name, const ResourceList& hard);
  void settle(const std::string& space, const std::string& slice_name, Time now);
  /// What `status.used` should say, where it has been wrong for too long; `anew`: where it is
  /// wrong.
  std::optional<ResourceList> repair(const std::string& space, const std::string& slice_name,
                                     Time now, bool anew = false);

  /// Whatever is due by now, with the time of day for pods that end. Answers the owners for whom
  /// there may be room, or something to repair.
  std::set<std::string, std::less<>> tick(Time now, std::chrono::system_clock::time_point wall);
  bool pending() const; ///< tick() has something to do within milliseconds

  struct Count {
    std::string space;
    ResourceList used, asked, hard;
  };
  /// Of one limit: each namespace, what its objects cost, what is under way, its slice.
  std::vector<Count> count(const std::string& owner, const std::string& slice_name) const;
  /// Objects of a namespace that a limit charges under a name, the first `most` by their keys.
  std::vector<std::string> objects(const std::string& space, const Limit& limit,
                                   std::string_view name, std::size_t most) const;
  std::size_t objects() const { return objects_; }
  /// What is remembered of objects' ends and of namespaces: no more than there is of them.
  std::size_t remembered() const { return ends_.size() + spaces_.size(); }
  std::size_t reserved() const;
  const Owner* owner(std::string_view name) const;
  std::string owner_of(std::string_view space) const; ///< the first of them; "": nobody
  std::vector<std::string> owners_of(std::string_view space) const;

private:
  struct Held {
    std::string uid;
    Cost cost;
    Time at;
    bool allowed = false;
  };
  struct Item {
    std::string uid;
    std::optional<Cost> live;
    std::optional<Held> held;
  };
  struct Part {
    ResourceList live, allowed, waiting;
    ResourceList all() const { return plus(plus(live, allowed), waiting); }
  };
  struct Slot { ///< a slice of a namespace
    SliceView view;
    Part part;
    std::optional<Time> low, high; ///< since when `used` is less, or more, than there is
    Time told{};                   ///< that it is to be repaired
    Clock::duration patience{};    ///< before the next repair; doubled by each that did not help
  };
  struct Space {
    std::array<std::string, k_owner_kinds> owners; ///< by kind; "": none
    bool owned() const { return !owners[0].empty() || !owners[1].empty(); }
    std::map<std::string, Item, std::less<>> items;
    std::map<std::string, Slot, std::less<>> slots; ///< by the slice's name
  };
  struct Known {
    Owner owner;
    std::map<std::string, Part, std::less<>> sums; ///< by the slice's name
  };

  using Place = std::pair<std::string, std::string>; ///< a namespace, and a slice or an object
  using Places = std::set<Place>;

  /// The owners of a namespace that have limits; null where there is none of a kind.
  std::array<Known*, k_owner_kinds> known_of(const Space& space);
  std::array<const Known*, k_owner_kinds> known_of(const Space& space) const;
  Known* known_of(const Space& space, std::string_view slice_name); ///< whose slice that is
  void forget_empty(const std::string& space);
  template <class F>
  void change(const std::string& space, const std::string& key, Time now, F apply);
  static Part part_of(const Item& item, const Limit& limit);
  /// Null: there is no such slice, or nothing is known of the namespace.
  const Slot* slot_of(const std::string& space, const std::string& slice_name) const;
  void recount(Known& known, Time now);
  bool young(const Limit& limit, Time now) const;
  bool fits(const Space& space, const Item& item, const Ask& ask, Time now) const;
  std::string refusal(const Known& known, const Limit& limit, const ResourceList& more,
                      const ResourceList& used, const std::string& space) const;
  ResourceList sum(const Known& known, const Limit& limit, Time now) const;
  const Limit* limit_of(const Space& space, std::string_view slice_name) const;
  ResourceList exact(const Limit& limit, const ResourceList& list) const;
  void watch_used(const std::string& space_name, Space& space, const Limit& limit, Time now);
  void after(const std::string& space, const std::string& slice_name, Time now);

  const Settings settings_;
  Time started_;
  std::map<std::string, Known, std::less<>> owners_;
  std::map<std::string, Space, std::less<>> spaces_;
  std::set<std::string, std::less<>> known_;
  std::vector<bool> heard_;
  Clock::duration visible_ = settings_.visible;
  std::size_t objects_ = 0;
  /// Objects, by when they end: of each that there is its Cost::ends, and no other.
  std::set<std::pair<std::chrono::system_clock::time_point, Place>> ends_;
  std::multimap<Time, Place> held_; ///< objects, by when what was let in is forgotten
  Places busy_;                     ///< slices whose view waits for its time
  Places off_;                      ///< slices whose `used` is not what there is
};

/// The kind that is charged under this name: "pods" for requests.cpu, "deployments.apps" for
/// count/deployments.apps.
std::string kind_of_name(std::string_view name);

} // namespace zoo::quota
