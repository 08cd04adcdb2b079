// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/accounts/account_writes.hpp"
#include "daemon/accounts/controller.hpp"
#include "daemon/accounts/reservations.hpp"
#include "daemon/accounts/space_writes.hpp"
#include "tests/unit/accounts/fake_cluster.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace zoo::accounts::test {

template <class T>
T must(Result<T> result) {
  if (!result) FAIL(result.error().text());
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

/// One zood on a cluster. Several of them may share one.
class Zood {
public:
  explicit Zood(FakeCluster& cluster, FakeCluster::Hook before = {}, FakeCluster::Hook after = {})
      : cluster_(cluster) {
    parts.connect = [&cluster, before, after] { return cluster.connect(before, after); };
    parts.state = [this]() -> Result<StatePtr> {
      if (trouble) return fail(Code::unavailable, "not read yet");
      return lagging ? lagging : cluster_.state();
    };
    parts.wait = [&cluster](const auto& holds, auto) { return holds(*cluster.state()); };
    parts.tenant_of = [](std::string_view name) {
      return std::string(name.starts_with("foofoo-") ? "foofoo" : "");
    };
    parts.now = [this] { return now; };
    parts.clock = [this] { return clock; };
    parts.connect_once = parts.connect;
    connections = std::make_unique<upstream::Connections>([this] { return parts.connect(); });
    once = std::make_unique<upstream::Connections>([this] { return parts.connect_once(); });
    saga = std::make_unique<Saga>(parts);
    spaces = std::make_unique<SpaceWrites>(parts, *saga, *connections, *once);
    accounts = std::make_unique<AccountWrites>(parts, *once);
    ControllerSettings settings;
    settings.now = [this] { return clock; };
    controller = std::make_unique<Controller>(parts, *saga, *connections, settings);
  }

  /// Lets time pass and does everything that is due by then.
  void pass(std::chrono::seconds time) {
    now += time.count();
    clock += time;
    controller->run_due();
  }
  /// The cluster is as it is now: what has changed since the last call is told and seen to.
  void settle() {
    for (int quiet = 0, round = 0; quiet < 2 && round < 20; ++round) {
      const auto before = std::exchange(seen_, cluster_.state());
      const bool same = before && before->revision == seen_->revision;
      quiet = same ? quiet + 1 : 0;
      Touched touched;
      touched.everything = before == nullptr;
      if (before) touched = difference(*before, *seen_);
      if (!same) controller->touched(before ? before : seen_, seen_, touched);
      pass(std::chrono::seconds(1));
    }
  }

  WriteParts parts;
  std::int64_t now = 1'800'000'000;
  std::chrono::steady_clock::time_point clock{std::chrono::hours(24)};
  bool trouble = false;
  StatePtr lagging; ///< what it has read of the cluster, if that is not what there is now
  std::unique_ptr<upstream::Connections> connections, once;
  std::unique_ptr<Saga> saga;
  std::unique_ptr<SpaceWrites> spaces;
  std::unique_ptr<AccountWrites> accounts;
  std::unique_ptr<Controller> controller;

private:
  /// Of rights: in every space a binding.
  static Touched difference(const State& before, const State& now) {
    Touched out;
    const auto names = [](const auto& a, const auto& b, std::vector<std::string>& into) {
      for (const auto* table : {&a, &b}) {
        table->visit("", [&](const auto& one) {
          const auto was = a.find(one->name), is = b.find(one->name);
          if (!was || !is || was->object != is->object) into.push_back(one->name);
          return true;
        });
      }
      std::sort(into.begin(), into.end());
      into.erase(std::unique(into.begin(), into.end()), into.end());
    };
    names(before.spaces, now.spaces, out.spaces);
    names(before.accounts, now.accounts, out.accounts);
    now.spaces.visit("", [&](const SpacePtr& space) {
      out.rights.namespaces.push_back(space->name);
      return true;
    });
    return out;
  }

  FakeCluster& cluster_;
  StatePtr seen_;
};

inline resources::Who who(const std::string& name) { return {name, {}, {}, {}}; }

inline nlohmann::json user(const std::string& name) {
  return {{"kind", "User"}, {"apiGroup", "rbac.authorization.k8s.io"}, {"name", name}};
}

/// An Account of these users; `space` is its spec.space.
/// As the controller has seen it: with the finalizer.
inline void put_account(FakeCluster& cluster, const std::string& name,
                        const std::vector<std::string>& users,
                        nlohmann::json space = nlohmann::json::object(),
                        const std::string& policy = "Orphan") {
  nlohmann::json subjects = nlohmann::json::array();
  for (const auto& one : users)
    subjects.push_back(user(one));
  cluster.put(FakeCluster::account(name), {{"metadata", {{"finalizers", {k_finalizer}}}},
                                           {"spec",
                                            {{"subjects", std::move(subjects)},
                                             {"space", std::move(space)},
                                             {"deletionPolicy", policy}}}});
}

inline nlohmann::json a_space(const std::string& name, const std::string& account = "") {
  nlohmann::json out = {{"apiVersion", "tenancy.kiosk.sh/v1alpha1"},
                        {"kind", "Space"},
                        {"metadata", {{"name", name}}}};
  if (!account.empty()) out["spec"]["account"] = account;
  return out;
}

/// A cluster with account `team` of john and jane, who may make spaces, and an administrator.
struct World {
  FakeCluster cluster;
  World() {
    for (const auto* name : {"john", "jane", "bob"})
      cluster.allow(name, "create", "tenancy.kiosk.sh", "spaces");
    cluster.allow("admin", "*", "", "namespaces");
    cluster.allow("admin", "*", "config.kiosk.sh", "accounts");
    cluster.allow("admin", "*", "tenancy.kiosk.sh", "accounts");
    cluster.allow("admin", "*", "tenancy.kiosk.sh", "spaces");
    cluster.allow("admin", "*", "rbac.authorization.k8s.io", "clusterroles");
    cluster.allow("admin", "*", "rbac.authorization.k8s.io", "rolebindings");
  }
};

inline resources::WriteOptions options(bool dry_run = false) { return {dry_run, "test"}; }

} // namespace zoo::accounts::test
