// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/sync/namespace_labels.hpp"

#include "common/base/log.hpp"
#include "common/kube/client.hpp"
#include "common/kube/json_reads.hpp"
#include "daemon/clusters/sync/own_watch.hpp"
#include "daemon/clusters/sync/pod_dress.hpp"
#include "daemon/clusters/sync/pod_status.hpp"
#include "daemon/clusters/tenant_room.hpp"

#include <pthread.h>

#include <set>

namespace zoo::clusters::sync {
namespace {

using nlohmann::json;

constexpr const char* k_spaces = "/api/v1/namespaces";
constexpr std::string_view k_pod_security = "pod-security.kubernetes.io/";
constexpr const char* k_name_label = "kubernetes.io/metadata.name"; ///< the API server's own

std::string space_path(std::string_view name) { return k_spaces + kube::path({name}); }

json wanted_labels(const json& own) {
  const auto labels = plain_texts(own, "/metadata/labels");
  json out = json::object();
  for (const auto& [key, value] : labels.items())
    if (key != k_name_label && !key.starts_with(k_pod_security)) out[key] = value;
  return out;
}

std::set<std::string> keys_in(const json& there) {
  std::set<std::string> out;
  const auto annotations = kube::texts_at(there, "/metadata/annotations");
  const auto text = annotations.find(k_labels_annotation);
  if (text == annotations.end()) return out;
  const auto keys = kube::parse_foreign(text->second);
  if (!keys.is_array()) return out;
  for (const auto& key : keys)
    if (key.is_string()) out.insert(key.get<std::string>());
  return out;
}

} // namespace

json labels_patch(const json& own, const json& there) {
  const auto wanted = wanted_labels(own);
  const auto known = keys_in(there);
  const auto labels = kube::texts_at(there, "/metadata/labels");
  json change = json::object(), keys = json::array();
  for (const auto& [key, value] : wanted.items()) {
    const auto found = labels.find(key);
    if (found != labels.end() && !known.contains(key)) continue; // the platform's
    keys.push_back(key);
    if (found == labels.end() || found->second != value.get<std::string>()) change[key] = value;
  }
  for (const auto& key : known)
    if (!wanted.contains(key) && labels.contains(key)) change[key] = nullptr;
  if (change.empty() && keys.size() == known.size()) return json();
  json out = {{"metadata",
               {{"uid", kube::text_at(there, "/metadata/uid")},
                {"annotations", {{k_labels_annotation, kube::text_of(keys)}}}}}};
  if (!change.empty()) out["metadata"]["labels"] = std::move(change);
  return out;
}

NamespaceLabels::~NamespaceLabels() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

void NamespaceLabels::start() {
  thread_ = std::jthread([this](const std::stop_token& stop) {
    ::pthread_setname_np(::pthread_self(), fmt::format("hear-{}-n", room_.id).c_str());
    keep_hearing(
        stop, [&] { return listen_once(stop); },
        [&](const Error& error) {
          log::debug("clusters", "{}: namespaces: {}", room_.id, error.text());
        });
  });
}

Result<void> NamespaceLabels::listen_once(const std::stop_token& stop) {
  ZOO_TRY_VOID(room_.known(Store::cluster));
  ZOO_TRY(auto access, room_.access());
  OwnWatch watch{.turns = room_.list_turns};
  watch.path = k_spaces;
  watch.found = [this](const json& space) { note(space); };
  watch.gone = [this](const json& space) {
    const std::scoped_lock lock(mutex_);
    seen_.erase(kube::text_at(space, "/metadata/name"));
  };
  watch.listed = [] {};
  return room_.hear(std::move(access), watch, room_.patrol, room_.calls, stop);
}

void NamespaceLabels::note(const json& space) {
  const auto name = kube::text_at(space, "/metadata/name");
  const auto print = fingerprint(wanted_labels(space));
  {
    const std::scoped_lock lock(mutex_);
    const auto found = seen_.find(name);
    if (found != seen_.end() && found->second == print) return;
    if (found != seen_.end() || seen_.size() < k_most) seen_[name] = print;
  }
  room_.queue.add(room_.id, "s/" + name, Lane::then);
}

Result<WorkNext> NamespaceLabels::work(const std::string& name_space, unsigned attempts) {
  const auto upstreams = space_path(upstream_namespace(room_.id, name_space));
  const auto there = [&] {
    const auto lease = room_.upstream.take();
    return (*lease).get(upstreams);
  }();
  if (!there && there.error().code() == Code::not_found) return WorkNext{}; // nothing needs it yet
  if (!there) return fail(there.error());
  json patch;
  std::size_t bytes = 0;
  {
    const auto lease = room_.own.take();
    const auto own = (*lease).get(space_path(name_space));
    if (!own && own.error().code() == Code::not_found) return WorkNext{}; // it goes there, too
    if (!own) return fail(own.error());
    patch = labels_patch(*own, *there);
    if (patch.is_null()) return WorkNext{};
    ZOO_TRY_VOID(room_.known_store(*lease, Store::cluster)); // another one has its namespaces, too
    bytes = kube::text_of(*own).size();
  }
  ZOO_TRY_VOID(room_.known(Store::upstream));
  if (const auto pause = room_.pace.wait(); pause.count() != 0) return WorkNext{pause};
  room_.pace.spend(bytes);
  const auto lease = room_.as_tenant.take();
  const auto done = (*lease).merge_patch(upstreams, patch);
  if (done) return WorkNext{};
  if (is_refusal(done.error())) {
    ZOO_TRY_VOID(one_by_one(*lease, upstreams, patch));
    return WorkNext{refused_pause(attempts), true};
  }
  if (is_gone(done.error())) return WorkNext{};
  return fail(done.error());
}

/// One label that is refused keeps no other from going down, or from being taken away.
Result<void> NamespaceLabels::one_by_one(upstream::ControlApi& api, const std::string& upstreams,
                                         const json& patch) const {
  const auto uid = kube::text_at(patch, "/metadata/uid");
  auto keys = keys_in(patch);
  const auto change = patch["metadata"].value("labels", json::object());
  const WorkTime time;
  for (const bool adds : {false, true}) {
    for (const auto& [key, value] : change.items()) {
      if (value.is_null() == adds) continue;
      json one = {{"metadata", {{"uid", uid}}}};
      one["metadata"]["labels"][key] = value;
      if (!time.over()) { // else it is not changed, as if it were refused, until the next turn
        const auto done = api.merge_patch(upstreams, one);
        if (done) continue;
        if (!is_refusal(done.error())) return fail(done.error());
        log::warning("clusters", "{}: label {} of {} is not changed upstream: {}", room_.id, key,
                     upstreams, done.error().message());
      }
      if (adds)
        keys.erase(key);
      else
        keys.insert(key); // it is there still, and is to go
    }
  }
  json told = {{"metadata", {{"uid", uid}}}};
  told["metadata"]["annotations"][k_labels_annotation] = kube::text_of(json(keys));
  const auto done = api.merge_patch(upstreams, told);
  return done || is_gone(done.error()) ? Result<void>() : fail(done.error());
}

} // namespace zoo::clusters::sync
