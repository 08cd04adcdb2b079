// SPDX-License-Identifier: Apache-2.0
// For every row of rules/api-references.json: a document that holds a value at the row's path is
// sent inward, its image is compared with what the row's rule says, the image is proven, and the
// way back must give the document again, byte for byte.
#include "daemon/translate/admission_fence.hpp"
#include "daemon/translate/json_protobuf.hpp"
#include "daemon/translate/protobuf_json.hpp"
#include "daemon/translate/protobuf_table.hpp"
#include "daemon/translate/rewrite.hpp"
#include "daemon/translate/rules.hpp"
#include "daemon/translate/wire_rewrite.hpp"
#include "tests/fuzz/wire_pieces.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <set>

namespace zoo::translate {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* k_tenant = "abc123";
constexpr const char* k_volume = "pvc-0f3a2b1c-1111-2222-3333-444455556666";

Mapping mapping() {
  auto shared = std::make_shared<SharedNames>();
  for (auto& each : shared->classes)
    each.insert("standard");
  shared->groups.insert("shared.example.org");
  return {k_tenant, std::move(shared)};
}

struct Step {
  enum class What { key, element, member } what;
  std::string name;
};

std::vector<Step> steps_of(const std::string& path) {
  std::vector<Step> out;
  for (std::size_t at = 0; at < path.size();) {
    if (path[at] == '.') {
      ++at;
    } else if (path[at] == '[') {
      const auto end = path.find(']', at);
      out.push_back({Step::What::element, path.substr(at + 1, end - at - 1)});
      at = end + 1;
    } else if (path[at] == '{') {
      const auto end = path.find('}', at);
      out.push_back({Step::What::member, path.substr(at + 1, end - at - 1)});
      at = end + 1;
    } else {
      const auto end = std::min(path.find_first_of(".[{", at), path.size());
      out.push_back({Step::What::key, path.substr(at, end - at)});
      at = end;
    }
  }
  return out;
}

/// One value with its neighbours, and what becomes of it.
struct Case {
  Json value;
  Json image;
  Json beside = Json::object();  ///< members of the object around it
  Json at_root = Json::object(); ///< members of the document
  std::string key, key_image;    ///< for rules about a map's keys
};

/// Documents that other parts of the translation have (lists, tables, discovery, OpenAPI), that
/// zood answers itself, or that have no body.
const std::map<std::string, std::string> k_other_kinds = {
    {"*List", "the framer's envelope"},
    {"WatchEvent", "watch_event.hpp"},
    {"Table", "table.hpp"},
    {"PartialObjectMetadata", "the rules of the kind it was asked of"},
    {"AdmissionReview", "webhooks are not called through zood"},
    {"ConversionReview", "webhooks are not called through zood"},
    {"APIGroupList", "discovery.hpp"},
    {"APIGroup", "discovery.hpp"},
    {"APIVersions", "discovery.hpp"},
    {"APIResourceList", "discovery.hpp"},
    {"APIGroupDiscoveryList", "discovery.hpp"},
    {"v2", "OpenAPI: discovery.hpp"},
    {"v3", "OpenAPI: discovery.hpp"},
    {"Status", "status_text.hpp; outward only"},
    {"SelfSubjectReview", "reviews.hpp: answered by zood in the tenant's words"},
    {"TokenReview", "reviews.hpp: answered by zood in the tenant's words"},
    {"SelfSubjectAccessReview", "reviews.hpp: answered by zood in the tenant's words"},
    {"SubjectAccessReview", "reviews.hpp: answered by zood in the tenant's words"},
    {"LocalSubjectAccessReview", "reviews.hpp: answered by zood in the tenant's words"},
    {"SelfSubjectRulesReview", "reviews.hpp: answered by zood in the tenant's words"},
};

/// Rules whose values pass as they are, both ways.
const std::map<std::string, std::string> k_kept = {
    {"OPAQUE", "the tenant's own data"},
    {"SHARED", "names of the platform"},
    {"MANAGER", "a manager's name is nobody's reference"},
    {"ANNO", "annotations of a template: those with a rule have rows of their own"},
    {"CRNAME", "the group of a custom resource isolates it"},
    {"CEL", "code; the policies' match is fenced instead"},
    {"DNS", "resolved by the cluster's DNS"},
    {"DOWNWARD", "resolved by the kubelet"},
    {"JWT", "signed bytes"},
    {"X509", "signed bytes"},
    {"SELF", "evaluated by zood"},
    {"VIRT", "kinds that zood does not serve yet"},
    {"HIDDEN", "kinds that tenants do not see"},
    {"APISVC", "kinds that zood does not serve yet"},
    {"USER", "filled in by the server"},
    {"UGROUP", "filled in by the server"},
    {"EXTRA", "filled in by the server"},
    {"TABLE", "a JSON path"},
};

/// Kinds that get members injected, which come back as empty objects around a part of a document;
/// rewrite_test.cpp has them whole.
bool injected(const std::string& kind) {
  return kind == "Namespace" || kind == "CustomResourceDefinition" ||
         kind == "ClusterRoleBinding" || kind == "RoleBinding" ||
         kind.find("Webhook") != std::string::npos ||
         kind.find("AdmissionPolicy") != std::string::npos;
}

/// The cases of a row; nothing for a rule that passes values.
std::vector<Case> cases_of(const Json& row, const std::vector<Step>& steps) {
  const auto rule = row["rule"].get<std::string>();
  const auto path = row["path"].get<std::string>();
  const auto kind = row["kind"].get<std::string>();
  const auto refers = row["refers"].get<std::string>();
  const auto& last = steps.back().name;
  const auto same = [](Json value) {
    return Case{value, value, Json::object(), Json::object(), "", ""};
  };
  const auto maps = [](Json from, Json to) {
    return Case{std::move(from), std::move(to), Json::object(), Json::object(), "", ""};
  };
  const auto keyed = [](std::string from, std::string to) {
    return Case{"1", "1", Json::object(), Json::object(), std::move(from), std::move(to)};
  };
  if (k_kept.contains(rule)) return {same("abc123-x")};
  if (rule == "NS") return {maps("team", "abc123-team"), same("")}; // empty stays empty
  if (rule == "CN" || rule == "SIGNERCN") {
    if (kind == "ClusterRoleBinding") return {maps("thing", "zoo:crb:thing")};
    return {maps("thing", "abc123-thing")};
  }
  if (rule == "OVERLAY") {
    if (refers.find('|') == std::string::npos)
      return {maps("fast", "abc123-fast"), same("standard")};
    auto one = maps("fast", "abc123-fast"), other = same("standard"), none = same("fast");
    one.beside = {{"scopeName", "PriorityClass"}};
    other.beside = {{"scopeName", "VolumeAttributesClass"}};
    none.beside = {{"scopeName", "Terminating"}};
    return {one, other, none};
  }
  if (rule == "PVNAME") return {maps("vol", "abc123-vol"), same(k_volume)};
  if (rule == "CRDNAME")
    return {maps("foos.example.com", "foos.abc123-example.com")}; // shared ones: rewrite_test.cpp
  if (rule == "GRP")
    return {maps("example.com", "abc123-example.com"), same("apps"), same(""), same("*"),
            same("shared.example.org")};
  if (rule == "GV") {
    if (row["in"] == "keep") return {same("example.com/v1")};
    if (!path.ends_with("ownerReferences[]"))
      return {maps("example.com/v1", "abc123-example.com/v1"), same("apps/v1"), same("v1")};
    const auto owner = [](const char* version, const char* k, const char* name) {
      return Json{{"apiVersion", version}, {"kind", k}, {"name", name}};
    };
    return {maps(owner("example.com/v1", "Foo", "x"), owner("abc123-example.com/v1", "Foo", "x")),
            maps(owner("v1", "Namespace", "x"), owner("v1", "Namespace", "abc123-x")),
            same(owner("apps/v1", "ReplicaSet", "x"))};
  }
  if (rule == "DRIVER")
    return {maps("example.com/x", "zoo-inert-example.com/x"), maps("x", "zoo-inert-x"),
            maps("csi.example.com", "zoo-inert-csi.example.com"),
            same("kubernetes.io/no-provisioner")};
  if (rule == "EXTNAME")
    return {maps("web.shop.svc.cluster.local", "web.abc123-shop.svc.cluster.local"),
            maps("db-0.db.shop.svc.", "db-0.db.abc123-shop.svc."), same("www.example.com")};
  // What upstream's policy puts there is shown otherwise, and refused inward: pods_inside_test.cpp
  if (rule == "PODFIELD") return {same("metadata.namespace"), same("metadata.annotations['a']")};
  if (rule == "ROOTCA") return {same("kube-root-ca.crt"), same("x")};
  if (rule == "SIGNER") return {maps("example.com/s", "abc123-example.com/s")};
  if (rule == "BYKIND") {
    if (row["in"] == "keep" || refers == "clusterName:<paramKind>" ||
        last == "gmsaCredentialSpecName")
      return {same("x")};
    if (path == "roleRef.name") {
      auto own = maps("x", "abc123-x"), system = maps("cluster-admin", "zoo:system:cluster-admin");
      auto role = same("x");
      own.beside = system.beside = {{"kind", "ClusterRole"}};
      role.beside = {{"kind", "Role"}};
      return {own, system, role};
    }
    auto ns = maps("x", "abc123-x"), pod = same("x"), unknown = same("x"), custom = same("x"),
         shared = same("standard");
    ns.beside = {{"kind", "Namespace"}};
    pod.beside = {{"kind", "Pod"}};
    custom.beside = {{"kind", "Namespace"}};
    shared.beside = {{"kind", "StorageClass"}};
    auto crd = maps("foos.example.com", "foos.abc123-example.com");
    crd.beside = {{"kind", "CustomResourceDefinition"}};
    return {ns, pod, unknown, shared, crd};
  }
  if (rule == "BYRES") {
    if (path.find("resourceNames") != std::string::npos) return {same("x")}; // verbatim
    auto ns = maps("x", "abc123-x"), pod = same("x");
    ns.beside = {{"resource", "namespaces"}};
    pod.beside = {{"resource", "pods"}};
    return {ns, pod};
  }
  if (rule == "INERT") {
    if (path == "rules[].verbs[]") return {maps("get", "zoo:get"), maps("*", "zoo:*")};
    auto user = maps("u", "zoo:inert:abc123:u");
    if (path == "subjects[].namespace") return {user};
    auto account = same("u");
    user.beside = {{"kind", "User"}};
    account.beside = {{"kind", "ServiceAccount"}};
    return {user, account};
  }
  if (rule == "LBLVAL") {
    // Rules are fenced to namespaced kinds, whose labels are the tenant's own.
    if (path.ends_with("objectSelector")) {
      return {same(Json{{"matchLabels", {{"kubernetes.io/metadata.name", "x"}}}})};
    }
    auto one = maps("x", "abc123-x");
    if (!path.ends_with("values[]")) return {one};
    one.beside = {{"key", "kubernetes.io/metadata.name"}, {"operator", "In"}};
    auto other = same("x");
    other.beside = {{"key", "team"}, {"operator", "In"}};
    return {one, other};
  }
  if (rule == "NSSEL") {
    const Json fence = {{"tenant.kubezoo.io/id", k_tenant}};
    Json both = {{"a", "b"}};
    both.update(fence);
    return {maps(Json::object(), Json{{"matchLabels", fence}}),
            maps(Json{{"matchLabels", {{"a", "b"}}}}, Json{{"matchLabels", both}})};
  }
  if (rule == "TEXT") return {same("words"), same("namespaces \"team\" not found")};
  if (rule == "FV1") {
    const Json fields = {
        {"f:metadata", {{"f:labels", {{".", Json::object()}, {"f:a", Json::object()}}}}}};
    return {same(fields)};
  }
  if (rule == "QKEY")
    return {keyed("count/foos.example.com", "count/foos.abc123-example.com"),
            keyed("count/deployments.apps", "count/deployments.apps"),
            keyed("pods", "pods"),
            keyed("fast.storageclass.storage.k8s.io/requests.storage",
                  "abc123-fast.storageclass.storage.k8s.io/requests.storage"),
            keyed("standard.storageclass.storage.k8s.io/persistentvolumeclaims",
                  "standard.storageclass.storage.k8s.io/persistentvolumeclaims"),
            keyed("gpu.deviceclass.resource.k8s.io/devices",
                  "abc123-gpu.deviceclass.resource.k8s.io/devices"),
            keyed("requests.deviceclass.resource.kubernetes.io/gpu",
                  "requests.deviceclass.resource.kubernetes.io/abc123-gpu")};
  if (rule == "RKEY") {
    if (steps.back().what == Step::What::member)
      return {keyed("cpu", "cpu"), keyed("deviceclass.resource.kubernetes.io/gpu",
                                         "deviceclass.resource.kubernetes.io/abc123-gpu")};
    return {same("cpu"), maps("deviceclass.resource.kubernetes.io/gpu",
                              "deviceclass.resource.kubernetes.io/abc123-gpu")};
  }
  if (rule == "B64NS") {
    auto token = path == "data{namespace}" ? maps("dGVhbQ==", "YWJjMTIzLXRlYW0=")
                                           : maps("team", "abc123-team");
    token.at_root = {{"type", "kubernetes.io/service-account-token"}};
    auto plain = same(token.value);
    plain.at_root = {{"type", "Opaque"}};
    return {token, plain};
  }
  if (rule == "EVENTNS") {
    auto given = maps("team", "abc123-team");
    given.beside = {{"kind", "Pod"}, {"apiVersion", "v1"}};
    return {given};
  }
  if (rule == "DEFAULTCLASS") {
    if (path == "globalDefault") return {}; // held back: see rewrite_test.cpp
    const std::map<std::string, std::string> names = {
        {"storageclass.kubernetes.io/is-default-class", "kept.zoo.kubezoo.io/storageclass-default"},
        {"storageclass.beta.kubernetes.io/is-default-class",
         "kept.zoo.kubezoo.io/storageclass-default-beta"},
        {"ingressclass.kubernetes.io/is-default-class",
         "kept.zoo.kubezoo.io/ingressclass-default"}};
    return {Case{"true", "true", Json::object(), Json::object(), last, names.at(last)}};
  }
  if (rule == "WHSCOPE") return {maps("*", "Namespaced"), same("Namespaced")};
  if (rule == "SCPARAM")
    return {Case{"team", "abc123-team", Json::object(), Json::object(),
                 "csi.storage.k8s.io/node-stage-secret-namespace",
                 "csi.storage.k8s.io/node-stage-secret-namespace"},
            Case{"ssd", "ssd", Json::object(), Json::object(), "type", "type"},
            Case{"${pvc.namespace}", "${pvc.namespace}", Json::object(), Json::object(),
                 "csi.storage.k8s.io/node-stage-secret-namespace",
                 "csi.storage.k8s.io/node-stage-secret-namespace"}};
  if (rule == "IMG" && kind == "HorizontalPodAutoscaler")
    return {maps(
        R"([{"object":{"target":{"kind":"Namespace","apiVersion":"v1","name":"x"}}}])",
        R"([{"object":{"target":{"kind":"Namespace","apiVersion":"v1","name":"abc123-x"}}}])")};
  if (rule == "IMG" && kind == "ControllerRevision") {
    const auto data = [](const char* name) {
      return Json{
          {"spec",
           {{"template", {{"$patch", "replace"}, {"spec", {{"priorityClassName", name}}}}}}}};
    };
    return {maps(data("fast"), data("abc123-fast")), same(data("standard"))};
  }
  if (rule == "GUARD" && (row["in"] == "keep" || last == "volumeHandle")) return {same("x")};
  if (rule == "FILTER") return {same("x")};
  return {};
}

/// Rules with a test of their own kind: refused, left out, moved.
const std::map<std::string, std::string> k_special = {
    {"GUARD", "refused inward: below"},
    {"URL", "refused inward or left out outward: below; held: rewrite_test.cpp"},
    {"TENANTLABEL", "injected: rewrite_test.cpp"},
    {"AGG", "held back: rewrite_test.cpp"},
    {"DEFAULTCLASS", "globalDefault is held back: rewrite_test.cpp"},
};

/// Puts `value` at the path; `image`: take the keys of the image.
Json document(const std::vector<Step>& steps, const Case& one, bool image) {
  Json inner = image ? one.image : one.value;
  for (std::size_t i = steps.size(); i-- > 0;) {
    const auto& step = steps[i];
    Json outer;
    if (step.what == Step::What::element) {
      outer = Json::array({inner});
      inner = outer;
      continue;
    }
    auto name = step.name;
    if (step.what == Step::What::member && (name.empty() || name == "key")) name = "k";
    const bool leaf = i + 1 == steps.size();
    if (leaf && !one.key.empty()) name = image ? one.key_image : one.key;
    outer = Json::object();
    // The neighbours stand in the object around the value, or around the list that holds it.
    const bool around = leaf || (i + 2 == steps.size() && steps[i + 1].what == Step::What::element);
    if (around) outer = one.beside;
    outer[name] = inner;
    inner = outer;
  }
  Json root = inner;
  for (const auto& [key, value] : one.at_root.items())
    root[key] = value;
  return root;
}

/// Everything of `part` stands in `whole` with the same value.
bool contains(const Json& whole, const Json& part) {
  if (part.is_object()) {
    if (!whole.is_object()) return false;
    for (const auto& [key, value] : part.items())
      if (!whole.contains(key) || !contains(whole[key], value)) return false;
    return true;
  }
  if (part.is_array()) {
    if (!whole.is_array()) return false;
    std::vector<Json> elements;
    for (const auto& each : whole)
      if (!each.is_object() || each.value("name", "") != k_fence_condition)
        elements.push_back(each);
    if (elements.size() != part.size()) return false;
    for (std::size_t i = 0; i < part.size(); ++i)
      if (!contains(elements[i], part[i])) return false;
    return true;
  }
  return whole == part;
}

Result<std::string> send(const Root& root, Direction direction, const std::string& text) {
  const auto names = mapping();
  RewriteContext context{names, direction, "default"};
  std::string out;
  if (auto done = rewrite(root, context, text, out); !done) return fail(done.error());
  CHECK(context.foreign == 0);
  return out;
}

const Root& root_for(const Json& row) {
  if (row["group"] == "<tenant-crd-group>") return custom_root();
  return root_of(row["group"].get<std::string>(), row["kind"].get<std::string>());
}

Json rows() {
  std::ifstream file(ZOO_SOURCE_DIR "/daemon/translate/rules/api-references.json");
  return Json::parse(file);
}

/// "apps/v1"; "" for a kind whose answers are not rewritten in protobuf.
std::string wire_version(const Root& root) {
  const auto* row = find_kind(root.group, root.kind);
  if (row == nullptr || &root == &custom_root()) return {};
  auto out = root.group.empty() ? std::string(row->version)
                                : std::string(root.group) + '/' + std::string(row->version);
  return has_wire_form(root, out) ? out : std::string();
}

/// `stored` and `shown`, the same object upstream and outward in JSON: does it come out the same
/// as protobuf? False: it has no such form.
bool wire_agrees(const Root& root, const std::string& stored, const std::string& shown) {
  const auto version = wire_version(root);
  if (version.empty()) return false;
  const auto typed = [&](const std::string& text) {
    auto object = Json::parse(text);
    object["apiVersion"] = version;
    object["kind"] = root.kind;
    return json_to_protobuf(object.dump());
  };
  const auto up = typed(stored), down = typed(shown);
  if (!up || !down) return false; // a value that this kind's field cannot have
  const auto names = mapping();
  const auto out = wire_outward({names, root, "default", {}}, *up);
  REQUIRE_MESSAGE(out, out.error().text());
  const auto got = protobuf_to_json(*out), wanted = protobuf_to_json(*down);
  REQUIRE(wanted);
  REQUIRE_MESSAGE(got, got.error().text());
  CHECK(*got == *wanted);
  return true;
}

TEST_CASE("every row of the table does what its rule says, and comes back") {
  const auto names = mapping();
  std::map<std::string, int> tested;
  std::size_t elsewhere = 0, wired = 0;
  for (const auto& row : rows()) {
    const auto kind = row["kind"].get<std::string>();
    const auto rule = row["rule"].get<std::string>();
    const auto path = row["path"].get<std::string>();
    if (k_other_kinds.contains(kind) || path.front() == '(') {
      ++elsewhere;
      continue;
    }
    CAPTURE(row["group"]);
    CAPTURE(kind);
    CAPTURE(path);
    CAPTURE(rule);
    const auto& root = root_for(row);
    REQUIRE(((root.kind == kind && root.group == row["group"].get<std::string>()) ||
             &root == &custom_root()));
    const auto steps = steps_of(path);
    if (rule == "URL" && row["in"] == "hold") continue;
    if (rule == "URL" ||
        (rule == "GUARD" && row["in"] == "reject" && steps.back().name != "volumeHandle")) {
      if (steps.back().name.find('*') != std::string::npos) continue; // rewrite_test.cpp
      Case one{"x", "x", Json::object(), Json::object(), "", ""};
      const auto text = document(steps, one, false).dump();
      if (steps.back().name == "selfLink") {
        const auto back = send(root, Direction::outward, text);
        REQUIRE(back);
        CHECK(back->find("selfLink") == std::string::npos);
        CHECK(Json::accept(*back));
      } else {
        const auto refused = send(root, Direction::inward, text);
        REQUIRE_FALSE(refused);
        CHECK(refused.error().code() == Code::forbidden);
        CHECK_FALSE(send(root, Direction::prove, text));
      }
      ++tested[rule];
      continue;
    }
    const auto cases = cases_of(row, steps);
    if (cases.empty()) {
      REQUIRE_MESSAGE(k_special.contains(rule), "a rule without a test");
      continue;
    }
    for (const auto& one : cases) {
      const auto given = document(steps, one, false);
      const auto text = given.dump();
      CAPTURE(text);
      if (rule == "FILTER" && path.front() != 'm') {
        const auto back = send(root, Direction::outward, text);
        REQUIRE(back);
        CHECK(back->find("\"x\"") == std::string::npos);
        continue;
      }
      // What a tenant may not write is refused whatever it says.
      if (rule == "OPAQUE" && path.find("resource.kubernetes.io/admin-access") != path.npos)
        continue;
      const auto up = send(root, Direction::inward, text);
      if (kind == "Namespace" && rule == "LBLVAL") {
        // The server writes this label itself.
        CHECK(up->find("metadata.name") == std::string::npos);
        const auto back = send(root, Direction::outward, document(steps, one, true).dump());
        CHECK(*back == text);
        continue;
      }
      if (!up) {
        FAIL_CHECK(up.error().text());
        continue;
      }
      CAPTURE(*up);
      const auto wanted = document(steps, one, true);
      CHECK_MESSAGE(contains(Json::parse(*up), wanted), "the image should be " << wanted.dump());
      const auto proven = send(root, Direction::prove, *up);
      CHECK_MESSAGE(proven, (proven ? "" : proven.error().text()));
      const auto back = send(root, Direction::outward, *up);
      REQUIRE(back);
      if (wire_agrees(root, *up, *back)) ++wired;
      if (kind == "CertificateSigningRequest" &&
          (rule == "USER" || rule == "UGROUP" || rule == "EXTRA")) {
        // Upstream's words about who asked are replaced by the tenant's (rewrite_test.cpp).
        CHECK(back->find("abc123-x") == std::string::npos);
      } else if (injected(kind)) {
        CHECK(contains(Json::parse(*back), given));
      } else {
        CHECK(*back == text);
      }
    }
    ++tested[rule];
  }
  for (const auto* rule : {"NS", "CN", "OVERLAY", "BYKIND", "GV", "GRP", "NSSEL", "LBLVAL", "QKEY",
                           "RKEY", "INERT", "SIGNER", "FV1", "PVNAME", "TEXT", "EVENTNS", "B64NS"})
    CHECK(tested[rule] > 0);
  CHECK(wired > 300);
  MESSAGE("rows elsewhere: " << elsewhere << ", in protobuf too: " << wired);
}

TEST_CASE("text loses the prefix outward at every row of words") {
  for (const auto& row : rows()) {
    if (row["rule"] != "TEXT" || k_other_kinds.contains(row["kind"].get<std::string>())) continue;
    CAPTURE(row["kind"]);
    CAPTURE(row["path"]);
    Case one{"namespaces \"abc123-team\" not found", "", Json::object(), Json::object(), "", ""};
    const auto text = document(steps_of(row["path"].get<std::string>()), one, false).dump();
    const auto back = send(root_for(row), Direction::outward, text);
    REQUIRE(back);
    CHECK(back->find("abc123") == std::string::npos);
    CHECK(back->find("namespaces \\\"team\\\" not found") != std::string::npos);
    wire_agrees(root_for(row), text, *back);
  }
}

TEST_CASE("a text in protobuf keeps the tenant's own words, as in JSON") {
  // The lengths of these names are letters, digits and dashes.
  for (const std::size_t more : {1, 5, 30, 42, 50, 90, 110}) {
    CAPTURE(more);
    const auto name = "abc123-web" + std::string(more, 'x');
    const auto event = [&](const std::string& space, const std::string& said) {
      return R"({"metadata":{"name":")" + name + R"(.17af","namespace":")" + space +
             R"("},"involvedObject":{"kind":"Pod","namespace":")" + space + R"(","name":")" + name +
             R"(","apiVersion":"v1"},"reason":"R","message":")" + name + "-1 " + said + R"("})";
    };
    wire_agrees(root_of("", "Event"), event("abc123-team", "abc123-team, abc123-other"),
                event("team", "team, abc123-other"));
  }
}

