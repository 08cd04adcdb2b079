// SPDX-License-Identifier: Apache-2.0
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
  const auto labels = [](std::string_view body, bool adds_level) {
    const auto out = patch_in(*find_root("", "Namespace"), tenant(), BodyFormat::apply_patch, body,
                              "", adds_level);
    REQUIRE(out);
    return json::parse(*out)["metadata"]["labels"];
  };
  const std::string_view plain =
      R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"a","labels":{"b":"c"}}})";
  const json id = {{"tenant.kubezoo.io/id", "abc123"}, {"b", "c"}};
  CHECK(labels(plain, false) == id);
  auto full = id;
  full["pod-security.kubernetes.io/enforce"] = "baseline";
  CHECK(labels(plain, true) == full);
  const std::string_view strict =
      R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"a","labels":)"
      R"({"pod-security.kubernetes.io/enforce":"restricted"}}})";
  CHECK(labels(strict, false) == labels(strict, true));
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
