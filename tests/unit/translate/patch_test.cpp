// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/conflicts.hpp"
#include "daemon/translate/own_selectors.hpp"
#include "daemon/translate/patch.hpp"
#include "daemon/translate/rewrite.hpp"
#include "tests/unit/translate/target_mapping.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <ostream>

using namespace zoo;
using namespace zoo::translate;
using nlohmann::json;
using test::tenant;

namespace {

Result<std::string> in(std::string_view kind, std::string_view body,
                       BodyFormat format = BodyFormat::json_patch) {
  const auto* root = find_root(kind == "NetworkPolicy" ? "networking.k8s.io" : "", kind);
  return patch_in(*root, tenant(), format, body, "a");
}

Code code_of(const Result<std::string>& result) {
  return result ? Code::cancelled : result.error().code();
}

} // namespace

TEST_CASE("a JSON patch is translated by the rules of its places") {
  const auto same = [](std::string_view kind, std::string_view body) {
    const auto out = in(kind, body);
    REQUIRE(out);
    CHECK(json::parse(*out) == json::parse(body));
  };
  same("Pod", R"([])");
  same("Pod", R"([{"op":"add","path":"/metadata/labels/a~1b~0c","value":"abc123-x"}])");
  same("Pod", R"([{"op":"replace","path":"/spec/containers/0/image","value":"i:1"}])");
  same("Pod", R"([{"op":"remove","path":"/metadata/finalizers/0"}])");
  same("Pod", R"([{"op":"test","path":"/metadata/resourceVersion","value":"5"}])");
  same("ConfigMap", R"([{"op":"add","path":"/data/0","value":"x"}])");
  same("ConfigMap", R"([{"op":"copy","from":"/data/a","path":"/data/b"}])");
  same("Pod",
       R"([{"op":"move","from":"/metadata/annotations/a","path":"/metadata/annotations/b"}])");
  const auto quota = in("ResourceQuota",
                        R"([{"op":"add","path":"/spec/hard/count~1foos.example.com","value":"5"},
                            {"op":"remove","path":"/spec/hard/count~1bars.example.com"},
                            {"op":"replace","path":"/spec/hard","value":{"count/foos.example.com":"1"}},
                            {"op":"test","path":"/metadata/namespace","value":"a"}])");
  REQUIRE(quota);
  CHECK(json::parse(*quota) ==
        json::parse(
            R"([{"op":"add","path":"/spec/hard/count~1foos.abc123-example.com","value":"5"},
                {"op":"remove","path":"/spec/hard/count~1bars.abc123-example.com"},
                {"op":"replace","path":"/spec/hard","value":{"count/foos.abc123-example.com":"1"}},
                {"op":"test","path":"/metadata/namespace","value":"abc123-a"}])"));
}

TEST_CASE("copy and move do not carry a value from one rule to another") {
  for (const std::string_view op : {"copy", "move"}) {
    const auto body = [&](std::string_view from, std::string_view path) {
      return "[" + json{{"op", op}, {"from", from}, {"path", path}}.dump() + "]";
    };
    CHECK(code_of(in("Pod", body("/metadata/annotations/a", "/metadata/namespace"))) ==
          Code::invalid);
    CHECK(code_of(in("Pod", body("/metadata/namespace", "/metadata/annotations/a"))) ==
          Code::invalid);
    CHECK(code_of(
              in("ResourceQuota", body("/spec/hard/pods", "/spec/hard/count~1foos.example.com"))) ==
          Code::invalid);
    CHECK(code_of(in("Pod", body("/metadata", "/spec"))) == Code::invalid);
  }
}

