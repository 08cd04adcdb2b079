// SPDX-License-Identifier: Apache-2.0
#include "daemon/accounts/bindings.hpp"

#include "common/base/error_table.hpp"
#include "common/crypto/digest.hpp"
#include "common/kube/client.hpp"
#include "daemon/accounts/json_reads.hpp"
#include "daemon/accounts/paths.hpp"
#include "daemon/upstream/control_api.hpp"
#include "daemon/upstream/outright.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace zoo::accounts {
namespace {

using nlohmann::json;

constexpr std::string_view k_rbac_group = "rbac.authorization.k8s.io";

json subjects_json(const std::vector<authz::Subject>& subjects) {
  json out = json::array();
  for (const auto& subject : subjects) {
    json one = {{"kind", subject.kind}, {"name", subject.name}};
    if (subject.kind == "ServiceAccount") {
      one["namespace"] = subject.name_space;
    } else {
      one["apiGroup"] = k_rbac_group;
    }
    out.push_back(std::move(one));
  }
  return out;
}

using Subjects = std::set<std::tuple<std::string, std::string, std::string>>;
Subjects subjects_in(const json& binding) {
  Subjects out;
  const auto list = binding.find("subjects");
  if (list == binding.end() || !list->is_array()) return out;
  for (const auto& subject : *list)
    out.emplace(text_at(subject, "/kind"), text_at(subject, "/name"),
                text_at(subject, "/namespace"));
  return out;
}

bool binds(const json& binding, std::string_view role) {
  return text_at(binding, "/roleRef/kind") == "ClusterRole" &&
         text_at(binding, "/roleRef/name") == role;
}

bool owned_by(const json& binding, const Account& account) {
  const auto owners = binding.value("/metadata/ownerReferences"_json_pointer, json::array());
  return owners.is_array() && owners.size() == 1 && text_at(owners[0], "/uid") == account.uid;
}

bool is_going(const json& binding) {
  return !text_at(binding, "/metadata/deletionTimestamp").empty();
}

bool is_labelled(const json& binding) {
  const auto labels = binding.value("/metadata/labels"_json_pointer, json::object());
  return labels.is_object() && labels.value(k_managed_label, json()) == "true";
}

/// Everything but the role, which is another binding's matter. With a finalizer it would stay when
/// it is to go.
bool is_right_binding(const json& binding, const json& wanted, const Account& account) {
  const auto labels = binding.value("/metadata/labels"_json_pointer, json::object());
  for (const auto& [key, value] : wanted["metadata"]["labels"].items())
    if (!labels.is_object() || labels.value(key, json()) != value) return false;
  return subjects_in(binding) == subjects_in(wanted) && owned_by(binding, account) &&
         binding.value("/metadata/finalizers"_json_pointer, json()).empty();
}

const json* named(const std::vector<json>& bindings, std::string_view name) {
  for (const auto& binding : bindings)
    if (text_at(binding, "/metadata/name") == name) return &binding;
  return nullptr;
}

Result<void> take_away(upstream::ControlApi& api, std::string_view space, const json& binding) {
  return upstream::remove_outright(api, rolebinding_path(space, text_at(binding, "/metadata/name")),
                                   text_at(binding, "/metadata/uid"));
}

Result<void> take_away_named(upstream::ControlApi& api, std::string_view space,
                             std::string_view name) {
  const auto there = api.get(rolebinding_path(space, name));
  if (!there && there.error().code() == Code::not_found) return {};
  if (!there) return fail(there.error());
  return take_away(api, space, *there);
}

json manifest_of(std::string_view space, std::string_view name, const Account& account,
                 std::string_view role, const std::vector<authz::Subject>& subjects) {
  return {{"apiVersion", fmt::format("{}/v1", k_rbac_group)},
          {"kind", "RoleBinding"},
          {"metadata", kept_metadata(space, name, account)},
          {"roleRef", {{"apiGroup", k_rbac_group}, {"kind", "ClusterRole"}, {"name", role}}},
          {"subjects", subjects_json(subjects)}};
}

/// Those of members with roles of their own, one for each role.
std::vector<json> space_role_manifests(std::string_view space, const Members& members) {
  std::vector<json> out;
  if (!members.account) return out;
  std::map<std::string, std::vector<authz::Subject>> by_role;
  for (const auto& each : members.account->roles) {
    auto& all = by_role[each.cluster_role];
    all.insert(all.end(), each.subjects.begin(), each.subjects.end());
  }
  for (const auto& [role, subjects] : by_role)
    out.push_back(
        manifest_of(space, fmt::format("{}{}", k_role_binding_prefix, crypto::short_digest(role)),
                    *members.account, role, subjects));
  return out;
}

/// The wanted binding; one of its name with another role gives way. `there`: what was read of that
/// name, or null.
Result<void> put_one(upstream::ControlApi& api, std::string_view space, json wanted,
                     const json* there, const Account& account) {
  const auto name = text_at(wanted, "/metadata/name"), role = text_at(wanted, "/roleRef/name");
  json read;
  for (int attempt = 1; attempt <= 2; ++attempt) {
    if (there != nullptr && binds(*there, role) && is_labelled(*there) && !is_going(*there)) {
      if (is_right_binding(*there, wanted, account)) return {};
      auto changed = *there;
      for (const char* member : {"apiVersion", "kind"}) // items of a list have neither
        changed[member] = wanted[member];
      for (const auto& [key, value] : wanted["metadata"]["labels"].items())
        changed["metadata"]["labels"][key] = value;
      changed["metadata"]["ownerReferences"] = wanted["metadata"]["ownerReferences"];
      changed["metadata"].erase("finalizers");
      changed["subjects"] = wanted["subjects"];
      ZOO_TRY_VOID(api.update(rolebinding_path(space, name), changed));
      return {};
    }
    if (there != nullptr) ZOO_TRY_VOID(take_away(api, space, *there));
    const auto made = api.create(rolebindings_path(space), wanted);
    if (made) return {};
    if (made.error().code() != Code::already_exists) return fail(made.error());
    // Made by somebody else meanwhile, or without the label by which ours are found.
    ZOO_TRY(read, api.get(rolebinding_path(space, name)));
    there = &read;
  }
  // No passing failure: the account is to say so.
  return fail(Code::already_exists,
              "RoleBinding \"{}\" of space \"{}\" is somebody else's, and cannot be replaced", name,
              space);
}

} // namespace

