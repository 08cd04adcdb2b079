// SPDX-License-Identifier: Apache-2.0
#include "daemon/gateway/guards.hpp"

#include <doctest/doctest.h>

#include <memory>

using namespace zoo;
using namespace zoo::gateway;

namespace {

struct Case {
  std::string path;
  std::string object;
  std::string why; ///< empty: allowed
  bool creates = true;
};

const translate::Mapping& mapping() {
  static const translate::Mapping made("foofoo", std::make_shared<translate::SharedNames>());
  return made;
}

std::string judge(const api::Guards& guards, const Case& each) {
  const auto target = translate::parse_target(each.creates ? "POST" : "PUT", each.path);
  REQUIRE(target);
  const auto done = check_guards(guards, mapping(), *target, each.object, each.creates);
  if (done) return {};
  CHECK(done.error().code() == Code::forbidden);
  return done.error().message();
}

void judge_all(const api::Guards& guards, const std::vector<Case>& cases) {
  for (const auto& each : cases) {
    CAPTURE(each.path);
    CAPTURE(each.object);
    const auto said = judge(guards, each);
    CAPTURE(said);
    CHECK(said.empty() == each.why.empty());
    CHECK(said.find(each.why) != std::string::npos);
  }
}

const std::string k_pods = "/api/v1/namespaces/team/pods";
const std::string k_deployments = "/apis/apps/v1/namespaces/team/deployments";
const std::string k_claims = "/apis/resource.k8s.io/v1/namespaces/team/resourceclaims";
const std::string k_templates =
    "/apis/resource.k8s.io/v1beta1/namespaces/team/resourceclaimtemplates";
const std::string k_volumes = "/api/v1/persistentvolumes";
const std::string k_ingresses = "/apis/networking.k8s.io/v1/namespaces/team/ingresses";
const std::string k_slices = "/apis/discovery.k8s.io/v1/namespaces/team/endpointslices";
const std::string k_priorities = "/apis/scheduling.k8s.io/v1/priorityclasses";

} // namespace

TEST_CASE("what a tenant may not set by default, with the rule and the way out") {
  judge_all(
      {},
      {
          {k_pods, R"({"metadata":{"name":"a"},"spec":{"nodeName":""}})", ""},
          {k_pods, R"({"metadata":{"name":"a"},"spec":{"nodeName":"n"}})",
           "pods \"a\" is forbidden: spec.nodeName goes past the scheduler: use a nodeSelector or "
           "an "
           "affinity (rule guards.node_names; the platform's administrator may allow it for a "
           "tenant)"},
          {k_pods, R"({"spec":{"nodeName":"n","nodeName":""}})", "guards.node_names"},
          {k_pods, R"({"spec":{"nodeN\u0061me":"n"}})", "guards.node_names"},
          {k_pods, R"({"spec":{"nodeName":"n"},"spec":{}})", "guards.node_names"},
          {k_pods + "/a", R"({"spec":{"nodeName":"n"}})", "", false}, // as the scheduler left it
          {k_pods + "/a/status", R"({"spec":{"nodeName":"n"}})", "", false},
          {k_deployments, R"({"spec":{"template":{"spec":{"nodeName":"n"}}}})",
           "guards.node_names"},
          {k_deployments + "/a", R"({"spec":{"template":{"spec":{"nodeName":"n"}}}})",
           "deployments.apps \"a\" is forbidden", false},
          {"/apis/batch/v1/namespaces/team/cronjobs",
           R"({"spec":{"jobTemplate":{"spec":{"template":{"spec":{"nodeName":"n"}}}}}})",
           "guards.node_names"},
          {"/apis/apps/v1/namespaces/team/controllerrevisions",
           R"({"data":{"spec":{"template":{"spec":{"nodeName":"n"}}}}})", "guards.node_names"},
          {k_pods, R"({"spec":{"priorityClassName":"system-node-critical"}})",
           "priorityClassName \"system-node-critical\" is the platform's"},
          {k_deployments,
           R"({"spec":{"template":{"spec":{"priorityClassName":"foofoo-system-node-critical"}}}})",
           "is the platform's"},
          {k_pods, R"({"spec":{"priorityClassName":"high"}})", ""},
          {k_claims, R"({"spec":{"devices":{"requests":[{"exactly":{"adminAccess":true}}]}}})",
           "guards.admin_access"},
          {k_claims, R"({"spec":{"devices":{"requests":[{"exactly":{"adminAccess":false}}]}}})",
           ""},
          {k_templates, R"({"spec":{"spec":{"devices":{"requests":[{},{"adminAccess":true}]}}}})",
           "guards.admin_access"},
          {k_volumes, R"({"spec":{"csi":{"driver":"d","volumeHandle":"h"}}})",
           "a volume handle of driver \"d\" can name anybody's volume"},
          {k_volumes, R"({"spec":{"nfs":{"server":"s"}}})", "a volume without a CSI driver"},
          {k_volumes + "/pvc-1", R"({"spec":{"csi":{"driver":"d"}}})", "", false},
          {k_ingresses, R"({"spec":{"rules":[{"host":"anything"}]}})", ""},
          {k_slices, R"({"endpoints":[{"addresses":["10.0.0.1"]}]})", ""},
          {k_priorities, R"({"value":1000000000})", ""},
      });
}

