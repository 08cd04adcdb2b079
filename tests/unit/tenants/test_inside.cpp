// SPDX-License-Identifier: Apache-2.0
#include "daemon/tenants/inside.hpp"
#include "daemon/tenants/manifests.hpp"
#include "daemon/upstream/inside_manifests.hpp"
#include "tests/unit/tenants/fixture.hpp"

#include <algorithm>

using namespace zoo;
using namespace zoo::tests;
using namespace std::chrono_literals;
using nlohmann::json;
using tenants::Inside;
using tenants::InsideSettings;

namespace {

constexpr const char* k_service = "/api/v1/namespaces/zoo-system/services/zood";
constexpr const char* k_slice =
    "/apis/discovery.k8s.io/v1/namespaces/zoo-system/endpointslices/zood";
constexpr const char* k_params = "/api/v1/namespaces/zoo-system/configmaps/zoo-inside";
constexpr const char* k_policy =
    "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies/zoo-pods-inside";
constexpr const char* k_binding =
    "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings/zoo-pods-inside";

/// An upstream that serves the policies, has a DNS server and gives tokens.
struct World {
  FakeUpstream upstream;
  std::unique_ptr<upstream::ControlApi> api = upstream.connect();
  Inside::Clock::time_point now = Inside::Clock::now();
  std::vector<std::string> missing;
  bool furnished = true;

  explicit World(const std::string& version = "v1") {
    serve(version);
    upstream.put("/api/v1/namespaces/kube-system/services/kube-dns",
                 {{"spec", {{"clusterIP", "10.0.0.10"}}}});
    upstream.put(k_service, {{"spec", {{"clusterIP", "10.0.0.77"}}}});
    upstream.set_fault([](const std::string& method,
                          const std::string& path) -> std::optional<http_client::Response> {
      if (method != "POST" || !path.ends_with("/serviceaccounts/zood/token")) return std::nullopt;
      return http_client::Response{
          201, {}, json{{"spec", {{"audiences", {"https://a.example", "b"}}}}}.dump()};
    });
  }
  void serve(const std::string& version) {
    if (version.empty()) return;
    upstream.put("/apis/admissionregistration.k8s.io/" + version,
                 {{"resources", json::array({{{"name", "mutatingadmissionpolicies"}}})}});
  }

  static InsideSettings settings(std::string host = "192.0.2.7") {
    InsideSettings out;
    out.host = std::move(host);
    out.port = 7443;
    out.owner = "ours";
    return out;
  }
  Inside make(InsideSettings with = settings()) {
    return {std::move(with),
            {[this](const std::string&) { return missing; }, [this] { return furnished; }}};
  }
  /// As often as it is about to change something.
  std::string look(Inside& inside) {
    for (int i = 0; i < 5; ++i) {
      must(inside.look(*api, now));
      now += 3s;
    }
    return inside.state()->access.reason;
  }
  std::size_t place_of(const std::string& request) const {
    const auto all = upstream.requests();
    return static_cast<std::size_t>(std::find(all.begin(), all.end(), request) - all.begin());
  }
};

} // namespace

TEST_CASE("what pods need is written in the order in which one thing rests on another") {
  World world;
  auto inside = world.make();
  CHECK(inside.state()->access.reason == "Waiting");
  CHECK(world.look(inside) == "Published");
  const auto slice = world.place_of(std::string("PATCH ") + k_slice);
  const auto params = world.place_of(std::string("PATCH ") + k_params);
  const auto policy = world.place_of(std::string("PATCH ") + k_policy);
  const auto binding = world.place_of(std::string("PATCH ") + k_binding);
  CHECK(slice < params);
  CHECK(params < policy);
  CHECK(policy < binding);
  CHECK(binding < world.upstream.requests().size());
  CHECK(world.upstream.at(k_params)["data"] == json{{"apiHost", "10.0.0.77"},
                                                    {"apiPort", "443"},
                                                    {"dnsServers", "10.0.0.10"},
                                                    {"domain", "cluster.local"},
                                                    {"audiences", "https://a.example b"}});
  CHECK(world.upstream.at(k_slice)["endpoints"][0]["addresses"][0] == "192.0.2.7");
  CHECK(inside.state()->access.given);
}