TEST_CASE("a foreign name is blanked outward and counted, and fails the proof") {
  const auto names = mapping();
  std::set<std::string> seen;
  for (const auto& row : rows()) {
    const auto rule = row["rule"].get<std::string>();
    if (rule != "NS" && rule != "CN" && rule != "OVERLAY") continue;
    const auto kind = row["kind"].get<std::string>();
    if (k_other_kinds.contains(kind)) continue;
    CAPTURE(kind);
    CAPTURE(row["path"]);
    Case one{"zzz999-secret", "", Json::object(), Json::object(), "", ""};
    if (row["refers"].get<std::string>().find('|') != std::string::npos)
      one.beside = {{"scopeName", "PriorityClass"}};
    const auto text = document(steps_of(row["path"].get<std::string>()), one, false).dump();
    RewriteContext context{names, Direction::outward, "default"};
    std::string out;
    REQUIRE(rewrite(root_for(row), context, text, out));
    CHECK(out.find("zzz999") == std::string::npos);
    CHECK(context.foreign == 1);
    wire_agrees(root_for(row), text, out);
    const auto proven = send(root_for(row), Direction::prove, text);
    REQUIRE_FALSE(proven);
    CHECK(proven.error().code() == Code::forbidden);
  }
}

/// Positions with a rule that have a field in one version of a kind, and that have none.
struct Fields {
  std::set<std::pair<const Node*, const protobuf::Message*>> seen;
  std::set<std::string> there, missing;
};

