// SPDX-License-Identifier: Apache-2.0
#include "common/api/network_peer.hpp"
#include "common/api/tenant.hpp"
#include "common/api/terms.hpp"

#include <doctest/doctest.h>

using namespace zoo;
using namespace zoo::api;

namespace {

std::string wrong(const std::string& quota, const std::string& flow, const std::string& guards) {
  Tenant tenant;
  tenant.quota_json = quota;
  tenant.flow_json = flow;
  tenant.guards_json = guards;
  const auto terms = terms_of(tenant);
  if (terms) return "taken";
  CHECK(terms.error().code() == Code::invalid);
  return terms.error().message();
}

} // namespace

TEST_CASE("what a tenant says holds instead of zood.yaml's, member by member") {
  Tenant tenant;
  tenant.quota_json = R"({"namespaces":3,"bytes":"5Mi","webhooks":null,"policies":"2k"})";
  tenant.flow_json = R"({"maxRequestsInflight":7,"weight":5,"maxBufferedBytes":"1Gi"})";
  tenant.guards_json = R"({"nodeNames":true,"volumeDrivers":["a"],"priority":-1})";
  const auto terms = terms_of(tenant).value();
  const auto quota =
      merged(Quota{{Counted::webhooks, 100}, {Counted::definitions, 9}}, terms.quota);
  CHECK(quota == Quota{{Counted::namespaces, 3},
                       {Counted::definitions, 9},
                       {Counted::policies, 2000},
                       {Counted::bytes, 5u << 20}});
  const auto flow = merged(Flow{}, terms.flow);
  CHECK(flow.requests == 7);
  CHECK(flow.mutations == 200);
  CHECK(flow.weight == 5);
  CHECK(flow.buffered == 1u << 30);
  const auto guards = merged(Guards{}, terms.guards);
  CHECK(guards.node_names);
  CHECK_FALSE(guards.admin_access);
  CHECK(guards.volume_drivers == std::vector<std::string>{"a"});
  CHECK(guards.ingress_hosts == std::vector<std::string>{"*"});
  CHECK(guards.priority == -1);
}

TEST_CASE("KubeZoo's annotation is heard where spec.flow says nothing") {
  Tenant tenant;
  tenant.annotations.emplace(k_inflight_annotation, "20");
  CHECK(terms_of(tenant)->flow.requests == 20);
  tenant.flow_json = R"({"maxRequestsInflight":7})";
  CHECK(terms_of(tenant)->flow.requests == 7);
  tenant.flow_json.clear();
  for (const auto* bad : {"", "x", "-1", "1.5", "20 ", "1000001"}) {
    tenant.annotations[std::string(k_inflight_annotation)] = bad;
    CHECK_FALSE(terms_of(tenant));
  }
}

TEST_CASE("a term that says nothing is refused with its name") {
  CHECK(wrong("{}", "{}", "{}") == "taken");
  CHECK(wrong(R"({"namespace":3})", "", "") ==
        "unknown field 'spec.quota.namespace', did you mean 'namespaces'?");
  CHECK(
      wrong(R"({"namespaces":-3})", "", "").find("spec.quota.namespaces must be a whole number") ==
      0);
  for (const auto* bad : {"1.5", "\"1.5\"", "\"5m\"", "\"\"", "\"99999999999999Ti\"", "true"}) {
    CHECK(wrong(R"({"bytes":)" + std::string(bad) + "}", "", "").find("spec.quota.bytes") == 0);
  }
  CHECK(wrong("", R"({"weight":0})", "") == "spec.flow.weight must be from 1 to 1000000");
  CHECK(wrong("", R"({"share":2})", "").find("unknown field 'spec.flow.share'") == 0);
  CHECK(wrong("", "", R"({"nodeNames":"yes"})") == "spec.guards.nodeNames must be true or false");
  CHECK(wrong("", "", R"({"volumeDrivers":"a"})") ==
        "spec.guards.volumeDrivers must be a list of strings");
  CHECK(wrong("", "", R"({"priority":1000000001})").find("spec.guards.priority") == 0);
}

