// SPDX-License-Identifier: Apache-2.0
#include "common/crypto/digest.hpp"
#include "tests/unit/translate/relay_world.hpp"

#include <doctest/doctest.h>

namespace zoo::translate {
namespace {

using test::guard;
using test::Json;

HookName mutator() { return {"abc123", Hook::mutating, "abc123-change", "a.change.test"}; }

/// As upstream asks about a pod that john of the tenant makes.
Json asked() {
  return Json::parse(R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{
    "uid":"u-1","kind":{"group":"","version":"v1","kind":"Pod"},
    "resource":{"group":"","version":"v1","resource":"pods"},
    "requestKind":{"group":"","version":"v1","kind":"Pod"},
    "requestResource":{"group":"","version":"v1","resource":"pods"},
    "name":"web","namespace":"abc123-shop","operation":"CREATE",
    "userInfo":{"username":"zoo:abc123","groups":["zoo:tenants","system:authenticated"],
      "extra":{"zoo-user":["jo%40hn"],"zoo-group":["dev","system%3Aauthenticated"]}},
    "object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web","namespace":"abc123-shop",
      "labels":{"app":"web"},"annotations":{"zoo.kubezoo.io/namespace":"shop"},
      "managedFields":[{"manager":"kubectl","operation":"Update","apiVersion":"v1",
        "fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:labels":{"f:app":{}}}}}]},
      "spec":{"containers":[{"name":"c","image":"i"}],"priorityClassName":"abc123-low"}},
    "oldObject":null,"dryRun":false,
    "options":{"kind":"CreateOptions","apiVersion":"meta.k8s.io/v1"},
    "platformsOwn":{"x":1}}})");
}

Json shown(const Json& review) {
  const auto out = review_out(test::tenant(), mutator(), review.dump());
  return out ? Json::parse(out->body) : Json(out.error().message());
}

Json answered(Json response) {
  if (!response.contains("uid")) response["uid"] = "u-1";
  return {{"kind", "AdmissionReview"},
          {"apiVersion", "admission.k8s.io/v1"},
          {"response", std::move(response)}};
}

/// What upstream hears of an answer, or why it hears nothing.
Json heard(const Json& review, const Json& answer, const HookName& name = mutator()) {
  const auto out = review_in(test::tenant(), name, review.dump(), answer.dump());
  if (out) return Json::parse(*out)["response"];
  CHECK(out.error().code() == Code::invalid);
  return Json(out.error().message());
}

Json patching(const std::string& patch) {
  return answered(
      {{"allowed", true}, {"patchType", "JSONPatch"}, {"patch", crypto::base64_encode(patch)}});
}

/// The pod that upstream has after the answer, or the refusal.
Json after(const Json& review, const std::string& patch) {
  const auto response = heard(review, patching(patch));
  if (response.is_string()) return response;
  if (!response.contains("patch")) return review["request"]["object"];
  CHECK(response["patchType"] == Json(std::string("JSONPatch")));
  const auto text = crypto::base64_decode(response["patch"].get<std::string>());
  return review["request"]["object"].patch(Json::parse(*text));
}

bool refused(const Json& answer, std::string_view why) {
  CAPTURE(answer.dump());
  return answer.is_string() && answer.get<std::string>().find(why) != std::string::npos;
}

TEST_CASE("a review speaks of the tenant's names") {
  const auto review = shown(asked());
  REQUIRE(review.is_object());
  const auto& request = review["request"];
  CHECK(request["namespace"] == Json(std::string("shop")));
  CHECK(request["object"]["metadata"]["namespace"] == Json(std::string("shop")));
  CHECK(request["object"]["spec"]["priorityClassName"] == Json(std::string("low")));
  CHECK(request["userInfo"] ==
        Json{{"username", "jo@hn"}, {"groups", {"dev", "system:authenticated"}}});
  CHECK_FALSE(request.contains("platformsOwn"));
  CHECK(request["options"] == asked()["request"]["options"]);
  CHECK(request["uid"] == Json(std::string("u-1")));
  CHECK(review.dump().find("zoo") == std::string::npos);
  CHECK(review.dump().find("abc123") == std::string::npos);
}