/// Every rule below `node` is about a field that the walk over protobuf understands.
void covered(const Node& node, const protobuf::Message& message, const std::string& path,
             Fields& fields) {
  using protobuf::Type;
  if (!fields.seen.emplace(&node, &message).second) return;
  const auto find = [](auto&& self, const protobuf::Message& in,
                       std::string_view name) -> const protobuf::Field* {
    for (std::size_t i = 0; i < in.count; ++i) {
      const auto& field = protobuf::fields[in.first + i];
      if ((field.flags & protobuf::k_inline) != 0) {
        if (const auto* found = self(self, protobuf::messages[field.message], name)) return found;
      } else if (field.name == name) {
        return &field;
      }
    }
    return nullptr;
  };
  const auto value = [&](const Node& to, const protobuf::Field& field, const std::string& at) {
    CAPTURE(at);
    switch (field.type) {
    case Type::string:
    case Type::bytes:
    case Type::strings:
    case Type::json:
      break;
    case Type::message:
      covered(to, protobuf::messages[field.message], at, fields);
      break;
    default: // of quantities the keys alone may have a rule
      CHECK(to.action == Action::none);
      CHECK(to.edge_count == 0);
    }
  };
  for (const auto& edge : node.members()) {
    if (edge.to == nullptr) continue;
    const auto at = path + '.' + std::string(edge.key);
    CAPTURE(at);
    if (path.empty() && (edge.key == "kind" || edge.key == "apiVersion")) continue; // TypeMeta
    const auto* field = find(find, message, edge.key);
    (field == nullptr ? fields.missing : fields.there).insert(at);
    if (field == nullptr) continue;
    if ((field->flags & protobuf::k_map) != 0) {
      CHECK(edge.to->element == nullptr);
      for (const auto& entry : edge.to->members())
        if (entry.to != nullptr) value(*entry.to, *field, at + '{' + std::string(entry.key) + '}');
      if (edge.to->value != nullptr) value(*edge.to->value, *field, at + "{}");
    } else if ((field->flags & protobuf::k_repeated) != 0 && edge.to->action != Action::hide) {
      REQUIRE(edge.to->element != nullptr);
      value(*edge.to->element, *field, at + "[]");
    } else if (edge.to->action != Action::hide) {
      value(*edge.to, *field, at);
    }
  }
}

