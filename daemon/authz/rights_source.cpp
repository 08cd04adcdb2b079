// SPDX-License-Identifier: Apache-2.0
#include "daemon/authz/rights_source.hpp"

#include "common/base/log.hpp"
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
    bool read() const { return read_; }                ///< once
    bool deaf() const { return deaf_; }                ///< for too long
    bool reading() const { return reading_; }          ///< from the start
    std::size_t left_out() const { return left_out_; } ///< for want of room
    const std::string& name() const { return name_; }

  private:
    struct Known {
      std::size_t bytes = 0; ///< as JSON
      unsigned look = 0;     ///< in which it was last seen
      bool kept = false;     ///< else it was left out
    };

    upstream::ChangeFollower::Hears hears() {
      return {.changed =
                  [this](EventType type, const ObjectKey& key, std::string_view object) {
                    owner_.reach(key.resource_version);
                    if (type == EventType::deleted || !take(object))
                      forget(key.name_space, key.name);
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
      count_out(known);
      known = {bytes, look_, owner_.bytes + bytes <= owner_.most_bytes};
      owner_.bytes += bytes;
      left_out_ += known.kept ? 0 : 1;
      if (known.kept) {
        owner_.table.put(std::make_shared<const Object>(std::move(object)));
      } else {
        remove(object.name_space, object.name);
      }
    }
    void forget(const std::string& name_space, const std::string& name) {
      const auto found = known_.find({name_space, name});
      if (found == known_.end()) return;
      count_out(found->second);
      known_.erase(found);
      remove(name_space, name);
    }
    /// A new one counts nothing yet.
    void count_out(const Known& known) {
      owner_.bytes -= known.bytes;
      left_out_ -= known.bytes != 0 && !known.kept ? 1 : 0;
    }
    void remove(const std::string& name_space, const std::string& name) {
      if (of_roles_) {
        owner_.table.remove_role(name_space, name);
      } else {
        owner_.table.remove_binding(name_space, name);
      }
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
    std::size_t left_out_ = 0;
    std::unordered_map<Name, Known, HashOfName> known_;
    net::Timer deaf_timer_;
    upstream::ChangeFollower follower_; // last: its callbacks end first
  };

  Impl(upstream::Upstream& of, upstream::Caller& by, net::Loop& on, std::size_t most,
       std::function<void()> tell, std::chrono::milliseconds without_hearing)
      : upstream(of), caller(by), loop(on), most_bytes(most), changed(std::move(tell)),
        believed(without_hearing), room(on),
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
    if (lacks() && bytes <= most_bytes && !room_waits) {
      room_waits = true;
      room.start(k_room_lasts, [this] {
        room_waits = false;
        if (bytes > most_bytes) return;
        for (auto& kind : kinds) {
          if (kind.left_out() != 0 && !kind.reading()) kind.reread();
        }
      });
    }
    changed();
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
  const std::size_t most_bytes;
  const std::function<void()> changed;
  const std::chrono::milliseconds believed;
  RightsTable table;
  std::size_t bytes = 0; ///< of all, kept or left out
  std::int64_t revision = 0;
  net::Timer room;
  bool room_waits = false;
  std::array<Kind, 4> kinds;
};

RightsSource::RightsSource(upstream::Upstream& upstream, upstream::Caller& caller, net::Loop& loop,
                           std::size_t most_bytes, std::function<void()> changed,
                           std::chrono::milliseconds believed)
    : impl_(std::make_unique<Impl>(upstream, caller, loop, most_bytes, std::move(changed),
                                   believed)) {}
RightsSource::~RightsSource() = default;

void RightsSource::start() {
  for (auto& kind : impl_->kinds)
    kind.start();
}

RightsTable::Published RightsSource::take() { return impl_->table.publish(); }

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
  if (impl_->bytes > impl_->most_bytes) {
    return unavailable(fmt::format("upstream's roles and bindings have {} bytes, and zood keeps at "
                                   "most {}; raise accounts.rbac_limit",
                                   impl_->bytes, impl_->most_bytes));
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
