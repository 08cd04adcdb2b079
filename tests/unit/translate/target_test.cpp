// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/target.hpp"
#include "tests/unit/translate/target_mapping.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <initializer_list>
#include <ostream>
#include <utility>

using namespace zoo;
using namespace zoo::translate;
using test::tenant;

namespace {

Code code_of(const auto& result) { return result ? Code::cancelled : result.error().code(); }

std::string up(std::string_view method, std::string_view path, bool namespaced,
               const Viewer& viewer) {
  const auto target = parse_target(method, path);
  if (!target) return "parse: " + target.error().message();
  const auto out = upstream_path(*target, namespaced, viewer);
  return out ? *out : std::string("refused: ") + out.error().message();
}

std::string up(std::string_view method, std::string_view path, bool namespaced) {
  const auto foofoo = tenant();
  return up(method, path, namespaced, foofoo);
}

} // namespace

TEST_CASE("a path says what is asked, as the API server reads it") {
  struct Row {
    const char *method, *path, *verb, *group, *resource, *name_space, *name, *sub;
  };
  const Row rows[] = {
      {"GET", "/api/v1/pods", "list", "", "pods", "", "", ""},
      {"GET", "/api/v1/pods?watch=1", "watch", "", "pods", "", "", ""},
      {"GET", "/api/v1/pods?watch=false", "list", "", "pods", "", "", ""},
      {"GET", "/api/v1/pods?watch", "watch", "", "pods", "", "", ""},
      {"POST", "/api/v1/namespaces/a/pods", "create", "", "pods", "a", "", ""},
      {"PUT", "/apis/apps/v1/namespaces/a/deployments/d", "update", "apps", "deployments", "a", "d",
       ""},
      {"PATCH", "/apis/apps/v1/namespaces/a/deployments/d/scale", "patch", "apps", "deployments",
       "a", "d", "scale"},
      {"DELETE", "/api/v1/namespaces/a/pods/p", "delete", "", "pods", "a", "p", ""},
      {"DELETE", "/api/v1/namespaces/a/pods", "deletecollection", "", "pods", "a", "", ""},
      {"GET", "/api/v1/namespaces", "list", "", "namespaces", "", "", ""},
      {"GET", "/api/v1/namespaces/a", "get", "", "namespaces", "a", "a", ""},
      {"PUT", "/api/v1/namespaces/a/finalize", "update", "", "namespaces", "a", "a", "finalize"},
      {"GET", "/api/v1/namespaces/a/status", "get", "", "namespaces", "a", "a", "status"},
      {"GET", "/api/v1/watch/namespaces/a/pods", "watch", "", "pods", "a", "", ""},
      {"GET", "/api/v1/watch/namespaces/a", "watch", "", "namespaces", "a", "a", ""},
      {"GET", "/apis/apps/v1/watch/deployments", "watch", "apps", "deployments", "", "", ""},
      {"GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode", "get",
       "rbac.authorization.k8s.io", "clusterroles", "", "system:node", ""},
      {"GET", "/api/v1/namespaces/a/pods/p/log", "get", "", "pods", "a", "p", "log"},
      {"POST", "/api/v1/namespaces/a/pods/p/exec", "create", "", "pods", "a", "p", "exec"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.method);
    CAPTURE(row.path);
    const auto target = parse_target(row.method, row.path);
    REQUIRE(target);
    CHECK(target->resource_request);
    CHECK(target->verb == row.verb);
    CHECK(target->group == row.group);
    CHECK(target->resource == row.resource);
    CHECK(target->name_space == row.name_space);
    CHECK(target->name == row.name);
    CHECK(target->subresource == row.sub);
  }
  for (const std::string_view path :
       {"/", "/version", "/healthz", "/api", "/api/", "/apis", "/apis/", "/api/v1", "/api/v1/",
        "/apis/apps", "/apis/apps/v1", "/openapi/v3/apis/apps/v1", "/metrics"}) {
    CAPTURE(path);
    const auto target = parse_target("GET", path);
    REQUIRE(target);
    CHECK_FALSE(target->resource_request);
    CHECK(target->verb == "get");
  }
  CHECK(parse_target("GET", "/apis/")->path == "/apis");
  CHECK(parse_target("GET", "/version/")->path == "/version");
  CHECK(parse_target("GET", "/api/v1/namespaces/a/pods/")->path == "/api/v1/namespaces/a/pods");
  CHECK(parse_target("DELETE", "/api/v1/namespaces/a/pods/p/")->name == "p");
  CHECK(parse_target("HEAD", "/api/v1/namespaces/a/pods/p").error().code() ==
        Code::method_not_allowed);
}

