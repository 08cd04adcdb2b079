// SPDX-License-Identifier: Apache-2.0
#include "daemon/accounts/space_judge.hpp"

#include "daemon/accounts/json_reads.hpp"
#include "daemon/accounts/objects.hpp"
#include "daemon/accounts/space_rules.hpp"

#include <nlohmann/json.hpp>

#include <utility>

namespace zoo::accounts {
namespace {

using nlohmann::json;

std::string said_by_upstream(const Error& error) {
  auto text = error.message();
  const std::string theirs = "namespaces \"", ours = fmt::format("spaces.{} \"", k_tenancy_group);
  for (auto at = text.find(theirs); at != std::string::npos;
       at = text.find(theirs, at + ours.size()))
    text.replace(at, theirs.size(), ours);
  return text;
}

bool may_give_space(const State& state, const authz::User& user, std::string_view account) {
  return account.empty() || may_on(state, user, "update", k_config_group, "accounts", account);
}

/// The members of the account that gets a namespace have rights there, which a RoleBinding gives.
bool may_let_in(const State& state, const authz::User& user, const std::string& name_space) {
  authz::Attributes asked;
  asked.verb = "create";
  asked.group = "rbac.authorization.k8s.io";
  asked.resource = "rolebindings";
  asked.name_space = name_space;
  return state.rights->decide(user, asked).allowed;
}

/// Of a member's change: nothing that the account's template has set. Code::forbidden with the key.
Result<void> check_template_keys(const json& space, const json& before, const Account& account) {
  for (const auto& [member, from] : {std::pair{"labels", &account.space_labels},
                                     std::pair{"annotations", &account.space_annotations}}) {
    for (const auto& [key, value] : *from) {
      const auto at = (json::json_pointer("/metadata") / member / key).to_string();
      const auto had = kube::value_at(before, at);
      const auto has = kube::value_at(space, at);
      if (had == has || has == value) continue;
      return fail(
          Code::forbidden,
          "metadata.{}: {} is set by the spaceTemplate of account \"{}\": ask who may change "
          "the account",
          member, key, account.name);
    }
  }
  return {};
}

} // namespace

Error no_space(std::string_view name) {
  return {Code::not_found, fmt::format("spaces.{} \"{}\" not found", k_tenancy_group, name)};
}

Error as_space_error(const Error& error, std::string_view name) {
  if (error.code() == Code::not_found) return no_space(name);
  return {error.code(), said_by_upstream(error)};
}

Error may_not_write(const authz::User& user, std::string_view verb, std::string_view name) {
  return {Code::forbidden,
          fmt::format("user \"{}\" cannot {} space \"{}\": it takes the right to {} the namespace, "
                      "or to be a member of the account that owns it",
                      user.name, verb, name, verb)};
}

bool may_update_space(const State& state, const authz::User& user, std::string_view name) {
  return may_in_namespace(state, user, "update", name) ||
         may_in_namespace(state, user, "patch", name);
}

bool owns_space(const State& state, const authz::User& user, std::string_view account) {
  if (account.empty()) return false;
  const auto known = state.accounts.find(account);
  return (known && state.is_member(user, *known)) || may_give_space(state, user, account);
}

json space_shown_by(const json& name_space) {
  const auto space = read_space(text_of(name_space));
  return space ? tenancy_space(*space) : json::object();
}

json space_wished_by(json name_space) {
  if (!name_space["metadata"].is_object()) name_space["metadata"] = json::object();
  const auto wished = name_space["metadata"].value("annotations", json::object());
  auto space = space_shown_by(name_space);
  if (space.empty()) // one with a tenant's label is no space: its labels are refused as they stand
    space["metadata"] = name_space["metadata"];
  const std::string key(k_account_label);
  if (wished.is_object() && wished.contains(key)) {
    if (text_at(space, "/spec/account").empty() && wished.at(key) != "")
      space["spec"]["account"] = wished.at(key);
    space["metadata"]["annotations"].erase(key);
  }
  return space;
}

Result<void> check_versions(const json& space, const json& live, std::string_view name) {
  for (const char* of : {"/metadata/uid", "/metadata/resourceVersion"}) {
    const auto given = text_at(space, of);
    if (!given.empty() && given != text_at(live, of)) {
      return fail(Code::conflict,
                  "space \"{}\" has changed since it was read: read it again, and apply your "
                  "changes to that",
                  name);
    }
  }
  return {};
}

Result<void> judge_change(const SpaceMoment& moment, bool right, const Space& known,
                          const json& before, const json& space) {
  ZOO_TRY_VOID(check_reserved_keys(space, &before));
  const auto target = text_at(space, "/spec/account");
  if (target != known.account) {
    if (!may_give_space(*moment.state, moment.user, known.account) ||
        !may_give_space(*moment.state, moment.user, target)) {
      return fail(Code::forbidden,
                  "user \"{}\" cannot move space \"{}\" from {} to {}: it takes the right to "
                  "update both accounts in group {}",
                  moment.user.name, moment.name,
                  known.account.empty() ? "nobody" : fmt::format("account \"{}\"", known.account),
                  target.empty() ? "nobody" : fmt::format("account \"{}\"", target),
                  k_config_group);
    }
    if (!target.empty() && systems_own(moment.name)) {
      return fail(Code::forbidden, "namespace \"{}\" is the system's: no account owns it",
                  moment.name);
    }
    if (!target.empty() && !may_let_in(*moment.state, moment.user, moment.name)) {
      return fail(Code::forbidden,
                  "user \"{}\" cannot give space \"{}\" to account \"{}\": this gives its members "
                  "rights there, and takes the right to create rolebindings in it",
                  moment.user.name, moment.name, target);
    }
    if (known.initializing) {
      return fail(Code::conflict, "space \"{}\" is being initialised: move it when it is ready",
                  moment.name);
    }
  }
  auto same_owner = space;
  same_owner["spec"]["account"] = known.account;
  if (!right && !only_labels_differ(same_owner, before)) {
    return fail(Code::forbidden,
                "user \"{}\" may change labels and annotations of space \"{}\" alone: the rest "
                "takes the right to update the namespace",
                moment.user.name, moment.name);
  }
  const auto account = moment.state->accounts.find(known.account);
  if (!right && account) ZOO_TRY_VOID(check_template_keys(space, before, *account));
  return {};
}

} // namespace zoo::accounts