TEST_CASE("no rule of a kind that is rewritten in protobuf is about something that this cannot") {
  std::map<const Root*, Fields> kinds;
  for (const auto& row : resources()) {
    const auto& root = root_of(row.group, row.kind);
    const auto version = row.group.empty()
                             ? std::string(row.version)
                             : std::string(row.group) + '/' + std::string(row.version);
    if (row.group != row.kind_group || !has_wire_form(root, version)) continue;
    CAPTURE(version);
    CAPTURE(row.kind);
    auto& fields = kinds[&root];
    fields.seen.clear();
    covered(*root.object, protobuf::messages[protobuf::find_kind(version, root.kind)->message], "",
            fields);
  }
  for (const auto& [root, fields] : kinds) {
    CAPTURE(root->kind);
    for (const auto& position : fields.missing)
      CHECK_MESSAGE(fields.there.contains(position), position);
  }
  const auto has = [&](std::string_view kind) { return kinds.contains(&root_of("", kind)); };
  CHECK(has("Pod"));
  CHECK(has("Secret"));
  CHECK(has("Event"));
  CHECK(kinds.size() > 30);
}

TEST_CASE("a list in protobuf: each item, and where it goes on") {
  const auto names = mapping();
  const auto& root = root_of("", "ConfigMap");
  const auto pb = json_to_protobuf(
      R"({"apiVersion":"v1","kind":"ConfigMapList","metadata":{"resourceVersion":"7","continue":"next"},)"
      R"("items":[{"metadata":{"name":"a","namespace":"abc123-team","annotations":{"zoo.kubezoo.io/x":"y","k":"v"}},"data":{"k":")" +
      std::string(300, 'x') +
      R"("}},{"metadata":{"name":"b","namespace":"zzz999-team"}},{"metadata":{"name":"c"}}]})");
  REQUIRE(pb);
  std::string token;
  const auto seal = [&](std::string_view given) {
    token = given;
    return std::string("a token that is longer than the one of upstream was by far: ") +
           std::string(given);
  };
  const WireContext context{names, root, "", seal};
  const auto out = list_in_pieces(context, *pb, pb->size());
  REQUIRE(out);
  CHECK(token == "next");
  const auto wanted = json_to_protobuf(
      R"({"apiVersion":"v1","kind":"ConfigMapList","metadata":{"resourceVersion":"7","continue":"a token that is longer than the one of upstream was by far: next"},)"
      R"("items":[{"metadata":{"name":"a","namespace":"team","annotations":{"k":"v"}},"data":{"k":")" +
      std::string(300, 'x') +
      R"("}},{"metadata":{"name":"b","namespace":""}},{"metadata":{"name":"c"}}]})");
  REQUIRE(wanted);
  CHECK(without_filler(*out) == *wanted);
  CHECK(out->size() > wanted->size());
  for (std::size_t step = 1; step < 400; ++step)
    CHECK(list_in_pieces(context, *pb, step) == *out);

  CHECK_FALSE(list_in_pieces({names, root_of("", "Pod"), "", {}}, *pb, 100));
  CHECK_FALSE(wire_outward({names, root, "", {}}, *pb));    // no object
  for (std::size_t size = 0; size + 4 < pb->size(); ++size) // what follows may be missing
    CHECK_FALSE(list_in_pieces({names, root, "", {}}, pb->substr(0, size), 100));
  const auto long_item = list_in_pieces(context, *pb, 100, 300);
  REQUIRE_FALSE(long_item);
  CHECK(long_item.error().code() == Code::too_large);
}

