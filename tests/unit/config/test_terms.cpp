// SPDX-License-Identifier: Apache-2.0
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
