// SPDX-License-Identifier: Apache-2.0
// What the syncer sends to both API servers, which are scripted: that nothing is deleted, copied or
// changed since something could not be read, and that each change names the object that is meant.
#include "common/kube/json_reads.hpp"
#include "daemon/clusters/sync/namespace_labels.hpp"
#include "daemon/clusters/sync/pod_dress.hpp"
#include "daemon/clusters/sync/pod_tokens.hpp"
#include "daemon/clusters/sync/service_judge.hpp"
#include "daemon/clusters/sync/shared_classes.hpp"
#include "daemon/clusters/sync/token_keeper.hpp"
#include "daemon/clusters/sync/volumes.hpp"
#include "daemon/clusters/tenant_room.hpp"
#include "daemon/tenants/footprint.hpp"
#include "tests/unit/clusters/sync_worlds.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace zoo;
using namespace zoo::clusters::sync;
using namespace zoo::tests;
using nlohmann::json;
using zoo::clusters::k_uid_annotation;

namespace {

// ---- what may be in the way ----

enum class Side : std::uint8_t { none, own, up };

/// One thing that is not as it should be.
struct Trouble {
  const char* name;
  Side side;
  enum class What : std::uint8_t {
    nothing,
    replaced,     ///< it is another store
    error,        ///< it answers each request with 500
    error_of_uid, ///< it answers what is asked, but not who it is
    error_of_all, ///< it answers who it is, and nothing else
    replaced_now, ///< it is another store since the first request that was no question who it is
    broken,       ///< no request is answered
    list_ends,    ///< the second page of each list is not answered
  } what;
};

constexpr Trouble k_troubles[] = {
    {"404 in the cluster", Side::none, Trouble::What::nothing},
    {"other UID of kube-system, in the cluster", Side::own, Trouble::What::replaced},
    {"other UID of kube-system, upstream", Side::up, Trouble::What::replaced},
    {"500, in the cluster", Side::own, Trouble::What::error},
    {"500, upstream", Side::up, Trouble::What::error},
    {"500 for kube-system, in the cluster", Side::own, Trouble::What::error_of_uid},
    {"500 for kube-system, upstream", Side::up, Trouble::What::error_of_uid},
    {"500 for all but kube-system, in the cluster", Side::own, Trouble::What::error_of_all},
    {"500 for all but kube-system, upstream", Side::up, Trouble::What::error_of_all},
    {"other UID of kube-system, in the cluster, since the last read", Side::own,
     Trouble::What::replaced_now},
    {"connection error, in the cluster", Side::own, Trouble::What::broken},
    {"connection error, upstream", Side::up, Trouble::What::broken},
    {"a list that breaks off in the middle, upstream", Side::up, Trouble::What::list_ends},
};

/// `kept`: what is in another store, too.
void make(const Trouble& trouble, Sides& sides, const std::vector<std::string>& kept) {
  if (trouble.side == Side::none) return;
  auto& side = trouble.side == Side::own ? sides.own : sides.up;
  const auto error = [] { return refusal(500, "InternalError", "etcd is away"); };
  switch (trouble.what) {
  case Trouble::What::nothing:
    return;
  case Trouble::What::replaced:
    return side.replace([&](const std::string& path) {
      return std::find(kept.begin(), kept.end(), path) != kept.end();
    });
  case Trouble::What::error:
    return side.set_fault([=](const auto&) { return error(); });
  case Trouble::What::error_of_uid:
    return side.set_fault([=](const auto& call) -> std::optional<Result<http_client::Response>> {
      if (call.path != k_kube_system) return std::nullopt;
      return error();
    });
  case Trouble::What::error_of_all:
    return side.set_fault([=](const auto& call) -> std::optional<Result<http_client::Response>> {
      if (call.path == k_kube_system) return std::nullopt;
      return error();
    });
  case Trouble::What::replaced_now: {
    const auto now = std::make_shared<bool>(false);
    return side.set_fault([=](const auto& call) -> std::optional<Result<http_client::Response>> {
      if (call.path != k_kube_system) *now = true;
      if (call.path != k_kube_system || !*now) return std::nullopt;
      return http_client::Response{200, {}, R"({"metadata":{"uid":"other"}})"};
    });
  }
  case Trouble::What::broken:
    return side.set_fault([](const auto&) { return fail(Code::unavailable, "not reached"); });
  case Trouble::What::list_ends: {
    side.set_page(1);
    const auto pages = std::make_shared<std::map<std::string, int>>();
    return side.set_fault([=](const auto& call) -> std::optional<Result<http_client::Response>> {
      if (call.method != "GET" || call.query.empty() || ++(*pages)[call.path] < 2)
        return std::nullopt;
      return error();
    });
  }
  }
}

/// Something that takes away what is upstream, or in the cluster.
struct Sweep {
  const char* name;
  const char* line; ///< the request that does it, if nothing is in the way
  Side target;      ///< where that goes
  /// Sides of which something must have been read before it is sent: with trouble there it is not
  /// sent. With trouble where it goes it may be, and does nothing.
  bool reads_own = false, reads_up = false;
  bool finds_own = true, finds_up = true; ///< of these, whether it is more than who they are
  bool asks_last = true; ///< the cluster says who it is behind all that it is asked
  bool lists_up = false;
  std::vector<std::string> kept; ///< in another store, too
};

bool is_trouble_for(const Trouble& trouble, const Sweep& sweep) {
  using What = Trouble::What;
  const bool own = trouble.side == Side::own, up = trouble.side == Side::up;
  if (trouble.what == What::list_ends) return up && sweep.lists_up;
  if (own && trouble.what == What::replaced_now) return sweep.reads_own && sweep.asks_last;
  if (trouble.what == What::error_of_all)
    return (own && sweep.reads_own && sweep.finds_own) || (up && sweep.reads_up && sweep.finds_up);
  return (own && sweep.reads_own) || (up && sweep.reads_up);
}

/// Tries it with each trouble in its way. `World`: a Sides. `prepare`: both sides are as they
/// should be; `begin`: something is gone, and that was heard; `work`: it is looked at.
template <typename World>
void try_all(const Sweep& sweep, auto&& prepare, auto&& begin, auto&& work) {
  for (const auto& trouble : k_troubles) {
    const std::string what = sweep.name, in_way = trouble.name;
    CAPTURE(what);
    CAPTURE(in_way);
    World world;
    prepare(world);
    auto& target = sweep.target == Side::own ? world.own : world.up;
    const auto line = std::string(sweep.line);
    const auto path = line.substr(line.find(' ') + 1);
    const auto before = target.at(path);
    REQUIRE_FALSE(before.is_null());
    begin(world);
    const auto sent_before = target.lines().size();
    make(trouble, world, sweep.kept);
    work(world);
    auto sent = target.lines();
    sent.erase(sent.begin(), sent.begin() + static_cast<std::ptrdiff_t>(sent_before));
    const auto count = std::count(sent.begin(), sent.end(), line);
    const bool in_the_way = is_trouble_for(trouble, sweep);
    // Does the request arrive at the object that it is about?
    const bool arrives = trouble.side != sweep.target || trouble.what == Trouble::What::list_ends ||
                         trouble.what == Trouble::What::error_of_uid ||
                         trouble.what == Trouble::What::replaced_now;
    if (in_the_way) CHECK(count == 0);
    if (!in_the_way && arrives) {
      CHECK(count == 1);
      CHECK(target.at(path) != before);
      continue;
    }
    const bool lost = trouble.what == Trouble::What::replaced && trouble.side == sweep.target &&
                      std::find(sweep.kept.begin(), sweep.kept.end(), path) == sweep.kept.end();
    CHECK(target.has(path) != lost);
    if (lost) continue;
    auto now = target.at(path);
    now["metadata"]["uid"] = before["metadata"]["uid"];
    CHECK(now == before);
  }
}

ServiceJudge::Done keep_answer(std::vector<json>& answers) {
  return [&answers](const std::string& text) { answers.push_back(json::parse(text)); };
}

std::string question(const char* operation, const json& service) {
  const json request = {{"uid", "q1"},
                        {"kind", {{"group", ""}, {"version", "v1"}, {"kind", "Service"}}},
                        {"resource", {{"group", ""}, {"version", "v1"}, {"resource", "services"}}},
                        {"namespace", "default"},
                        {"operation", operation},
                        {"object", service}};
  return json{{"kind", "AdmissionReview"}, {"request", request}}.dump();
}

} // namespace

