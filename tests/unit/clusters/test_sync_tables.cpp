// SPDX-License-Identifier: Apache-2.0
// Tables of Virtual Cluster (CAPN), pkg/syncer/conversion, under the names of their tests and rows:
// what is judged to be the same on both sides, and what is another thing upstream. Where zood
// decides otherwise than CAPN the row says so. What is left out stands in docs/virtual-clusters.md.
#include "daemon/clusters/sync/mirror_kind.hpp"
#include "daemon/clusters/sync/pod_dress.hpp"
#include "daemon/clusters/sync/pod_status.hpp"

#include <doctest/doctest.h>

using namespace zoo;
using namespace zoo::clusters::sync;
using nlohmann::json;

namespace {

json pod_with(json spec, json metadata = json::object(), json status = json::object()) {
  json out = {{"apiVersion", "v1"},
              {"kind", "Pod"},
              {"metadata", {{"name", "name"}, {"namespace", "ns"}, {"uid", "v1"}}},
              {"spec", {{"nodeName", "n1"}, {"containers", json::array()}}},
              {"status", std::move(status)}};
  out["spec"].update(spec);
  out["metadata"].update(metadata);
  return out;
}

Dressed wish_of(const json& pod, const char* dns = "0.0.0.0") {
  DressTerms terms;
  terms.id = "clu5t3";
  terms.dns = dns;
  auto out = dress(pod, terms);
  REQUIRE(out);
  return *std::move(out);
}

json parsed(const char* text) { return json::parse(text); }

} // namespace

TEST_CASE("TestCheckDWKVEquality") {
  struct Row {
    const char* name;
    const char* super; ///< annotations upstream
    const char* known; ///< of these, the keys that came from the cluster
    const char* own;   ///< annotations in the cluster
    const char* next;  ///< upstream's, without those by which pods read what is theirs
  };
  const Row rows[] = {
      {"both empty", "{}", "[]", "{}", "{}"},
      {"empty super", "{}", "[]", R"({"a":"b"})", R"({"a":"b"})"},
      {"equal", R"({"a":"b"})", R"(["a"])", R"({"a":"b"})", R"({"a":"b"})"},
      {"not equal", R"({"a":"b"})", R"(["a"])", R"({"a":"c","b":"c"})", R"({"a":"c","b":"c"})"},
      {"less key", R"({"a":"b","b":"c"})", R"(["a","b"])", R"({"a":"c"})", R"({"a":"c"})"},
      {"empty key", R"({"a":"b","b":"c"})", R"(["a","b"])", "{}", "{}"},
      {"limiting key", R"({"a":"b"})", R"(["a"])", R"({"a":"b","x.kubezoo.io/name":"name"})",
       R"({"a":"b"})"},
      {"limiting key and less key", R"({"a":"b","x.kubezoo.io/name":"name"})", R"(["a"])", "{}",
       R"({"x.kubezoo.io/name":"name"})"},
      {"ignore transparent key", R"({"tp.x-k8s.io/foo":"val"})", "[]", "{}",
       R"({"tp.x-k8s.io/foo":"val"})"},
      // CAPN hides keys of kubernetes.io; zood takes them as any other.
      {"exactly matches defaultOpaqueMetaDomain", R"({"kubernetes.io/a":"b"})", "[]",
       R"({"kubernetes.io/b":"c"})", R"({"kubernetes.io/a":"b","kubernetes.io/b":"c"})"},
      {"subdomain matches defaultOpaqueMetaDomain", R"({"foo.kubernetes.io/a":"b"})", "[]",
       R"({"bar.kubernetes.io/b":"c"})",
       R"({"bar.kubernetes.io/b":"c","foo.kubernetes.io/a":"b"})"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.name);
    const auto wish = wish_of(pod_with(json::object(), {{"annotations", parsed(row.own)}}));
    const auto there = pod_with(json::object(), {{"annotations", parsed(row.super)}});
    const auto known = json{{"annotations", parsed(row.known)}}.dump();
    auto next = dressed_again(there, wish, known)["metadata"]["annotations"];
    for (const char* own : {k_own_namespace, k_own_uid, k_own_account, k_own_node})
      next.erase(own);
    CHECK(next == parsed(row.next));
  }
}

TEST_CASE("TestCheckContainersImageEquality") {
  struct Row {
    const char* name;
    const char *super, *own, *next;
  };
  const char* both = R"([{"name":"c1","image":"image1"},{"name":"c2","image":"image2"}])";
  const char* changed = R"([{"name":"c1","image":"image1"},{"name":"c2","image":"image3"}])";
  const Row rows[] = {
      {"equal", both, both, both},
      {"equal, container added by webhook", both, R"([{"name":"c2","image":"image2"}])", both},
      {"not equal", both, changed, changed},
      {"not equal, container added by webhook", both, R"([{"name":"c2","image":"image3"}])",
       changed},
  };
  for (const auto& row : rows) {
    CAPTURE(row.name);
    const auto wish = wish_of(pod_with({{"containers", parsed(row.own)}}));
    const auto next = dressed_again(pod_with({{"containers", parsed(row.super)}}), wish, "");
    CHECK(next["spec"]["containers"] == parsed(row.next));
  }
}