TEST_CASE("a path that is not canonical is refused") {
  for (const std::string_view path : {"",
                                      "api/v1/pods",
                                      "//",
                                      "/api//v1/pods",
                                      "/api/v1/pods//",
                                      "/api/v1/namespaces/a/../b/pods",
                                      "/api/v1/namespaces/./pods",
                                      "/api/v1/namespaces/%2e%2e/pods",
                                      "/api/v1/namespaces/a%2fb/pods",
                                      "/api/v1/namespaces/a%2Fb/pods",
                                      "/api/v1/namespaces/a%00/pods",
                                      "/api/v1/namespaces/a%0ab/pods",
                                      "/api/v1/a\\b",
                                      "/api/v1/a%5cb",
                                      "/api/v1/a%25b",
                                      "/api/v1/a%2",
                                      "/api/v1/a%zz",
                                      "/api/v1/%ff%fe",
                                      "/api/v1/%c0%af",
                                      "/api/v1/a b",
                                      "/api/v1/a#b",
                                      "/healthz/",
                                      "/api/v1/pods%7f",
                                      "/api/v1/namespaces/a/services/s/proxy/x/../y",
                                      "/api/v1/namespaces/a/services/s/proxy/%2e%2e/y",
                                      "/api/v1/namespaces/a/services/s/proxy//y",
                                      "/api/v1/namespaces/a/pods?x=%zz",
                                      "/api/v1/pods?a;b",
                                      "/api/v1/watch",
                                      "/apis/a:b/v1/x"}) {
    CAPTURE(path);
    CHECK(code_of(parse_target("GET", path)) == Code::bad_request);
  }
  CHECK(code_of(parse_target("GET", "/" + std::string(9000, 'a'))) == Code::bad_request);
  CHECK(code_of(parse_target("GET", "/api/v1/proxy/pods/p")) == Code::not_found);
  CHECK(code_of(parse_target("GET", "/api/v1/namespaces/a/pods/p/log/more")) == Code::not_found);
  for (const std::string_view method : {"BREW", "OPTIONS", "get", "CONNECT", "TRACE", ""})
    CHECK(code_of(parse_target(method, "/api/v1/pods")) == Code::method_not_allowed);
  CHECK(code_of(parse_target("POST", "/api/v1/watch/pods")) == Code::method_not_allowed);
  CHECK(code_of(parse_target("GET", "/api/v1/watch/watch/pods")) == Code::not_found);
}

TEST_CASE("the rest behind a proxy stays as it was written") {
  const auto target =
      parse_target("OPTIONS", "/api/v1/namespaces/a/services/https:s:443/proxy/x%20y/z/?q=1&q=2");
  REQUIRE(target);
  CHECK(target->connect);
  CHECK(target->long_running);
  CHECK(target->name == "https:s:443");
  CHECK(target->rest == "/x%20y/z/");
  CHECK(*upstream_path(*target, true, tenant()) ==
        "/api/v1/namespaces/abc123-a/services/https:s:443/proxy/x%20y/z/");
  CHECK(target->params == Params{{"q", "1"}, {"q", "2"}});
  CHECK(parse_target("GET", "/api/v1/namespaces/a/pods/p/proxy/")->rest == "/");
}

TEST_CASE("the name behind the legacy watch prefix selects") {
  const auto selector = [](const std::string& query) {
    return parse_target("GET", "/api/v1/watch/namespaces/a/pods/p" + query)->list.field_selector;
  };
  CHECK(selector("") == "metadata.name=p");
  CHECK(selector("?fieldSelector=metadata.name%3Dp,spec.nodeName%3Dn") ==
        "metadata.name=p,spec.nodeName=n");
  CHECK(parse_target("GET", "/api/v1/watch/nodes/a,b%3Dc")->list.field_selector ==
        "metadata.name=a\\,b\\=c");
  for (const auto* other : {"metadata.name%3Dq", "spec.nodeName%3Dp", "metadata.name!%3Dp"}) {
    CAPTURE(other);
    CHECK(code_of(parse_target("GET", std::string("/api/v1/watch/namespaces/a/pods/p"
                                                  "?fieldSelector=") +
                                          other)) == Code::bad_request);
  }
}

