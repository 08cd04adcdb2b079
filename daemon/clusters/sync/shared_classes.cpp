// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/sync/shared_classes.hpp"

#include "common/base/log.hpp"
#include "common/kube/client.hpp"
#include "common/kube/json_reads.hpp"
#include "daemon/clusters/sync/pod_dress.hpp"
#include "daemon/tenants/footprint.hpp"
#include "daemon/upstream/bootstrap.hpp"

#include <array>
#include <map>

namespace zoo::clusters::sync {
namespace {

using nlohmann::json;
using translate::Overlay;

constexpr std::chrono::seconds k_class_look{10}; ///< at which of them are shared
constexpr std::chrono::seconds k_whole_look{60}; ///< at what they are, on both sides

constexpr std::size_t k_most_classes = 10'000; ///< of one kind in the cluster that are looked at

constexpr std::array k_class_kinds = {
    ClassKind{Overlay::storage_class, "storage.k8s.io", "v1", "storageclasses", "StorageClass"},
    ClassKind{Overlay::priority_class, "scheduling.k8s.io", "v1", "priorityclasses",
              "PriorityClass"},
    ClassKind{Overlay::runtime_class, "node.k8s.io", "v1", "runtimeclasses", "RuntimeClass"},
    ClassKind{Overlay::ingress_class, "networking.k8s.io", "v1", "ingressclasses", "IngressClass"},
};

} // namespace

std::string ClassKind::collection() const {
  return fmt::format("/apis/{}/{}/{}", group, version, resource);
}

json shown_class(const ClassKind& kind, const json& upstream) {
  json out = {{"apiVersion", fmt::format("{}/{}", kind.group, kind.version)},
              {"kind", kind.kind},
              {"metadata", {{"name", kube::text_at(upstream, "/metadata/name")}}}};
  auto labels = plain_texts(upstream, "/metadata/labels");
  labels[k_class_label] = "true";
  out["metadata"]["labels"] = std::move(labels);
  auto annotations = plain_texts(upstream, "/metadata/annotations");
  annotations.erase("kubectl.kubernetes.io/last-applied-configuration");
  out["metadata"]["annotations"] = std::move(annotations);
  for (const char* key :
       {"provisioner", "reclaimPolicy", "allowVolumeExpansion", "volumeBindingMode", "value",
        "globalDefault", "description", "preemptionPolicy", "handler", "overhead"})
    if (const auto found = upstream.find(key); found != upstream.end() && !found->is_null())
      out[key] = *found;
  if (kind.overlay == Overlay::ingress_class)
    out["spec"] = {{"controller", kube::text_at(upstream, "/spec/controller")}};
  return out;
}

Result<void> SharedClasses::keep_one(const ClassKind& kind, const json& wanted,
                                     const std::optional<json>& there) {
  const auto name = kube::text_at(wanted, "/metadata/name");
  const auto path = kind.collection() + kube::path({name});
  const auto lease = room_.own.take();
  std::string where;
  if (there && upstream::covers(*there, wanted, where)) return {};
  if (there) {
    auto next = wanted;
    next["metadata"]["resourceVersion"] = kube::text_at(*there, "/metadata/resourceVersion");
    const auto done = (*lease).update(path, next);
    if (done || done.error().code() == Code::conflict) return {};
    if (!is_refusal(done.error())) return fail(done.error());
    // What makes a class cannot be changed.
    ZOO_TRY_VOID(remove_of(*lease, path, kube::text_at(*there, "/metadata/uid")));
  }
  const auto made = (*lease).create(kind.collection(), wanted);
  if (made) return {};
  // One of the cluster's own has the name, or its API server does not take such a class.
  if (made.error().code() == Code::already_exists || is_refusal(made.error())) {
    log::debug("clusters", "{}: {} {}: {}", room_.id, kind.kind, name, made.error().text());
    return {};
  }
  return fail(made.error());
}

Result<void> SharedClasses::keep(const ClassKind& kind, const translate::SharedNames& names,
                                 const WorkTime& time) {
  const auto& shared = names.classes[static_cast<std::size_t>(kind.overlay)];
  std::map<std::string, json> there;
  {
    const auto lease = room_.own.take();
    // Of those that upstream shares the whole, of others what they are removed by: the cluster's
    // users may put the label on whatever they make.
    ZOO_TRY_VOID(tenants::range_objects(
        *lease, kind.collection(), {}, 0, k_most_classes, false, {{"labelSelector", k_class_label}},
        [&](const json& each) {
          auto name = kube::text_at(each, "/metadata/name");
          auto known = shared.contains(name)
                           ? each
                           : json{{"metadata", {{"uid", kube::text_at(each, "/metadata/uid")}}}};
          there.emplace(std::move(name), std::move(known));
        }));
  }
  for (const auto& name : shared) {
    const auto path = kind.collection() + kube::path({name});
    if (kept_.contains(path)) continue;
    if (time.over()) return {};
    auto current = [&] {
      const auto lease = room_.upstream.take();
      return (*lease).get(path);
    }();
    if (!current && current.error().code() == Code::not_found) {
      missing_ = true;
      kept_.insert(path);
      continue;
    }
    if (!current) return fail(std::move(current).error());
    const auto found = there.find(name);
    ZOO_TRY_VOID(keep_one(kind, shown_class(kind, *current),
                          found == there.end() ? std::nullopt : std::optional(found->second)));
    kept_.insert(path);
  }
  for (const auto& [name, object] : there) {
    if (shared.contains(name)) continue;
    if (time.over()) return {};
    const auto lease = room_.own.take();
    ZOO_TRY_VOID(remove_of(*lease, kind.collection() + kube::path({name}),
                           kube::text_at(object, "/metadata/uid")));
  }
  return {};
}

Result<WorkNext> SharedClasses::work(std::shared_ptr<const translate::SharedNames> names) {
  const auto now = std::chrono::steady_clock::now();
  if (names == seen_ && !missing_ && now - looked_ < k_whole_look) return WorkNext{k_class_look};
  ZOO_TRY_VOID(room_.known(Store::cluster));
  // What upstream shares no more goes in the cluster; another store in its place shares nothing.
  ZOO_TRY_VOID(room_.known(Store::upstream));
  if (kept_.empty()) missing_ = false;
  const WorkTime time;
  for (const auto& kind : k_class_kinds)
    ZOO_TRY_VOID(keep(kind, *names, time));
  if (time.over()) return WorkNext{std::chrono::milliseconds(0)};
  kept_.clear();
  seen_ = std::move(names);
  looked_ = now;
  return WorkNext{k_class_look};
}

} // namespace zoo::clusters::sync