// ---- nothing goes since something could not be read ----

TEST_CASE("remove of a mirrored object: the cluster has it no more") {
  try_all<MirrorRoom>(
      {.name = "service",
       .line = "DELETE /api/v1/namespaces/clu5t3-default/services/web",
       .target = Side::up,
       .reads_own = true,
       .kept = {k_service_there}},
      [](auto& world) {
        world.own.put(k_service, service_of());
        world.start();
      },
      [](auto& world) { world.own.drop(k_service); }, [](auto& world) { world.settle(); });
}

TEST_CASE("remove of a mirrored object: no pod names it any more") {
  try_all<MirrorRoom>(
      {.name = "configmap",
       .line = "DELETE /api/v1/namespaces/clu5t3-default/configmaps/conf",
       .target = Side::up,
       .reads_own = true,
       .finds_own = false,
       .asks_last = false,
       .kept = {k_config_there}},
      [](auto& world) {
        world.own.put(k_config, {{"data", {{"a", "1"}}}});
        auto pod = pod_of(R"({"volumes":[{"name":"v","configMap":{"name":"conf"}}]})");
        pod["metadata"]["namespace"] = "default";
        world.mirror->note_pod("default/web", pod);
        world.start();
      },
      [](auto& world) { world.mirror->drop_pod("default/web"); },
      [](auto& world) { world.settle(); });
}

