// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/cluster_nodes.hpp"
#include "daemon/clusters/cluster_services.hpp"
#include "daemon/clusters/cluster_view_source.hpp"
#include "daemon/clusters/egress_gate.hpp"
#include "daemon/clusters/egress_places.hpp"
#include "daemon/clusters/kubelet.hpp"
#include "daemon/clusters/tenant_room.hpp"
#include "daemon/clusters/upstream_pods.hpp"
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

/// A page of Nodes with one in it; `next`: the token of the page behind it.
std::string node_page(const std::string& name, const std::string& address,
                      const std::string& next = "") {
  json node = {{"metadata", {{"name", name}}}};
  node["status"]["addresses"] = json::array();
  node["status"]["addresses"].push_back({{"type", "x"}, {"address", address}});
  json list = {{"metadata", {{"continue", next}}}};
  list["items"] = json::array();
  list["items"].push_back(std::move(node));
  return list.dump();
}

/// Stands for the gateway: keeps what it is asked.
class Inward final : public http::Service {
public:
  struct Handler final : http::StreamHandler {
    explicit Handler(std::string& log) : said(log) {}
    void on_data(std::string_view bytes) override { said += bytes; }
    void on_end() override { said += "."; }
    void on_reset() override { said += "!"; }
    void on_drained() override {}
    std::string& said;
  };
  std::unique_ptr<http::StreamHandler> on_request(http::RequestHead head,
                                                  http::ServerStream&) override {
    asked.push_back(std::move(head));
    return std::make_unique<Handler>(said);
  }
  std::vector<http::RequestHead> asked;
  std::string said;
};

struct KubeletWorld {
  Script cluster, upstream;
  Inward inward;
  Stream stream;
  std::string node = "n1";
  LookPace pace;
  KubeletService service{{"abc123", cluster, [this]() -> upstream::Caller& { return upstream; },
                          cluster_fields("abc123"), inward,
                          [this](const std::string&, auto done) { done(node); }, pace}};

  std::unique_ptr<http::StreamHandler> ask(const std::string& method, const std::string& target) {
    http::RequestHead head;
    head.method = method;
    head.target = target;
    head.upgrade = true;
    head.headers = {{"Upgrade", "SPDY/3.1"},
                    {"Authorization", "Bearer x"},
                    {"Impersonate-User", "system:admin"},
                    {"X-Remote-User", "root"}};
    return service.on_request(std::move(head), stream);
  }
  static std::string pod(const std::string& uid, const std::string& copy_of = "") {
    json out = {{"metadata", {{"name", "p"}, {"uid", uid}}}};
    if (!copy_of.empty()) out["metadata"]["annotations"][k_uid_annotation] = copy_of;
    return out.dump();
  }
};

} // namespace

TEST_CASE_FIXTURE(KubeletWorld, "a pod is looked for on both sides, and the gateway has it then") {
  const auto handler = ask("POST", "/exec/team/p/u-1/c?command=sh&input=1");
  REQUIRE(cluster.asked.size() == 1);
  CHECK(cluster.asked[0].target == "/api/v1/namespaces/team/pods/p");
  handler->on_end();
  cluster.answer(200, pod("u-1"));
  REQUIRE(upstream.asked.size() == 1);
  CHECK(upstream.asked[0].target == "/api/v1/namespaces/abc123-team/pods/p");
  REQUIRE(upstream.asked[0].prepared);
  const auto fields = upstream.asked[0].prepared->text();
  CHECK(fields.find("Impersonate-User: zoo:abc123\r\n") != fields.npos);
  CHECK(fields.find("Impersonate-Group: zoo:tenants\r\n") != fields.npos);
  CHECK(inward.asked.empty());
  upstream.answer(200, pod("u-9", "u-1"));
  REQUIRE(inward.asked.size() == 1);
  const auto& head = inward.asked[0];
  CHECK(head.method == "POST");
  CHECK(head.target == "/api/v1/namespaces/team/pods/p/exec?command=sh&stdin=true&container=c");
  CHECK(head.upgrade);
  CHECK(head.headers.get("upgrade") == "SPDY/3.1");
  CHECK(head.headers.size() == 1); // nothing that says who asks
  handler->on_data("bytes");
  CHECK(inward.said == ".bytes");
  CHECK(stream.status == 0);
}

