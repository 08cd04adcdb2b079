// SPDX-License-Identifier: Apache-2.0
#include "daemon/tenants/kept.hpp"
#include "daemon/tenants/records.hpp"
#include "tests/unit/tenants/fixture.hpp"

#include <algorithm>
#include <map>

using namespace zoo;
using namespace zoo::tests;
using nlohmann::json;

namespace {

const std::string k_map = "/api/v1/namespaces/foofoo-team/configmaps/zoo-root-ca.crt";
const std::string k_policy =
    "/apis/networking.k8s.io/v1/namespaces/foofoo-team/networkpolicies/zoo-baseline";

tenants::KeptTerms terms(bool isolated = false) {
  tenants::KeptTerms out;
  out.authorities = "PEM";
  out.guards.isolated = isolated;
  out.guards.network_from = {"10.0.0.0/8", "kubernetes.io/metadata.name=ingress"};
  return out;
}

/// An upstream with the namespace foofoo-team, and how a controller speaks to it.
struct Kept {
  FakeUpstream upstream;
  std::unique_ptr<upstream::ControlApi> api = upstream.connect();

  Result<void> repair(const tenants::KeptTerms& with) {
    return tenants::repair_kept(*api, "foofoo", {"foofoo-default", "foofoo-team"}, with);
  }
  /// Requests that write, since `from`.
  std::vector<std::string> writes(std::size_t from) const {
    auto out = upstream.requests();
    out.erase(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(from));
    std::erase_if(out, [](const auto& each) { return each.starts_with("GET"); });
    return out;
  }
};

bool eventually_has(const Room& room, const std::string& path) {
  return eventually([&] { return room.upstream.has(path); });
}

} // namespace

TEST_CASE("a namespace has its authorities, and its policy where the network is kept apart") {
  const auto open = tenants::kept_objects("foofoo", "foofoo-team", terms());
  REQUIRE(open.size() == 1);
  CHECK(open[0].collection == "/api/v1/namespaces/foofoo-team/configmaps");
  CHECK(open[0].manifest["data"] == json({{"ca.crt", "PEM"}, {"namespace", "team"}}));
  const auto isolated = tenants::kept_objects("foofoo", "foofoo-team", terms(true));
  REQUIRE(isolated.size() == 2);
  const auto spec = isolated[1].manifest["spec"];
  CHECK(spec["podSelector"] == json::object());
  CHECK(spec["policyTypes"] == json::array({"Ingress"}));
  const auto from = spec["ingress"][0]["from"];
  REQUIRE(from.size() == 3);
  CHECK(from[0]["namespaceSelector"]["matchLabels"]["tenant.kubezoo.io/id"] ==
        json(std::string("foofoo")));
  CHECK(from[1]["ipBlock"]["cidr"] == json(std::string("10.0.0.0/8")));
  // A tenant gives its namespaces whatever labels it likes: it is none that is let in so.
  CHECK(from[2]["namespaceSelector"]["matchExpressions"][0] ==
        json({{"key", "tenant.kubezoo.io/id"}, {"operator", "DoesNotExist"}}));
}

TEST_CASE("what is missing or different is written, and nothing else") {
  Kept kept;
  must(kept.repair(terms()));
  CHECK(kept.upstream.at(k_map)["data"]["namespace"] == json(std::string("team")));
  CHECK_FALSE(kept.upstream.has(k_policy));
  auto before = kept.upstream.requests().size();
  must(kept.repair(terms()));
  CHECK(kept.writes(before).empty());
  kept.upstream.put(k_map, {{"data", {{"ca.crt", "forged"}, {"namespace", "team"}}}});
  before = kept.upstream.requests().size();
  must(kept.repair(terms()));
  CHECK(kept.upstream.at(k_map)["data"]["ca.crt"] == json(std::string("PEM")));
  for (const auto& each : kept.writes(before))
    CHECK(each.find("foofoo-team") != std::string::npos);
  // What somebody has added is read by nobody.
  kept.upstream.put(k_map, {{"data", {{"ca.crt", "PEM"}, {"namespace", "team"}, {"x", "y"}}}});
  before = kept.upstream.requests().size();
  must(kept.repair(terms()));
  CHECK(kept.writes(before).empty());
}

TEST_CASE("a policy comes with the guard and goes with it") {
  Kept kept;
  must(kept.repair(terms(true)));
  REQUIRE(kept.upstream.has(k_policy));
  auto wider = kept.upstream.at(k_policy);
  wider["spec"]["ingress"][0]["ports"] = json::array({{{"port", 80}}});
  kept.upstream.put(k_policy, wider);
  must(kept.repair(terms(true)));
  CHECK_FALSE(kept.upstream.at(k_policy)["spec"]["ingress"][0].contains("ports"));
  const std::string other =
      "/apis/networking.k8s.io/v1/namespaces/foofoo-team/networkpolicies/of-the-tenant";
  const std::string another =
      "/apis/networking.k8s.io/v1/namespaces/barbar-team/networkpolicies/zoo-baseline";
  kept.upstream.put(other, {});
  kept.upstream.put(another, {});
  must(kept.repair(terms()));
  CHECK_FALSE(kept.upstream.has(k_policy));
  CHECK(kept.upstream.has(other));
  CHECK(kept.upstream.has(another));
}