TEST_CASE("stop of a pod") {
  try_all<Cluster>(
      {.name = "pod",
       .line = "DELETE /api/v1/namespaces/clu5t3-default/pods/web",
       .target = Side::up,
       .reads_own = true,
       .kept = {k_pod_there}},
      [](auto& world) {
        world.own.put(k_pod, pod_of());
        world.start();
      },
      [](auto& world) { world.own.drop(k_pod); }, [](auto& world) { world.settle(); });
}

TEST_CASE("finish of a pod") {
  try_all<Cluster>(
      {.name = "pod",
       .line = "DELETE /api/v1/namespaces/default/pods/web",
       .target = Side::own,
       .reads_up = true,
       .kept = {k_pod}},
      [](auto& world) {
        world.own.put(k_pod, pod_of());
        world.start();
      },
      [](auto& world) {
        const auto gone = world.up.at(k_pod_there);
        world.up.drop(k_pod_there);
        world.hear(gone, true);
      },
      [](auto& world) { world.settle(); });
}

TEST_CASE("sweep of namespaces") {
  const std::string old = "/api/v1/namespaces/old", there = "/api/v1/namespaces/clu5t3-old";
  try_all<Cluster>(
      {.name = "namespace: vNS gone",
       .line = "DELETE /api/v1/namespaces/clu5t3-old",
       .target = Side::up,
       .reads_own = true,
       .reads_up = true,
       .lists_up = true,
       .kept = {there, k_space}},
      [&](auto& world) {
        world.own.put(old, json::object());
        world.open("default");
        world.open("old");
        world.start();
      },
      [&](auto& world) { world.own.drop(old); }, [](auto& world) { world.work("a/"); });
}

TEST_CASE("the weight of a cluster is that of its turns, and another one holds at once") {
  Cluster world;
  world.start();
  auto wish = Cluster::wish();
  const auto turns = [&](unsigned weight) {
    wish.weight = weight;
    world.cluster->set_wish(wish);
    world.settle();
    for (int n = 0; n < 300; ++n) {
      world.queue.add(k_id, fmt::format("z/{}", n), Lane::then);
      world.queue.add("other1", fmt::format("z/{}", n), Lane::then);
    }
    int own = 0;
    for (int n = 0; n < 120; ++n) {
      const auto work = world.queue.take_due();
      REQUIRE(work);
      own += work->cluster == k_id ? 1 : 0;
      world.queue.done(*work, std::nullopt, false);
    }
    while (const auto rest = world.queue.take_due())
      world.queue.done(*rest, std::nullopt, false);
    return own;
  };
  CHECK(turns(100) == 60);
  CHECK(turns(300) == 90);
  CHECK(turns(50) == 40);
}