TEST_CASE("a selector's values are translated by the key that the patch tells") {
  const std::string at = "/spec/ingress/0/from/0/namespaceSelector/matchExpressions/0";
  const auto policy = [&](const std::vector<json>& operations) -> Result<std::string> {
    auto body = json::array();
    for (auto each : operations) {
      each["path"] = at + each["path"].get<std::string>();
      body.push_back(each);
    }
    return in("NetworkPolicy", body.dump());
  };
  const auto last = [](const Result<std::string>& out) {
    return out ? json::parse(*out).back()["value"] : json(out.error().message());
  };
  const json key = {{"op", "replace"}, {"path", "/key"}, {"value", "team"}};
  json name = key;
  name["value"] = "kubernetes.io/metadata.name";
  json test = name;
  test["op"] = "test";
  const json values = {{"op", "replace"}, {"path", "/values"}, {"value", {"one"}}};
  const json value = {{"op", "add"}, {"path", "/values/-"}, {"value", "one"}};
  CHECK(last(policy({test, values})) == json{"abc123-one"});
  CHECK(last(policy({test, value})) == "abc123-one");
  CHECK(last(policy({test, value, value})) == "abc123-one");
  CHECK(last(policy({name, values})) == json{"abc123-one"});
  CHECK(last(policy({key, values})) == json{"one"});
  CHECK(last(policy({values})) == json{"one"}); // its result is judged
  const json remove = {{"op", "remove"}, {"path", "/values"}};
  CHECK(policy({key, remove}));
  // Other operations may move what the key was of.
  CHECK(last(policy({test, {{"op", "remove"}, {"path", "/x"}}, values})) == json{"one"});
  // The values that are there would mean something else.
  const auto refuses = [&](const std::vector<json>& operations) {
    CHECK(code_of(policy(operations)) == Code::invalid);
  };
  json removed = remove;
  removed["path"] = "/key";
  json tested = values;
  tested["op"] = "test";
  refuses({key});
  refuses({name});
  refuses({removed});
  refuses({values, key});
  refuses({test, values, key});
  refuses({key, test, values});
  refuses({key, tested});
  const auto copy = [&](const std::string& from) {
    const json body = {{{"op", "copy"}, {"from", from}, {"path", at + "/values"}}};
    return in("NetworkPolicy", body.dump());
  };
  CHECK(code_of(copy("/spec/ingress/0/from/0/namespaceSelector/matchExpressions/1/values")) ==
        Code::invalid);
  CHECK(copy(at + "/values"));
  const auto quota = [](std::string_view scope) {
    const std::string place = "/spec/scopeSelector/matchExpressions/0/";
    const json body = {{{"op", "replace"}, {"path", place + "scopeName"}, {"value", scope}},
                       {{"op", "replace"}, {"path", place + "values"}, {"value", {"high"}}}};
    return in("ResourceQuota", body.dump());
  };
  CHECK(last(quota("PriorityClass")) == json{"abc123-high"});
  CHECK(last(quota("Terminating")) == json{"high"});
}

TEST_CASE("the namespace that a ClusterRoleBinding has upstream is no part of it") {
  const auto binding = [](std::string_view body) {
    return patch_in(*find_root("rbac.authorization.k8s.io", "ClusterRoleBinding"), tenant(),
                    BodyFormat::json_patch, body, "");
  };
  for (const std::string_view nothing :
       {R"([{"op":"add","path":"/metadata/namespace","value":"a"}])",
        R"([{"op":"test","path":"/metadata/namespace","value":null}])",
        R"([{"op":"test","path":"/metadata/namespace"}])"}) {
    const auto out = binding(nothing);
    REQUIRE(out);
    CHECK(*out == "[]");
  }
  for (const std::string_view op : {"test", "replace", "remove", "copy", "move"}) {
    const json each = {
        {"op", op}, {"path", "/metadata/namespace"}, {"value", "a"}, {"from", "/metadata/name"}};
    CHECK(code_of(binding("[" + each.dump() + "]")) == Code::invalid);
  }
}

TEST_CASE("an applied namespace takes its level of pod security from nobody") {
  const auto labels = [](std::string_view body, bool lean) {
    const auto out =
        patch_in(*find_root("", "Namespace"), tenant(), BodyFormat::apply_patch, body, "", lean);
    REQUIRE(out);
    return json::parse(*out)["metadata"]["labels"];
  };
  const std::string_view plain =
      R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"a","labels":{"b":"c"}}})";
  const json id = {{"tenant.kubezoo.io/id", "abc123"}, {"b", "c"}};
  CHECK(labels(plain, true) == id);
  auto full = id;
  full["pod-security.kubernetes.io/enforce"] = "baseline";
  CHECK(labels(plain, false) == full);
  const std::string_view strict =
      R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"a","labels":)"
      R"({"pod-security.kubernetes.io/enforce":"restricted"}}})";
  CHECK(labels(strict, false) == labels(strict, true));
}