TEST_CASE("TestCheckActiveDeadlineSecondsEquality") {
  struct Row {
    const char* name;
    json super, own, next;
  };
  const Row rows[] = {
      {"both nil", nullptr, nullptr, nullptr},
      {"both not nil and equal", 1, 1, 1},
      {"both not nil but not equal", 1, 2, 2},
      {"updated to nil", 1, nullptr, 1}, // no API server lets it be taken away
      {"updated to value", nullptr, 1, 1},
  };
  const auto with = [](const json& seconds) {
    auto out = pod_with(json::object());
    if (!seconds.is_null()) out["spec"]["activeDeadlineSeconds"] = seconds;
    return out;
  };
  for (const auto& row : rows) {
    CAPTURE(row.name);
    const auto next = dressed_again(with(row.super), wish_of(with(row.own)), "");
    CHECK(next["spec"].value("activeDeadlineSeconds", json()) == row.next);
  }
}

TEST_CASE("TestCheckUWPodStatusEquality") {
  struct Row {
    const char* name;
    const char* gates;       ///< of the cluster's pod
    const char* super_gates; ///< of upstream's
    const char *super, *own; ///< conditions
    const char* shown;       ///< that the cluster is to show of upstream's; null: it does already
  };
  const char* a = R"([{"type":"a","message":"aaa"}])";
  const char* b = R"([{"type":"a","message":"bbb"}])";
  const char* gate = R"([{"type":"a","message":"aaa"},{"type":"test-gate","message":"test"}])";
  const char* gates = R"([{"conditionType":"test-gate"}])";
  const Row rows[] = {
      {"equal", "[]", "[]", a, a, nullptr},
      {"not equal", "[]", "[]", b, a, b},
      {"no readiness condition in super", gates, "[]", b, gate, b},
      {"not equal in readiness", gates, gates,
       R"([{"type":"a","message":"bbb"},{"type":"test-gate","message":"test2"}])", gate, b},
      {"not equal in readiness and more conditions in super", gates, gates,
       R"([{"type":"c","message":"ccc"},{"type":"a","message":"bbb"},{"type":"test-gate","message":"test2"}])",
       gate, R"([{"type":"a","message":"bbb"},{"type":"c","message":"ccc"}])"},
      {"readiness gate exists in super and doesn't exist in tenant", gates,
       R"([{"conditionType":"super-gate"}])",
       R"([{"type":"c","message":"ccc"},{"type":"a","message":"bbb"},{"type":"test-gate","message":"test2"},
           {"type":"super-gate","message":"super"}])",
       gate, R"([{"type":"a","message":"bbb"},{"type":"c","message":"ccc"}])"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.name);
    const auto here = pod_with({{"readinessGates", parsed(row.gates)}}, json::object(),
                               {{"conditions", parsed(row.own)}});
    const auto there = pod_with({{"readinessGates", parsed(row.super_gates)}}, json::object(),
                                {{"conditions", parsed(row.super)}});
    const auto terms = status_terms(here);
    const auto shown = shown_status(there, terms);
    CHECK((fingerprint(shown) == fingerprint(shown_status(here, terms))) == (row.shown == nullptr));
    // The gate's own condition is not in it: a strategic patch leaves what it does not name.
    if (row.shown != nullptr) CHECK(shown["conditions"] == parsed(row.shown));
  }
}

TEST_CASE("TestCheckDWPodConditionEquality") {
  struct Row {
    const char* name;
    const char *gates, *super, *own;
    const char* next; ///< conditions that upstream's is given
  };
  const char* a = R"([{"type":"a","status":"True","message":"aaa"}])";
  const char* b = R"([{"type":"a","status":"True","message":"bbb"}])";
  const char* gate = R"([{"type":"a","status":"True"},
                         {"type":"test-gate","status":"True","message":"test","reason":"test"}])";
  const char* gates = R"([{"conditionType":"test-gate"}])";
  const Row rows[] = {
      {"equal", "[]", a, a, "[]"},
      {"not diff in readiness gate condition", "[]", b, a, "[]"},
      {"diff in readiness gate condition", gates,
       R"([{"type":"a","status":"True"},{"type":"test-gate","status":"True","message":"test2","reason":"test2"}])",
       gate, R"(["test-gate"])"},
      {"missing readiness gate condition in super", gates, b, gate, R"(["test-gate"])"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.name);
    const auto wish = wish_of(pod_with({{"readinessGates", parsed(row.gates)}}, json::object(),
                                       {{"conditions", parsed(row.own)}}));
    const auto next = other_gates(
        pod_with(json::object(), json::object(), {{"conditions", parsed(row.super)}}), wish);
    json types = json::array();
    for (const auto& each : next)
      types.push_back(each["type"]);
    CHECK(types == parsed(row.next));
  }
}