bool Members::lets_in(const authz::User& user) const {
  if (!account) return false;
  const auto keys = authz::subject_keys(user);
  const auto among = [&](const std::vector<authz::Subject>& subjects) {
    return std::any_of(subjects.begin(), subjects.end(), [&](const authz::Subject& each) {
      return std::find(keys.begin(), keys.end(), authz::subject_key(each, {})) != keys.end();
    });
  };
  return (!role.empty() && among(account->subjects)) ||
         std::any_of(account->roles.begin(), account->roles.end(),
                     [&](const SpaceRole& each) { return among(each.subjects); });
}

Members members_of(AccountPtr account, std::string_view default_role) {
  if (!account) return {};
  auto role = account->cluster_role.value_or(std::string(default_role));
  return {std::move(account), std::move(role)};
}

std::vector<std::string> missing_roles(const authz::Rights& rights, const Members& members) {
  std::set<std::string> out;
  if (members.any_subject() && !rights.has_cluster_role(members.role)) out.insert(members.role);
  if (members.account)
    for (const auto& each : members.account->roles)
      if (!rights.has_cluster_role(each.cluster_role)) out.insert(each.cluster_role);
  return {out.begin(), out.end()};
}

json kept_metadata(std::string_view space, std::string_view name, const Account& account) {
  return {{"name", name},
          {"namespace", space},
          {"labels", {{k_managed_label, "true"}, {k_account_label, account.name}}},
          {"ownerReferences", json::array({{{"apiVersion", config_api_version()},
                                            {"kind", "Account"},
                                            {"name", account.name},
                                            {"uid", account.uid}}})}};
}