namespace {

constexpr std::string_view k_admission_group = "admissionregistration.k8s.io";

json applied(std::string_view kind, const json& members, bool lean) {
  auto body = members;
  body["apiVersion"] = "admissionregistration.k8s.io/v1";
  body["kind"] = kind;
  body["metadata"]["name"] = "w";
  const auto out = patch_in(*find_root(k_admission_group, kind), tenant(), BodyFormat::apply_patch,
                            body.dump(), "", lean);
  REQUIRE(out);
  return json::parse(*out);
}

json with_selectors(const json& body, const json& stored, std::string_view manager) {
  const auto text = stored.dump();
  const auto tree = JsonTree::parse(text);
  REQUIRE(tree);
  const auto out = with_own_selectors(tenant(), body.dump(), tree->root(), manager);
  REQUIRE(out);
  return json::parse(*out);
}

/// One entry of managedFields, which owns the selector of webhook "a.b.c".
json owner(std::string_view manager, std::string_view operation) {
  return {
      {"manager", manager},
      {"operation", operation},
      {"fieldsV1",
       {{"f:webhooks", {{R"(k:{"name":"a.b.c"})", {{"f:namespaceSelector", json::object()}}}}}}}};
}

const json k_bare = {{"matchLabels", {{"tenant.kubezoo.io/id", "abc123"}}}};

} // namespace

TEST_CASE("a partial apply names no selector that its client has not named") {
  const json partial = {
      {"webhooks", json::array({{{"name", "a.b.c"}, {"clientConfig", {{"caBundle", "eA=="}}}}})}};
  const auto full = applied("ValidatingWebhookConfiguration", partial, false);
  CHECK(full["webhooks"][0]["namespaceSelector"] == k_bare);
  const auto lean = applied("ValidatingWebhookConfiguration", partial, true);
  CHECK_FALSE(lean["webhooks"][0].contains("namespaceSelector"));
  CHECK(lean["webhooks"][0]["clientConfig"] == partial["webhooks"][0]["clientConfig"]);
  // What is named is held all the same.
  const json named = {
      {"webhooks", json::array({{{"name", "a.b.c"}, {"namespaceSelector", json::object()}}})}};
  CHECK(applied("ValidatingWebhookConfiguration", named,
                true)["webhooks"][0]["namespaceSelector"] == k_bare);
  const json policy = {{"spec", {{"failurePolicy", "Ignore"}}}};
  CHECK_FALSE(
      applied("ValidatingAdmissionPolicy", policy, true)["spec"].contains("matchConstraints"));
  CHECK(applied("ValidatingAdmissionPolicy", policy,
                false)["spec"]["matchConstraints"]["namespaceSelector"] == k_bare);
  const json rules = {{"spec", {{"matchConstraints", {{"resourceRules", json::array()}}}}}};
  CHECK_FALSE(
      applied("ValidatingAdmissionPolicy", rules, true)["spec"]["matchConstraints"].contains(
          "namespaceSelector"));
}