TEST_CASE("namespaces upstream have an end, also before the first patrol") {
  Cluster world;
  for (std::size_t n = 1; n < OpenedSpaces::k_most; ++n)
    world.open(fmt::format("s{}", n));
  for (std::size_t n = 1; n < OpenedSpaces::k_most; ++n)
    world.own.put(fmt::format("/api/v1/namespaces/s{}", n), json::object());
  world.own.put(k_pod, pod_of());
  world.start();
  CHECK(world.up.has(k_pod_there)); // the last one that there is room for
  auto pod = pod_of();
  pod["metadata"]["namespace"] = "more";
  world.own.put("/api/v1/namespaces/more", json::object());
  world.own.put("/api/v1/namespaces/more/pods/web", pod);
  world.settle();
  CHECK_FALSE(world.up.has("/api/v1/namespaces/clu5t3-more"));
}

TEST_CASE("labels of namespaces") {
  const json labelled = {{"metadata", {{"labels", {{"team", "blue"}}}}}};
  const auto label = [](Room& world) {
    NamespaceLabels labels(world.room);
    return labels.work("default", 0);
  };
  try_all<Room>(
      {.name = "namespace: a label is taken away",
       .line = "PATCH /api/v1/namespaces/clu5t3-default",
       .target = Side::up,
       .reads_own = true,
       .reads_up = true,
       .kept = {k_space, k_space_there}},
      [&](auto& world) {
        world.own.put(k_space, labelled);
        world.open("default");
        REQUIRE(label(world));
        REQUIRE(world.up.at(k_space_there)["metadata"]["labels"]["team"] == "blue");
      },
      [](auto& world) { world.own.put(k_space, {{"metadata", json::object()}}); },
      [&](auto& world) { (void)label(world); });
}

TEST_CASE("volumes sweep") {
  const std::string k_delete_volume = std::string("DELETE ") + k_volume;
  try_all<Room>(
      {.name = "pv: PVC missing",
       .line = k_delete_volume.c_str(),
       .target = Side::own,
       .reads_own = true,
       .reads_up = true,
       .kept = {k_volume}},
      [](auto& world) {
        json volume = {{"spec", {{"claimRef", {{"namespace", "default"}, {"name", "data"}}}}}};
        volume["metadata"]["labels"][k_volume_label] = "true";
        world.own.put(k_volume, std::move(volume));
      },
      [](auto&) {},
      [](auto& world) {
        std::string swept;
        (void)sweep_volumes(world.room, swept);
      });
}

TEST_CASE("classes that are shared no more") {
  const std::string path = "/apis/storage.k8s.io/v1/storageclasses/fast", line = "DELETE " + path;
  try_all<Room>(
      {.name = "class: not public",
       .line = line.c_str(),
       .target = Side::own,
       .reads_own = true,
       .reads_up = true,
       .finds_up = false,
       .asks_last = false,
       .kept = {path}},
      [&](auto& world) {
        json shown = json::object();
        shown["metadata"]["labels"][k_class_label] = "true";
        world.own.put(path, std::move(shown));
      },
      [](auto&) {},
      [](auto& world) {
        SharedClasses classes(world.room);
        (void)classes.work(std::make_shared<const translate::SharedNames>());
      });
}

