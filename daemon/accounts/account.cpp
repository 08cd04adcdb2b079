// SPDX-License-Identifier: Apache-2.0
#include "daemon/accounts/account.hpp"

#include "daemon/authz/rights.hpp"
#include "daemon/translate/discovery_json.hpp"
#include "daemon/upstream/list_source.hpp"

#include <algorithm>

namespace zoo::accounts {
namespace {

using translate::JsonNode;
using translate::JsonType;

Labels labels_of(JsonNode node) {
  Labels out;
  if (!node.is(JsonType::object)) return out;
  for (auto member = node.first(); member; member = member.next()) {
    if (member.is(JsonType::string)) out.insert_or_assign(member.key(), member.string());
  }
  return out;
}

std::vector<authz::Subject> subjects_of(JsonNode node) {
  std::vector<authz::Subject> out;
  if (!node.is(JsonType::array)) return out;
  for (auto each = node.first(); each; each = each.next()) {
    if (!each.is(JsonType::object)) continue;
    authz::Subject subject{each["kind"].string(), each["name"].string(),
                           each["namespace"].string()};
    if (!subject.name.empty()) out.push_back(std::move(subject));
  }
  return out;
}

std::vector<SpaceRole> roles_of(JsonNode node) {
  std::vector<SpaceRole> out;
  if (!node.is(JsonType::array)) return out;
  for (auto each = node.first(); each; each = each.next()) {
    if (!each.is(JsonType::object)) continue;
    SpaceRole one{subjects_of(each["subjects"]), each["clusterRole"].string()};
    if (!one.subjects.empty() && !one.cluster_role.empty()) out.push_back(std::move(one));
  }
  return out;
}

} // namespace

AccountPtr read_account(std::string_view object) {
  const auto tree = translate::JsonTree::parse(object);
  if (!tree || !tree->root().is(JsonType::object)) return nullptr;
  const auto metadata = tree->root()["metadata"];
  const auto spec = tree->root()["spec"];
  const auto space = spec["space"];
  const auto space_template = space["spaceTemplate"]["metadata"];
  auto out = std::make_shared<Account>();
  out->name = metadata["name"].string();
  if (out->name.empty()) return nullptr;
  out->uid = metadata["uid"].string();
  out->resource_version = metadata["resourceVersion"].string();
  out->revision = upstream::revision_of(out->resource_version).value_or(0);
  out->deleting = metadata["deletionTimestamp"].is(JsonType::string);
  out->subjects = subjects_of(spec["subjects"]);
  out->roles = roles_of(space["bindings"]);
  const auto add_keys = [&](const std::vector<authz::Subject>& subjects) {
    for (const auto& subject : subjects) {
      if (auto key = authz::subject_key(subject, {}); !key.empty())
        out->subject_keys.push_back(std::move(key));
    }
  };
  add_keys(out->subjects);
  for (const auto& each : out->roles)
    add_keys(each.subjects);
  std::sort(out->subject_keys.begin(), out->subject_keys.end());
  const auto last = std::unique(out->subject_keys.begin(), out->subject_keys.end());
  out->subject_keys.erase(last, out->subject_keys.end());
  if (const auto role = space["clusterRole"]; role.is(JsonType::string))
    out->cluster_role = role.string();
  out->limit = space["limit"].integer();
  out->space_labels = labels_of(space_template["labels"]);
  out->space_annotations = labels_of(space_template["annotations"]);
  if (const auto wish = space["reconcile"]; wish.is(JsonType::boolean))
    out->reconcile = wish.boolean();
  const auto policy = spec["deletionPolicy"].string();
  out->deletion = policy == "Delete"   ? DeletionPolicy::remove
                  : policy == "Refuse" ? DeletionPolicy::refuse
                                       : DeletionPolicy::orphan;
  out->object = std::string(object);
  return out;
}

} // namespace zoo::accounts