TEST_CASE("one that cannot be written holds up no other, and is told of") {
  Kept kept;
  const auto refuse = [](int code, const char* reason) {
    return [=](const std::string& method, const std::string& path) {
      return method == "POST" && path.find("foofoo-default/configmaps") != std::string::npos
                 ? std::optional(status(code, reason, "exceeded quota: q"))
                 : std::nullopt;
    };
  };
  kept.upstream.set_fault(refuse(403, "Forbidden"));
  const auto repaired = kept.repair(terms(true));
  REQUIRE_FALSE(repaired);
  CHECK(repaired.error().code() == Code::forbidden);
  CHECK(repaired.error().text().find("exceeded quota") != std::string::npos);
  CHECK(kept.upstream.has(k_map));
  CHECK(kept.upstream.has(k_policy));
  // A namespace that has gone meanwhile lacks nothing.
  kept.upstream.set_fault(refuse(404, "NotFound"));
  must(kept.repair(terms(true)));
}

TEST_CASE("one that cannot be changed is made anew") {
  Kept kept;
  kept.upstream.put(k_map, {{"immutable", true}, {"data", {{"ca.crt", "old"}}}});
  const auto uid = kept.upstream.at(k_map)["metadata"]["uid"];
  kept.upstream.set_fault([](const std::string& method, const std::string& path) {
    return method == "PATCH" && path == k_map
               ? std::optional(status(422, "Invalid", "field is immutable"))
               : std::nullopt;
  });
  must(kept.repair(terms()));
  CHECK(kept.upstream.at(k_map)["data"]["ca.crt"] == json(std::string("PEM")));
  CHECK(kept.upstream.at(k_map)["metadata"]["uid"] != uid);
}

TEST_CASE("doctor is told what is missing, different or not wanted") {
  Kept kept;
  const std::map<std::string, std::string> spaces = {
      {"foofoo-default", "foofoo"}, {"foofoo-team", "foofoo"}, {"barbar-default", "barbar"}};
  for (const auto& [space, id] : spaces)
    kept.upstream.put("/api/v1/namespaces/" + space, {});
  const auto of = [](const std::string& id) { return terms(id == "barbar"); };
  must(kept.repair(terms()));
  kept.upstream.put(k_policy, {});
  kept.upstream.put(k_map, {{"data", {{"ca.crt", "forged"}, {"namespace", "team"}}}});
  const auto faults = must(tenants::kept_faults(*kept.api, spaces, of));
  std::vector<std::string> told;
  for (const auto& fault : faults)
    told.push_back(fault.title + ": " + fault.what + ", " + fault.id);
  std::sort(told.begin(), told.end());
  CHECK(told == std::vector<std::string>{
                    "config map zoo-root-ca.crt in namespace barbar-default: missing, barbar",
                    "config map zoo-root-ca.crt in namespace foofoo-team: different at "
                    "/data/ca.crt, foofoo",
                    "network policy zoo-baseline in namespace barbar-default: missing, barbar",
                    "network policy zoo-baseline in namespace foofoo-team: not wanted, foofoo"});
  must(kept.repair(terms()));
  must(tenants::repair_kept(*kept.api, "barbar", {"barbar-default"}, terms(true)));
  CHECK(must(tenants::kept_faults(*kept.api, spaces, of)).empty());
}

TEST_CASE("a tenant that is made has what is kept, by its own guards, and follows a change") {
  Room room;
  auto settings = Room::settings();
  const auto service = room.service(settings);
  auto tenant = wanted("foofoo");
  tenant.guards_json = R"({"network":"isolated"})";
  must(service->create(tenant, false));
  must(service->create(wanted("barbar"), false));
  const auto map = [](const std::string& space) {
    return "/api/v1/namespaces/" + space + "/configmaps/zoo-root-ca.crt";
  };
  const auto policy = [](const std::string& space) {
    return "/apis/networking.k8s.io/v1/namespaces/" + space + "/networkpolicies/zoo-baseline";
  };
  for (const std::string id : {"foofoo", "barbar"}) {
    REQUIRE(eventually([&] {
      const auto now = service->get(id);
      return now && now->phase == api::Phase::ready;
    }));
    for (const std::string space : {"-default", "-kube-system"}) {
      CHECK(room.upstream.at(map(id + space))["data"]["ca.crt"] == room.pki->server_ca_pem());
      CHECK(room.upstream.has(policy(id + space)) == (id == "foofoo"));
    }
    // Until it is furnished a tenant has its own turns.
    for (const std::string space : {"-default", "-kube-system"})
      room.upstream.put("/api/v1/namespaces/" + id + space + "/configmaps/kube-root-ca.crt", {});
    REQUIRE(eventually([&] { return has_condition(*service, id, tenants::k_in_cluster); }));
  }
  settings.policy.guards.isolated = true;
  service->set_policy(settings.policy);
  CHECK(eventually_has(room, policy("barbar-default")));
  auto now = must(service->get("foofoo"));
  now.guards_json = R"({"network":"open"})";
  must(service->update(now, false));
  CHECK(eventually([&] { return !room.upstream.has(policy("foofoo-default")); }));
  CHECK(room.upstream.has(policy("barbar-kube-system")));
}