TEST_CASE("a review names the tenant's groups") {
  // Longer than what a string keeps inside itself.
  const std::string own = "a-group.with-a-long-name.test";
  const auto group = "abc123-" + own;
  auto review = asked();
  for (const auto* member : {"kind", "requestKind"})
    review["request"][member] = {{"group", group}, {"version", "v1"}, {"kind", "W"}};
  for (const auto* member : {"resource", "requestResource"})
    review["request"][member] = {{"group", group}, {"version", "v1"}, {"resource", "ws"}};
  review["request"]["object"] = {{"kind", "W"},
                                 {"apiVersion", group + "/v1"},
                                 {"metadata", {{"name", "x"}, {"namespace", "abc123-shop"}}}};
  const auto out = shown(review);
  REQUIRE(out.is_object());
  for (const auto* member : {"kind", "resource", "requestKind", "requestResource"})
    CHECK(out["request"][member]["group"] == Json(own));
  CHECK(out["request"]["object"]["apiVersion"] == Json(own + "/v1"));
  CHECK(after(review, R"([{"op":"add","path":"/spec","value":{"a":1}}])")["spec"] ==
        Json{{"a", 1}});
}

TEST_CASE("who asks is told as the tenant knows him") {
  const auto user = [](const Json& info) {
    auto review = asked();
    review["request"]["userInfo"] = info;
    const auto out = shown(review);
    return out.is_object() ? out["request"]["userInfo"] : out;
  };
  CHECK(user({{"username", "system:serviceaccount:abc123-shop:robot"},
              {"uid", "u"},
              {"groups", {"system:serviceaccounts", "system:serviceaccounts:abc123-shop"}},
              {"extra",
               {{"authentication.kubernetes.io/pod-name", {"p"}},
                {"authentication.kubernetes.io/node-name", {"n"}}}}}) ==
        Json{{"username", "system:serviceaccount:shop:robot"},
             {"uid", "u"},
             {"groups", {"system:serviceaccounts", "system:serviceaccounts:shop"}},
             {"extra", {{"authentication.kubernetes.io/pod-name", {"p"}}}}});
  CHECK(user({{"username", "system:node:n1"}, {"groups", {"system:nodes"}}}) ==
        Json{{"username", "system:node:n1"}, {"groups", {"system:nodes"}}});
  CHECK(user({{"username", "alice"},
              {"uid", "7"},
              {"groups", {"admins", "system:masters"}},
              {"extra", {{"department", {"secret"}}}}}) ==
        Json{{"username", "alice"}, {"groups", {"system:masters"}}});
  CHECK(refused(user({{"username", "zoo:zzz999"}}), "another tenant"));
}

TEST_CASE("what is not the tenant's is not shown") {
  const auto code = [](const Json& review) {
    const auto out = review_out(test::tenant(), mutator(), review.dump());
    return out ? std::optional<Code>() : out.error().code();
  };
  auto review = asked();
  review["request"]["namespace"] = "zzz999-shop";
  CHECK(code(review) == Code::forbidden);
  review = asked();
  review["request"].erase("namespace");
  CHECK(code(review) == Code::forbidden);
  review = asked();
  review["request"]["object"]["metadata"]["namespace"] = "zzz999-shop";
  CHECK(code(review) == Code::forbidden);
  review = asked();
  review["request"]["kind"]["group"] = "zzz999-w.test";
  CHECK(code(review) == Code::forbidden);
  CHECK(code({{"kind", "Pod"}}) == Code::bad_request);
  CHECK(code({{"kind", "AdmissionReview"}, {"request", Json::object()}}) == Code::bad_request);
}

TEST_CASE("what zood keeps is admitted without asking") {
  auto review = asked();
  review["request"]["kind"] = {
      {"group", "rbac.authorization.k8s.io"}, {"version", "v1"}, {"kind", "RoleBinding"}};
  review["request"]["resource"] = {
      {"group", "rbac.authorization.k8s.io"}, {"version", "v1"}, {"resource", "rolebindings"}};
  review["request"]["name"] = "zoo-tenant";
  const auto admitted = [&review] {
    const auto out = review_out(test::tenant(), guard(), review.dump());
    REQUIRE(out);
    CHECK(Json::parse(out->answer) ==
          Json::parse(R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1",)"
                      R"("response":{"uid":"u-1","allowed":true}})"));
  };
  admitted();
  review["request"]["kind"] = {{"group", ""}, {"version", "v1"}, {"kind", "ConfigMap"}};
  review["request"]["resource"] = {{"group", ""}, {"version", "v1"}, {"resource", "configmaps"}};
  review["request"]["name"] = "zoo-root-ca.crt";
  admitted();
}

