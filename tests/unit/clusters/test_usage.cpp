// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/egress.hpp"
#include "daemon/clusters/sync/usage_answers.hpp"
#include "daemon/clusters/sync/usage_api.hpp"
#include "daemon/clusters/usage.hpp"
#include "daemon/clusters/usage_inside.hpp"
#include "tests/unit/clusters/scripted.hpp"
#include "tests/unit/clusters/sync_worlds.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

using namespace zoo;
using namespace zoo::clusters;
using nlohmann::json;
using test::Script;
using test::Stream;
using tests::FakeSide;
using tests::k_id;
using tests::refusal;
using tests::Room;

namespace {

using Fault = std::optional<Result<http_client::Response>>;

/// A PodMetricsList of the upstream. Two of its items are shown in the cluster. The others are not:
/// one has no time, one is a pod that the cluster has no more, one is another cluster's, one
/// belongs to no cluster, and three are no objects of that kind.
constexpr const char* k_list = R"({"kind":"PodMetricsList","items":[
  {"metadata":{"name":"web","namespace":"clu5t3-default","labels":{"app":"web",
     "clusters.zoo.kubezoo.io/id":"clu5t3"}},"timestamp":"2026-11-28T10:00:00Z","window":"15s",
   "containers":[{"name":"c","usage":{"cpu":"250m","memory":"64Mi"}},
     {"name":"sidecar-of-the-platform","usage":{"cpu":"1","memory":"1Gi"}}]},
  {"metadata":{"name":"db","namespace":"clu5t3-side","labels":{"app":"db"}},
   "timestamp":"2026-11-28T10:00:05Z","window":"10.5s",
   "containers":[{"name":"c","usage":{"cpu":"1500000n","memory":"1024Ki"}},
     {"name":"d","usage":{"cpu":"strange"}}]},
  {"metadata":{"name":"web","namespace":"clu5t3-default"},"containers":[]},
  {"metadata":{"name":"gone","namespace":"clu5t3-default"},"containers":[]},
  {"metadata":{"name":"web","namespace":"other1-default"},"containers":[]},
  {"metadata":{"name":"web","namespace":"default"},"containers":[]},{},null,7]})";

std::optional<PodPlace> place(const std::string& pod) {
  if (pod == "default/web") return PodPlace{"n1", {"c"}};
  if (pod == "side/db") return PodPlace{"n2", {"c", "d"}};
  return std::nullopt;
}

std::vector<PodUsage> read() {
  auto out = read_usage(k_id, k_list, place);
  REQUIRE(out);
  return *std::move(out);
}

http::RequestHead get(const std::string& target) {
  http::RequestHead head;
  head.method = "GET";
  head.target = target;
  return head;
}

UsageRequest request(const std::string& below) {
  auto out = parse_usage_request(get(std::string(k_usage_api) + below));
  REQUIRE(out);
  return *std::move(out);
}

std::string repeated(const std::string& text, std::size_t times) {
  std::string out;
  for (std::size_t n = 0; n < times; ++n)
    out += text;
  return out;
}

/// The names in an answer, or what was refused.
std::string names(const std::string& below) {
  const auto text = pods_usage(request(below), read());
  if (!text) return text.error().message();
  const auto answer = json::parse(*text);
  if (answer["kind"] == "PodMetrics") return answer["metadata"]["name"];
  std::string out;
  for (const auto& each : answer["items"])
    out += each["metadata"]["name"].get<std::string>() + " ";
  return out;
}

} // namespace

TEST_CASE("usage: of what upstream says the cluster's own pods are shown, in its names") {
  const auto all = read();
  REQUIRE(all.size() == 2);
  const auto text = pods_usage(request("/namespaces/default/pods/web"), all);
  REQUIRE(text);
  CHECK(
      json::parse(*text).dump() ==
      R"({"apiVersion":"metrics.k8s.io/v1beta1","containers":[{"name":"c","usage":{"cpu":"250m","memory":"64Mi"}}],"kind":"PodMetrics","metadata":{"creationTimestamp":"2026-11-28T10:00:00Z","labels":{"app":"web"},"name":"web","namespace":"default"},"timestamp":"2026-11-28T10:00:00Z","window":"15s"})");
  for (const auto* text_of_none : {"", "[]", "{}", "7", "{"})
    CHECK_FALSE(read_usage(k_id, text_of_none, place));
}

