// SPDX-License-Identifier: Apache-2.0
#include "daemon/accounts/space_rules.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace zoo::accounts {
namespace {

using nlohmann::json;

/// The two maps of metadata, and what a refusal calls a member of them.
constexpr std::array k_maps = {std::pair{"labels", "label"},
                               std::pair{"annotations", "annotation"}};

constexpr std::size_t k_longest_name = 63; // RFC 1123, a label

/// Keys that begin so: kiosk's and zood's own, and those by which a namespace may do more.
constexpr std::array<std::string_view, 5> k_reserved = {
    "kiosk.sh/", "zoo.kubezoo.io/", "tenant.kubezoo.io/", "pod-security.kubernetes.io/",
    "scheduler.alpha.kubernetes.io/"};
constexpr std::string_view k_admin_access = "resource.kubernetes.io/admin-access";

bool is_label(std::string_view name) {
  const auto inner = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return !name.empty() && name.size() <= k_longest_name && inner(name.front()) &&
         inner(name.back()) &&
         std::all_of(name.begin(), name.end(), [&](char c) { return inner(c) || c == '-'; });
}

const json& map_of(const json* object, const char* which) {
  static const json none = json::object();
  if (object == nullptr || !object->is_object()) return none;
  const auto metadata = object->find("metadata");
  if (metadata == object->end() || !metadata->is_object()) return none;
  const auto found = metadata->find(which);
  return found != metadata->end() && found->is_object() ? *found : none;
}

Error reserved(std::string_view what, const std::string& key) {
  if (key == k_account_label) {
    return {
        Code::forbidden,
        fmt::format("the {} \"{}\" is set by zood: name the account in spec.account", what, key)};
  }
  return {Code::forbidden,
          fmt::format("the {} \"{}\" is reserved: an administrator sets it in the account's "
                      "spec.space.spaceTemplate, or on the namespace",
                      what, key)};
}

/// Is there a reserved key in `these` that `those` does not have with the same value?
const std::string* first_reserved(const json& these, const json& those) {
  for (const auto& [key, value] : these.items()) {
    if (!reserved_key(key)) continue;
    const auto other = those.find(key);
    if (other == those.end() || *other != value) return &these.find(key).key();
  }
  return nullptr;
}

} // namespace

Result<void> check_space_name(std::string_view name, const TenantOf& tenant_of) {
  if (!is_label(name)) {
    return fail(Code::invalid,
                "metadata.name: Invalid value: \"{}\": a space is named with up to 63 of a-z, 0-9 "
                "and '-', and begins and ends with a letter or a digit",
                name);
  }
  if (systems_own(name)) {
    return fail(Code::forbidden,
                "the name \"{}\" is reserved: no space is named default, kube-... or zoo-...",
                name);
  }
  if (const auto tenant = tenant_of ? tenant_of(name) : std::string(); !tenant.empty())
    return fail(Code::forbidden, "the prefix \"{}-\" belongs to a tenant", tenant);
  return {};
}

bool reserved_key(std::string_view key) {
  if (key == k_space_templates) return false;
  return key == k_admin_access ||
         std::any_of(k_reserved.begin(), k_reserved.end(),
                     [&](std::string_view start) { return key.starts_with(start); });
}

bool for_templates(std::string_view key) {
  return !key.starts_with("kiosk.sh/") && key != k_space_request && key != k_orphaned_from &&
         !key.starts_with("tenant.kubezoo.io/");
}

Result<void> check_reserved_keys(const json& space, const json* before) {
  for (const auto& [member, what] : k_maps) {
    const auto& wanted = map_of(&space, member);
    const auto& live = map_of(before, member);
    for (const auto& [these, those] : {std::pair{&wanted, &live}, std::pair{&live, &wanted}})
      if (const auto* key = first_reserved(*these, *those)) return fail(reserved(what, *key));
  }
  return {};
}

Result<void> check_applied_keys(const json& applied, const json& before) {
  for (const auto& [member, what] : k_maps) {
    if (const auto* key = first_reserved(map_of(&applied, member), map_of(&before, member)))
      return fail(reserved(what, *key));
  }
  return {};
}