TEST_CASE("what everybody reads or is asked of each write has its bounds") {
  const std::string definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  const std::string hooks = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
  const auto repeated = [](std::size_t count, std::string_view each) {
    std::string out = "[";
    for (std::size_t i = 0; i < count; ++i)
      out.append(i == 0 ? "" : ",").append(each);
    return out + "]";
  };
  const auto definition = [&](std::size_t versions, std::size_t names, std::size_t bytes) {
    return R"({"spec":{"names":{"plural":"things","shortNames":)" +
           repeated(names, '"' + std::string(bytes, 'x') + '"') + R"(},"versions":)" +
           repeated(versions, R"({"name":"v1"})") + "}}";
  };
  const auto webhooks = [&](std::size_t count, std::size_t rules) {
    return R"({"webhooks":)" + repeated(count, R"({"rules":)" + repeated(rules, "{}") + "}") + "}";
  };
  judge_all({}, {{definitions, definition(16, 32, 10), ""},
                 {definitions, definition(3, 32, 63), ""},
                 {definitions, definition(16, 32, 63), "at most 8192 bytes"},
                 {definitions, definition(17, 1, 1), "at most 16 versions"},
                 {definitions, definition(1, 33, 1), "at most 32 short names"},
                 {hooks, webhooks(64, 64), ""},
                 {hooks, webhooks(65, 1), "at most 64 webhooks"},
                 {hooks, webhooks(1, 65), "at most 64 rules"}});
}

TEST_CASE("a tenant's own terms") {
  api::Guards guards;
  guards.node_names = guards.admin_access = true;
  guards.endpoints = false;
  guards.volume_drivers = {"d"};
  guards.ingress_hosts = {"www.example.com", "*.{tenant}.example.com"};
  guards.priority = 10;
  judge_all(
      guards,
      {
          {k_pods, R"({"spec":{"nodeName":"n"}})", ""},
          {k_claims, R"({"spec":{"devices":{"requests":[{"exactly":{"adminAccess":true}}]}}})", ""},
          {k_volumes, R"({"spec":{"csi":{"driver":"d"}}})", ""},
          {k_volumes, R"({"spec":{"csi":{"driver":"e","driver":"d"}}})", "driver \"e\""},
          {k_volumes, R"({"spec":{"nfs":{"server":"s"}}})", "without a CSI driver"},
          {k_slices, R"({})", "give the Service a selector"},
          {"/api/v1/namespaces/team/endpoints/a", R"({})", "endpoints \"a\" is forbidden", false},
          {k_priorities, R"({"metadata":{"name":"p"},"value":11})",
           "priorityclasses.scheduling.k8s.io \"p\" is forbidden: value 11 is above 10"},
          {k_ingresses, R"({"spec":{"rules":[{"host":"www.example.com"}]}})", ""},
          {k_ingresses, R"({"spec":{"rules":[{"host":"a.b.foofoo.example.com"}]}})", ""},
          {k_ingresses, R"({"spec":{"rules":[{"host":"barbar.example.com"}]}})",
           "host \"barbar.example.com\" is not among the tenant's: www.example.com, "
           "*.foofoo.example.com"},
          {k_ingresses, R"({"spec":{"rules":[{"http":{}}]}})", "takes the traffic of all hosts"},
          {k_ingresses, R"({"spec":{"defaultBackend":{}}})", "takes the traffic of all hosts"},
          {k_ingresses, R"({"spec":{"rules":[{"host":"www.example.com"}],"defaultBackend":{}}})",
           "takes the traffic of all hosts"},
          {k_ingresses, R"({"spec":{"rules":[{"host":"www.example.com"}],"defaultBackend":null}})",
           ""},
          {k_ingresses, R"({"spec":{"tls":[{"hosts":["barbar.example.com"]}]}})", "barbar"},
          {k_ingresses + "/a", R"({"spec":{"rules":[{"host":"*.example.com"}]}})", "*.example.com",
           false},
      });
  CHECK_FALSE(host_matches("*.example.com", "example.com", "foofoo"));
  CHECK_FALSE(host_matches("*.example.com", ".example.com", "foofoo"));
}

TEST_CASE("patches of what may be refused are proven by their result") {
  const auto target = [](const std::string& path) {
    return *translate::parse_target("PATCH", path);
  };
  api::Guards guards;
  CHECK(guarded(guards, target(k_deployments + "/a")));
  CHECK_FALSE(guarded(guards, target(k_deployments + "/a/scale")));
  CHECK_FALSE(guarded(guards, target(k_ingresses + "/a")));
  CHECK_FALSE(guarded(guards, target(k_slices + "/a")));
  guards.ingress_hosts = {};
  guards.endpoints = false;
  CHECK(guarded(guards, target(k_ingresses + "/a")));
  CHECK(guarded(guards, target(k_slices + "/a")));
}