TEST_CASE("what is as it has to be is not written again, and what is taken away comes back") {
  World world;
  auto inside = world.make();
  world.look(inside);
  const auto writes = [&] {
    const auto all = world.upstream.requests();
    return std::count_if(all.begin(), all.end(),
                         [](const auto& each) { return each.starts_with("PATCH"); });
  };
  const auto before = writes();
  must(inside.look(*world.api, world.now));
  CHECK(writes() == before);
  for (const auto* path : {k_binding, k_policy, k_params, k_slice}) {
    CAPTURE(path);
    must(world.api->remove(path));
    must(inside.look(*world.api, world.now));
    CHECK(world.upstream.has(path));
    CHECK(inside.state()->access.given); // it has not been away for the tenants' conditions
  }
  auto other = world.upstream.at(k_params);
  other["data"]["apiHost"] = "192.0.2.66";
  world.upstream.put(k_params, other);
  must(inside.look(*world.api, world.now));
  CHECK(world.upstream.at(k_params)["data"]["apiHost"] == "10.0.0.77");
}

TEST_CASE("a Service that somebody removes is made again with the address that pods have") {
  World world;
  auto inside = world.make();
  world.look(inside);
  must(world.api->remove(k_service));
  must(inside.look(*world.api, world.now));
  CHECK(world.upstream.at(k_service)["spec"]["clusterIP"] == "10.0.0.77");
}

TEST_CASE("what another zood keeps for pods stays as it is") {
  World world;
  auto theirs = World::settings("192.0.2.8");
  theirs.owner = "theirs";
  auto first = world.make(theirs);
  CHECK(world.look(first) == "Published");
  auto second = world.make();
  const auto writes = [&] {
    const auto all = world.upstream.requests();
    return std::count_if(all.begin(), all.end(),
                         [](const auto& each) { return !each.starts_with("GET "); });
  };
  const auto before = writes();
  CHECK(world.look(second) == "AnotherZood");
  CHECK(!second.state()->access.given);
  CHECK(writes() == before);
  CHECK(world.upstream.at(k_slice)["endpoints"][0]["addresses"][0] == "192.0.2.8");

  must(world.api->remove(k_params)); // by an administrator: that zood is gone
  CHECK(world.look(second) == "Published");
  CHECK(world.upstream.at(k_slice)["endpoints"][0]["addresses"][0] == "192.0.2.7");
  CHECK(world.look(first) == "AnotherZood");
}

TEST_CASE("no policy before every namespace has what its pods would mount") {
  World world;
  world.furnished = false;
  auto inside = world.make();
  CHECK(world.look(inside) == "Waiting");
  CHECK(world.upstream.has(k_params));
  CHECK(!world.upstream.has(k_policy));
  world.furnished = true;
  CHECK(world.look(inside) == "Published");
  CHECK(world.upstream.has(k_binding));
}

TEST_CASE("an upstream without the kind has no policy, an older one that of its version") {
  World old("");
  auto inside = old.make();
  CHECK(old.look(inside) == "UpstreamTooOld");
  CHECK(!inside.state()->access.given);
  for (const auto& request : old.upstream.requests())
    CHECK(request.starts_with("GET "));

  World beta("v1beta1");
  auto there = beta.make();
  CHECK(beta.look(there) == "Published");
  const auto policy = beta.upstream.at("/apis/admissionregistration.k8s.io/v1beta1/"
                                       "mutatingadmissionpolicies/zoo-pods-inside");
  CHECK(policy["apiVersion"] == "admissionregistration.k8s.io/v1beta1");
}

TEST_CASE("an address that no pod reaches: nothing is written") {
  World world;
  auto inside = world.make(World::settings("127.0.0.1"));
  CHECK(world.look(inside) == "NotReachable");
  for (const auto& request : world.upstream.requests())
    CHECK(request.starts_with("GET "));
}