TEST_CASE("a list that breaks off in the middle takes nothing away, and makes nothing anew") {
  const auto ends = [](FakeSide& side) {
    side.set_page(1);
    side.set_fault([](const auto& call) -> std::optional<Result<http_client::Response>> {
      if (!call.query.starts_with("continue=") && call.query.find("limit=") == call.query.npos)
        return std::nullopt;
      static const auto beginning = "continue=" + tenants::position(std::string(k_id) + "-");
      if (call.query.find("continue=") == call.query.npos ||
          call.query.find(beginning) != call.query.npos)
        return std::nullopt;
      return refusal(500, "InternalError", "etcd is away");
    });
  };
  const auto heal = [](FakeSide& side) {
    side.set_fault({});
    side.set_page(500);
  };
  const std::string second = "/api/v1/namespaces/default/pods/web2";
  SUBCASE("pods, upstream") {
    Cluster world;
    world.own.put(k_pod, pod_of());
    world.own.put(second, pod_of());
    world.start();
    REQUIRE(world.up.has("/api/v1/namespaces/clu5t3-default/pods/web2"));
    const auto own = world.own.lines(), up = world.up.lines();
    ends(world.up);
    world.work("a/");
    CHECK_FALSE(world.cluster->state().synced);
    heal(world.up);
    world.work("a/");
    CHECK(world.own.lines() == own);
    CHECK(world.up.lines() == up);
  }
  SUBCASE("pods, in the cluster") {
    Cluster world;
    world.own.put(k_pod, pod_of());
    world.own.put(second, pod_of());
    world.start();
    const auto own = world.own.lines(), up = world.up.lines();
    const auto broken = [](const auto& calls) {
      return std::count_if(calls.begin(), calls.end(), [](const FakeSide::Call& call) {
               return call.path == "/api/v1/pods" && call.query.starts_with("continue=");
             }) != 0;
    };
    ends(world.own);
    world.own.break_watches();
    REQUIRE(world.own.wait_for(broken));
    world.work("a/");
    heal(world.own);
    REQUIRE(world.own.heard("/api/v1/pods"));
    world.settle();
    CHECK(world.own.lines() == own);
    CHECK(world.up.lines() == up);
  }
  SUBCASE("mirrored objects, upstream") {
    MirrorRoom world;
    world.own.put(k_service, service_of());
    world.own.put("/api/v1/namespaces/default/services/web2", service_of());
    world.start();
    const auto up = world.up.lines();
    REQUIRE(up.size() == 2);
    ends(world.up);
    CHECK_FALSE(world.mirror->patrol(world.all_of("services")));
    world.settle();
    heal(world.up);
    CHECK(world.mirror->patrol(world.all_of("services")));
    world.settle();
    CHECK(world.up.lines() == up);
  }
  SUBCASE("objects of a kind that is not upstream any more") {
    MirrorRoom world;
    const auto budgets = "/apis/policy/v1/namespaces/clu5t3-default/poddisruptionbudgets/";
    for (const char* name : {"a", "b"}) {
      json budget = json::object();
      budget["metadata"]["labels"][k_id_label] = k_id;
      budget["metadata"]["annotations"][k_uid_annotation] = "v1";
      world.up.put(budgets + std::string(name), budget);
    }
    ends(world.up);
    CHECK_FALSE(world.mirror->patrol(world.all_of("poddisruptionbudgets")));
    CHECK(world.up.lines().empty());
    heal(world.up);
    CHECK(world.mirror->patrol(world.all_of("poddisruptionbudgets")));
    CHECK(world.up.lines().size() == 2);
  }
}

TEST_CASE("nothing is copied into another store in the place of upstream's") {
  const auto nothing_is_there = [](const std::string&) { return false; };
  SUBCASE("mirrored objects") {
    MirrorRoom world;
    world.own.put(k_service, service_of());
    world.start();
    const auto up = world.up.lines();
    world.up.replace(nothing_is_there);
    CHECK_FALSE(world.mirror->patrol(world.all_of("services")));
    world.settle();
    CHECK(world.up.lines() == up);
  }
  SUBCASE("pods and all that they need") {
    Cluster world;
    world.own.put(k_pod, pod_of());
    world.own.put(k_service, service_of());
    world.start();
    const auto own = world.own.lines(), up = world.up.lines();
    world.up.replace(nothing_is_there);
    world.work("a/");
    world.own.put("/api/v1/namespaces/default/pods/web2", pod_of());
    world.own.put("/api/v1/namespaces/default/services/web2", service_of());
    world.settle();
    world.cluster->reread(static_cast<std::size_t>(mirror_kind_of("services")));
    world.settle();
    CHECK(world.own.lines() == own);
    CHECK(world.up.lines() == up);
    CHECK(world.cluster->state().reason == "StoreReplaced");
  }
}