TEST_CASE_FIXTURE(KubeletWorld, "who has large pods is not looked at all the time") {
  auto large = json::parse(pod("u-1"));
  for (int n = 0; n < 100'000; ++n)
    large["metadata"]["finalizers"].push_back("x/y");
  const auto first = ask("GET", "/containerLogs/team/p/c");
  CHECK(cluster.asked.at(0).headers.get("accept").find("as=PartialObjectMetadata") !=
        std::string_view::npos);
  cluster.answer(200, large.dump());
  REQUIRE(upstream.asked.size() == 1);
  const auto second = ask("GET", "/containerLogs/team/p/c");
  CHECK(cluster.asked.size() == 1);
  CHECK(stream.status == 500);
  CHECK(stream.body == "pods of this virtual cluster that are looked at are large; try again");
}

TEST_CASE_FIXTURE(KubeletWorld, "a pod that is not the cluster's is refused") {
  SUBCASE("it is not in the cluster") {
    const auto handler = ask("GET", "/containerLogs/team/p/c");
    cluster.answer(404, "{}");
    CHECK(stream.status == 404);
    CHECK(stream.body == "pod does not exist");
    CHECK(upstream.asked.empty());
  }
  SUBCASE("it is another one by now") {
    const auto handler = ask("POST", "/exec/team/p/u-1/c");
    cluster.answer(200, pod("u-2"));
    CHECK(stream.status == 404);
    CHECK(upstream.asked.empty());
  }
  SUBCASE("it is not upstream") {
    const auto handler = ask("GET", "/containerLogs/team/p/c");
    cluster.answer(200, pod("u-1"));
    upstream.answer(404, "{}");
    CHECK(stream.status == 400);
    CHECK(stream.body.find("not there upstream") != std::string::npos);
  }
  SUBCASE("what is upstream is no copy of it") {
    const auto handler = ask("GET", "/containerLogs/team/p/c");
    cluster.answer(200, pod("u-1"));
    upstream.answer(200, pod("u-1"));
    CHECK(stream.status == 403);
  }
  SUBCASE("it is the copy of another one") {
    const auto handler = ask("GET", "/containerLogs/team/p/c");
    cluster.answer(200, pod("u-1"));
    upstream.answer(200, pod("u-9", "u-2"));
    CHECK(stream.status == 403);
    CHECK(stream.body.find("is not this pod") != std::string::npos);
  }
  SUBCASE("upstream refuses the cluster's user") {
    const auto handler = ask("GET", "/containerLogs/team/p/c");
    cluster.answer(200, pod("u-1"));
    upstream.answer(403, R"({"message":"no"})");
    CHECK(stream.status == 403);
  }
  SUBCASE("nobody knows") {
    const auto handler = ask("GET", "/containerLogs/team/p/c");
    cluster.answer(500, "");
    CHECK(stream.status == 500);
  }
  CHECK(inward.asked.empty());
}

TEST_CASE_FIXTURE(KubeletWorld, "a Node's pods are those that the cluster says") {
  const auto handler = ask("GET", "/pods");
  REQUIRE(cluster.asked.size() == 1);
  CHECK(cluster.asked[0].target == "/api/v1/pods?fieldSelector=spec.nodeName%3Dn1");
  cluster.answer(200, R"({"kind":"PodList","items":[]})");
  CHECK(stream.status == 200);
  CHECK(json::parse(stream.body)["kind"] == "PodList");
  CHECK(upstream.asked.empty());
}

TEST_CASE_FIXTURE(KubeletWorld, "who goes away is asked for no more") {
  auto handler = ask("GET", "/containerLogs/team/p/c");
  handler->on_reset();
  handler.reset();
  CHECK(stream.status == 0);
  node.clear();
  const auto other = ask("GET", "/runningpods");
  CHECK(stream.status == 404);
}

TEST_CASE("the addresses of Nodes are read page by page, and again when one is not there") {
  Script api;
  net::Loop loop;
  ClusterNodes nodes(loop, api, 0);
  std::vector<std::string> found;
  const auto done = [&found](const Result<std::string>& node) {
    found.push_back(node ? *node : "error");
  };
  nodes.find("10.0.0.2", done);
  nodes.find("HOST-1", done);
  REQUIRE(api.asked.size() == 1);
  api.answer(200, node_page("n1", "Host-1", "a b"));
  REQUIRE(api.asked.size() == 2);
  CHECK(api.asked[1].target == "/api/v1/nodes?limit=50&continue=a%20b");
  api.answer(200, node_page("n2", "10.0.0.2"));
  CHECK(found == std::vector<std::string>{"n2", "n1"});
  nodes.find("10.0.0.2", done); // known
  CHECK(api.asked.size() == 2);
  nodes.find("10.0.0.3", done); // perhaps since
  REQUIRE(api.asked.size() == 3);
  api.answer(200, node_page("n3", "10.0.0.4"));
  CHECK(found.back().empty());
  nodes.find("10.0.0.9", done);
  api.answer(500, "");
  CHECK(found.back() == "error");
  nodes.find("10.0.0.4", done); // what was known is not forgotten for that
  CHECK(found.back() == "n3");
}

TEST_CASE("who asks for Nodes that are none waits for the next read") {
  Script api;
  net::Loop loop; // nobody runs it: no time passes there
  ClusterNodes nodes(loop, api, 1'000'000'000);
  std::size_t told = 0;
  const auto done = [&told](const Result<std::string>&) { ++told; };
  nodes.find("10.0.0.1", done);
  api.answer(200, R"({"items":[]})");
  CHECK(told == 1);
  nodes.find("10.0.0.1", done);
  nodes.find("10.0.0.2", done);
  CHECK(api.asked.size() == 1);
  CHECK(told == 1);
}

TEST_CASE("what is not known of Nodes is not taken for none") {
  Script api;
  net::Loop loop;
  ClusterNodes nodes(loop, api, 0);
  std::vector<std::string> said;
  const auto done = [&said](const Result<std::string>& node) {
    said.push_back(!node ? "error" : node->empty() ? "none" : *node);
  };
  const std::string none = R"({"items":[]})";
  SUBCASE("a page that is too large is asked for in halves") {
    nodes.find("10.0.0.9", done);
    api.fail(Error(Code::too_large, "large"));
    REQUIRE(api.asked.size() == 2);
    CHECK(api.asked[1].target == "/api/v1/nodes?limit=25");
    api.answer(200, node_page("n1", "10.0.0.1", "next"));
    api.fail(Error(Code::too_large, "large"));
    REQUIRE(api.asked.size() == 4);
    CHECK(api.asked[3].target == "/api/v1/nodes?limit=12&continue=next");
    api.answer(200, node_page("n2", "10.0.0.9"));
    CHECK(said == std::vector<std::string>{"n2"});
  }
  SUBCASE("one Node that is too large says nothing") {
    nodes.find("10.0.0.9", done);
    for (int halves = 0; halves < 5; ++halves)
      api.fail(Error(Code::too_large, "large"));
    CHECK(said.empty());
    api.fail(Error(Code::too_large, "large"));
    CHECK(said == std::vector<std::string>{"error"});
  }
  SUBCASE("nor what is no list") {
    nodes.find("10.0.0.9", done);
    api.answer(200, std::string(600, '['));
    CHECK(said == std::vector<std::string>{"error"});
  }
  SUBCASE("nor a read that does not come to the last Node") {
    nodes.find("10.0.0.9", done);
    for (std::size_t page = 0; page < ClusterNodes::k_most_pages; ++page)
      api.answer(200, node_page("n1", "10.0.0.1", "next"));
    CHECK(said == std::vector<std::string>{"error"});
    nodes.find("10.0.0.1", done);
    CHECK(said.back() == "n1");
  }
  SUBCASE("nor one that began before the question, where that matters") {
    nodes.find("10.0.0.9", done);
    nodes.find("zood.internal", done, ClusterNodes::Read::later);
    REQUIRE(api.asked.size() == 1);
    api.answer(200, none);
    CHECK(said == std::vector<std::string>{"none"});
    REQUIRE(api.asked.size() == 2);
    api.answer(200, node_page("n1", "Zood.Internal"));
    CHECK(said.back() == "n1");
    CHECK(api.asked.size() == 2);
  }
  SUBCASE("nobody waits beside so many") {
    for (std::size_t n = 0; n < ClusterNodes::k_most_waiting; ++n)
      nodes.find("10.0.0.9", done);
    CHECK(said.empty());
    nodes.find("10.0.0.9", done);
    CHECK(said == std::vector<std::string>{"error"});
    CHECK(api.asked.size() == 1);
  }
  SUBCASE("one that begins behind it does") {
    nodes.find("zood.internal", done, ClusterNodes::Read::later);
    api.answer(200, none);
    CHECK(said == std::vector<std::string>{"none"});
    CHECK(api.asked.size() == 1);
  }
}

TEST_CASE("zood itself is reached where it is known that no Node has its name") {
  net::Loop loop;
  Script api;
  const auto parts = std::make_shared<EgressParts>();
  const auto endpoint = std::make_shared<upstream::UpstreamEndpoint>();
  endpoint->tls = false;
  const auto room = std::make_shared<EgressRoom>(loop, DoorEntry(), endpoint,
                                                 [&api]() -> upstream::Caller& { return api; });
  room->nodes = std::make_unique<ClusterNodes>(loop, api, 0);
  EgressGate gate(parts, room, nullptr, std::make_shared<net::Resolver>(1));
  http::ConnectHead head;
  head.host = "zood.internal";
  head.port = 443;
  std::string decided;
  const auto waits = gate.ask(loop, head, [&decided](net::Gate::Decision decision) {
    const auto* const refusal = std::get_if<net::Gate::Refusal>(&decision);
    decided = refusal != nullptr ? std::to_string(refusal->status)
              : std::holds_alternative<net::Gate::Inward>(decision) ? "inward"
                                                                    : "outward";
  });
  const auto answer = [&](int status, const std::string& body) {
    loop.post([&] {
      loop.stop(); // behind this task
      api.answer(status, body);
    });
    loop.run();
    return decided;
  };
  SUBCASE("none has it") { CHECK(answer(200, R"({"items":[]})") == "inward"); }
  SUBCASE("one has it") { CHECK(answer(200, node_page("n1", "zood.internal")) == "403"); }
  SUBCASE("it is not known") { CHECK(answer(500, "") == "503"); }
  SUBCASE("what is said is no list") { CHECK(answer(200, "[[[") == "503"); }
}

TEST_CASE("of the addresses of a name those are dialled that may be") {
  const auto address = [](const std::string& text) {
    return net::numeric_address(text, 443).front();
  };
  const auto both = judged({address("127.0.0.1"), address("192.0.2.9")}, {}, {}, {});
  REQUIRE(both);
  REQUIRE(both->size() == 1);
  CHECK(both->front().text() == "192.0.2.9:443");
  const auto none = judged({address("127.0.0.1"), address("::1")}, {}, {}, {});
  REQUIRE(!none);
  CHECK(none.error().message().starts_with("127.0.0.1 is of loopback"));
}

TEST_CASE("pods of the cluster's own are dialled, and others' are not") {
  const auto address = [](const std::string& text) {
    return net::numeric_address(text, 443).front();
  };
  PlaceTexts texts;
  texts.pods = {"10.244.0.0/16"};
  texts.services = {"10.96.0.0/12"};
  texts.upstream = {"10.244.0.1"};
  const auto places = places_of(texts);
  const auto own = [&](const net::Address& each) {
    return each.text() == "10.244.0.7:443" || each.text() == "10.244.0.1:443" ||
           each.text() == "127.0.0.1:443";
  };
  const auto some = judged({address("10.244.0.8"), address("10.244.0.7")}, {}, places, {}, own);
  REQUIRE(some);
  REQUIRE(some->size() == 1);
  CHECK(some->front().text() == "10.244.0.7:443");
  const auto foreign = judged({address("10.244.0.8")}, {}, places, {}, own);
  REQUIRE(!foreign);
  CHECK(foreign.error().message().starts_with("10.244.0.8 is of a pod that is not the virtual"));
  // Whatever a pod's address is said to be.
  CHECK(!judged({address("10.244.0.1")}, {}, places, {}, own));
  CHECK(!judged({address("127.0.0.1")}, {}, places, {}, own));
  const auto service = judged({address("10.96.0.9")}, {}, places, {}, own);
  REQUIRE(!service);
  CHECK(service.error().message().starts_with("10.96.0.9 is of a Service that is not"));
  EgressAllowed allowed;
  allowed.targets = {"10.244.0.8:443"};
  CHECK(judged({address("10.244.0.8")}, allowed, places, {}, own));
}

TEST_CASE("what is large is looked at in a twentieth of the time of a loop") {
  using std::chrono::milliseconds;
  LookPace pace;
  const auto now = LookPace::Clock::now();
  CHECK(pace.may(now));
  pace.took(LookPace::k_free, now); // as objects usually are
  CHECK(pace.may(now));
  pace.took(milliseconds(10), now);
  CHECK_FALSE(pace.may(now + milliseconds(199)));
  CHECK(pace.may(now + milliseconds(200)));
  pace.took(milliseconds(3), now); // after it
  CHECK_FALSE(pace.may(now + milliseconds(259)));
  CHECK(pace.may(now + milliseconds(260)));
}

TEST_CASE("a ClusterIP leads to the endpoints of its Service that are ready") {
  Script api;
  LookPace pace;
  ClusterServices services(api, pace);
  std::string found;
  const auto done = [&found](const Result<std::optional<std::vector<net::Address>>>& to) {
    found = !to ? to.error().message() : !*to ? "none" : "";
    if (to && *to)
      for (const auto& each : **to)
        found += each.text() + " ";
  };
  auto look = services.find("10.96.0.9", 443, done);
  REQUIRE(api.asked.size() == 1);
  CHECK(api.asked[0].target == "/api/v1/services?limit=2&fieldSelector=spec.clusterIP%3D10.96.0.9");
  const std::string service = R"({"items":[{"metadata":{"namespace":"team","name":"hook"},
    "spec":{"ports":[{"port":443,"protocol":"UDP"},{"name":"web","port":443,"protocol":"TCP"}]}}]})";
  SUBCASE("in their order") {
    api.answer(200, service);
    REQUIRE(api.asked.size() == 2);
    CHECK(api.asked[1].target == "/apis/discovery.k8s.io/v1/namespaces/team/endpointslices?limit=20"
                                 "&labelSelector=kubernetes.io%2Fservice-name%3Dhook");
    api.answer(200, R"({"items":[{"ports":[{"name":"web","port":8443,"protocol":"TCP"},
      {"name":"other","port":1}],"endpoints":[{"addresses":["10.244.0.7"]},
      {"addresses":["10.244.0.8"],"conditions":{"ready":false}},{"addresses":["host"]},{},
      {"addresses":["10.244.0.9"],"conditions":{"ready":true}}]},{}]})");
    CHECK(found == "10.244.0.7:8443 10.244.0.9:8443 ");
  }
  SUBCASE("none") {
    api.answer(200, service);
    api.answer(200, R"({"items":[]})");
    CHECK(found.empty());
  }
  SUBCASE("there is no such Service") {
    api.answer(200, R"({"items":[]})");
    CHECK(found == "none");
  }
  SUBCASE("nor such a port") {
    api.answer(200, R"({"items":[{"spec":{"ports":[{"port":80}]}}]})");
    CHECK(found == "none");
  }
  SUBCASE("the cluster does not say") {
    api.answer(500, "");
    CHECK(found == "its API server answers 500 when asked for its Services");
  }
  SUBCASE("nobody waits any more") {
    look.reset();
    CHECK(found.empty());
  }
}