TEST_CASE("an answer is handed on with its words") {
  CHECK(heard(asked(), answered({{"allowed", true}})) == Json{{"allowed", true}, {"uid", "u-1"}});
  const auto denied =
      heard(asked(), answered({{"allowed", false},
                               {"status",
                                {{"code", 418},
                                 {"message", "no \u00e4"},
                                 {"reason", "Because"},
                                 {"metadata", {{"x", "y"}}},
                                 {"details",
                                  {{"group", "w.test"},
                                   {"kind", "W"},
                                   {"causes", {{{"message", "m"}, {"other", "o"}}}}}}}},
                               {"warnings", {"beware"}},
                               {"auditAnnotations", {{"k", "v"}}}}));
  CHECK(denied == Json{{"uid", "u-1"},
                       {"allowed", false},
                       {"status",
                        {{"code", 418},
                         {"message", "no \u00e4"},
                         {"reason", "Because"},
                         {"details",
                          {{"group", "abc123-w.test"},
                           {"kind", "W"},
                           {"causes", Json::array({{{"message", "m"}}})}}}}},
                       {"warnings", {"beware"}},
                       {"auditAnnotations", {{"k", "v"}}}});
  const auto much = heard(
      asked(), answered({{"allowed", false},
                         {"status", {{"message", std::string(99'999, 'x')}, {"code", 99'999}}},
                         {"warnings", std::vector<std::string>(99, "w")}}));
  CHECK(much["status"]["message"].get<std::string>().size() == 32'768);
  CHECK_FALSE(much["status"].contains("code"));
  CHECK(much["warnings"].size() == 32);
}

TEST_CASE("an answer that upstream would not take is refused in its words") {
  CHECK(refused(heard(asked(), answered({{"uid", "u-2"}, {"allowed", true}})),
                "expected response.uid=\"u-1\", got \"u-2\""));
  CHECK(refused(heard(asked(), {{"kind", "AdmissionReview"},
                                {"apiVersion", "admission.k8s.io/v1beta1"},
                                {"response", {{"uid", "u-1"}}}}),
                "expected webhook response of admission.k8s.io/v1"));
  CHECK(
      refused(heard(asked(), {{"kind", "AdmissionReview"}, {"apiVersion", "admission.k8s.io/v1"}}),
              "response was absent"));
  CHECK(refused(heard(asked(), answered({{"allowed", "yes"}})), "neither true nor false"));
  CHECK(refused(heard(asked(), answered({{"allowed", true}, {"patch", "W10="}})),
                "but not response.patchType"));
  CHECK(refused(heard(asked(), answered({{"allowed", true}, {"patchType", "JSONPatch"}})),
                "but not response.patch"));
  CHECK(refused(
      heard(asked(), answered({{"allowed", true}, {"patch", "W10="}, {"patchType", "Merge"}})),
      "invalid response.patchType"));
  CHECK(refused(heard(asked(), patching("[]"), guard()), "may not return response.patch"));
  CHECK(refused(
      heard(asked(), answered({{"allowed", true}, {"patch", "!"}, {"patchType", "JSONPatch"}})),
      "no base64"));
  const auto nothing = review_in(test::tenant(), mutator(), asked().dump(), "<html>");
  REQUIRE_FALSE(nothing);
  CHECK(nothing.error().message().find("cannot be read") != std::string::npos);
  const auto long_one =
      review_in(test::tenant(), mutator(), asked().dump(), std::string(std::size_t{4} << 20, ' '));
  REQUIRE_FALSE(long_one);
  CHECK(long_one.error().message().find("bytes") != std::string::npos);
}

TEST_CASE("reviews of v1beta1 are answered as leniently as upstream takes them") {
  auto review = asked();
  review["apiVersion"] = "admission.k8s.io/v1beta1";
  const auto response = heard(
      review, {{"response",
                {{"allowed", true},
                 {"patch", crypto::base64_encode(R"([{"op":"add","path":"/metadata/labels/x",)"
                                                 R"("value":"y"}])")}}}});
  REQUIRE(response.is_object());
  CHECK(response["uid"] == Json(std::string("u-1")));
  CHECK(response["patchType"] == Json(std::string("JSONPatch")));
}

TEST_CASE("a patch is proven by what comes of it, and leaves alone what the tenant does not see") {
  const auto pod = asked()["request"]["object"];
  auto wanted = pod;
  wanted["metadata"]["labels"]["x"] = "y";
  wanted["spec"]["containers"].push_back({{"name", "side"}, {"image", "s"}});
  wanted["spec"]["priorityClassName"] = "abc123-high";
  CHECK(after(asked(), R"([{"op":"add","path":"/metadata/labels/x","value":"y"},
    {"op":"add","path":"/spec/containers/-","value":{"name":"side","image":"s"}},
    {"op":"replace","path":"/spec/priorityClassName","value":"high"}])") == wanted);
  // The annotation of zood's stays, whatever becomes of the tenant's.
  auto noted = pod;
  noted["metadata"]["annotations"]["a"] = "b";
  CHECK(after(asked(), R"([{"op":"add","path":"/metadata/annotations","value":{"a":"b"}}])") ==
        noted);
  auto bare = pod;
  bare["metadata"].erase("labels");
  CHECK(after(asked(), R"([{"op":"remove","path":"/metadata/labels"}])") == bare);
  CHECK(after(asked(), "[]") == pod);
}

TEST_CASE("a patch cannot reach out of the tenant") {
  const auto change = [](const std::string& operations) { return after(asked(), operations); };
  CHECK(refused(change(R"([{"op":"replace","path":"/metadata/namespace","value":"other"}])"),
                "changes metadata.namespace"));
  CHECK(refused(change(R"([{"op":"replace","path":"/metadata/name","value":"other"}])"),
                "changes metadata.name"));
  CHECK(refused(change(R"([{"op":"replace","path":"/kind","value":"Secret"}])"), "changes kind"));
  CHECK(refused(change(R"([{"op":"replace","path":"/apiVersion","value":"v2"}])"),
                "changes apiVersion"));
  CHECK(refused(change(R"([{"op":"add","path":"/metadata/uid","value":"x"}])"),
                "changes metadata.uid"));
  CHECK(refused(change(R"([{"op":"add","path":"/metadata/annotations",)"
                       R"("value":{"zoo.kubezoo.io/namespace":"zzz999-x"}}])"),
                "does not stay inside the tenant"));
  CHECK(refused(change(R"([{"op":"test","path":"/spec/priorityClassName","value":"abc123-low"}])"),
                "cannot be applied"));
  CHECK(refused(change(R"([{"op":"replace","path":"/nowhere","value":1}])"), "cannot be applied"));
  // What it names is the tenant's own, whatever it looks like.
  CHECK(change(R"([{"op":"replace","path":"/spec/priorityClassName","value":"zzz999-high"}])")
            ["spec"]["priorityClassName"] == Json(std::string("abc123-zzz999-high")));
  auto service = asked();
  service["request"]["kind"]["kind"] = "Service";
  service["request"]["resource"]["resource"] = "services";
  service["request"]["object"] = {{"kind", "Service"},
                                  {"apiVersion", "v1"},
                                  {"metadata", {{"name", "web"}, {"namespace", "abc123-shop"}}},
                                  {"spec", Json::object()}};
  CHECK(refused(after(service, R"([{"op":"add","path":"/spec/externalIPs","value":["10.0.0.1"]}])"),
                "no mutation may change"));
  auto going = asked();
  going["request"]["operation"] = "DELETE";
  going["request"]["object"] = nullptr;
  CHECK(refused(heard(going, patching(R"([{"op":"add","path":"/x","value":1}])")),
                "not supported for this operation"));
}

Json conversion() {
  return Json::parse(R"({"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1",
    "request":{"uid":"c-1","desiredAPIVersion":"abc123-w.test/v2","objects":[
      {"kind":"W","apiVersion":"abc123-w.test/v1","metadata":{"name":"x","namespace":"abc123-shop",
       "uid":"1","resourceVersion":"9","annotations":{"zoo.kubezoo.io/own":"1","a":"b"}},
       "spec":{"a":1}},
      {"kind":"W","apiVersion":"abc123-w.test/v1","metadata":{"name":"y","uid":"2"}}]}})");
}

HookName converter() { return {"abc123", Hook::conversion, "ws.abc123-w.test", ""}; }

Json converted(const Json& response) {
  auto whole = response;
  if (!whole.contains("uid")) whole["uid"] = "c-1";
  const Json answer = {
      {"kind", "ConversionReview"}, {"apiVersion", "apiextensions.k8s.io/v1"}, {"response", whole}};
  const auto out = review_in(test::tenant(), converter(), conversion().dump(), answer.dump());
  return out ? Json::parse(*out)["response"] : Json(out.error().message());
}

TEST_CASE("objects are converted in the tenant's names") {
  const auto out = review_out(test::tenant(), converter(), conversion().dump());
  REQUIRE(out);
  CHECK(out->uid == "c-1");
  auto review = Json::parse(out->body);
  auto& request = review["request"];
  CHECK(request["desiredAPIVersion"] == Json(std::string("w.test/v2")));
  CHECK(request["objects"][0]["apiVersion"] == Json(std::string("w.test/v1")));
  CHECK(request["objects"][0]["metadata"]["namespace"] == Json(std::string("shop")));
  CHECK(out->body.find("abc123") == std::string::npos);
  CHECK(out->body.find("zoo.") == std::string::npos);

  auto objects = request["objects"];
  for (auto& object : objects)
    object["apiVersion"] = "w.test/v2";
  objects[0]["spec"] = {{"b", 1}};
  objects[0]["metadata"]["annotations"]["a"] = "c";
  const auto made = converted({{"result", {{"status", "Success"}}}, {"convertedObjects", objects}});
  REQUIRE(made.is_object());
  auto wanted = conversion()["request"]["objects"];
  for (auto& object : wanted)
    object["apiVersion"] = "abc123-w.test/v2";
  wanted[0]["spec"] = {{"b", 1}};
  wanted[0]["metadata"]["annotations"]["a"] = "c";
  CHECK(made["convertedObjects"] == wanted);
  CHECK(made["uid"] == Json(std::string("c-1")));

  const auto with = [&](std::size_t index, const std::string& path, const Json& value) {
    auto changed = objects;
    changed[index][Json::json_pointer(path)] = value;
    return converted({{"result", {{"status", "Success"}}}, {"convertedObjects", changed}});
  };
  CHECK(refused(with(0, "/apiVersion", "zzz999-w.test/v2"), "apiVersion is not the one"));
  CHECK(refused(with(0, "/kind", "V"), "its kind is another one"));
  CHECK(refused(with(0, "/metadata/namespace", "other"), "metadata.namespace is another one"));
  CHECK(refused(with(1, "/metadata/name", "x"), "index 1"));
  CHECK(refused(with(0, "/metadata/uid", "3"), "metadata.uid"));
  CHECK(refused(with(0, "/metadata/annotations", Json{{"zoo.kubezoo.io/own", "2"}}), "reserved"));
  objects.erase(1);
  CHECK(refused(converted({{"result", {{"status", "Success"}}}, {"convertedObjects", objects}}),
                "returned 1 objects, expected 2"));
}

TEST_CASE("a conversion that fails says why") {
  CHECK(converted({{"result", {{"status", "Failure"}, {"message", "no v2"}}}})["result"] ==
        Json{{"status", "Failure"}, {"message", "no v2"}});
  CHECK(converted(Json::object())["result"]["status"] == Json(std::string("Failure")));
  CHECK(refused(converted({{"uid", "other"}}), "expected response.uid"));
}

TEST_CASE("objects of another's group, or of another's namespace, are not converted") {
  const auto code = [](const Json& review) {
    const auto out = review_out(test::tenant(), converter(), review.dump());
    return out ? std::optional<Code>() : out.error().code();
  };
  auto review = conversion();
  review["request"]["desiredAPIVersion"] = "zzz999-w.test/v2";
  CHECK(code(review) == Code::forbidden);
  review = conversion();
  review["request"]["objects"][0]["apiVersion"] = "abc123-other.test/v1";
  CHECK(code(review) == Code::forbidden);
  review = conversion();
  review["request"]["objects"][1]["metadata"]["namespace"] = "kube-system";
  CHECK(code(review) == Code::forbidden);
}

} // namespace
} // namespace zoo::translate
