// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/backing.hpp"

#include "common/api/virtual_cluster.hpp"
#include "common/base/log.hpp"
#include "common/crypto/digest.hpp"
#include "daemon/resources/kind.hpp"

#include <algorithm>
#include <utility>

namespace zoo::clusters {
namespace {

using nlohmann::json;
using resources::Key;
using resources::ObjectPtr;

std::string record_key(const Key& key) { return key_of(key.space, key.name); }

class RecordSubscription final : public resources::Subscription {
public:
  explicit RecordSubscription(store::Subscription inner) : inner_(std::move(inner)) {}

private:
  store::Subscription inner_;
};

/// What the server alone writes of metadata.
void keep_metadata(json& object, const json& live) {
  for (const char* member :
       {"uid", "creationTimestamp", "deletionTimestamp", "generation", "generateName"}) {
    auto& metadata = object["metadata"];
    if (live.contains("metadata") && live["metadata"].contains(member)) {
      metadata[member] = live["metadata"][member];
    } else {
      metadata.erase(member);
    }
  }
}

} // namespace

Record new_record(json object) {
  Record out;
  out.object = std::move(object);
  auto& metadata = out.object["metadata"];
  metadata["uid"] = crypto::uuid_v4();
  metadata["creationTimestamp"] = now_text();
  metadata["generation"] = 1;
  metadata.erase("deletionTimestamp");
  metadata.erase("resourceVersion");
  out.object["apiVersion"] = api::k_cluster_api_version;
  out.object["kind"] = api::k_cluster_kind;
  out.object["status"] = json::object();
  return out;
}

bool mark_deleted(Record& record) {
  if (record.deleting()) return false;
  record.object["metadata"]["deletionTimestamp"] = now_text();
  record.object["status"]["phase"] = api::cluster_phase::k_deleting;
  return true;
}

Result<ObjectPtr> ClusterBacking::get(const resources::Who&, const Key& key) {
  ZOO_TRY(auto record, read_record(store_, record_key(key)));
  return resources::make_object(std::move(record.object));
}

Result<resources::Page> ClusterBacking::list(const resources::Who&, std::string_view space,
                                             const Key& after, std::size_t limit) {
  // "a/" is greater than "a-b/": the records' order is made that of namespace and name.
  const auto prefix = space.empty() ? std::string() : std::string(space) + "/";
  ZOO_TRY(const auto page, store_.list(k_record_kind, prefix));
  std::vector<std::pair<Key, ObjectPtr>> found;
  for (const auto& each : page.records) {
    const auto slash = each.key.find('/');
    if (slash == std::string::npos) continue;
    Key key{each.key.substr(0, slash), each.key.substr(slash + 1)};
    if (key <= after && !after.name.empty()) continue;
    auto record = record_of(each);
    if (!record) {
      log::error("clusters", "{} is left out of lists: {}", each.key, record.error().text());
      continue;
    }
    found.emplace_back(std::move(key), resources::make_object(std::move(record->object)));
  }
  std::sort(found.begin(), found.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  resources::Page out;
  out.revision = page.revision;
  for (auto& [key, object] : found) {
    if (limit != 0 && out.items.size() == limit) {
      out.next = resources::key_of(*out.items.back());
      break;
    }
    out.items.push_back(std::move(object));
  }
  return out;
}

Result<std::unique_ptr<resources::Subscription>>
ClusterBacking::watch(const resources::Who&, std::int64_t revision,
                      std::function<void(const resources::Change&)> on_change) {
  auto from = revision;
  if (from == 0) {
    ZOO_TRY(from, store_.revision());
  }
  ZOO_TRY(auto inner,
          store_.watch(k_record_kind, from,
                       [on_change = std::move(on_change)](const store::Change& change) {
                         using From = store::Change::Type;
                         using To = resources::Change::Type;
                         auto record = record_of(change.record);
                         if (!record) return;
                         const auto type = change.type == From::removed ? To::deleted
                                           : change.created             ? To::added
                                                                        : To::modified;
                         on_change({type, resources::make_object(std::move(record->object)),
                                    change.record.revision});
                       }));
  return std::make_unique<RecordSubscription>(std::move(inner));
}

Result<resources::Written> ClusterBacking::create(const resources::Who&, json object,
                                                  const resources::WriteOptions& options) {
  auto record = new_record(std::move(object));
  const auto key = record.key();
  if (const auto there = read_record(store_, key))
    return fail(Code::already_exists, "virtualclusters.kosmos.io \"{}\" already exists{}",
                record.name(), there->deleting() ? ": it is being deleted" : "");
  if (options.dry_run) return resources::Written{resources::make_object(record.object)};
  ZOO_TRY(auto written, write_record(store_, std::move(record)));
  wake_(key);
  return resources::Written{resources::make_object(std::move(written.object))};
}

Result<resources::Written> ClusterBacking::update(const resources::Who&, json object,
                                                  const resources::WriteOptions& options) {
  const auto key = record_key(resources::key_of(object));
  const auto wanted_version = resources::version_of(object);
  const auto uid = resources::text_at(object, "metadata.uid");
  ZOO_TRY(auto record, read_record(store_, key));
  if (wanted_version != 0 && wanted_version != record.revision)
    return fail(Code::conflict,
                "Operation cannot be fulfilled on virtualclusters.kosmos.io \"{}\": the object has "
                "been modified; please apply your changes to the latest version and try again",
                record.name());
  if (!uid.empty() && uid != record.uid())
    return fail(Code::conflict, "virtual cluster {} is another one by now", key);
  keep_metadata(object, record.object);
  const bool other_spec =
      object.value("spec", json::object()) != record.object.value("spec", json::object());
  if (other_spec) {
    if (record.deleting())
      return fail(Code::conflict, "virtual cluster {} is being deleted", record.name());
    if (!record.place.upstream.empty())
      return fail(Code::forbidden,
                  "virtual cluster {} is ordered by an object of the upstream: change spec there, "
                  "with kubectl edit virtualcluster {} -n {}",
                  record.name(), record.name(), record.space());
    object["metadata"]["generation"] =
        record.object["metadata"].value("generation", std::int64_t{1}) + 1;
  }
  object["status"] = record.object["status"];
  record.object = std::move(object);
  if (options.dry_run) return resources::Written{resources::make_object(record.object)};
  ZOO_TRY(auto written, write_record(store_, std::move(record)));
  if (other_spec) wake_(key);
  return resources::Written{resources::make_object(std::move(written.object))};
}

Result<resources::Written> ClusterBacking::remove(const resources::Who&, const Key& key,
                                                  const resources::Preconditions& expected,
                                                  const resources::WriteOptions& options) {
  const auto at = record_key(key);
  Result<void> judged;
  const auto judge = [&](Record& record) {
    if (!expected.uid.empty() && expected.uid != record.uid())
      judged = fail(Code::conflict,
                    "Precondition failed: UID in precondition: {}, UID in object "
                    "meta: {}",
                    expected.uid, record.uid());
    if (!expected.resource_version.empty() &&
        expected.resource_version != std::to_string(record.revision))
      judged = fail(Code::conflict, "Precondition failed: resourceVersion");
    return judged && mark_deleted(record) && !options.dry_run;
  };
  ZOO_TRY(auto record, change_record(store_, at, {}, judge));
  if (!judged) return fail(std::move(judged).error());
  if (!options.dry_run) wake_(at);
  return resources::Written{resources::make_object(std::move(record.object))};
}

} // namespace zoo::clusters