TEST_CASE("whether an address is a pod's is asked of the upstream, one at a time") {
  Script api;
  UpstreamPods pods([&api]() -> upstream::Caller& { return api; });
  std::vector<std::string> said;
  const auto done = [&said](const Result<bool>& is_pod) {
    said.push_back(!is_pod ? is_pod.error().message() : *is_pod ? "pod" : "none");
  };
  const auto one = pods.find("10.1.0.7", done);
  const auto same = pods.find("10.1.0.7", done);
  auto left = pods.find("10.1.0.8", done);
  const auto other = pods.find("fd00::9", done);
  REQUIRE(api.asked.size() == 1);
  CHECK(
      api.asked[0].target ==
      "/api/v1/pods?limit=1&fieldSelector=status.podIP%3D10.1.0.7%2Cstatus.phase%21%3DSucceeded%2C"
      "status.phase%21%3DFailed%2Cspec.hostNetwork%3Dfalse");
  left.reset(); // nobody waits for that one
  api.answer(200, R"({"items":[{"metadata":{"name":"x"}}]})");
  CHECK(said == std::vector<std::string>{"pod", "pod"});
  REQUIRE(api.asked.size() == 2);
  CHECK(api.asked[1].target.find("fd00%3A%3A9") != std::string::npos);
  api.answer(200, R"({"items":[]})");
  CHECK(said.back() == "none");
  CHECK(pods.find("10.1.0.7", done) == nullptr); // it is known
  CHECK(said.back() == "pod");
  CHECK(api.asked.size() == 2);
  const auto failed = pods.find("10.1.0.9", done);
  api.answer(500, "");
  CHECK(said.back() == "the upstream does not say whose address 10.1.0.9 is");
}