TEST_CASE("an object that another store has in the place of upstream's stays, however often it is "
          "looked at") {
  const auto turns = 3;
  SUBCASE("mirrored objects") {
    MirrorRoom world;
    world.own.put(k_service, service_of());
    world.start();
    world.up.replace([](const std::string& path) { return path == k_service_there; });
    world.own.drop(k_service);
    for (int turn = 0; turn < turns; ++turn) {
      const auto number = mirror_kind_of("services");
      (void)world.mirror->work(fmt::format("{}/default/web", number), 0);
    }
    CHECK(world.up.has(k_service_there));
  }
  SUBCASE("pods") {
    Cluster world;
    world.own.put(k_pod, pod_of());
    world.start();
    world.up.replace([](const std::string& path) { return path == k_pod_there; });
    world.own.drop(k_pod);
    for (int turn = 0; turn < turns; ++turn)
      world.work("p/default/web");
    CHECK(world.up.has(k_pod_there));
  }
}

// ---- what is changed is the object that was read ----

TEST_CASE("a change names what it is about, and one that came in between is read first") {
  MirrorRoom world;
  world.own.put(k_service, service_of());
  world.start();
  auto other = service_of();
  other["spec"]["ports"][0]["port"] = 81;
  // Somebody writes the object upstream between the read and the write.
  bool once = true;
  const auto version = world.up.at(k_service_there)["metadata"]["resourceVersion"];
  world.up.set_fault([&once](const auto& call) -> std::optional<Result<http_client::Response>> {
    if (call.method != "PUT" || !std::exchange(once, false)) return std::nullopt;
    return refusal(409, "Conflict", "the object has been modified");
  });
  world.own.put(k_service, other);
  world.settle();
  auto writes = world.up.writes();
  REQUIRE(writes.size() == 2); // it was made, and then not changed
  CHECK(writes[1].method == "PUT");
  CHECK(writes[1].user == "zoo:clu5t3");
  CHECK(writes[1].body["metadata"]["resourceVersion"] == version);
  CHECK(world.up.at(k_service_there)["spec"]["ports"][0]["port"] == 80);
  CHECK(world.mirror->work(world.all_of("services") + "/default/web", 1));
  CHECK(world.up.at(k_service_there)["spec"]["ports"][0]["port"] == 81);
}

TEST_CASE("a pod is changed, and made anew, as the one that it is") {
  Cluster world;
  auto pod = world.own.put(k_pod, pod_of());
  world.start();
  pod["metadata"]["labels"]["app"] = "web";
  world.own.put(k_pod, pod);
  world.settle();
  auto writes = world.up.writes();
  REQUIRE(writes.size() == 2);
  CHECK(writes[1].method == "PUT");
  CHECK(is_guarded(writes[1]));
  const auto first = world.up.uid_of(k_pod_there);
  // Another one of its name, before anybody heard of it: upstream's goes first.
  world.own.drop(k_pod);
  world.own.put(k_pod, pod_of());
  world.settle();
  writes = world.up.writes();
  REQUIRE(writes.size() == 4);
  CHECK(writes[2].method == "DELETE");
  CHECK(writes[2].body["preconditions"]["uid"] == first);
  CHECK(writes[3].method == "POST");
  CHECK(kube::texts_at(world.up.at(k_pod_there), "/metadata/annotations")[k_uid_annotation] ==
        world.own.uid_of(k_pod));
}

// ---- what the cluster's API server asks ----