TEST_CASE("TestCheckUWPVCStatusEquality") {
  struct Row {
    const char* name;
    const char *super, *own;
    const char* next; ///< null: nothing is to be done
  };
  const Row rows[] = {
      {"pPVC is pending and vPVC is pending", "Pending", "Pending", nullptr},
      {"pPVC is bound and vPVC is bound", "Bound", "Bound", nullptr},
      {"pPVC is lost and vPVC is lost", "Lost", "Lost", nullptr},
      {"pPVC is lost and vPVC is bound", "Lost", "Bound", "Lost"},
      {"pPVC is pending and vPVC is bound", "Pending", "Bound", "Pending"},
      // CAPN leaves it to the cluster's binder, which is switched off here.
      {"pPVC is bound and vPVC is pending", "Bound", "Pending", "Bound"},
  };
  const auto& claims =
      mirror_kinds()[static_cast<std::size_t>(mirror_kind_of("persistentvolumeclaims"))];
  for (const auto& row : rows) {
    CAPTURE(row.name);
    const auto patch = claims.shown_status({{"status", {{"phase", row.own}}}},
                                           {{"status", {{"phase", row.super}}}});
    CHECK(patch.is_null() == (row.next == nullptr));
    if (row.next != nullptr && !patch.is_null()) CHECK(patch["status"]["phase"] == row.next);
  }
}

TEST_CASE("Test_mutateDownwardAPIField") {
  struct Row {
    const char* name;
    const char *path, *next;
  };
  const Row rows[] = {
      // CAPN leaves it: its nodes have the same names on both sides.
      {"env with other fieldRef", "spec.nodeName", "metadata.annotations['virtual-cluster/node']"},
      {"env with metadata.name", "metadata.name", "metadata.name"},
      // CAPN writes the value in; an annotation says it of every container and volume.
      {"env with metadata.namespace", "metadata.namespace",
       "metadata.annotations['virtual-cluster/namespace']"},
      {"env with metadata.uid", "metadata.uid", "metadata.annotations['virtual-cluster/uid']"},
      {"env with metadata.annotations", "metadata.annotations['anno1']",
       "metadata.annotations['anno1']"},
      {"env with metadata.labels", "metadata.labels['label1']", "metadata.labels['label1']"},
  };
  const auto env_of = [](json variable) {
    const auto wish = wish_of(
        pod_with({{"containers",
                   json::array({{{"name", "c"}, {"env", json::array({std::move(variable)})}}})}}));
    return wish.pod["spec"]["containers"][0]["env"][0];
  };
  for (const auto& row : rows) {
    CAPTURE(row.name);
    const auto env =
        env_of({{"name", "env_name"}, {"valueFrom", {{"fieldRef", {{"fieldPath", row.path}}}}}});
    CHECK(env["valueFrom"]["fieldRef"]["fieldPath"] == row.next);
  }
  const json plain = {{"name", "env_name"}, {"value", "env_value"}};
  CHECK(env_of(plain) == plain); // env without fieldRef
}

TEST_CASE("Test_mutateDNSConfig") {
  struct Row {
    const char* name;
    const char* spec;
    const char* policy;
    const char* nameservers; ///< null: there is no dnsConfig
    bool labelled = false;   ///< it has the label by which CAPN may be told to leave it as it is
  };
  const Row rows[] = {
      {"dns policy set to none", R"({"dnsPolicy":"None"})", "None", nullptr},
      {"dns policy set to none", R"({"dnsPolicy":"None","dnsConfig":{"nameservers":["1.1.1.1"]}})",
       "None", R"(["1.1.1.1"])"},
      {"dns policy set to cluster first with hostnetwork",
       R"({"dnsPolicy":"ClusterFirstWithHostNet"})", "None", R"(["0.0.0.0"])"},
      {"dns policy set to cluster first", R"({"dnsPolicy":"ClusterFirst"})", "None",
       R"(["0.0.0.0"])"},
      {"dns policy set to cluster first with config",
       R"({"dnsPolicy":"ClusterFirst","dnsConfig":{"nameservers":["127.0.0.1"]}})", "None",
       R"(["0.0.0.0","127.0.0.1"])"},
      // kubelets take it for Default; CAPN leaves it as it is.
      {"dns policy set to cluster first host network",
       R"({"dnsPolicy":"ClusterFirst","hostNetwork":true})", "Default", nullptr},
      {"dns policy set to default", R"({"dnsPolicy":"Default","hostNetwork":true})", "Default",
       nullptr},
      {"dns policy set to cluster first with disable mutation label",
       R"({"dnsPolicy":"ClusterFirst"})", "None", R"(["0.0.0.0"])", true},
      {"dns policy set to cluster first with tenant dns policy mutation not active",
       R"({"dnsPolicy":"ClusterFirst"})", "None", R"(["0.0.0.0"])"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.name);
    CAPTURE(row.spec);
    auto pod = pod_with(parsed(row.spec));
    if (row.labelled)
      pod["metadata"]["labels"]["tenancy.x-k8s.io/disable.dnsPolicyMutation"] = "true";
    const auto spec = wish_of(pod).pod["spec"];
    CHECK(spec["dnsPolicy"] == row.policy);
    const auto config = spec.value("dnsConfig", json());
    CHECK(config.is_null() == (row.nameservers == nullptr));
    if (row.nameservers != nullptr && !config.is_null())
      CHECK(config["nameservers"] == parsed(row.nameservers));
  }
}