TEST_CASE("a selector is added where nobody else has one") {
  const json body = {{"webhooks", json::array({{{"name", "a.b.c"}}})}};
  auto stored = body;
  const auto of = [&](const json& fields, std::string_view manager) {
    stored["metadata"]["managedFields"] = fields;
    return with_selectors(body, stored, manager)["webhooks"][0].value("namespaceSelector", json());
  };
  CHECK(with_selectors(body, json::object(), "x")["webhooks"][0]["namespaceSelector"] == k_bare);
  CHECK(of(json::array(), "x") == json());
  CHECK(of(json::array({owner("helm", "Apply")}), "x") == json());
  CHECK(of(json::array({owner("x", "Update")}), "x") == json());
  CHECK(of(json::array({owner("x", "Apply"), owner("helm", "Apply")}), "x") == json());
  CHECK(of(json::array({owner("x", "Apply")}), "x") == k_bare); // upstream would take it away
  auto named = body;
  named["webhooks"][0]["namespaceSelector"] = {{"matchLabels", {{"a", "b"}}}};
  CHECK(with_selectors(named, json::object(), "x") == named);
  const json policy = {{"spec", {{"failurePolicy", "Ignore"}}}};
  CHECK(with_selectors(policy, json::object(),
                       "x")["spec"]["matchConstraints"]["namespaceSelector"] == k_bare);
  auto there = policy;
  there["spec"]["matchConstraints"] = {{"namespaceSelector", k_bare}};
  CHECK(with_selectors(policy, there, "x") == policy);
}

TEST_CASE("a conflict over what zood has added is none") {
  const auto status = [](const json& causes) {
    return json{{"kind", "Status"},
                {"apiVersion", "v1"},
                {"status", "Failure"},
                {"reason", "Conflict"},
                {"code", 409},
                {"message", "Apply failed"},
                {"details", {{"causes", causes}}}}
        .dump();
  };
  const auto cause = [](std::string_view manager, std::string_view field) {
    return json{{"reason", "FieldManagerConflict"},
                {"message", "conflict with " + std::string(manager)},
                {"field", field}};
  };
  const auto judge = [&](std::string_view group, std::string_view kind, const json& causes,
                         const json& stored) {
    const auto text = status(causes);
    REQUIRE(is_apply_conflict(text));
    const auto out = judge_conflicts(tenant(), *find_root(group, kind), text, "{}", stored.dump());
    return out ? json::parse(*out) : json();
  };
  const std::string enforce = ".metadata.labels.pod-security.kubernetes.io/enforce";
  const std::string wish = ".metadata.labels.kept.zoo.kubezoo.io/pod-security-enforce";
  const auto labelled = [](const json& labels) { return json{{"metadata", {{"labels", labels}}}}; };
  const auto plain = labelled({{"pod-security.kubernetes.io/enforce", "baseline"}});
  CHECK(judge("", "Namespace", json::array({cause(R"("kubectl-create" using v1)", enforce)}),
              plain) == json());
  // The tenant's own level, whatever is enforced of it.
  const auto strict = labelled({{"pod-security.kubernetes.io/enforce", "restricted"}});
  auto told = judge("", "Namespace", json::array({cause(R"("a")", enforce)}), strict);
  CHECK(told["details"]["causes"][0]["field"] == enforce);
  auto wished = plain;
  wished["metadata"]["managedFields"] = json::array(
      {{{"manager", "a"},
        {"fieldsV1",
         {{"f:metadata",
           {{"f:labels", {{"f:kept.zoo.kubezoo.io/pod-security-enforce", json::object()}}}}}}}}});
  told = judge("", "Namespace", json::array({cause(R"("a")", enforce)}), wished);
  CHECK(told["details"]["causes"][0]["field"] == enforce);
  CHECK(judge("", "Namespace", json::array({cause(R"("b")", enforce)}), wished) == json());
  told = judge(
      "", "Namespace",
      json::array({cause(R"("a")", wish), cause(R"("b")", ".spec.x"), cause(R"("b")", enforce)}),
      wished);
  CHECK(told["message"] == "Apply failed with 2 conflicts: conflicts with \"a\":\n- " + enforce +
                               "\nconflicts with \"b\":\n- .spec.x");
  CHECK(told["code"] == 409);
  CHECK(told["details"]["causes"].size() == 2);
  told = judge("", "Namespace", json::array({cause(R"("a")", wish), cause(R"("b")", enforce)}),
               wished);
  CHECK(told["message"] == R"(Apply failed with 1 conflict: conflict with "a": )" + enforce);

  const std::string kind = "MutatingWebhookConfiguration";
  const std::string selector = R"(.webhooks[name="a.b.c"].namespaceSelector)";
  auto hooks =
      json{{"webhooks", json::array({{{"name", "a.b.c"}, {"namespaceSelector", k_bare}}})}};
  CHECK(judge(k_admission_group, kind, json::array({cause(R"("a")", selector)}), hooks) == json());
  // Who creates owns the default.
  told =
      judge(k_admission_group, kind,
            json::array({cause(R"("a" using admissionregistration.k8s.io/v1)", selector)}), hooks);
  CHECK(told["details"]["causes"].size() == 1);
  hooks["webhooks"][0]["namespaceSelector"]["matchLabels"]["a"] = "b";
  told = judge(k_admission_group, kind, json::array({cause(R"("a")", selector)}), hooks);
  CHECK(told["details"]["causes"].size() == 1);
  const json own = {
      cause(
          R"("a")",
          R"(.webhooks[name="a.b.c"].matchConditions[name="zoo.kubezoo.io/own-objects"].expression)"),
      cause(R"("a")", ".metadata.annotations.zoo.kubezoo.io/rule-scopes")};
  CHECK(judge(k_admission_group, kind, own, hooks) == json());
  told = judge("storage.k8s.io", "StorageClass",
               json::array({cause(
                   R"("a")", ".metadata.annotations.kept.zoo.kubezoo.io/storageclass-default")}),
               json::object());
  CHECK(told["details"]["causes"][0]["field"] ==
        ".metadata.annotations.storageclass.kubernetes.io/is-default-class");
}