TEST_CASE("what the upstream says of itself") {
  PlaceTexts texts;
  texts.names = {"API.example.com", ""};
  texts.advertised = {"bastion", "203.0.113.1"};
  add_nodes(json::parse(R"({"items":[{"spec":{"podCIDRs":["10.244.0.0/24",7]},
    "status":{"addresses":[{"address":"10.0.0.1"},{"address":"host-1"},{}]}},{}]})"),
            texts);
  add_slice(json::parse(R"({"endpoints":[{"addresses":["198.51.100.1"]},{}]})"), texts);
  add_ranges(json::parse(R"({"items":[{"spec":{"cidrs":["10.96.0.0/12","fd00:1::/112"]}}]})"),
             texts);
  const auto places = places_of(texts);
  const auto in = [](const net::Networks& networks, const std::string& text) {
    return networks.contain(net::numeric_address(text, 0).front());
  };
  CHECK(in(places.pods, "10.244.0.9"));
  CHECK(in(places.upstream, "10.0.0.1"));
  CHECK(in(places.upstream, "198.51.100.1"));
  CHECK(in(places.services, "10.96.0.1"));
  CHECK(in(places.services, "fd00:1::1"));
  CHECK(in(places.advertised, "203.0.113.1"));
  CHECK(!in(places.upstream, "10.0.0.2"));
  CHECK(places.names == std::set<std::string, std::less<>>{"api.example.com"});
}