TEST_CASE("switched off: what this zood has installed goes, and another one's stays") {
  World world;
  auto on = world.make();
  world.look(on);
  auto settings = World::settings();
  settings.enabled = false;
  settings.owner = "another's";
  auto foreign = world.make(settings);
  CHECK(world.look(foreign) == "SwitchedOff");
  CHECK(world.upstream.has(k_binding));

  settings.owner = "ours";
  auto off = world.make(settings);
  CHECK(world.look(off) == "SwitchedOff");
  CHECK(!world.upstream.has(k_policy));
  CHECK(!world.upstream.has(k_params));
  CHECK(world.upstream.has(k_service)); // pods that run still look for it
  CHECK(world.upstream.has("/apis/admissionregistration.k8s.io/v1/"
                           "mutatingadmissionpolicybindings/zoo-parameters"));
  CHECK(world.place_of(std::string("DELETE ") + k_binding) <
        world.place_of(std::string("DELETE ") + k_policy));
  CHECK(world.place_of(std::string("DELETE ") + k_policy) <
        world.place_of(std::string("DELETE ") + k_params));
}

TEST_CASE("a certificate that is not good for the Service: pods are given the advertised address") {
  World world;
  world.missing = {"kubernetes", "10.0.0.77"};
  auto inside = world.make();
  CHECK(world.look(inside) == "Published");
  const auto data = world.upstream.at(k_params)["data"];
  CHECK(data["apiHost"] == "192.0.2.7");
  CHECK(data["apiPort"] == "7443");
  world.missing = {"kubernetes"}; // a name is asked for by nobody who has the address
  must(inside.look(*world.api, world.now));
  CHECK(world.upstream.at(k_params)["data"]["apiHost"] == "10.0.0.77");
}

TEST_CASE("DNS servers are zood.yaml's, else the cluster's, else pods keep theirs") {
  World world;
  auto settings = World::settings();
  settings.dns_servers = {"169.254.20.10", "10.0.0.10"};
  auto inside = world.make(settings);
  world.look(inside);
  CHECK(inside.state()->dns_servers == "169.254.20.10 10.0.0.10");
  must(world.api->remove("/api/v1/namespaces/kube-system/services/kube-dns"));
  auto without = world.make();
  CHECK(world.look(without) == "Published");
  CHECK(without.state()->dns_servers.empty());
}

TEST_CASE("an upstream that refuses the policy is told of, and asked again") {
  World world;
  bool refuses = true;
  world.upstream.set_fault([&](const std::string& method,
                               const std::string& path) -> std::optional<http_client::Response> {
    if (method == "POST" && path.ends_with("/token"))
      return http_client::Response{201, {}, json{{"spec", {{"audiences", {"a"}}}}}.dump()};
    if (refuses && method == "PATCH" && path == k_policy)
      return status(403, "Forbidden", "no rights");
    return std::nullopt;
  });
  auto inside = world.make();
  CHECK(world.look(inside) == "NotInstalled");
  CHECK(inside.state()->access.message.find("no rights") != std::string::npos);
  refuses = false;
  CHECK(world.look(inside) == "Published");
}

TEST_CASE("the label of a tenant's namespaces says what is left of it") {
  CHECK(tenants::inside_label({true, true}).empty());
  CHECK(tenants::inside_label({true, false}) == "api");
  CHECK(tenants::inside_label({false, true}) == "dns");
  CHECK(tenants::inside_label({false, false}) == "none");
  const auto labels =
      tenants::namespace_manifest("foofoo", "foofoo-a", "none")["metadata"]["labels"];
  CHECK(labels["zoo.kubezoo.io/inside"] == "none");
  CHECK(!tenants::namespace_manifest("foofoo", "foofoo-a")["metadata"]["labels"].contains(
      "zoo.kubezoo.io/inside"));
  CHECK(json::parse(tenants::inside_patch(""))["metadata"]["labels"]["zoo.kubezoo.io/inside"]
            .is_null());
}