TEST_CASE("a list in protobuf has room for what kube-root-ca.crt shows") {
  const auto& root = root_of("", "ConfigMap");
  const std::string authorities(3000, 'z');
  const Mapping names("abc123", std::make_shared<const SharedNames>(),
                      std::make_shared<const std::string>(authorities));
  const auto list = [](std::size_t count, std::size_t at, const std::string& space,
                       const std::string& shown) {
    auto out = std::string(R"({"apiVersion":"v1","kind":"ConfigMapList","metadata":{},"items":[)");
    for (std::size_t i = 0; i < count; ++i) {
      const auto meta = [&](std::string_view name) {
        return fmt::format(R"("metadata":{{"name":"{}","namespace":"{}"}})", name, space);
      };
      out += i == 0 ? "{" : ",{";
      out += i == at ? meta("kube-root-ca.crt") + R"(,"data":{"ca.crt":")" + shown + R"("}})"
                     : meta("c" + std::to_string(i)) + R"(,"data":{"ca.crt":"own"}})";
    }
    return json_to_protobuf(out + "]}").value();
  };
  using At = std::pair<std::size_t, std::size_t>;
  for (const std::size_t upstreams : {1U, 1000U, 3000U, 6000U}) {
    for (const auto& [count, at] : {At{1, 0}, At{1, 1}, At{2, 1}, At{2000, 0}, At{2000, 1999}}) {
      CAPTURE(upstreams);
      CAPTURE(count + at);
      const auto given = list(count, at, "abc123-team", std::string(upstreams, 'u'));
      const auto out = list_in_pieces({names, root, "team", {}}, given, 1000);
      REQUIRE_MESSAGE(out, out.error().text());
      const auto wanted = list(count, at, "team", authorities);
      CHECK(without_filler(*out) == wanted);
    }
  }
}