TEST_CASE("what all namespaces may use together stands beside the ceilings, as quantities") {
  Tenant tenant;
  tenant.quota_json =
      R"({"namespaces":3,"hard":{"pods":10,"requests.cpu":"2500m","count/deployments.apps":"5",
          "gold.storageclass.storage.k8s.io/requests.storage":"1Gi"}})";
  const auto terms = terms_of(tenant);
  REQUIRE(terms);
  CHECK(terms->quota.size() == 1);
  CHECK(terms->hard == HardQuota{{"pods", "10"},
                                 {"requests.cpu", "2500m"},
                                 {"count/deployments.apps", "5"},
                                 {"gold.storageclass.storage.k8s.io/requests.storage", "1Gi"}});
  CHECK(wrong(R"({"hard":{"pod":"1"}})", "", "").find("did you mean 'pods'?") != std::string::npos);
  CHECK(wrong(R"({"hard":{"pods":"-1"}})", "", "").find("spec.quota.hard['pods']") == 0);
  CHECK(wrong(R"({"hard":{"pods":true}})", "", "").find("spec.quota.hard['pods']") == 0);
  CHECK(wrong(R"({"hard":["pods"]})", "", "") == "spec.quota.hard must be a mapping");
  CHECK(wrong(R"({"hard":{"a b/c":"1"}})", "", "").find("spec.quota.hard: 'a b/c'") == 0);
}

TEST_CASE("templates of a tenant are named with the values of their parameters") {
  const auto read = [](const char* list) {
    Tenant tenant;
    tenant.templates_json = list;
    return terms_of(tenant);
  };
  const auto good = read(
      R"([{"template":"walls","parameters":[{"name":"CPU","value":"2"}]},{"template":"open"}])");
  REQUIRE(good);
  CHECK(good->templates == std::vector<TemplateWish>{{"walls", {{"CPU", "2"}}}, {"open", {}}});
  for (
      const auto* bad :
      {R"({})", R"(["walls"])", R"([{"name":"walls"}])", R"([{"template":""}])",
       R"([{"template":"walls","parameters":{"CPU":"2"}}])",
       R"([{"template":"walls","parameters":[{"name":"CPU","value":2}]}])",
       R"([{"template":"walls","parameters":[{"name":"A","value":"1"},{"name":"A","value":"2"}]}])"}) {
    CAPTURE(bad);
    const auto terms = read(bad);
    REQUIRE_FALSE(terms);
    CHECK(terms.error().code() == Code::invalid);
    CHECK(terms.error().message().find("spec.templates") != std::string::npos);
  }
}

TEST_CASE("networks are open or kept apart, and let in addresses and namespaces") {
  Tenant tenant;
  CHECK_FALSE(merged(Guards{}, terms_of(tenant)->guards).isolated);
  tenant.guards_json = R"({"network":"isolated","networkFrom":["10.0.0.0/8","a=b"]})";
  const auto guards = merged(Guards{}, terms_of(tenant)->guards);
  CHECK(guards.isolated);
  CHECK(guards.network_from == std::vector<std::string>{"10.0.0.0/8", "a=b"});
  tenant.guards_json = R"({"network":"open","networkFrom":[]})";
  Guards defaults;
  defaults.isolated = true;
  defaults.network_from = {"10.0.0.0/8"};
  CHECK_FALSE(merged(defaults, terms_of(tenant)->guards).isolated);
  CHECK(merged(defaults, terms_of(tenant)->guards).network_from.empty());
  CHECK(wrong("", "", R"({"network":"closed"})") == "spec.guards.network must be open or isolated");
  CHECK(wrong("", "", R"({"network":true})") == "spec.guards.network must be open or isolated");
  CHECK(wrong("", "", R"({"networkFrom":"10.0.0.0/8"})") ==
        "spec.guards.networkFrom must be a list of strings");
  CHECK(wrong("", "", R"({"networkFrom":["10.0.0.0/8","everybody"]})").starts_with("'everybody'"));
}

TEST_CASE("from where pods are reached is a CIDR or a label of namespaces") {
  for (const auto* good : {"10.0.0.0/8", "0.0.0.0/0", "192.0.2.7/32", "fd00::/8", "::1/128"}) {
    CAPTURE(good);
    CHECK(network_peer(good).value().cidr == good);
  }
  const auto peer = network_peer("kubernetes.io/metadata.name=ingress-nginx").value();
  CHECK(peer.cidr.empty());
  CHECK(peer.label == "kubernetes.io/metadata.name");
  CHECK(peer.value == "ingress-nginx");
  for (const auto* bad :
       {"", "*", "10.0.0.0", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/08", "10.0.0/8",
        "fd00::/129", "a/b", "=b", "a=", "a=b=c", "a b=c", "a=b,c=d", "/a=b", "A.b/c=d", "a/=b",
        "tenant.kubezoo.io/id=foofoo"}) {
    CAPTURE(bad);
    CHECK(network_peer(bad).error().code() == Code::invalid);
  }
  CHECK(check_network_peers(std::vector<std::string>(100, "a=b")));
  CHECK_FALSE(check_network_peers(std::vector<std::string>(101, "a=b")));
}
