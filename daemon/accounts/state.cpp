// SPDX-License-Identifier: Apache-2.0
#include "daemon/accounts/state.hpp"

#include "daemon/templates/instance.hpp"
#include "daemon/translate/discovery_json.hpp"
#include "daemon/translate/mapping.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace zoo::accounts {
namespace {

using translate::JsonType;

std::int64_t number(std::string_view text) {
  std::int64_t out = 0;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

/// "pods 2/5, services 0/3" of {"used": ..., "hard": ...}.
std::string use_of_status(translate::JsonNode status) {
  std::string out;
  const auto text = [](translate::JsonNode node) {
    return node.is(JsonType::string) ? node.string() : std::string("0");
  };
  const auto hard = status["hard"];
  if (!hard.is(JsonType::object)) return out;
  for (auto each = hard.first(); each; each = each.next()) {
    const auto name = each.key();
    out += fmt::format("{}{} {}/{}", out.empty() ? "" : ", ", name, text(status["used"][name]),
                       text(each));
  }
  return out;
}

bool may_get(const State& state, const authz::User& user, std::string_view group,
             std::string_view resource, const std::string& name, const std::string& name_space) {
  if (state.rights == nullptr) return false;
  authz::Attributes asked;
  asked.verb = "get";
  asked.group = group;
  asked.resource = resource;
  asked.name_space = name_space;
  asked.name = name;
  return state.rights->decide(user, asked).allowed;
}

} // namespace

bool systems_own(std::string_view name) {
  return name == "default" || name.starts_with("kube-") || name.starts_with("zoo-");
}

SpacePtr read_space(std::string_view namespace_object) {
  const auto tree = translate::JsonTree::parse(namespace_object);
  if (!tree || !tree->root().is(JsonType::object)) return nullptr;
  const auto metadata = tree->root()["metadata"];
  if (metadata["labels"][translate::k_tenant_label]) return nullptr;
  auto out = std::make_shared<Space>();
  out->name = metadata["name"].string();
  if (out->name.empty()) return nullptr;
  out->uid = metadata["uid"].string();
  if (!systems_own(out->name)) out->account = metadata["labels"][k_account_label].string();
  out->phase = tree->root()["status"]["phase"].string();
  out->revision = number(metadata["resourceVersion"].string());
  out->initializing = metadata["annotations"][k_initializing].string() == "true";
  if (out->initializing) {
    const auto request = metadata["annotations"][k_space_request].string();
    if (const auto words = translate::JsonTree::parse(request))
      out->requester = words->root()["requester"].string();
  }
  out->object = std::string(namespace_object);
  return out;
}

TenantSpacePtr read_tenant_space(std::string_view object) {
  const auto tree = translate::JsonTree::parse(object);
  if (!tree) return nullptr;
  const auto metadata = tree->root()["metadata"];
  auto out = std::make_shared<TenantSpace>();
  out->name = metadata["name"].string();
  out->tenant = metadata["labels"][translate::k_tenant_label].string();
  if (out->tenant.empty() || out->name.size() <= out->tenant.size() + 1 ||
      !out->name.starts_with(out->tenant) || out->name[out->tenant.size()] != '-')
    return nullptr;
  out->uid = metadata["uid"].string();
  out->goes = static_cast<bool>(metadata["deletionTimestamp"]);
  return out;
}

QuotaPtr read_quota(std::string_view object) {
  const auto tree = translate::JsonTree::parse(object);
  if (!tree) return nullptr;
  const auto metadata = tree->root()["metadata"];
  auto out = std::make_shared<Quota>();
  out->name = metadata["name"].string();
  if (out->name.empty()) return nullptr;
  out->uid = metadata["uid"].string();
  out->account = tree->root()["spec"]["account"].string();
  out->revision = number(metadata["resourceVersion"].string());
  out->object = std::string(object);
  const auto spaces = tree->root()["status"]["namespaces"];
  for (auto each = spaces.first(); each; each = each.next()) {
    auto text = use_of_status(each["status"]);
    if (!text.empty()) out->use.insert_or_assign(each["namespace"].string(), std::move(text));
  }
  return out;
}

std::string instance_key(std::string_view name_space, std::string_view name) {
  // A blank comes before all that names are made of.
  return fmt::format("{} {}", name_space, name);
}

SpaceInstancePtr read_space_instance(std::string_view object) {
  const auto tree = translate::JsonTree::parse(object);
  if (!tree) return nullptr;
  const auto metadata = tree->root()["metadata"];
  const auto name = metadata["name"].string();
  auto out = std::make_shared<SpaceInstance>();
  out->name_space = metadata["namespace"].string();
  if (name.empty() || out->name_space.empty()) return nullptr;
  out->name = instance_key(out->name_space, name);
  out->uid = metadata["uid"].string();
  out->revision = number(metadata["resourceVersion"].string());
  out->deployed = tree->root()["status"]["status"].string() == "Deployed";
  out->kept = metadata["labels"][templates::k_kept_label].string() == "true";
  if (out->kept) out->account = metadata["labels"][k_account_label].string();
  out->object = std::string(object);
  return out;
}

std::vector<AccountPtr> State::accounts_of(const authz::User& user) const {
  std::set<std::string, std::less<>> names;
  for (const auto& key : authz::subject_keys(user)) {
    if (const auto found = accounts_of_subject.find(key))
      names.insert(found->names.begin(), found->names.end());
  }
  std::vector<AccountPtr> out;
  for (const auto& name : names) {
    if (auto account = accounts.find(name)) out.push_back(std::move(account));
  }
  return out;
}

bool State::is_member(const authz::User& user, const Account& account) const {
  for (const auto& key : authz::subject_keys(user)) {
    if (std::binary_search(account.subject_keys.begin(), account.subject_keys.end(), key))
      return true;
  }
  return false;
}

std::size_t State::count_of(std::string_view account) const {
  const auto found = spaces_of_account.find(account);
  return found ? found->names.size() : 0;
}

std::string State::templates_text(std::string_view space) const {
  std::size_t all = 0, deployed = 0;
  visit_instances(space, [&](const std::string& name) {
    ++all;
    if (instances.find(name)->deployed) ++deployed;
  });
  return all == 0 ? std::string() : fmt::format("{}/{}", deployed, all);
}

std::string State::quota_text(std::string_view space) const {
  std::string out;
  const auto found = spaces.find(space);
  const auto names = found ? quotas_of_account.find(found->account) : nullptr;
  if (!names) return out;
  for (const auto& name : names->names) {
    const auto quota = quotas.find(name);
    const auto text = quota ? quota->use.find(space) : decltype(quota->use.end()){};
    if (!quota || text == quota->use.end()) continue;
    out += (out.empty() ? "" : ", ") + text->second;
  }
  return out;
}

bool State::stays(std::string_view name_space) const {
  if (const auto space = spaces.find(name_space)) return space->phase != "Terminating";
  const auto space = tenant_spaces.find(name_space);
  return space && !space->goes;
}

bool shows(const State& state, const authz::User& user, const Space& space) {
  if (space.initializing) {
    if (!space.requester.empty() && space.requester == user.name) return true;
    const auto account = state.accounts.find(space.account);
    if (account && state.is_member(user, *account)) return true;
  }
  return may_get(state, user, "", "namespaces", space.name, space.name);
}

bool shows(const State& state, const authz::User& user, const Account& account) {
  return state.is_member(user, account) ||
         may_get(state, user, k_config_group, "accounts", account.name, {});
}

bool shows(const State& state, const authz::User& user, const Quota& quota) {
  const auto account = state.accounts.find(quota.account);
  return (account && state.is_member(user, *account)) ||
         may_get(state, user, k_config_group, "accountquotas", quota.name, {});
}

bool shows(const State& state, const authz::User& user, const SpaceInstance& instance) {
  if (may_get(state, user, k_config_group, "templateinstances", {}, instance.name_space))
    return true;
  // The parameters of a kept instance stand in the spec of the account that lists it. So only the
  // members of that account may read them, even when the space belongs to another account by now.
  const auto account = instance.account.empty() ? nullptr : state.accounts.find(instance.account);
  const auto space = account ? state.spaces.find(instance.name_space) : nullptr;
  return space && space->account == account->name && state.is_member(user, *account) &&
         shows(state, user, *space);
}

} // namespace zoo::accounts