TEST_CASE("usage: pods are chosen by namespace, name, labels and fields") {
  CHECK(names("/pods") == "web db ");
  CHECK(names("/namespaces/default/pods") == "web ");
  CHECK(names("/namespaces/none/pods") == "");
  CHECK(names("/pods?labelSelector=app%20in%20(db)") == "db ");
  CHECK(names("/pods?labelSelector=app!%3Ddb") == "web ");
  CHECK(names("/pods?labelSelector=clusters.zoo.kubezoo.io/id") == "");
  CHECK(names("/pods?fieldSelector=metadata.name%3Dweb") == "web ");
  CHECK(names("/pods?fieldSelector=metadata.namespace!%3Ddefault") == "db ");
  CHECK(names("/namespaces/side/pods/db") == "db");
  CHECK(names("/namespaces/side/pods/web") == "podmetrics.metrics.k8s.io \"side/web\" not found");
}

TEST_CASE("usage: a Node uses what the cluster's own pods on it use together") {
  const std::vector<NodeLabels> nodes = {
      node_labels(json::parse(R"({"metadata":{"name":"n1","labels":{"a":"b"}}})")),
      {"n2", "{}"},
      {"n3", "{}"}};
  const auto answer = json::parse(nodes_usage(request("/nodes"), nodes, read(), 0));
  CHECK(answer["kind"] == "NodeMetricsList");
  const auto& items = answer["items"];
  REQUIRE(items.size() == 3);
  CHECK(
      items[0].dump() ==
      R"({"apiVersion":"metrics.k8s.io/v1beta1","kind":"NodeMetrics","metadata":{"creationTimestamp":"2026-11-28T10:00:00Z","labels":{"a":"b"},"name":"n1"},"timestamp":"2026-11-28T10:00:00Z","usage":{"cpu":"250m","memory":"64Mi"},"window":"15s"})");
  CHECK(items[1]["usage"].dump() == R"({"cpu":"1500u","memory":"1Mi"})");
  CHECK(items[2]["usage"].dump() == R"({"cpu":"0","memory":"0"})");
  CHECK(items[2]["timestamp"] == "1970-01-01T00:00:00Z");
  CHECK(json::parse(nodes_usage(request("/nodes/n1"), {nodes[0]}, read(), 0)) == items[0]);
  const json large = {{"metadata", {{"labels", {{"a", std::string(k_most_label_bytes, 'x')}}}}}};
  CHECK(node_labels(large).labels == "{}");
}

TEST_CASE("usage: requests that are not understood are refused in words") {
  const auto refused = [](http::RequestHead head) {
    const auto out = parse_usage_request(head);
    REQUIRE(!out);
    return out.error().code();
  };
  const std::string api(k_usage_api);
  CHECK(refused(get(api + "/services")) == Code::not_found);
  CHECK(refused(get(api + "/namespaces")) == Code::not_found);
  CHECK(refused(get(api + "/namespaces/x/nodes")) == Code::not_found);
  CHECK(refused(get(api + "/nodes/n/x")) == Code::not_found);
  CHECK(refused(get("/apis/metrics.k8s.io/v1/pods")) == Code::not_found);
  CHECK(refused(get(api + "/pods/../nodes")) == Code::bad_request);
  CHECK(refused(get(api + "/pods?labelSelector=%3D%3D")) == Code::bad_request);
  CHECK(refused(get(api + "/pods?labelSelector=a" + repeated(",!a", k_most_selector_parts))) ==
        Code::bad_request);
  CHECK(refused(get(api + "/pods?fieldSelector=status.phase%3DRunning")) == Code::bad_request);
  CHECK(refused(get(api + "/pods?watch=true")) == Code::method_not_allowed);
  auto post = get(api + "/pods");
  post.method = "POST";
  CHECK(refused(post) == Code::method_not_allowed);
  CHECK(request("").what == UsageRequest::What::resources);
  CHECK(usage_resources()["resources"].size() == 2);
}

