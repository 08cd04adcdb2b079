// SPDX-License-Identifier: Apache-2.0
#include "daemon/authz/rights_source.hpp"

#include "common/base/log.hpp"
#include "daemon/authz/open_namespaces.hpp"
#include "daemon/net/loop.hpp"
#include "daemon/translate/discovery_json.hpp"
#include "daemon/upstream/change_follower.hpp"
#include "daemon/upstream/upstream_rbac.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace zoo::authz {
namespace {

using translate::EventType;
using translate::ObjectKey;

/// How long there must have been room for all objects until those that were left out are read
/// again. Without it one object that comes and goes at the limit would have upstream list all of
/// them each time.
constexpr std::chrono::seconds k_room_lasts{1};

/// How long room in a namespace's budget must last before what was left out there is read again: it
/// takes a list of the objects of all namespaces, and a user of one could cause it at will.
constexpr std::chrono::seconds k_budget_room_lasts{60};
/// How often is looked for namespaces that have come to rest.
constexpr std::chrono::seconds k_rest_look{10};

/// What tenants' objects have in their stored form, and nobody who comes to upstream
/// (docs/decisions/021).
constexpr std::string_view k_inert_subject = "zoo:inert:";
constexpr std::string_view k_inert_verb = "zoo:";

/// Does it allow nothing that anybody asks for?
bool is_inert(const Role& role) {
  const auto inert = [](const Rule& rule) {
    return std::all_of(rule.verbs.begin(), rule.verbs.end(),
                       [](const auto& verb) { return verb.starts_with(k_inert_verb); });
  };
  // One without rules is not a tenant's: who is bound to it is not told that it does not exist.
  return !role.rules.empty() && std::all_of(role.rules.begin(), role.rules.end(), inert);
}

/// Does it concern nobody but the tenants' users?
bool is_inert(const Binding& binding) {
  if (binding.name == upstream::k_tenant_binding && !binding.name_space.empty()) return true;
  return std::all_of(binding.subjects.begin(), binding.subjects.end(), [](const Subject& subject) {
    return subject.name.starts_with(k_inert_subject) ||
           subject.name_space.starts_with(k_inert_subject);
  });
}

} // namespace

struct RightsSource::Impl {
  /// One of the four.
  class Kind {
  public:
    Kind(Impl& owner, std::string name, std::string_view resource, bool of_roles)
        : name_(std::move(name)), owner_(owner), of_roles_(of_roles), deaf_timer_(owner.loop),
          follower_(owner.upstream, owner.loop, owner.caller,
                    "/apis/rbac.authorization.k8s.io/v1/" + std::string(resource), "", hears()) {}

    void start() { follower_.start(); }
    void reread() {
      reading_ = true;
      follower_.reread();
    }
    bool read() const { return read_; }                      ///< once
    bool deaf() const { return deaf_; }                      ///< for too long
    bool reading() const { return reading_; }                ///< from the start
    std::size_t left_out() const { return left_out_; }       ///< for want of room
    std::size_t crowded_out() const { return crowded_out_; } ///< the same in their namespace
    const std::string& name() const { return name_; }

  private:
    /// Why an object is kept, or is not.
    enum class Place : std::uint8_t { kept, no_room, crowded_out };
    struct Known {
      std::size_t bytes = 0; ///< as JSON
      unsigned look = 0;     ///< in which it was last seen
      Place place = Place::no_room;
    };

    upstream::ChangeFollower::Hears hears() {
      return {.changed =
                  [this](EventType type, const ObjectKey& key, std::string_view object) {
                    owner_.reach(key.resource_version);
                    const bool was = owner_.names_everybody(key, of_roles_);
                    if (type == EventType::deleted || !take(object))
                      forget(key.name_space, key.name);
                    if (was || owner_.names_everybody(key, of_roles_))
                      owner_.changed_for_all(key.name_space);
                    owner_.heard();
                  },
              .began = [this] { began(); },
              .found = [this](std::string_view, std::string_view object) { take(object); },
              .passed =
                  [this](std::string_view version) {
                    if (owner_.reach(version)) owner_.heard();
                  },
              .looks =
                  [this] {
                    ++look_;
                    reading_ = true;
                  },
              .hearing = [this](bool hears) { hearing(hears); },
              .whole = true};
    }

    /// What was not found is no more.
    void began() {
      std::vector<std::pair<std::string, std::string>> gone;
      for (const auto& [key, known] : known_) {
        if (known.look != look_) gone.push_back(key);
      }
      for (const auto& [name_space, name] : gone)
        forget(name_space, name);
      reading_ = false;
      if (!std::exchange(read_, true)) log::info("authz", "upstream's {} are read", name_);
      owner_.heard();
    }