TEST_CASE("names of a path go upstream by the rule of their kind") {
  struct Row {
    const char* path;
    bool namespaced;
    const char* want;
  };
  const Row rows[] = {
      {"/api/v1/pods", true, "/api/v1/pods"},
      {"/api/v1/namespaces/a/pods/p", true, "/api/v1/namespaces/abc123-a/pods/p"},
      {"/api/v1/watch/namespaces/a/pods", true, "/api/v1/namespaces/abc123-a/pods"},
      {"/api/v1/watch/namespaces/a/pods/p", true, "/api/v1/namespaces/abc123-a/pods"},
      {"/api/v1/watch/namespaces/a", false, "/api/v1/namespaces"},
      {"/api/v1/namespaces/a", false, "/api/v1/namespaces/abc123-a"},
      {"/api/v1/namespaces/a/status", false, "/api/v1/namespaces/abc123-a/status"},
      {"/api/v1/nodes/n1", false, "/api/v1/nodes/n1"},
      {"/api/v1/persistentvolumes/pv", false, "/api/v1/persistentvolumes/abc123-pv"},
      {"/api/v1/persistentvolumes/pvc-7f0dbd40-5f0c-4ec5-b0a2-d5d9c6b1b6b5", false,
       "/api/v1/persistentvolumes/pvc-7f0dbd40-5f0c-4ec5-b0a2-d5d9c6b1b6b5"},
      {"/apis/storage.k8s.io/v1/storageclasses/standard", false,
       "/apis/storage.k8s.io/v1/storageclasses/standard"},
      {"/apis/storage.k8s.io/v1/storageclasses/gold", false,
       "/apis/storage.k8s.io/v1/storageclasses/abc123-gold"},
      {"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/foos.example.com", false,
       "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/foos.abc123-example.com"},
      {"/apis/example.com/v1/namespaces/a/foos/x", true,
       "/apis/abc123-example.com/v1/namespaces/abc123-a/foos/x"},
      {"/apis/example.com/v1/foos/x", false, "/apis/abc123-example.com/v1/foos/x"},
      {"/apis/shared.example.org/v1/namespaces/a/foos/x", true,
       "/apis/shared.example.org/v1/namespaces/abc123-a/foos/x"},
      {"/apis/rbac.authorization.k8s.io/v1/clusterroles/mine", false,
       "/apis/rbac.authorization.k8s.io/v1/clusterroles/abc123-mine"},
      {"/apis/rbac.authorization.k8s.io/v1/clusterroles/system:node", false,
       "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:node"},
      {"/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/b", false,
       "/apis/rbac.authorization.k8s.io/v1/namespaces/abc123-kube-system/rolebindings/zoo:crb:b"},
      {"/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", false,
       "/apis/rbac.authorization.k8s.io/v1/namespaces/abc123-kube-system/rolebindings"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.path);
    CHECK(up("GET", row.path, row.namespaced) == row.want);
  }
  const auto identity = tenant("");
  CHECK(up("GET", "/api/v1/namespaces/a/pods/p", true, identity) == "/api/v1/namespaces/a/pods/p");
  // No prefix is no trust: the platform's rules hold until upstream's are asked for.
  CHECK(up("DELETE", "/api/v1/nodes/n", false, identity).starts_with("refused: nodes \"n\""));
  CHECK(up("DELETE", "/api/v1/nodes/n", false, Viewer(identity, KindRules::upstream)) ==
        "/api/v1/nodes/n");
  CHECK(up("GET", "/apis/rbac.authorization.k8s.io/v1/namespaces/a/rolebindings/zoo-tenant", true,
           identity)
            .starts_with("refused"));
  CHECK(up("DELETE", "/api/v1/persistentvolumes", false, identity).starts_with("refused"));
}