TEST_CASE("a question about a Service makes it upstream, if the cluster is who it was") {
  MirrorRoom world;
  world.start();
  ServiceJudge judge(world.room, *world.mirror);
  std::vector<json> answers;
  auto service = service_of();
  service["metadata"]["name"] = "web";
  const auto ask = [&] {
    answers.clear();
    REQUIRE(judge.ask(question("CREATE", service), keep_answer(answers)));
    world.Sides::settle([&](const auto& next) { return judge.work(next.key.substr(2)); }, {"h/"});
    REQUIRE(answers.size() == 1);
    return answers[0]["response"];
  };
  SUBCASE("it is") {
    CHECK(ask()["allowed"] == true);
    CHECK(world.up.lines() == Lines{"POST /api/v1/namespaces/clu5t3-default/services"});
    CHECK(kube::texts_at(world.up.at(k_service_there), "/metadata/annotations")[k_uid_annotation] ==
          k_unborn);
  }
  SUBCASE("other uid: upstream's of an earlier one goes first") {
    json earlier = service_of();
    earlier["metadata"]["annotations"][k_uid_annotation] = "v0";
    world.up.put(k_service_there, earlier);
    const auto uid = world.up.uid_of(k_service_there);
    CHECK(ask()["allowed"] == true);
    const auto writes = world.up.writes();
    REQUIRE(writes.size() == 2);
    CHECK(writes[0].method == "DELETE");
    CHECK(writes[0].body["preconditions"]["uid"] == uid);
  }
  SUBCASE("it is another one, or says nothing") {
    json earlier = service_of();
    earlier["metadata"]["annotations"][k_uid_annotation] = "v0";
    bool there = false;
    SUBCASE("and upstream has none") {}
    SUBCASE("and upstream has one of an earlier Service") { there = true; }
    if (there) world.up.put(k_service_there, earlier);
    for (const auto& trouble : k_troubles) {
      if (trouble.side != Side::own || trouble.what == Trouble::What::list_ends) continue;
      const std::string in_way = trouble.name;
      CAPTURE(in_way);
      make(trouble, world, {});
      const auto answer = ask();
      CHECK(answer["allowed"] == true); // by its own address, with a warning
      CHECK_FALSE(answer.contains("patch"));
      CHECK(answer["warnings"].size() == 1);
      CHECK(world.up.lines().empty());
    }
  }
}

// ---- what is shown, and what is not sent again ----

TEST_CASE("update status: what an older API server leaves out is not sent at each patrol") {
  Cluster world;
  world.own.put(k_pod, pod_of());
  world.start();
  const std::string line = std::string("PATCH ") + k_pod + "/status";
  const auto sent = [&] {
    const auto lines = world.own.lines();
    return std::count(lines.begin(), lines.end(), line);
  };
  const auto shown = [&](int started) {
    return json{{"phase", "Running"},
                {"startTime", "2026-01-01T00:00:00Z"},
                {"containerStatuses",
                 {{{"name", "c"}, {"restartCount", started}, {"newField", {{"a", "b"}}}}}}};
  };
  world.own.set_prune([](json& object) {
    for (auto& each : object["status"]["containerStatuses"])
      each.erase("newField");
  });
  const auto upstream_says = [&](int started) {
    auto there = world.up.at(k_pod_there);
    there["status"] = shown(started);
    world.hear(world.up.put(k_pod_there, there), false);
    world.settle();
    world.own.tell(k_pod); // as it has stored it
    world.settle();
  };
  upstream_says(0);
  CHECK(sent() == 1);
  CHECK(world.own.at(k_pod)["status"]["phase"] == "Running");
  CHECK_FALSE(world.own.at(k_pod)["status"]["containerStatuses"][0].contains("newField"));
  for (int patrols = 0; patrols < 3; ++patrols)
    world.work("a/");
  CHECK(sent() == 1);
  upstream_says(1); // what is another thing is sent
  CHECK(sent() == 2);
  CHECK(world.own.at(k_pod)["status"]["containerStatuses"][0]["restartCount"] == 1);
  // What somebody in the cluster has changed is shown anew.
  auto changed = world.own.at(k_pod);
  changed["status"]["phase"] = "Pending";
  world.own.put(k_pod, changed);
  world.work("a/");
  CHECK(sent() == 3);
  CHECK(world.own.at(k_pod)["status"]["phase"] == "Running");
}