    void hearing(bool hears) {
      if (!hears) {
        return deaf_timer_.start(owner_.believed, [this] {
          deaf_ = true;
          owner_.changed();
        });
      }
      deaf_timer_.cancel();
      if (std::exchange(deaf_, false)) owner_.changed();
    }

    /// False: it cannot be read, and so grants nothing.
    bool take(std::string_view object) {
      const auto tree = translate::JsonTree::parse(object);
      if (!tree) return false;
      if (of_roles_) {
        auto role = read_role(tree->root());
        role.labels = {}; // they choose what is aggregated, which is upstream's work
        role.aggregation = {};
        take(std::move(role), object.size());
      } else {
        take(read_binding(tree->root()), object.size());
      }
      return true;
    }
    template <typename Object>
    void take(Object object, std::size_t bytes) {
      if (is_inert(object)) return forget(object.name_space, object.name);
      auto& known = known_[{object.name_space, object.name}];
      count_out(known, object.name_space);
      const bool crowded = !owner_.budget.take(object.name_space, bytes);
      const bool room = owner_.bytes + bytes <= owner_.limits.bytes;
      known = {bytes, look_, crowded ? Place::crowded_out : room ? Place::kept : Place::no_room};
      count_in(known);
      if (known.place == Place::kept) {
        put(std::make_shared<const Object>(std::move(object)));
      } else {
        remove(object.name_space, object.name);
      }
    }
    void forget(const std::string& name_space, const std::string& name) {
      const auto found = known_.find({name_space, name});
      if (found == known_.end()) return;
      count_out(found->second, name_space);
      known_.erase(found);
      remove(name_space, name);
    }
    void count_in(const Known& known) {
      crowded_out_ += known.place == Place::crowded_out ? 1 : 0;
      if (known.place == Place::crowded_out) return; // the limit is of what the budgets let in
      owner_.bytes += known.bytes;
      left_out_ += known.place == Place::no_room ? 1 : 0;
    }
    /// A new one counts nothing yet.
    void count_out(const Known& known, const std::string& name_space) {
      if (known.bytes == 0) return;
      const bool crowded = known.place == Place::crowded_out;
      owner_.budget.give_back(name_space, known.bytes, !crowded);
      crowded_out_ -= crowded ? 1 : 0;
      if (crowded) return;
      owner_.bytes -= known.bytes;
      left_out_ -= known.place == Place::no_room ? 1 : 0;
    }
    void put(std::shared_ptr<const Role> role) { owner_.table.put(std::move(role)); }
    void put(std::shared_ptr<const Binding> binding) {
      owner_.table.put(owner_.open.put(std::move(binding)));
    }
    void remove(const std::string& name_space, const std::string& name) {
      if (of_roles_) return owner_.table.remove_role(name_space, name);
      owner_.open.remove(name_space, name);
      owner_.table.remove_binding(name_space, name);
    }

    using Name = std::pair<std::string, std::string>; ///< namespace, name
    struct HashOfName {
      std::size_t operator()(const Name& name) const {
        constexpr std::size_t k_odd = 0x9E3779B97F4A7C15;
        const std::hash<std::string_view> hash;
        return hash(name.first) * k_odd + hash(name.second);
      }
    };

    const std::string name_;
    Impl& owner_;
    const bool of_roles_;
    bool read_ = false, deaf_ = false, reading_ = false;
    unsigned look_ = 0;
    std::size_t left_out_ = 0, crowded_out_ = 0;
    std::unordered_map<Name, Known, HashOfName> known_;
    net::Timer deaf_timer_;
    upstream::ChangeFollower follower_; // last: its callbacks end first
  };

  Impl(upstream::Upstream& of, upstream::Caller& by, net::Loop& on, RightsLimits most,
       std::function<void()> tell, std::chrono::milliseconds without_hearing)
      : upstream(of), caller(by), loop(on), limits(most), changed(std::move(tell)),
        believed(without_hearing), budget(most.of_namespace), room(on), budget_room(on), rest(on),
        kinds{Kind(*this, "ClusterRoles", "clusterroles", true),
              Kind(*this, "ClusterRoleBindings", "clusterrolebindings", false),
              Kind(*this, "Roles", "roles", true),
              Kind(*this, "RoleBindings", "rolebindings", false)} {}

  /// True: nothing so new was heard before.
  bool reach(std::string_view version) {
    const auto heard = upstream::revision_of(version);
    if (!heard || *heard <= revision) return false;
    revision = *heard;
    return true;
  }