TEST_CASE("a list in protobuf goes on as it comes, whatever it saves or lacks") {
  const auto names = mapping();
  const auto& root = root_of("", "ConfigMap");
  const auto list = [](std::size_t count, std::size_t saved) {
    auto out = std::string(R"({"apiVersion":"v1","kind":"ConfigMapList","metadata":{},"items":[)");
    for (std::size_t i = 0; i < count; ++i) {
      out += i == 0 ? "" : ",";
      out += R"({"metadata":{"namespace":"abc123-team","annotations":{"zoo.kubezoo.io/x":")" +
             std::string(saved, 's') + R"("}},"data":{"k":")" + std::string(1000, 'd') + R"("}})";
    }
    return json_to_protobuf(out + "]}").value();
  };
  for (const auto& [count, saved] :
       {std::pair<std::size_t, std::size_t>{0, 0}, {1, 0}, {200, 0}, {200, 100}, {3, 10'000}}) {
    CAPTURE(count);
    CAPTURE(saved);
    const auto bytes = list(count, saved);
    WireList rewriter({names, root, "team", {}}, 1u << 20);
    std::string out;
    std::size_t behind = 0;
    for (std::size_t at = 0; at < bytes.size(); at += 100) {
      REQUIRE(rewriter.feed(std::string_view(bytes).substr(at, 100), out));
      const auto came = std::min(at + 100, bytes.size());
      behind = std::max(behind, came - std::min(came, out.size()));
    }
    REQUIRE(rewriter.finish(out));
    CHECK(behind <= 1300 + saved + WireList::k_most_slack); // an item and the slack
    CHECK(out.find("abc123") == std::string::npos);
    CHECK(out.find("kubezoo") == std::string::npos);
    const auto plain = without_filler(out); // whose lengths are right, or it is empty
    CHECK(plain.size() > count * 1000);
    CHECK(std::count(plain.begin(), plain.end(), 'd') >= static_cast<std::ptrdiff_t>(count * 1000));
  }
  // What could get longer outward: a cause that is not told, and text that is quoted anew.
  for (
      const auto* const item :
      {R"({"kind":"EventList","metadata":{},"items":[{"metadata":{"namespace":"abc123-team"},"message":"failed to call webhook: Post \"https://s.abc123-team.svc:443/\": EOF"}]})",
       R"({"kind":"ConfigMapList","metadata":{},"items":[{"metadata":{"namespace":"abc123-team","annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{\"metadata\":{\"namespace\":\"abc123-\\b\\f\\b\\f\\b\\b\\b\\b\u007f\"}}"}}}]})"}) {
    auto typed = Json::parse(item);
    typed["apiVersion"] = "v1";
    const auto bytes = json_to_protobuf(typed.dump()).value();
    const auto kind = typed["kind"] == "EventList" ? "Event" : "ConfigMap";
    const auto out = list_in_pieces({names, root_of("", kind), "team", {}}, bytes, 100);
    REQUIRE_MESSAGE(out, out.error().text());
    CHECK(out->find("abc123") == std::string::npos);
  }
  // A list that says nothing at all.
  std::string empty("k8s\0\x0a\x13\x0a\x02v1\x12\x0d"
                    "ConfigMapList\x12\x00",
                    27);
  CHECK(list_in_pieces({names, root, "", {}}, empty, 3) == empty);
  // Lengths that are no lengths of fields.
  empty.back() = 1;
  CHECK_FALSE(list_in_pieces({names, root, "", {}}, empty + '\x0a', 3));
  CHECK_FALSE(list_in_pieces({names, root, "", {}}, std::string(10'000, '\xff'), 100));
}

} // namespace
} // namespace zoo::translate