json binding_manifest(std::string_view space, std::string_view name, const Members& members) {
  return manifest_of(space, name, *members.account, members.role, members.account->subjects);
}

Result<Bindings> bindings_in(upstream::ControlApi& api, std::string_view space) {
  Bindings out;
  std::string next;
  do {
    kube::Query query = {
        {"labelSelector", fmt::format("{}=true,{}", k_managed_label, k_account_label)},
        {"limit", "500"}};
    if (!next.empty()) query.emplace_back("continue", next);
    ZOO_TRY(auto page, api.get(kube::with_query(rolebindings_path(space), query)));
    ZOO_TRY(auto items, items_of(page, rolebindings_path(space)));
    for (auto& item : items) {
      auto where = text_at(item, "/metadata/namespace");
      out[where.empty() ? std::string(space) : std::move(where)].push_back(std::move(item));
    }
    next = text_at(page, "/metadata/continue");
  } while (!next.empty());
  return out;
}

bool bindings_are_right(const std::vector<json>& bindings, std::string_view space,
                        const Members& members) {
  auto wanted = space_role_manifests(space, members);
  if (members.any_subject()) wanted.push_back(binding_manifest(space, k_binding, members));
  return bindings.size() == wanted.size() &&
         std::all_of(wanted.begin(), wanted.end(), [&](const json& each) {
           const auto* there = named(bindings, text_at(each, "/metadata/name"));
           return there != nullptr && binds(*there, text_at(each, "/roleRef/name")) &&
                  is_right_binding(*there, each, *members.account);
         });
}

Result<void> put_bindings_right(upstream::ControlApi& api, std::string_view space,
                                std::vector<json> bindings, const Members& members) {
  // One binding that cannot be made keeps no other from being taken away.
  std::optional<Error> first;
  const auto note = [&](const Result<void>& done) -> Result<void> {
    if (done) return {};
    if (may_pass(done.error().code())) return fail(done.error());
    if (!first) first = done.error();
    return {};
  };
  const auto* main = named(bindings, k_binding);
  const auto* next = named(bindings, k_next_binding);
  std::set<std::string, std::less<>> stay{std::string(k_binding)};
  for (auto& each : space_role_manifests(space, members)) {
    const auto name = text_at(each, "/metadata/name");
    ZOO_TRY_VOID(
        note(put_one(api, space, std::move(each), named(bindings, name), *members.account)));
    stay.insert(name);
  }
  const auto wanted = [&](std::string_view name) { return binding_manifest(space, name, members); };
  if (members.any_subject()) {
    if (main != nullptr && !binds(*main, members.role)) {
      // Without it members have no access for a moment, and nobody keeps the role of before.
      const auto moved = put_one(api, space, wanted(k_next_binding), next, *members.account);
      ZOO_TRY_VOID(note(moved));
      ZOO_TRY_VOID(take_away(api, space, *main));
      const auto put = put_one(api, space, wanted(k_binding), nullptr, *members.account);
      ZOO_TRY_VOID(note(put));
      // It was made or changed above: what was read of it says nothing any more. Where the other
      // one cannot be made it is all that members have.
      if (put || !moved) ZOO_TRY_VOID(take_away_named(api, space, k_next_binding));
      next = nullptr;
    } else {
      ZOO_TRY_VOID(note(put_one(api, space, wanted(k_binding), main, *members.account)));
    }
  } else if (main != nullptr) {
    ZOO_TRY_VOID(take_away(api, space, *main));
  }
  for (const auto& binding : bindings) {
    const auto name = text_at(binding, "/metadata/name");
    if (stay.contains(name) || (name == k_next_binding && next == nullptr)) continue;
    ZOO_TRY_VOID(take_away(api, space, binding));
  }
  if (first) return fail(*std::move(first));
  return {};
}

} // namespace zoo::accounts