  /// Something is another than it was.
  void heard() {
    if (budget.may_have_room() && !budget_room_waits) {
      budget_room_waits = true;
      budget_room.start(k_budget_room_lasts, [this] {
        budget_room_waits = false;
        if (!budget.may_have_room()) return;
        budget.looks_again();
        for (auto& kind : kinds) {
          if (kind.crowded_out() != 0 && !kind.reading()) kind.reread();
        }
      });
    }
    if (lacks() && bytes <= limits.bytes && !room_waits) {
      room_waits = true;
      room.start(k_room_lasts, [this] {
        room_waits = false;
        if (bytes > limits.bytes) return;
        for (auto& kind : kinds) {
          if (kind.left_out() != 0 && !kind.reading()) kind.reread();
        }
      });
    }
    changed();
  }
  /// Is it a binding that names everybody, or a role where there is one?
  bool names_everybody(const ObjectKey& key, bool role) const {
    if (key.name_space.empty()) return false;
    return role ? open.open(key.name_space) : open.has(key.name_space, key.name);
  }
  /// What everybody may in a namespace has changed, or may have.
  void changed_for_all(const std::string& name_space) {
    const auto now = std::chrono::steady_clock::now();
    const auto without = open.changed(name_space, now);
    if (!without.empty()) {
      log::warning("authz",
                   "in namespace {} what everybody may changes too often: until it rests for {} s, "
                   "nobody is shown it for being everybody",
                   name_space, OpenNamespaces::k_span.count());
    }
    for (const auto& binding : without)
      table.put(binding);
    if (!std::exchange(resting, true)) rest_later();
  }
  void rest_later() {
    rest.start(k_rest_look, [this] {
      const auto again = open.settle(std::chrono::steady_clock::now());
      for (const auto& binding : again)
        table.put(binding);
      if (!again.empty()) changed();
      resting = open.any();
      if (resting) rest_later();
    });
  }

  /// Was something left out that nobody reads now?
  bool lacks() const {
    return std::any_of(kinds.begin(), kinds.end(),
                       [](const Kind& kind) { return kind.left_out() != 0 && !kind.reading(); });
  }

  /// The names of those of which it is true; "": of none.
  template <typename Is>
  std::string those(Is&& is) const {
    std::vector<std::string_view> out;
    for (const auto& kind : kinds) {
      if (is(kind)) out.push_back(kind.name());
    }
    return fmt::format("{}", fmt::join(out, ", "));
  }

  upstream::Upstream& upstream;
  upstream::Caller& caller;
  net::Loop& loop;
  const RightsLimits limits;
  const std::function<void()> changed;
  const std::chrono::milliseconds believed;
  RightsTable table;
  OpenNamespaces open;
  NamespaceBudget budget;
  std::size_t bytes = 0; ///< of all that the budgets let in, kept or left out
  std::int64_t revision = 0;
  net::Timer room, budget_room, rest;
  bool room_waits = false, budget_room_waits = false, resting = false;
  std::array<Kind, 4> kinds;
};

RightsSource::RightsSource(upstream::Upstream& upstream, upstream::Caller& caller, net::Loop& loop,
                           RightsLimits limits, std::function<void()> changed,
                           std::chrono::milliseconds believed)
    : impl_(std::make_unique<Impl>(upstream, caller, loop, limits, std::move(changed), believed)) {}
RightsSource::~RightsSource() = default;

void RightsSource::start() {
  for (auto& kind : impl_->kinds)
    kind.start();
}

RightsTable::Published RightsSource::take() { return impl_->table.publish(); }

NamespaceBudget::Crowded RightsSource::crowded() const { return impl_->budget.crowded(); }

std::size_t RightsSource::restless() const { return impl_->open.restless(); }

std::int64_t RightsSource::revision() const { return impl_->revision; }

std::optional<Error> RightsSource::trouble() const {
  using Kind = Impl::Kind;
  const auto unavailable = [](std::string text) {
    return Error(Code::unavailable, std::move(text));
  };
  if (const auto unread = impl_->those([](const Kind& kind) { return !kind.read(); });
      !unread.empty()) {
    return unavailable(fmt::format("upstream's {} have not been read yet; zood's log says why if "
                                   "this lasts",
                                   unread));
  }
  if (impl_->bytes > impl_->limits.bytes) {
    return unavailable(fmt::format("upstream's roles and bindings have {} bytes, and zood keeps at "
                                   "most {}; raise accounts.rbac_limit",
                                   impl_->bytes, impl_->limits.bytes));
  }
  if (const auto lacking = impl_->those([](const Kind& kind) { return kind.left_out() != 0; });
      !lacking.empty()) {
    return unavailable(
        fmt::format("upstream's {} are read again, now that there is room for all", lacking));
  }
  if (const auto deaf = impl_->those([](const Kind& kind) { return kind.deaf(); }); !deaf.empty()) {
    return unavailable(fmt::format("upstream has not been heard for {} ms of changes of its {}; "
                                   "zood's log says why",
                                   impl_->believed.count(), deaf));
  }
  return std::nullopt;
}

} // namespace zoo::authz
