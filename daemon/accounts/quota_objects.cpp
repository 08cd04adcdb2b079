// SPDX-License-Identifier: Apache-2.0
#include "daemon/accounts/quota_objects.hpp"

#include "common/base/log.hpp"
#include "common/kube/client.hpp"
#include "daemon/translate/discovery_json.hpp"
#include "daemon/upstream/upstream.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace zoo::accounts {
namespace {

using std::chrono::steady_clock;
using std::chrono::system_clock;
using translate::EventType;

/// Kinds that upstream does not serve, or not yet, are asked for again.
constexpr std::chrono::seconds k_list_again{30};

/// Is more charged for one of them than its being there?
bool charged_by_content(std::string_view group, std::string_view resource) {
  if (group == "resource.k8s.io") return resource == "resourceclaims";
  return group.empty() &&
         (resource == "pods" || resource == "services" || resource == "persistentvolumeclaims");
}

} // namespace

void QuotaObjects::follow(const Names& names) {
  std::map<std::string, Names, std::less<>> by_kind, wider;
  for (const auto& name : names)
    if (auto kind = quota::kind_of_name(name); !kind.empty()) by_kind[kind].insert(name);
  {
    const std::lock_guard lock(mutex_);
    wanted_.clear();
    for (const auto& [kind, of_kind] : by_kind) {
      wanted_.insert(kind);
      auto& known = names_[kind];
      const auto before = known.size();
      known.insert(of_kind.begin(), of_kind.end());
      if (known.size() == before) continue;
      wider[kind] = known;
      known_.erase(kind); // until it was read again
    }
  }
  tell_known();
  if (wider.empty()) return;
  loop_.post([this, wider] {
    for (const auto& [kind, of_kind] : wider)
      widen(kind, of_kind);
  });
}

void QuotaObjects::widen(const std::string& name, const Names& names) {
  const auto known = kinds_.find(name);
  if (known == kinds_.end()) return open(name);
  known->second.names = names;
  if (known->second.follower) known->second.follower->reread();
}

std::string QuotaObjects::path_of(std::string_view space, std::string_view key) const {
  const auto slash = key.find('/');
  if (slash == std::string_view::npos) return {};
  const auto kind = key.substr(0, slash);
  const std::lock_guard lock(mutex_);
  const auto found = paths_.find(kind);
  if (found == paths_.end()) return {};
  return found->second +
         kube::path({"namespaces", space, kind.substr(0, kind.find('.')), key.substr(slash + 1)});
}

QuotaObjects::Kinds QuotaObjects::missing() const {
  const std::lock_guard lock(mutex_);
  Kinds out;
  std::set_difference(wanted_.begin(), wanted_.end(), known_.begin(), known_.end(),
                      std::inserter(out, out.end()));
  return out;
}

void QuotaObjects::open(const std::string& name) {
  if (kinds_.contains(name)) return;
  const auto dot = name.find('.');
  auto& kind = kinds_[name];
  kind.resource = name.substr(0, dot);
  {
    const std::lock_guard lock(mutex_);
    kind.names = names_[name];
  }
  if (dot == std::string::npos) return begin(name, "v1");
  kind.group = name.substr(dot + 1);
  upstream_.catalog(
      loop_, upstream::Freshness::now, [this, name](const Result<upstream::CatalogPtr>& catalog) {
        const auto version =
            catalog ? (*catalog)->preferred_version(kinds_[name].group) : std::string();
        if (!version.empty()) return begin(name, version);
        log::warning("accounts", "a quota counts {}, which the upstream does not serve{}", name,
                     catalog ? std::string() : ": " + catalog.error().text());
        kinds_.erase(name);
        timer_.start(k_list_again, [this] {
          for (const auto& missing : this->missing())
            open(missing);
        });
      });
}

void QuotaObjects::begin(const std::string& name, const std::string& version) {
  auto& kind = kinds_[name];
  kind.path =
      kind.group.empty() ? kube::path({"api", version}) : kube::path({"apis", kind.group, version});
  {
    const std::lock_guard lock(mutex_);
    paths_[name] = kind.path;
  }
  upstream::ChangeFollower::Hears hears;
  hears.whole = charged_by_content(kind.group, kind.resource);
  hears.looks = [&kind] { kind.found.clear(); };
  hears.found = [this, &kind](std::string_view, std::string_view object) {
    if (const auto key = translate::object_key(object)) kind.found.insert(key->text());
    heard(kind, EventType::added, object);
  };
  hears.changed = [this, &kind](EventType type, const translate::ObjectKey&,
                                std::string_view object) { heard(kind, type, object); };
  hears.began = [this, &kind, name] {
    const auto found = std::exchange(kind.found, {});
    broker_.with([&](quota::Judge& judge) {
      judge.keep(
          name,
          [&](const std::string& space, const std::string& key) {
            return found.contains(space + key.substr(key.find('/')));
          },
          steady_clock::now());
    });
  };
  hears.hearing = [this, name](bool now) {
    {
      const std::lock_guard lock(mutex_);
      if (now) {
        known_.insert(name);
      } else {
        known_.erase(name);
      }
    }
    tell_known();
  };
  kind.follower = std::make_unique<upstream::ChangeFollower>(
      upstream_, loop_, upstream_.caller(loop_), kind.path + kube::path({kind.resource}), "",
      std::move(hears));
  kind.follower->start();
}

void QuotaObjects::heard(const Kind& kind, EventType type, std::string_view object) {
  const auto tree = translate::JsonTree::parse(object);
  if (!tree) return;
  const auto metadata = tree->root()["metadata"];
  const auto space = metadata["namespace"].string(), uid = metadata["uid"].string();
  const quota::Counted counted{kind.group, kind.resource};
  const auto key = quota::object_key(counted, metadata["name"].string());
  if (type == EventType::deleted)
    return broker_.with(
        [&](quota::Judge& judge) { judge.gone(space, key, uid, steady_clock::now()); });
  auto cost = quota::cost_of(counted, tree->root(), system_clock::now());
  if (!cost) {
    log::warning("accounts", "{} in {} is not counted: {}", key, space, cost.error().text());
    return;
  }
  std::erase_if(cost->all, [&](const auto& entry) { return !kind.names.contains(entry.first); });
  broker_.with([&](quota::Judge& judge) {
    judge.seen(space, key, uid, *std::move(cost), steady_clock::now());
  });
}

void QuotaObjects::tell_known() {
  Kinds known;
  {
    const std::lock_guard lock(mutex_);
    known = known_;
  }
  broker_.with([&](quota::Judge& judge) { judge.set_known(std::move(known)); });
}

} // namespace zoo::accounts