TEST_CASE("usage: upstream is asked once, and what it said is kept for a moment") {
  Room world;
  sync::PodTable table;
  std::vector<std::string> said;
  sync::UsageAnswers answers(world.room, table);
  int status = 200;
  world.up.set_fault([&status](const FakeSide::Call& call) -> Fault {
    if (!call.path.starts_with(k_usage_api)) return std::nullopt;
    CHECK(call.path == std::string(k_usage_api) + "/pods");
    CHECK(call.query == "labelSelector=clusters.zoo.kubezoo.io%2Fid%3Dclu5t3");
    return http_client::Response{status, {}, R"({"items":[]})"};
  });
  const auto ask = [&](const std::string& below) {
    return answers.ask(request(below), [&said](const Result<std::string>& answer) {
      said.push_back(answer ? json::parse(*answer)["kind"].get<std::string>()
                            : answer.error().message());
    });
  };
  const auto answer_all = [&](std::size_t count) {
    while (said.size() < count) {
      const auto next = answers.work();
      REQUIRE(next.after);
      if (said.size() < count) std::this_thread::sleep_for(*next.after); // as the queue does
    }
  };
  world.own.put("/api/v1/nodes/n1", json::object());
  REQUIRE(ask("/pods"));
  REQUIRE(ask("/nodes"));
  REQUIRE(ask("/nodes/n1"));
  REQUIRE(ask("/nodes/none"));
  REQUIRE(ask("/namespaces/default/pods/web"));
  SUBCASE("pods and Nodes") {
    answer_all(5);
    CHECK(said == std::vector<std::string>{"PodMetricsList", "NodeMetricsList", "NodeMetrics",
                                           "nodemetrics.metrics.k8s.io \"none\" not found",
                                           "podmetrics.metrics.k8s.io \"default/web\" not found"});
    CHECK(world.up.calls().size() == 1);
    CHECK(answers.work().after); // nobody waits: it is still kept
  }
  SUBCASE("it does not answer") {
    status = 503;
    answer_all(1);
    status = 200; // which is not asked for within the moment
    answer_all(2);
    CHECK(said == std::vector<std::string>(2, "the upstream's metrics API answers 503"));
    CHECK(world.up.calls().size() == 1);
  }
  SUBCASE("it is not reached") {
    world.up.set_fault([](const auto&) -> Fault { return fail(Code::unavailable, "at 10.0.0.1"); });
    answers.work();
    CHECK(said == std::vector<std::string>{"the upstream does not say what pods use"});
  }
  SUBCASE("it says too much") {
    world.up.set_fault([](const auto&) -> Fault {
      return http_client::Response{
          200, {}, std::string(sync::UsageAnswers::k_answer_bytes + 1, ' ')};
    });
    answers.work();
    CHECK(said ==
          std::vector<std::string>{"the upstream's answer about the usage of pods is too large"});
  }
  SUBCASE("the cluster does not say which Nodes it has") {
    world.own.set_fault(
        [](const auto&) -> Fault { return fail(Code::unavailable, "at 10.0.0.1"); });
    answer_all(2);
    CHECK(said ==
          std::vector<std::string>{
              "PodMetricsList", "the API server of the cluster does not say which Nodes it has"});
  }
  SUBCASE("a question that comes while one is answered waits as long as all others") {
    std::string much = R"({"items":[)";
    for (int n = 0; n < 20'000; ++n)
      much += R"({"metadata":{"name":"p","namespace":"clu5t3-default"},"containers":[]},)";
    much += "{}]}";
    world.up.set_fault(
        [&much](const auto&) -> Fault { return http_client::Response{200, {}, much}; });
    answers.work();
    REQUIRE(said.size() == 1);
    const auto next = answers.work(); // woken at once, as by a question of this moment
    CHECK(said.size() == 1);
    REQUIRE(next.after);
    CHECK(next.after->count() > 0);
  }
  SUBCASE("too many wait") {
    for (std::size_t n = 5; n < sync::UsageAnswers::k_most; ++n)
      REQUIRE(ask("/pods"));
    CHECK_FALSE(ask("/pods"));
  }
}

TEST_CASE("usage: who waits when a cluster goes is told") {
  Room world;
  sync::PodTable table;
  std::string said;
  {
    sync::UsageAnswers answers(world.room, table);
    REQUIRE(answers.ask(request("/pods"), [&said](const Result<std::string>& answer) {
      said = answer ? *answer : answer.error().message();
    }));
  }
  CHECK(said == "nothing of this virtual cluster is kept upstream any more");
}

TEST_CASE("usage: what the cluster's API server asks zood is asked on, and answered") {
  net::Loop loop;
  const auto endpoint = std::make_shared<upstream::UpstreamEndpoint>();
  endpoint->tls = false;
  DoorEntry entry;
  entry.id = k_id;
  Script api;
  EgressRoom room(loop, entry, endpoint, [&api]() -> upstream::Caller& { return api; });
  bool follows = true;
  std::function<void(Result<std::string>)> done;
  const auto inside =
      usage_inside([&](const std::string& id, const UsageRequest& asked, auto then) {
        CHECK(id == k_id);
        CHECK(asked.what == UsageRequest::What::pods);
        if (follows) done = std::move(then);
        return follows;
      });
  Stream stream;
  const auto path = std::string(k_usage_api);
  // What is answered comes by the loop.
  const auto answer = [&](Result<std::string> text) {
    loop.post([&] {
      done(std::move(text));
      loop.post([&loop] { loop.stop(); });
    });
    loop.run();
  };
  SUBCASE("its resources are known") {
    const auto handler = inside(room, get(path), stream);
    CHECK(stream.status == 200);
    CHECK(json::parse(stream.body)["kind"] == "APIResourceList");
  }
  SUBCASE("pods") {
    const auto handler = inside(room, get(path + "/pods"), stream);
    answer("text");
    CHECK(stream.status == 200);
    CHECK(stream.body == "text");
    CHECK(*room.inside_bytes == 4);
  }
  SUBCASE("nothing of a pod") {
    const auto handler = inside(room, get(path + "/pods"), stream);
    answer(fail(Code::not_found, "none"));
    CHECK(stream.status == 404);
    CHECK(json::parse(stream.body)["reason"] == "NotFound");
  }
  SUBCASE("more than may be held") {
    *room.inside_bytes = EgressRoom::k_most_inside;
    const auto handler = inside(room, get(path + "/pods"), stream);
    answer("text");
    CHECK(stream.status == 429);
  }
  SUBCASE("nobody answers") {
    follows = false;
    const auto handler = inside(room, get(path + "/pods"), stream);
    CHECK(stream.status == 503);
  }
  SUBCASE("another method") {
    auto head = get(path + "/pods");
    head.method = "DELETE";
    const auto handler = inside(room, head, stream);
    CHECK(stream.status == 405);
  }
  SUBCASE("nothing is sent to a client that has gone") {
    auto handler = inside(room, get(path + "/pods"), stream);
    handler->on_reset();
    handler.reset();
    answer("text");
    CHECK(stream.status == 0);
    CHECK(*room.inside_bytes == 0);
  }
}

TEST_CASE("usage: an APIService is zood's by the Service that it names") {
  const auto own = sync::usage_api("PEM");
  CHECK(own["spec"]["caBundle"] == "UEVN");
  CHECK(sync::is_own_usage_api(own));
  auto other = own;
  other["spec"]["service"]["name"] = "metrics-server";
  CHECK_FALSE(sync::is_own_usage_api(other));
  other.erase("spec");
  CHECK_FALSE(sync::is_own_usage_api(other));
}

TEST_CASE("usage: a cluster has the API as long as its upstream has it") {
  Room world;
  bool served = true;
  world.up.set_fault([&served](const FakeSide::Call& call) -> Fault {
    if (call.path != k_usage_api) return std::nullopt;
    return served ? http_client::Response{200, {}, "{}"} : refusal(404, "NotFound", "not found");
  });
  constexpr const char* k_api =
      "/apis/apiregistration.k8s.io/v1/apiservices/v1beta1.metrics.k8s.io";
  constexpr const char* k_named = "/api/v1/namespaces/kube-system/services/zoo-metrics";
  constexpr const char* k_role =
      "/apis/rbac.authorization.k8s.io/v1/clusterroles/zoo-metrics-reader";
  const auto has = [&] {
    return std::vector{world.own.has(k_api), world.own.has(k_named), world.own.has(k_role)};
  };
  const std::vector all(3, true), none(3, false);
  REQUIRE(sync::keep_usage_api(world.room));
  CHECK(has() == all);
  SUBCASE("nothing is written where all is right") {
    world.own.forget_calls();
    REQUIRE(sync::keep_usage_api(world.room));
    CHECK(world.own.lines().empty());
  }
  SUBCASE("it goes with upstream's") {
    served = false;
    REQUIRE(sync::keep_usage_api(world.room));
    CHECK(has() == none);
    REQUIRE(sync::keep_usage_api(world.room));
  }
  SUBCASE("it stays while upstream's does not answer") {
    world.up.set_fault([](const auto&) -> Fault { return fail(Code::unavailable, "away"); });
    REQUIRE(sync::keep_usage_api(world.room));
    CHECK(has() == all);
  }
  SUBCASE("it stays where the upstream is another one, which lacks it") {
    REQUIRE(world.room.known(sync::Store::upstream));
    served = false;
    world.up.replace([](const auto&) { return false; });
    REQUIRE(sync::keep_usage_api(world.room));
    CHECK(has() == all);
  }
  SUBCASE("what is changed is put back") {
    auto changed = world.own.at(k_api);
    changed["spec"]["versionPriority"] = 1;
    world.own.put(k_api, changed);
    REQUIRE(sync::keep_usage_api(world.room));
    CHECK(world.own.at(k_api)["spec"]["versionPriority"] == 100);
  }
  SUBCASE("another's is left alone, and what is beside zood's goes") {
    auto other = world.own.at(k_api);
    other["spec"]["service"]["name"] = "metrics-server";
    world.own.put(k_api, other);
    REQUIRE(sync::keep_usage_api(world.room));
    CHECK(has() == std::vector{true, false, false});
    CHECK(world.own.at(k_api)["spec"]["service"]["name"] == "metrics-server");
  }
  SUBCASE("so is one that is made at the same time") {
    world.own.drop(k_api);
    world.own.set_fault([&](const FakeSide::Call& call) -> Fault {
      if (call.method != "POST" || !call.path.ends_with("/apiservices")) return std::nullopt;
      return refusal(409, "AlreadyExists", "already exists");
    });
    CHECK(sync::keep_usage_api(world.room));
  }
}
