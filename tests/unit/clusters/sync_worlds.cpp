// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/clusters/sync_worlds.hpp"

#include "common/kube/json_reads.hpp"
#include "daemon/clusters/tenant_room.hpp"
#include "daemon/tenants/footprint.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace zoo::tests {
namespace {

using namespace clusters::sync;
using nlohmann::json;

/// What failed would be tried again soon: once is enough.
constexpr std::chrono::hours k_later{1};

Result<kube::ClusterAccess> no_access() { return kube::ClusterAccess{}; }

Hear hear_of(FakeSide& side) {
  return [&side](auto, const auto& watch, auto, const auto&, const auto& stop) {
    return side.hear(watch, stop);
  };
}

void wait_for_mirrored(FakeSide& side) {
  for (const auto& row : mirror_kinds())
    if (is_on(row, {})) REQUIRE(side.heard(row.collection()));
}

class ScriptedTenants final : public tenants::ClusterTenants {
public:
  explicit ScriptedTenants(Sides& sides) : sides_(sides) {}
  Result<bool> make(std::string_view, std::string_view) override { return true; }
  Result<std::optional<std::string>> remove(std::string_view) override {
    return std::optional<std::string>();
  }
  Result<void> open_namespace(upstream::ControlApi&, std::string_view,
                              const std::string& name) override {
    sides_.open(name.substr(std::string_view(k_id).size() + 1));
    return {};
  }

private:
  Sides& sides_;
};

} // namespace

json pod_of(const char* spec) {
  json out = {
      {"apiVersion", "v1"},
      {"kind", "Pod"},
      {"metadata", {{"generation", 1}}},
      {"spec",
       {{"nodeName", "n1"}, {"containers", json::array({{{"name", "c"}, {"image", "i"}}})}}}};
  out["spec"].update(json::parse(spec));
  return out;
}

json service_of() {
  return json::parse(R"({"apiVersion":"v1","kind":"Service","spec":{"ports":[{"port":80}]}})");
}

Sides::Sides() { own.put(k_space, json::object()); }

Sides::~Sides() {
  for (const auto* side : {&own, &up})
    for (const auto& call : side->writes()) {
      if (call.path.find("/leases/") != call.path.npos) continue; // a node's, known by its name
      const auto line = call.line(), body = call.body.dump();
      CAPTURE(line);
      CAPTURE(body);
      CHECK(is_guarded(call));
    }
}

void Sides::open(const std::string& space) {
  const auto path = "/api/v1/namespaces/" + clusters::upstream_namespace(k_id, space);
  if (up.has(path)) return;
  json object = json::object();
  object["metadata"]["labels"][std::string(tenants::k_tenant_label)] = k_id;
  up.put(path, std::move(object));
}

void Sides::settle(const std::function<WorkNext(const FairQueue::Work&)>& work,
                   const std::vector<std::string>& kinds) {
  for (int turns = 0;; ++turns) {
    REQUIRE(turns < 5'000); // it would go on for ever
    const auto next = queue.take_due();
    if (!next) return;
    WorkNext done;
    if (std::find(kinds.begin(), kinds.end(), next->key.substr(0, 2)) != kinds.end())
      done = work(*next);
    if (done.failed) done.after = k_later;
    queue.done(*next, done.after, done.failed);
  }
}

// ---- what its parts stand on ----

Room::Room()
    : own_api([this] { return own.connect(); }), up_api([this] { return up.connect(); }),
      acting([this] { return up.connect(); }), tenant_api(acting, k_id), room(make_room()) {}

SyncRoom Room::make_room() {
  return {
      .id = k_id,
      .queue = queue,
      .stored = stored,
      .pace = pace,
      .own = own_api,
      .upstream = up_api,
      .as_tenant = tenant_api,
      .list_turns = turns,
      .access = no_access,
      .hear = hear_of(own),
      .mapping =
          [] { return translate::Mapping(k_id, std::make_shared<const translate::SharedNames>()); },
      .terms = [] { return MirrorTerms{k_id}; },
      .known_store = [this](auto& api, Store whose) -> Result<void> {
        ZOO_TRY(const auto uid, store_uid(api));
        if (uid == (whose == Store::upstream ? up_store : own_store)) return {};
        return fail(Code::internal, "it is another store");
      },
      .open_namespace = [this](const auto& space) -> Result<void> {
        open(space);
        return {};
      },
      .lost_namespace = [](const auto&) {},
      .allowed = [](const auto&, const auto&) { return Result<void>(); },
      .changed = [] {},
      .patrol = k_later,
      .calls = calls.get_token()};
}

// ---- a Mirror ----

MirrorRoom::MirrorRoom() { stop(); }

void MirrorRoom::start() {
  mirror->start();
  mirror->pods_noted();
  wait_for_mirrored(own);
  settle();
}

void MirrorRoom::stop() {
  mirror = std::make_unique<Mirror>(room, MirrorOptions());
  queue.forget(k_id);
}

void MirrorRoom::settle() {
  const auto work = [this](const FairQueue::Work& next) {
    const auto rest = next.key.substr(2);
    const auto done = next.key.starts_with("m/")   ? mirror->work(rest, next.attempts)
                      : next.key.starts_with("x/") ? mirror->patrol(rest)
                                                   : Result<WorkNext>(mirror->fill_room(rest));
    return done ? *done : WorkNext{k_later, true};
  };
  Sides::settle(work, {"m/", "x/", "y/"});
}

std::string MirrorRoom::all_of(const char* resource) {
  return fmt::format("{}", mirror_kind_of(resource));
}

// ---- all of it ----

Cluster::Cluster() : tenants(std::make_unique<ScriptedTenants>(*this)), parts(make_parts()) {}

SyncerParts Cluster::make_parts() {
  return {.upstream = std::make_shared<upstream::Connections>([this] { return up.connect(); }),
          .acting = std::make_shared<upstream::ActingConnections>([this] { return up.connect(); }),
          .names = [] { return std::make_shared<const translate::SharedNames>(); },
          .tenants = *tenants,
          .changed = [](const std::string&) {},
          .quota_fence = false,
          .patrol = k_later,
          .connect_own = [this](auto, auto) { return own.connect(); },
          .hear = hear_of(own)};
}

SyncWish Cluster::wish() {
  SyncWish out;
  out.id = k_id;
  out.key = "default/c";
  out.name = "c";
  out.version = "1.36.3";
  out.named = true;
  out.nodes =
      std::make_shared<const std::vector<std::string>>(std::vector<std::string>{"n1", "n2"});
  out.api_address = "192.0.2.1";
  out.access = no_access;
  return out;
}

void Cluster::start() {
  cluster = std::make_unique<SyncedCluster>(parts, queue, wish());
  REQUIRE(own.heard("/api/v1/pods"));
  REQUIRE(own.heard("/api/v1/namespaces"));
  wait_for_mirrored(own);
  settle();
}

void Cluster::stop() {
  cluster.reset();
  queue.forget(k_id);
}

void Cluster::settle() {
  Sides::settle([this](const auto& next) { return cluster->work(next); }, kinds);
}

void Cluster::work(const char* key) {
  queue.add(k_id, key, Lane::first);
  settle();
}

void Cluster::hear(const json& pod, bool gone) {
  cluster->hear_pod("default/web", kube::text_of(pod), gone);
}

} // namespace zoo::tests
