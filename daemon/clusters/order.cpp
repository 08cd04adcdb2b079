// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/order.hpp"

#include "common/base/log.hpp"
#include "common/kube/json_reads.hpp"
#include "common/kube/yaml.hpp"
#include "daemon/clusters/backing.hpp"
#include "daemon/clusters/definition.hpp"
#include "daemon/clusters/order_reads.hpp"
#include "daemon/clusters/sync/calls.hpp"
#include "daemon/clusters/upstream_store.hpp"

#include <algorithm>
#include <utility>

namespace zoo::clusters {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

constexpr std::string_view k_all = "*"; ///< a key of its own in the queue: no namespace has it
constexpr std::string_view k_finalizer = "kosmos.io/virtualcluster-controller";
constexpr std::string_view k_definition_path =
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/virtualclusters.kosmos.io";
constexpr milliseconds k_look_again{300'000};
constexpr milliseconds k_not_served{1'000}; ///< until upstream serves a new definition
constexpr milliseconds k_settled{600'000};

std::string path_of(std::string_view key) {
  const auto slash = key.find('/');
  return kube::path({"apis", "kosmos.io", "v1alpha1", "namespaces", key.substr(0, slash),
                     "virtualclusters", key.substr(slash + 1)});
}

bool has_finalizer(const json& object) {
  const auto& metadata = object["metadata"];
  const auto all = metadata.value("finalizers", json::array());
  return std::find(all.begin(), all.end(), k_finalizer) != all.end();
}

} // namespace

Orders::Orders(OrderParts parts) : parts_(std::move(parts)), connections_(parts_.connect) {
  runner_.emplace(reconcile::Reconciler{
                      .name = "orders",
                      .look = [this](const std::string& key, unsigned) { return look(key); },
                      .failed =
                          [this](const std::string& key, const Error& error) {
                            log::warning("clusters", "upstream's order {}: {}", key, error.text());
                            if (key == k_all) set_trouble(error.message());
                          },
                      .settled = k_settled},
                  queue_);
}

Orders::~Orders() { stop(); }

void Orders::start() {
  written(std::string(k_all));
  runner_->start(1);
}

/// From the moment at which upstream serves the kind.
void Orders::follow() {
  if (std::exchange(follows_, true)) return;
  parts_.loop.post([this] {
    upstream::ChangeFollower::Hears hears;
    hears.changed = [this](translate::EventType, const translate::ObjectKey& key,
                           std::string_view) { written(key_of(key.name_space, key.name)); };
    hears.began = [this] { written(std::string(k_all)); };
    follower_ = std::make_unique<upstream::ChangeFollower>(parts_.upstream, parts_.loop,
                                                           parts_.upstream.caller(parts_.loop),
                                                           k_orders_path, "", std::move(hears));
    follower_->start();
  });
}

void Orders::stop() {
  runner_.reset();
  net::run_and_wait(parts_.loop, [this] { follower_.reset(); });
}

std::string Orders::trouble() const {
  const std::scoped_lock lock(mutex_);
  return trouble_;
}

void Orders::set_trouble(std::string text) {
  const std::scoped_lock lock(mutex_);
  trouble_ = std::move(text);
}

Result<Orders::Next> Orders::look(const std::string& key) {
  const auto lease = connections_.take();
  auto& api = *lease;
  if (key == k_all) return look_at_all(api);
  const auto path = path_of(key);
  auto order = api.get(path);
  if (!order && order.error().code() != Code::not_found) return fail(std::move(order).error());
  auto record = read_record(parts_.store, key);
  if (!record && record.error().code() != Code::not_found) return fail(std::move(record).error());

  const auto uid = order ? kube::text_at(*order, "/metadata/uid") : std::string();
  const bool ours = record && !record->place.upstream.empty();
  if (ours && record->place.upstream != uid) { // it went without asking the finalizer
    ZOO_TRY(const auto store, sync::store_uid(api));
    ZOO_TRY_VOID(may_miss_order(*record, store));
    if (mark_deleted(*record)) ZOO_TRY_VOID(write_record(parts_.store, *std::move(record)));
    parts_.controller.wake(key);
    return Next{};
  }
  if (!order) return Next{};
  const bool ends = !kube::text_at(*order, "/metadata/deletionTimestamp").empty();
  if (!record) {
    if (!ends) return take(api, path, *order);
    ZOO_TRY_VOID(release(api, path, *order));
    return Next{};
  }
  if (!ours) {
    if (ends) {
      ZOO_TRY_VOID(release(api, path, *order));
      return Next{};
    }
    ZOO_TRY_VOID(write_status(api, path, *order,
                              {{"phase", api::cluster_phase::k_pending},
                               {"reason", "NameTaken"},
                               {"message", "zood's admin API has a virtual cluster of this name: "
                                           "it begins when that one is deleted"}}));
    return Next{k_not_served * 10, true};
  }
  if (ends && mark_deleted(*record)) {
    ZOO_TRY_VOID(write_record(parts_.store, *std::move(record)));
    parts_.controller.wake(key);
    return Next{};
  }
  if (record->deleting() && !ends) { // its end was asked for at the admin API
    ZOO_TRY_VOID(api.remove_read(path, uid));
    return Next{};
  }
  return answer(api, path, *order, *record);
}

/// The definition, then a look at each order and each record of one: what went unheard.
Result<Orders::Next> Orders::look_at_all(upstream::ControlApi& api) {
  const auto there = api.get(k_definition_path);
  if (!there && there.error().code() == Code::not_found) {
    ZOO_TRY(const auto definition, kube::yaml_to_json(definition_text()));
    ZOO_TRY_VOID(api.apply(k_definition_path, json::parse(definition)));
    log::info("clusters", "upstream has the definition of VirtualCluster now");
  } else if (!there) {
    return fail(there.error());
  }
  const auto told = each_order(api, [this](const std::string& key) { written(key); });
  if (!told && told.error().code() == Code::not_found) return Next{k_not_served, true};
  // Whatever keeps the orders from being read: what changes from now on is heard, and those that
  // have clusters are looked at one by one.
  follow();
  ZOO_TRY(const auto records, all_records(parts_.store));
  for (const auto& record : records)
    if (!record.place.upstream.empty()) written(record.key());
  if (!told) return fail(told.error());
  set_trouble("");
  return Next{k_look_again, true};
}

Result<Orders::Next> Orders::take(upstream::ControlApi& api, const std::string& path,
                                  const json& order) {
  auto object = wanted_of(order);
  if (const auto spec = order_spec(object); !spec) {
    ZOO_TRY_VOID(write_status(api, path, order,
                              {{"phase", api::cluster_phase::k_pending},
                               {"reason", "Invalid"},
                               {"message", spec.error().message()}}));
    return Next{};
  }
  // Before there is anything to clear up after it.
  if (!has_finalizer(order)) {
    auto finalizers = order["metadata"].value("finalizers", json::array());
    finalizers.push_back(k_finalizer);
    ZOO_TRY_VOID(api.merge_patch(
        path, {{"metadata",
                {{"resourceVersion", kube::text_at(order, "/metadata/resourceVersion")},
                 {"finalizers", std::move(finalizers)}}}}));
  }
  auto record = new_record(std::move(object));
  record.place.upstream = kube::text_at(order, "/metadata/uid");
  ZOO_TRY(record.place.upstream_store, sync::store_uid(api));
  const auto key = record.key();
  ZOO_TRY_VOID(write_record(parts_.store, std::move(record)));
  parts_.controller.wake(key);
  return Next{milliseconds(0), true};
}

Result<Orders::Next> Orders::answer(upstream::ControlApi& api, const std::string& path,
                                    const json& order, const Record& record) {
  const auto wanted = wanted_of(order);
  const auto spec = order_spec(wanted);
  if (record.place.upstream_store.empty()) { // it was taken before this was kept; now it was seen
    ZOO_TRY(const auto store, sync::store_uid(api));
    ZOO_TRY_VOID(change_record(parts_.store, record.key(), record.uid(), [&store](Record& now) {
      now.place.upstream_store = store;
      return true;
    }));
  }
  auto status = record.object["status"];
  if (!spec) { // what it was made by holds on
    status["reason"] = "Invalid";
    status["message"] = spec.error().message();
  } else if (wanted["spec"] != record.object.value("spec", json::object())) {
    ZOO_TRY_VOID(change_record(parts_.store, record.key(), record.uid(), [&wanted](Record& now) {
      now.object["spec"] = wanted["spec"];
      auto& generation = now.object["metadata"]["generation"];
      generation = generation.is_number_integer() ? generation.get<std::int64_t>() + 1 : 1;
      return true;
    }));
    parts_.controller.wake(record.key());
  }
  if (parts_.kubeconfig_in_cr && !record.deleting()) {
    const auto kubeconfig = parts_.controller.kubeconfig(record);
    if (!kubeconfig) return fail(kubeconfig.error());
    // Before the phase says that it works.
    if (!kubeconfig->empty() && kube::text_at(order, "/spec/kubeconfig") != *kubeconfig)
      ZOO_TRY_VOID(api.merge_patch(path, {{"spec", {{"kubeconfig", *kubeconfig}}}}));
  }
  ZOO_TRY_VOID(write_status(api, path, order, status));
  return Next{};
}

Result<void> Orders::write_status(upstream::ControlApi& api, const std::string& path,
                                  const json& order, const json& status) {
  const auto before = order.value("status", json::object());
  if (before == status) return {};
  auto patch = status;
  if (before.is_object())
    for (const auto& [key, value] : before.items())
      if (!status.contains(key)) patch[key] = nullptr;
  const json body = {{"status", std::move(patch)}};
  auto done = api.merge_patch(path + "/status", body);
  // A definition of Kosmos' own has no such subresource.
  if (!done && done.error().code() == Code::not_found) done = api.merge_patch(path, body);
  if (!done && done.error().code() != Code::not_found) return fail(std::move(done).error());
  return {};
}

Result<void> Orders::release(upstream::ControlApi& api, const std::string& path,
                             const json& order) {
  if (!has_finalizer(order)) return {};
  auto finalizers = order["metadata"]["finalizers"];
  finalizers.erase(std::remove(finalizers.begin(), finalizers.end(), k_finalizer),
                   finalizers.end());
  const auto done = api.merge_patch(
      path, {{"metadata",
              {{"resourceVersion", kube::text_at(order, "/metadata/resourceVersion")},
               {"finalizers", std::move(finalizers)}}}});
  if (!done && done.error().code() != Code::not_found) return fail(done.error());
  return {};
}

} // namespace zoo::clusters