TEST_CASE(
    "a pod that is applied as it is shown has no conflict over what upstream's policy changed") {
  const auto pod = [](const char* path) {
    return json{
        {"kind", "Pod"},
        {"spec",
         {{"containers",
           {{{"name", "c"},
             {"env",
              {{{"name", "N"},
                {"valueFrom", {{"fieldRef", {{"apiVersion", "v1"}, {"fieldPath", path}}}}}}}}}}}}}};
  };
  const std::string field = R"(.spec.containers[name="c"].env[name="N"].valueFrom.fieldRef)";
  const auto status = [&](const std::string& at) {
    return json{{"kind", "Status"},
                {"details",
                 {{"causes",
                   {{{"reason", "FieldManagerConflict"},
                     {"message", "conflict with \"x\""},
                     {"field", at}}}}}}}
        .dump();
  };
  const auto stored = pod("metadata.annotations['zoo.kubezoo.io/namespace']").dump();
  const auto& root = root_of("", "Pod");
  const auto judged = [&](const json& applied, const std::string& at) {
    return judge_conflicts(tenant(), root, status(at), applied.dump(), stored);
  };
  CHECK_FALSE(judged(pod("metadata.namespace"), field));
  CHECK(judged(pod("metadata.name"), field));
  for (const auto* other :
       {"", ".spec", ".spec.containers", R"(.spec.containers[name="d"].env)",
        R"(.spec.containers[name="c)", ".spec.containers[0]", ".metadata.labels.a", "spec"})
    CHECK(judged(json{{"kind", "Pod"}}, other));
  CHECK(judge_conflicts(tenant(), root_of("apps", "Deployment"), status(field),
                        pod("metadata.namespace").dump(), stored));
}

TEST_CASE("what is no patch is refused") {
  for (const std::string_view bad :
       {"", "{}", "[1]", R"([{"op":"add"}])", R"([{"op":"nop","path":"/a"}])",
        R"([{"op":"add","path":"a","value":1}])", R"([{"op":"add","path":"/a~2","value":1}])",
        R"([{"op":"add","op":"remove","path":"/a"}])", R"([{"op":"copy","path":"/a"}])"}) {
    CAPTURE(bad);
    CHECK(code_of(in("Pod", bad)) == Code::bad_request);
  }
  std::string many = "[";
  for (int i = 0; i <= 10'000; ++i)
    many += std::string(i > 0 ? "," : "") + R"({"op":"remove","path":"/a"})";
  CHECK(code_of(in("Pod", many + "]")) == Code::too_large);
  for (
      const std::string_view bad :
      {R"([{"op":"remove","path":"/metadata/labels/tenant.kubezoo.io~1id"}])",
       R"([{"op":"copy","from":"/metadata/labels/a","path":"/metadata/labels/tenant.kubezoo.io~1id"}])",
       R"([{"op":"add","path":"/metadata/annotations/zoo.kubezoo.io~1x","value":"y"}])"})
    CHECK(code_of(in("Namespace", bad)) == Code::forbidden);
  CHECK(code_of(in("Pod", "[]", BodyFormat::merge_patch)) == Code::bad_request);
  CHECK(code_of(in("Pod", "null", BodyFormat::strategic_patch)) == Code::bad_request);
}

TEST_CASE("merge, strategic and apply bodies go through the rewriter") {
  const std::string body =
      R"({"metadata":{"namespace":"a","labels":{"x":null}},"spec":{"$patch":"replace","$setElementOrder/containers":[{"name":"c"}]}})";
  for (const auto format :
       {BodyFormat::merge_patch, BodyFormat::strategic_patch, BodyFormat::apply_patch}) {
    const auto out = in("Pod", body, format);
    REQUIRE(out);
    auto want = json::parse(body);
    want["metadata"]["namespace"] = "abc123-a";
    CHECK(json::parse(*out) == want);
  }
}

TEST_CASE("the precondition of the second request is added in each kind of patch") {
  CHECK(*with_resource_version(BodyFormat::json_patch, " [] ", "7") ==
        R"( [{"op":"test","path":"/metadata/resourceVersion","value":"7"}] )");
  CHECK(
      *with_resource_version(BodyFormat::json_patch, R"([{"op":"remove","path":"/a"}])", "7") ==
      R"([{"op":"test","path":"/metadata/resourceVersion","value":"7"},{"op":"remove","path":"/a"}])");
  const auto merge = [](std::string_view body) {
    const auto out = with_resource_version(BodyFormat::merge_patch, body, "7");
    return out ? *out : "error";
  };
  CHECK(merge("{}") == R"({"metadata":{"resourceVersion":"7"}})");
  CHECK(merge(R"({"a":1})") == R"({"a":1,"metadata":{"resourceVersion":"7"}})");
  CHECK(merge(R"({"metadata":{"name":"x"}})") ==
        R"({"metadata":{"name":"x","resourceVersion":"7"}})");
  CHECK(merge(R"({"metadata":{"resourceVersion":null}})") ==
        R"({"metadata":{"resourceVersion":"7"}})");
  CHECK(merge(R"({"metadata":{"resourceVersion":"7"}})") ==
        R"({"metadata":{"resourceVersion":"7"}})");
  CHECK(code_of(with_resource_version(BodyFormat::apply_patch,
                                      R"({"metadata":{"resourceVersion":"6"}})", "7")) ==
        Code::conflict);
  CHECK(merge(R"({"metadata":null})") == "error");
}

TEST_CASE("a write that is held to one object names its UID") {
  const auto in = [](BodyFormat format, std::string_view body) {
    const auto out = with_uid(format, body, "u-1");
    return out ? *out : "error";
  };
  for (const auto format : {BodyFormat::json, BodyFormat::merge_patch, BodyFormat::apply_patch}) {
    CHECK(in(format, "{}") == R"({"metadata":{"uid":"u-1"}})");
    CHECK(in(format, R"({"metadata":null})") == R"({"metadata":{"uid":"u-1"}})");
    CHECK(in(format, R"({"metadata":{"name":"x"}})") == R"({"metadata":{"name":"x","uid":"u-1"}})");
    CHECK(in(format, R"({"metadata":{"uid":""}})") == R"({"metadata":{"uid":"u-1"}})");
    CHECK(in(format, R"({"metadata":{"uid":"u-2"}})") == R"({"metadata":{"uid":"u-2"}})");
    CHECK(in(format, R"({"metadata":{"uid":"u-2","uid":""}})") == "error");
  }
  CHECK(in(BodyFormat::json_patch, R"([{"op":"remove","path":"/a"}])") ==
        R"([{"op":"test","path":"/metadata/uid","value":"u-1"},{"op":"remove","path":"/a"}])");
  CHECK(with_uid(BodyFormat::json, "{}", "").error().code() == Code::internal);
}
