// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/cluster_usage.hpp"
#include "daemon/clusters/egress.hpp"
#include "daemon/clusters/sync/usage_api.hpp"
#include "daemon/clusters/usage.hpp"
#include "daemon/clusters/usage_inside.hpp"
#include "tests/unit/clusters/scripted.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

using namespace zoo;
using namespace zoo::clusters;
using nlohmann::json;
using test::Script;
using test::Stream;

namespace {

constexpr const char* k_id = "abc123";

/// Of what upstream says: two pods of the cluster, one that it does not have any more, one of
/// another cluster's and one of nobody's.
constexpr const char* k_list = R"({"kind":"PodMetricsList","items":[
  {"metadata":{"name":"web","namespace":"abc123-default","labels":{"app":"web",
     "clusters.zoo.kubezoo.io/id":"abc123"}},"timestamp":"2026-11-28T10:00:00Z","window":"15s",
   "containers":[{"name":"c","usage":{"cpu":"250m","memory":"64Mi"}},
     {"name":"sidecar-of-the-platform","usage":{"cpu":"1","memory":"1Gi"}}]},
  {"metadata":{"name":"db","namespace":"abc123-side","labels":{"app":"db"}},
   "timestamp":"2026-11-28T10:00:05Z","window":"10.5s",
   "containers":[{"name":"c","usage":{"cpu":"1500000n","memory":"1024Ki"}},
     {"name":"d","usage":{"cpu":"strange"}}]},
  {"metadata":{"name":"gone","namespace":"abc123-default"},"containers":[]},
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
  const auto nodes = json::parse(
      R"({"items":[{"metadata":{"name":"n1","labels":{"a":"b"}}},{"metadata":{"name":"n2"}},{"metadata":{"name":"n3"}}]})");
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
  const auto one = json::parse(nodes_usage(request("/nodes/n1"), nodes["items"][0], read(), 0));
  CHECK(one == items[0]);
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
  CHECK(refused(get(api + "/pods?fieldSelector=status.phase%3DRunning")) == Code::bad_request);
  CHECK(refused(get(api + "/pods?watch=true")) == Code::method_not_allowed);
  auto post = get(api + "/pods");
  post.method = "POST";
  CHECK(refused(post) == Code::method_not_allowed);
  CHECK(request("").what == UsageRequest::What::resources);
  CHECK(usage_resources()["resources"].size() == 2);
}

TEST_CASE("usage: upstream is asked once, and what it said is kept for a moment") {
  net::Loop loop;
  Script api;
  ClusterUsage usage(loop, k_id, [&api]() -> upstream::Caller& { return api; }, place, 0);
  std::vector<std::string> said;
  const auto done = [&said](const Result<ClusterUsage::Usages>& of) {
    said.push_back(of ? std::to_string((*of)->size()) : of.error().message());
  };
  const auto first = usage.read(done);
  auto left = usage.read(done);
  const auto third = usage.read(done);
  left.reset(); // nobody waits for that one
  REQUIRE(api.asked.size() == 1);
  CHECK(api.asked[0].target == "/apis/metrics.k8s.io/v1beta1/pods?labelSelector="
                               "clusters.zoo.kubezoo.io%2Fid%3Dabc123");
  SUBCASE("pods") {
    api.answer(200, k_list);
    CHECK(said == std::vector<std::string>{"2", "2"});
    const auto fourth = usage.read(done);
    CHECK(said.size() == 3);
    CHECK(api.asked.size() == 1);
  }
  SUBCASE("no list") {
    api.answer(200, "[[[");
    CHECK(said.back() == "what upstream says of the usage of pods is no list");
  }
  SUBCASE("it does not answer") {
    api.answer(503, "");
    CHECK(said.back() == "the upstream's metrics API answers 503");
    const auto again = usage.read(done);
    CHECK(api.asked.size() == 2);
  }
  SUBCASE("it is not reached") {
    api.fail({Code::unavailable, "refused"});
    CHECK(said.back() == "the upstream does not say what pods use: refused");
  }
}

TEST_CASE("usage: behind what took its time the loop rests, and then the next one is told") {
  net::Loop loop;
  Script api;
  ClusterUsage usage(loop, k_id, [&api]() -> upstream::Caller& { return api; }, place, 1);
  const auto spend = [] {
    for (const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(5);
         std::chrono::steady_clock::now() < end;) {
    }
  };
  std::string said;
  const auto first = usage.read([&](const auto&) {
    said += "first ";
    spend();
  });
  const auto second = usage.read([&](const auto&) {
    said += "second";
    loop.stop();
  });
  loop.post([&] {
    api.answer(200, k_list);
    said += "answered ";
  });
  loop.run();
  CHECK(said == "answered first second");
}

TEST_CASE("usage: what the cluster's API server asks zood is answered, so many at a time") {
  net::Loop loop;
  Script api;
  const auto endpoint = std::make_shared<upstream::UpstreamEndpoint>();
  endpoint->tls = false;
  DoorEntry entry;
  entry.id = k_id;
  EgressRoom room(loop, entry, endpoint, [&api]() -> upstream::Caller& { return api; }, place);
  room.usage = std::make_unique<ClusterUsage>(
      loop, k_id, [&api]() -> upstream::Caller& { return api; }, place, 0);
  const auto inside = usage_inside();
  Stream stream;
  const auto path = std::string(k_usage_api);
  SUBCASE("its resources") {
    const auto handler = inside(room, get(path), stream);
    CHECK(stream.status == 200);
    CHECK(json::parse(stream.body)["kind"] == "APIResourceList");
  }
  SUBCASE("pods") {
    const auto handler = inside(room, get(path + "/pods"), stream);
    CHECK(room.usage_answers == 1);
    api.answer(200, k_list);
    CHECK(room.usage_bytes == stream.body.size());
    CHECK(stream.status == 200);
    CHECK(json::parse(stream.body)["items"].size() == 2);
  }
  SUBCASE("nothing of a pod") {
    const auto handler = inside(room, get(path + "/namespaces/default/pods/none"), stream);
    api.answer(200, k_list);
    CHECK(stream.status == 404);
    CHECK(json::parse(stream.body)["reason"] == "NotFound");
  }
  SUBCASE("upstream does not say") {
    const auto handler = inside(room, get(path + "/pods"), stream);
    api.answer(404, "");
    CHECK(stream.status == 503);
  }
  SUBCASE("another method") {
    auto head = get(path + "/pods");
    head.method = "DELETE";
    const auto handler = inside(room, head, stream);
    CHECK(stream.status == 405);
  }
  SUBCASE("who has gone hears nothing") {
    auto handler = inside(room, get(path + "/pods"), stream);
    handler->on_reset();
    handler.reset();
    CHECK(room.usage_answers == 0);
    api.answer(200, k_list);
    CHECK(stream.status == 0);
  }
  SUBCASE("nor who asks for more than may be held") {
    room.usage_bytes = k_most_usage_bytes;
    const auto handler = inside(room, get(path + "/pods"), stream);
    api.answer(200, k_list);
    CHECK(stream.status == 429);
  }
  SUBCASE("too many") {
    std::vector<std::unique_ptr<http::StreamHandler>> handlers;
    for (std::size_t n = 0; n < k_most_usage_answers; ++n)
      handlers.push_back(inside(room, get(path + "/pods"), stream));
    const auto handler = inside(room, get(path + "/pods"), stream);
    CHECK(stream.status == 429);
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