// ---- tokens ----

namespace {

/// A pod with one token that is on both sides.
struct TokenRoom : Room {
  PodTable pods;
  TokenKeeper keeper{room, pods};
  json pod = own.put(
      k_pod,
      pod_of(
          R"({"volumes":[{"name":"t","projected":{"sources":[{"serviceAccountToken":{"path":"t"}}]}}]})"));
  const std::string uid = kube::text_at(pod, "/metadata/uid"),
                    secret = "/api/v1/namespaces/clu5t3-default/secrets/" + token_secret_name(uid);

  TokenRoom() {
    PodFacts facts;
    facts.terms = status_terms(pod);
    facts.here = PodHere{.uid = uid, .hash = "h", .tokens = true};
    pods.note_here("default/web", std::move(facts));
    pods.set_there("default/web", PodThere{.uid = "p1", .owner = uid, .hash = "h"});
    open("default");
  }
};

} // namespace

TEST_CASE("tokens: a pod that was made has its Secret by one question and one write") {
  TokenRoom world;
  world.keeper.begin("default/web", world.pod);
  CHECK(world.own.lines() ==
        Lines{"POST /api/v1/namespaces/default/serviceaccounts/default/token"});
  CHECK(world.own.calls().size() == 1);
  CHECK(world.up.lines() == Lines{"POST /api/v1/namespaces/clu5t3-default/secrets"});
  CHECK(world.up.calls().size() == 1);
  CHECK(world.up.writes()[0].user == "zoo:clu5t3");
  const auto secret = world.up.at(world.secret);
  REQUIRE_FALSE(secret.is_null());
  CHECK(secret["metadata"]["ownerReferences"][0]["uid"] == "p1");
  CHECK_FALSE(world.queue.take_due()); // it is due when the token is to be got anew
  CHECK(world.queue.size(k_id) == 0);
}

TEST_CASE("tokens: what has the name already is read, and left alone if it is not zood's") {
  TokenRoom world;
  const auto due = [&] {
    const auto next = world.queue.take_due();
    return next ? next->key : "";
  };
  SUBCASE("somebody else's") {
    const auto before = world.up.put(world.secret, {{"data", {{"theirs", "eA=="}}}});
    world.keeper.begin("default/web", world.pod);
    REQUIRE(world.up.lines().size() == 1); // refused with 409
    CHECK(due() == "t/default/web");
    world.own.forget_calls();
    const auto next = world.keeper.work("default/web");
    REQUIRE(next);
    CHECK(next->failed);
    CHECK(world.up.lines().size() == 1);
    CHECK(world.own.lines().empty()); // nor is a token asked for
    CHECK(world.up.at(world.secret) == before);
  }
  SUBCASE("zood's, of before") {
    world.keeper.begin("default/web", world.pod);
    const auto before = world.up.at(world.secret);
    world.keeper.begin("default/web", world.pod);
    CHECK(due() == "t/default/web");
    CHECK(world.up.at(world.secret) == before);
    REQUIRE(world.keeper.work("default/web"));
    const auto writes = world.up.writes();
    REQUIRE(writes.size() == 3);
    CHECK(writes[2].method == "PUT");
    CHECK(writes[2].body["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]);
    CHECK(world.up.at(world.secret)["data"] != before["data"]);
  }
  SUBCASE("the answer was lost") {
    world.up.set_fault([](const auto&) { return fail(Code::unavailable, "not reached"); });
    world.keeper.begin("default/web", world.pod);
    CHECK(due() == "t/default/web");
    CHECK_FALSE(world.keeper.work("default/web"));
    world.up.set_fault({});
    CHECK(world.keeper.work("default/web"));
    CHECK(world.up.has(world.secret));
  }
  SUBCASE("the pod is another one by now") {
    world.own.drop(k_pod);
    world.own.put(k_pod, pod_of());
    CHECK(world.keeper.work("default/web"));
    CHECK(world.up.lines().empty());
    CHECK(world.own.lines().empty());
  }
}