TEST_CASE("what no right of a tenant opens is refused before it leaves") {
  struct Row {
    const char *method, *path;
    bool namespaced;
    Code code;
  };
  const std::string long_namespace = "/api/v1/namespaces/" + std::string(57, 'a') + "/pods";
  const std::string long_group = "/apis/" + std::string(247, 'a') + "/v1/foos";
  const Row rows[] = {
      {"DELETE", "/api/v1/nodes/n", false, Code::forbidden},
      {"PATCH", "/api/v1/nodes/n/status", false, Code::forbidden},
      {"GET", "/api/v1/nodes/n/proxy", false, Code::forbidden},
      {"GET", "/api/v1/nodes/n/proxy/run", false, Code::forbidden},
      {"DELETE", "/api/v1/nodes", false, Code::forbidden},
      {"PUT", "/apis/rbac.authorization.k8s.io/v1/clusterroles/admin", false, Code::forbidden},
      {"DELETE", "/apis/storage.k8s.io/v1/storageclasses/standard", false, Code::forbidden},
      {"DELETE", "/apis/storage.k8s.io/v1/storageclasses", false, Code::forbidden},
      {"DELETE", "/api/v1/persistentvolumes", false, Code::forbidden},
      {"DELETE", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", false, Code::forbidden},
      {"DELETE", "/apis/rbac.authorization.k8s.io/v1/namespaces/a/rolebindings", true,
       Code::forbidden},
      {"DELETE", "/apis/shared.example.org/v1/widgets", false, Code::forbidden},
      {"POST", "/apis/shared.example.org/v1/widgets", false, Code::forbidden},
      {"GET", "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas", false, Code::not_found},
      {"POST", "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas", false, Code::not_found},
      {"PUT", "/apis/apiregistration.k8s.io/v1/apiservices/v1.x", false, Code::not_found},
      {"DELETE", "/api/v1/componentstatuses", false, Code::not_found},
      {"POST", "/apis/networking.k8s.io/v1/ipaddresses", false, Code::forbidden},
      {"DELETE", "/apis/storage.k8s.io/v1/volumeattachments/csi-1", false, Code::forbidden},
      {"GET", "/apis/rbac.authorization.k8s.io/v1/namespaces/kube-system/rolebindings/zoo:crb:b",
       true, Code::not_found},
      {"DELETE", "/apis/rbac.authorization.k8s.io/v1/namespaces/a/rolebindings/zoo-tenant", true,
       Code::forbidden},
      {"GET", "/api/v1/namespaces/a/configmaps/zoo-root-ca.crt", true, Code::not_found},
      {"PUT", "/api/v1/namespaces/a/configmaps/zoo-root-ca.crt", true, Code::forbidden},
      {"PATCH", "/api/v1/namespaces/a/configmaps/zoo-root-ca.crt", true, Code::forbidden},
      {"DELETE", "/apis/networking.k8s.io/v1/namespaces/a/networkpolicies/zoo-baseline", true,
       Code::forbidden},
      {"GET", "/apis/networking.k8s.io/v1/namespaces/a/networkpolicies/zoo-baseline", true,
       Code::not_found},
      {"DELETE", "/api/v1/persistentvolumes/pvc-7f0dbd40-5f0c-4ec5-b0a2-d5d9c6b1b6b5", false,
       Code::forbidden},
      {"GET", "/api/v1/pods/p", true, Code::not_found},
      {"GET", "/api/v1/namespaces/a/nodes/n", false, Code::not_found},
      {"DELETE", "/api/v1/pods", true, Code::method_not_allowed},
      {"POST", "/api/v1/pods", true, Code::method_not_allowed},
      {"GET", "/apis/authorization.k8s.io/v1/subjectaccessreviews", false, Code::cancelled},
      {"PUT", "/apis/authorization.k8s.io/v1/subjectaccessreviews/x", false,
       Code::method_not_allowed},
      {"GET", long_namespace.c_str(), true, Code::not_found},
      {"GET", long_group.c_str(), false, Code::not_found},
  };
  for (const auto& row : rows) {
    CAPTURE(row.method);
    CAPTURE(row.path);
    const auto target = parse_target(row.method, row.path);
    REQUIRE(target);
    CHECK(code_of(upstream_path(*target, row.namespaced, tenant())) == row.code);
  }
  // A tenant's own custom group holds nobody else's objects.
  CHECK(up("DELETE", "/apis/example.com/v1/widgets", false) ==
        "/apis/abc123-example.com/v1/widgets");
}

TEST_CASE("a namespace lies in no other one, nor in itself") {
  for (const auto& [method, path] : std::initializer_list<std::pair<const char*, const char*>>{
           {"GET", "/api/v1/namespaces/a/namespaces"},
           {"DELETE", "/api/v1/namespaces/a/namespaces/b"},
           {"GET", "/api/v1/namespaces/a/namespaces/a"},
           {"GET", "/api/v1/namespaces/a/namespaces/a/pods"},
           {"PUT", "/api/v1/namespaces/a/namespaces/a/finalize"},
           {"GET", "/api/v1/watch/namespaces/a/namespaces/b"}}) {
    CAPTURE(path);
    const auto target = parse_target(method, path);
    REQUIRE(target);
    CHECK(code_of(upstream_path(*target, false, tenant())) == Code::not_found);
  }
  const auto status = parse_target("GET", "/api/v1/namespaces/a/status");
  REQUIRE(status);
  CHECK(status->resource == "namespaces");
  CHECK(status->subresource == "status");
}

TEST_CASE("object names map there and back") {
  const auto mapping = tenant();
  struct Row {
    const char *group, *resource, *name;
  };
  for (const auto& row :
       {Row{"", "namespaces", "default"}, Row{"", "nodes", "n"}, Row{"", "persistentvolumes", "pv"},
        Row{"storage.k8s.io", "storageclasses", "standard"},
        Row{"storage.k8s.io", "storageclasses", "gold"},
        Row{"apiextensions.k8s.io", "customresourcedefinitions", "a.b.c"},
        Row{"rbac.authorization.k8s.io", "clusterroles", "view"},
        Row{"rbac.authorization.k8s.io", "clusterroles", "mine"},
        Row{"rbac.authorization.k8s.io", "clusterrolebindings", "mine"},
        Row{"certificates.k8s.io", "clustertrustbundles", "d.io:p:n"}}) {
    CAPTURE(row.name);
    const auto* facts = find_facts(row.group, row.resource);
    REQUIRE(facts != nullptr);
    CHECK(object_name_out(mapping, facts, object_name_in(mapping, facts, row.name)) == row.name);
  }
  const auto* namespaces = find_facts("", "namespaces");
  CHECK_FALSE(object_name_out(mapping, namespaces, "zzz999-default"));
  CHECK_FALSE(object_name_out(mapping, namespaces, "default"));
  CHECK_FALSE(object_name_out(mapping, namespaces, "abc123"));
}

TEST_CASE("a list that demands a name is authorized for that name") {
  CHECK(parse_target("GET", "/api/v1/secrets?fieldSelector=metadata.name%3Dx")
            ->authorization_name() == "x");
  CHECK(parse_target("GET", "/api/v1/secrets?fieldSelector=metadata.name!%3Dx")
            ->authorization_name() == "");
  CHECK(parse_target("GET", "/api/v1/secrets?fieldSelector=metadata.name%3D..")
            ->authorization_name() == "");
}

TEST_CASE("every built-in kind that is not merely namespaced has its facts") {
  std::ifstream file(ZOO_SOURCE_DIR "/daemon/translate/rules/api-resources.json");
  const auto rows = nlohmann::json::parse(file);
  REQUIRE(rows.size() > 100);
  for (const auto& row : rows) {
    const std::string resource = row["resource"], group = row["group"], mode = row["mode"];
    CAPTURE(group);
    CAPTURE(resource);
    if (resource.find('/') != std::string::npos || row["namespaced"]) continue;
    const auto* facts = find_facts(group, resource);
    REQUIRE(facts != nullptr);
    CHECK(facts->kind == row["kind"].get<std::string>());
    CHECK((mode == "overlay") == (facts->names == NameRule::overlay));
    CHECK((mode == "overlay") == facts->overlay.has_value());
    const bool mixed = facts->treatment == Treatment::mixed;
    if (mode == "shared-ro") CHECK((mixed || facts->treatment == Treatment::read_only));
    if (mode == "virtual") CHECK(facts->treatment == Treatment::kept);
    if (mode == "hidden") CHECK(facts->treatment == Treatment::hidden);
    if (mode == "filter") CHECK(mixed);
    // A name that stays as it is must not be written under.
    if (facts->names == NameRule::verbatim) CHECK(facts->treatment != Treatment::served);
  }
}