bool only_labels_differ(const json& space, const json& before) {
  const auto rest = [](json object) {
    object.erase("status");
    auto& metadata = object["metadata"];
    for (const char* free :
         {"labels", "annotations", "managedFields", "resourceVersion", "generation", "selfLink"})
      metadata.erase(free);
    for (const char* list : {"finalizers", "ownerReferences"})
      if (metadata.contains(list) && metadata[list].empty()) metadata.erase(list);
    auto spec = object.find("spec");
    if (spec != object.end() && spec->is_object()) {
      spec->erase("finalizers"); // upstream does not take them from a write of the object
      if (spec->value("account", json()) == "") spec->erase("account");
      if (spec->empty()) object.erase("spec");
    }
    return object;
  };
  auto wanted = rest(space), live = rest(before);
  // What the writer leaves out of these he does not change.
  for (const char* member : {"uid", "creationTimestamp", "deletionTimestamp",
                             "deletionGracePeriodSeconds", "generateName"})
    if (!wanted["metadata"].contains(member)) live["metadata"].erase(member);
  return wanted == live;
}

bool may_in_namespace(const State& state, const authz::User& user, std::string_view verb,
                      std::string_view name_space) {
  if (!state.rights) return false;
  authz::Attributes wanted;
  wanted.verb = verb;
  wanted.version = "v1";
  wanted.resource = "namespaces";
  wanted.name_space = wanted.name = name_space;
  return state.rights->decide(user, wanted).allowed;
}

bool may_create_namespaces(const State& state, const authz::User& user) {
  return may_in_namespace(state, user, "create", {});
}

bool may_on(const State& state, const authz::User& user, std::string_view verb,
            std::string_view group, std::string_view resource, std::string_view name) {
  if (!state.rights) return false;
  authz::Attributes wanted;
  wanted.verb = verb;
  wanted.group = group;
  wanted.version = k_version;
  wanted.resource = resource;
  wanted.name = name;
  return state.rights->decide(user, wanted).allowed;
}

Error no_member(const authz::User& user, std::string_view account) {
  return {Code::forbidden,
          fmt::format("user \"{}\" is no member of account \"{}\"", user.name, account)};
}

Error no_account(std::string_view account) {
  return {Code::not_found, fmt::format("accounts.{} \"{}\" not found", k_config_group, account)};
}

Error account_goes(std::string_view account) {
  return {Code::conflict,
          fmt::format("account \"{}\" is being deleted: it gets no more spaces", account)};
}

Error limit_reached(std::int64_t limit, std::string_view account) {
  return {Code::forbidden,
          fmt::format("space limit of {} reached for account {}: delete a space, or ask an "
                      "administrator to raise spec.space.limit",
                      std::max<std::int64_t>(limit, 0), account)};
}

std::string counted(std::size_t count, std::string_view one,
                    const std::vector<std::string>& names) {
  constexpr std::size_t k_most = 10;
  auto out = fmt::format("{} {}{} (", count, one, count == 1 ? "" : "s");
  for (std::size_t i = 0; i < names.size() && i < k_most; ++i)
    out += (i == 0 ? "" : ", ") + names[i];
  if (count > k_most) out += ", ...";
  return out + ")";
}

Result<Owner> default_owner(const State& state, const authz::User& user, std::string_view space,
                            bool single_account_default) {
  if (may_create_namespaces(state, user)) return Owner{};
  const auto accounts = state.accounts_of(user);
  if (accounts.empty()) {
    return fail(Code::forbidden,
                "user \"{}\" is a member of no account, and may not create namespaces: ask an "
                "administrator to add them to an Account of {}",
                user.name, k_config_group);
  }
  if (accounts.size() == 1 && single_account_default) {
    const auto& name = accounts.front()->name;
    return Owner{name, fmt::format("space \"{}\" is made for account \"{}\", the only one that "
                                   "\"{}\" is a member of",
                                   space, name, user.name)};
  }
  std::vector<std::string> names;
  for (const auto& account : accounts)
    names.push_back(account->name);
  return fail(Code::bad_request, "spec.account is required: \"{}\" is a member of {}", user.name,
              counted(names.size(), "account", names));
}

} // namespace zoo::accounts
