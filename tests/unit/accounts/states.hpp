// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/accounts/state.hpp"
#include "daemon/accounts/views.hpp"

#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace zoo::accounts::test {

/// Rights that are said by hand: who may `get` which namespaces and accounts, and who may do
/// everything. As by kiosk-view, everybody may read the kinds of tenancy.kiosk.sh.
class SaidRights final : public authz::Rights {
public:
  using Names = std::set<std::string>;
  std::map<std::string, Names> of_user; ///< "*": every namespace
  /// The same for TemplateInstances of config.kiosk.sh, to which of_user gives no right.
  std::map<std::string, Names> instances_of_user;

  authz::Decision decide(const authz::User& user, const authz::Attributes& asked) const override {
    if (asked.group == k_tenancy_group) return {true, ""};
    const auto& rights = rights_to(asked);
    const auto found = rights.find(user.name);
    if (found == rights.end()) return {};
    const auto& name = asked.name_space.empty() ? asked.name : asked.name_space;
    return {found->second.contains("*") || found->second.contains(name), ""};
  }
  Reach namespaces_of(const authz::User& user, authz::Attributes asked) const override {
    const auto& rights = rights_to(asked);
    const auto found = rights.find(user.name);
    if (found == rights.end()) return {};
    if (found->second.contains("*")) return {true, {}};
    return {false, {found->second.begin(), found->second.end()}};
  }
  authz::Policy::Rules rules_for(const authz::User&, std::string_view) const override { return {}; }

private:
  const std::map<std::string, Names>& rights_to(const authz::Attributes& asked) const {
    return asked.resource == "templateinstances" ? instances_of_user : of_user;
  }
};

/// A State that changes, each change published as the Follower does.
class States {
public:
  States() {
    publish([](State&, Touched&) {});
  }

  void put_space(const std::string& name, const std::string& account = "",
                 const std::string& more = "") {
    publish([&](State& state, Touched& touched) {
      auto text = R"({"metadata":{"name":")" + name + R"(","uid":"uid-)" + name +
                  R"(","resourceVersion":")" + std::to_string(state.revision) + R"(","labels":{)";
      if (!account.empty()) text += R"("kiosk.sh/account":")" + account + R"(",)";
      text += R"("kubernetes.io/metadata.name":")" + name + R"("})" + more + "}}";
      if (const auto old = state.spaces.find(name))
        change(state.spaces_of_account, old->account, name, false);
      if (!account.empty()) change(state.spaces_of_account, account, name, true);
      state.spaces.put(read_space(text));
      touched.spaces = {name};
    });
  }
  void put_account(const std::string& name, const std::string& member) {
    publish([&](State& state, Touched& touched) {
      const auto account =
          read_account(R"({"metadata":{"name":")" + name + R"(","uid":"uid-)" + name +
                       R"("},"spec":{"subjects":[{"kind":"User","name":")" + member + R"("}]}})");
      for (const auto& key : account->subject_keys)
        change(state.accounts_of_subject, key, name, true);
      state.accounts.put(account);
      touched.accounts = {name};
    });
  }
  /// `more`: of its metadata.
  void put_instance(const std::string& space, const std::string& name,
                    const std::string& more = "") {
    publish([&](State& state, Touched& touched) {
      const auto instance = read_space_instance(
          R"({"metadata":{"name":")" + name + R"(","namespace":")" + space + R"(","uid":"uid-)" +
          name + R"(","resourceVersion":")" + std::to_string(state.revision) + "\"" + more + "}}");
      state.instances.put(instance);
      touched.instances = {instance->name};
    });
  }
  void remove_instance(const std::string& space, const std::string& name) {
    publish([&](State& state, Touched& touched) {
      state.instances.remove(instance_key(space, name));
      touched.instances = {instance_key(space, name)};
    });
  }
  /// He may read the TemplateInstances of a namespace, or no more.
  void let_read_instances(const std::string& user, const std::string& space, bool may = true) {
    publish([&](State&, Touched& touched) {
      auto& names = rights_.instances_of_user[user];
      may ? (void)names.insert(space) : (void)names.erase(space);
      touched.rights.subjects = {"u:" + user};
    });
  }
  void remove_space(const std::string& name) {
    publish([&](State& state, Touched& touched) {
      state.spaces.remove(name);
      touched.spaces = {name};
    });
  }
  void grant(const std::string& user, const std::string& name) { right(user, name, true); }
  void revoke(const std::string& user, const std::string& name) { right(user, name, false); }

  /// The clock of the views, and another revision that changes nothing.
  std::chrono::steady_clock::time_point clock;
  void pass(std::chrono::milliseconds time) {
    clock += time;
    publish([](State&, Touched&) {});
  }
  /// What a stream tells late: the State changes, its revision does not.
  void put_late(const std::string& name) {
    publish([&](State& state, Touched& touched) {
      --state.revision;
      state.spaces.put(read_space(R"({"metadata":{"name":")" + name + R"(","uid":"u"}})"));
      touched.spaces = {name};
    });
  }

  Views views{[this] { return clock; }};
  StatePtr now;

private:
  static void change(OrderedTable<NameSet>& table, const std::string& key, const std::string& name,
                     bool has) {
    auto entry = std::make_shared<NameSet>();
    if (const auto old = table.find(key)) *entry = *old;
    entry->name = key;
    has ? (void)entry->names.insert(name) : (void)entry->names.erase(name);
    table.put(std::move(entry));
  }
  template <typename Change>
  void publish(Change change) {
    auto next = std::make_shared<State>(now ? *now : State());
    ++next->revision;
    ++next->sequence;
    Touched touched;
    change(*next, touched);
    next->rights = std::make_shared<const SaidRights>(rights_);
    const auto before = std::exchange(now, next);
    views.published(before ? before : now, now, touched);
  }
  void right(const std::string& user, const std::string& name, bool may) {
    publish([&](State&, Touched& touched) {
      auto& names = rights_.of_user[user];
      may ? (void)names.insert(name) : (void)names.erase(name);
      touched.rights.subjects = {"u:" + user};
    });
  }

  SaidRights rights_;
};

} // namespace zoo::accounts::test
