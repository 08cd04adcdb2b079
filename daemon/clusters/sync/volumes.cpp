// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/sync/volumes.hpp"

#include "common/base/log.hpp"
#include "common/kube/client.hpp"
#include "common/kube/json_reads.hpp"
#include "daemon/tenants/footprint.hpp"

#include <array>
#include <vector>

namespace zoo::clusters::sync {
namespace {

using nlohmann::json;

constexpr const char* k_volumes_path = "/api/v1/persistentvolumes";
constexpr std::size_t k_most_volumes = 20'000; ///< that are looked at: more than it has claims
constexpr const char* k_selected_node = "volume.kubernetes.io/selected-node";
/// Names the class, even if it is empty, whatever the specification says
/// (GetPersistentVolumeClaimClass of k8s.io/component-helpers).
constexpr const char* k_class_annotation = "volume.beta.kubernetes.io/storage-class";
/// What upstream's binder says of a claim, and the cluster shows.
constexpr std::array k_bound_marks = {
    "pv.kubernetes.io/bind-completed", "pv.kubernetes.io/bound-by-controller",
    "volume.kubernetes.io/storage-provisioner", "volume.beta.kubernetes.io/storage-provisioner"};

std::string volume_path(std::string_view name) { return k_volumes_path + kube::path({name}); }

std::string claim_path(std::string_view space, std::string_view name) {
  return kube::path({"api", "v1", "namespaces", space, "persistentvolumeclaims", name});
}

/// Changes this volume, as it was read, and none that has its name by now. `part`: "/status" or "".
Result<void> patch_volume(upstream::ControlApi& api, const json& volume, const char* part,
                          json patch) {
  patch["metadata"]["uid"] = kube::text_at(volume, "/metadata/uid");
  return api.merge_patch(volume_path(kube::text_at(volume, "/metadata/name")) + part, patch)
      .map([](const auto&) {});
}

} // namespace

json shown_volume(const json& upstream, const json& claim, bool named_node) {
  const auto name = kube::text_at(upstream, "/metadata/name");
  json spec = {{"persistentVolumeReclaimPolicy", "Retain"},
               {"csi", {{"driver", "virtual-cluster.zood"}, {"volumeHandle", name}}},
               {"claimRef",
                {{"apiVersion", "v1"},
                 {"kind", "PersistentVolumeClaim"},
                 {"namespace", kube::text_at(claim, "/metadata/namespace")},
                 {"name", kube::text_at(claim, "/metadata/name")},
                 {"uid", kube::text_at(claim, "/metadata/uid")}}}};
  const auto theirs = upstream.value("spec", json::object());
  std::vector<const char*> kept{"capacity", "accessModes", "storageClassName", "volumeMode"};
  // A share has none of the hosts' labels; upstream's scheduler looks at the volume itself.
  if (named_node) kept.push_back("nodeAffinity");
  for (const char* key : kept)
    if (const auto found = theirs.find(key); found != theirs.end() && !found->is_null())
      spec[key] = *found;
  return {{"apiVersion", "v1"},
          {"kind", "PersistentVolume"},
          {"metadata", {{"name", name}, {"labels", {{k_volume_label, "true"}}}}},
          {"spec", std::move(spec)}};
}

Result<void> dress_claim(json& object, const MirrorTerms& terms) {
  auto& annotations = object["metadata"]["annotations"];
  for (const char* mark : k_bound_marks)
    annotations.erase(mark);
  // Upstream's provisioners make the volume on that host, whosever it is.
  if (!terms.has_node(annotations.value(k_selected_node, std::string())))
    annotations.erase(k_selected_node);
  // Without a class the upstream would give it its default one, or any volume that somebody has
  // made by hand; a selector would choose among these.
  const auto texts = kube::texts_at(object, "/metadata/annotations");
  const auto before = texts.find(k_class_annotation);
  const auto storage_class =
      before != texts.end() ? before->second : kube::text_at(object, "/spec/storageClassName");
  if (storage_class.empty())
    return fail(Code::invalid, "spec.storageClassName: a claim needs a StorageClass that the "
                               "platform shares with virtual clusters");
  object["spec"].erase("volumeName");
  object["spec"].erase("selector");
  return {};
}

void keep_claim(json& next, const json& there) {
  const auto wanted = next.value("spec", json::object());
  next["spec"] = there.value("spec", json::object());
  if (wanted.contains("resources")) next["spec"]["resources"] = wanted["resources"];
}

json shown_claim(const json& own, const json& there) {
  json out = json::object();
  const auto volume = kube::text_at(there, "/spec/volumeName");
  if (volume.empty()) return json();
  if (kube::text_at(own, "/spec/volumeName").empty()) out["spec"]["volumeName"] = volume;
  const auto before = kube::texts_at(own, "/metadata/annotations");
  for (const auto& [key, value] : kube::texts_at(there, "/metadata/annotations")) {
    bool marks = false;
    for (const std::string_view mark : k_bound_marks)
      marks = marks || key == mark;
    const auto found = before.find(key);
    if (marks && (found == before.end() || found->second != value))
      out["metadata"]["annotations"][key] = value;
  }
  return out.empty() ? json() : out;
}

json shown_claim_status(const json& own, const json& there) {
  const auto theirs = there.value("status", json::object());
  const auto before = own.value("status", json::object());
  json status = json::object();
  for (const char* key : {"phase", "accessModes", "capacity", "conditions"}) {
    const auto now = theirs.value(key, json());
    if (now != before.value(key, json())) status[key] = now;
  }
  return status.empty() ? json() : json{{"status", std::move(status)}};
}

Result<void> keep_volume(const SyncRoom& room, const json& claim, const json& there) {
  const auto name = kube::text_at(there, "/spec/volumeName");
  if (name.empty()) return {};
  auto volume = [&] {
    const auto lease = room.upstream.take();
    return (*lease).get(volume_path(name));
  }();
  if (!volume) return fail(std::move(volume).error());
  // Upstream's binder says so of one of the cluster's claims alone.
  if (kube::text_at(*volume, "/spec/claimRef/uid") != kube::text_at(there, "/metadata/uid"))
    return fail(Code::unavailable, "volume {} is not bound to its claim yet", name);
  const auto lease = room.own.take();
  const auto wanted = shown_volume(*volume, claim, room.terms().named_node);
  const auto there_already = (*lease).get(volume_path(name));
  if (!there_already && there_already.error().code() == Code::not_found) {
    const auto made = (*lease).create(k_volumes_path, wanted);
    // Nobody else in the cluster says so: its binder is switched off.
    if (made) return patch_volume(*lease, *made, "/status", {{"status", {{"phase", "Bound"}}}});
    return fail(made.error());
  }
  if (!there_already) return fail(there_already.error());
  const auto& own = *there_already;
  const auto labels = kube::texts_at(own, "/metadata/labels");
  if (!labels.contains(k_volume_label))
    return fail(Code::conflict, "the cluster has a PersistentVolume {} of its own", name);
  const json::json_pointer capacity("/spec/capacity");
  if (!wanted.contains(capacity) ||
      (own.contains(capacity) && own.at(capacity) == wanted.at(capacity)))
    return {};
  return patch_volume(*lease, own, "", {{"spec", {{"capacity", wanted.at(capacity)}}}});
}

Result<void> sweep_volumes(const SyncRoom& room, std::string& swept) {
  const WorkTime time;
  const auto last = std::exchange(swept, "");
  const auto lease = room.own.take();
  // What of them is looked at: the cluster's users may write as much into one as they like.
  std::vector<json> volumes;
  const auto read = tenants::range_objects(
      *lease, k_volumes_path, {}, 0, k_most_volumes, false, {{"labelSelector", k_volume_label}},
      [&volumes](const json& volume) {
        volumes.push_back({{"metadata",
                            {{"name", kube::text_at(volume, "/metadata/name")},
                             {"uid", kube::text_at(volume, "/metadata/uid")}}},
                           {"spec",
                            {{"claimRef",
                              {{"namespace", kube::text_at(volume, "/spec/claimRef/namespace")},
                               {"name", kube::text_at(volume, "/spec/claimRef/name")},
                               {"uid", kube::text_at(volume, "/spec/claimRef/uid")}}}}}});
      });
  if (!read) return fail(read.error());
  for (const auto& volume : volumes) {
    const auto name = kube::text_at(volume, "/metadata/name");
    if (name <= last) continue;
    if (time.over()) return {};
    swept = name;
    const auto claim = (*lease).get(claim_path(kube::text_at(volume, "/spec/claimRef/namespace"),
                                               kube::text_at(volume, "/spec/claimRef/name")));
    if (!claim && claim.error().code() != Code::not_found) return fail(claim.error());
    if (claim &&
        kube::text_at(*claim, "/metadata/uid") == kube::text_at(volume, "/spec/claimRef/uid"))
      continue;
    const auto there = [&] {
      const auto upstream = room.upstream.take();
      return (*upstream).get(volume_path(name));
    }();
    if (there || there.error().code() != Code::not_found) continue; // it goes there first
    ZOO_TRY_VOID(room.known_store(*lease, Store::cluster));
    ZOO_TRY_VOID(room.known(Store::upstream));
    ZOO_TRY_VOID(patch_volume(*lease, volume, "/status", {{"status", {{"phase", "Released"}}}}));
    ZOO_TRY_VOID(remove_of(*lease, volume_path(name), kube::text_at(volume, "/metadata/uid")));
    log::info("clusters", "{}: volume {} is gone", room.id, name);
  }
  swept.clear();
  return {};
}

} // namespace zoo::clusters::sync
