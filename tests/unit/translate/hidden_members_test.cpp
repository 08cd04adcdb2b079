// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/hidden_members.hpp"
#include "daemon/translate/patch.hpp"
#include "daemon/translate/rewrite.hpp"
#include "daemon/translate/rules.hpp"
#include "tests/unit/translate/target_mapping.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>

namespace zoo::translate {
namespace {

using nlohmann::json;
using test::tenant;

const json k_given_pod = json::parse(R"({"metadata":{"name":"p","labels":{"l":"1"},
  "annotations":{"a":"1","b":"2","zoo.kubezoo.io/namespace":"shop"}}})");
const json k_bare_pod = json::parse(R"({"metadata":{"name":"p",
  "annotations":{"zoo.kubezoo.io/namespace":"shop"}}})");
const json k_given_space = json::parse(R"({"metadata":{"name":"abc123-shop",
  "labels":{"tenant.kubezoo.io/id":"abc123","zoo.kubezoo.io/inside":"none","team":"x",
            "pod-security.kubernetes.io/enforce":"baseline"},
  "annotations":{"zoo.kubezoo.io/x":"y"}}})");

/// The patch as it goes upstream, for an object of this kind.
json spared(std::string_view kind, const json& stored, BodyFormat format, const json& asked) {
  const auto names = tenant();
  const auto& root = root_of(kind == "ClusterRole" ? "rbac.authorization.k8s.io" : "", kind);
  CHECK(patches_whole_maps(format, asked.dump()));
  auto patch = patch_in(root, names, format, asked.dump(), "shop");
  REQUIRE_MESSAGE(patch, patch.error().text());
  const auto out =
      patch_with_hidden(root, names, format, asked.dump(), *std::move(patch), stored.dump());
  REQUIRE_MESSAGE(out, out.error().text());
  return json::parse(*out);
}

json patch_step(const char* op, const char* path) { return {{"op", op}, {"path", path}}; }
json patch_step(const char* op, const char* path, json value) {
  return {{"op", op}, {"path", path}, {"value", std::move(value)}};
}

TEST_CASE("a merge patch that takes a map away names what its tenant sees") {
  for (const auto format : {BodyFormat::merge_patch, BodyFormat::strategic_patch}) {
    CHECK(spared("Pod", k_given_pod, format, {{"metadata", {{"annotations", nullptr}}}}) ==
          json{{"metadata", {{"annotations", {{"a", nullptr}, {"b", nullptr}}}}}});
    CHECK(spared("Pod", k_bare_pod, format, {{"metadata", {{"annotations", nullptr}}}}) ==
          json{{"metadata", {{"annotations", json::object()}}}});
    CHECK(spared("Namespace", k_given_space, format,
                 {{"metadata", {{"labels", nullptr}, {"annotations", nullptr}}}}) ==
          json{{"metadata", {{"labels", {{"team", nullptr}}}, {"annotations", json::object()}}}});
  }
}

TEST_CASE("a namespace that gives up its level of pod security enforces the platform's") {
  auto stored = k_given_space;
  stored["metadata"]["labels"]["kept.zoo.kubezoo.io/pod-security-enforce"] = "privileged";
  const auto out =
      spared("Namespace", stored, BodyFormat::merge_patch, {{"metadata", {{"labels", nullptr}}}});
  CHECK(out["metadata"]["labels"] == json{{"team", nullptr},
                                          {"kept.zoo.kubezoo.io/pod-security-enforce", nullptr},
                                          {"pod-security.kubernetes.io/enforce", "baseline"}});
}

TEST_CASE("what zood holds back in an annotation survives, and what is set beside it") {
  const auto stored = json::parse(R"({"metadata":{"name":"abc123-r","annotations":{"a":"1",
    "zoo.kubezoo.io/aggregation-rule":"{}"}}})");
  const json take = {{"metadata", {{"annotations", nullptr}}}};
  CHECK(spared("ClusterRole", stored, BodyFormat::merge_patch, take) ==
        json{{"metadata", {{"annotations", {{"a", nullptr}}}}}});
  auto both = take;
  both["aggregationRule"] = json::object();
  CHECK(spared("ClusterRole", stored, BodyFormat::merge_patch, both) ==
        json{{"metadata",
              {{"annotations", {{"zoo.kubezoo.io/aggregation-rule", "{}"}, {"a", nullptr}}}}}});
}

TEST_CASE("directives of a strategic patch") {
  const auto patched = [](const json& metadata) {
    return spared("Pod", k_given_pod, BodyFormat::strategic_patch,
                  {{"metadata", metadata}})["metadata"];
  };
  CHECK(patched({{"annotations", {{"$patch", "replace"}, {"a", "9"}, {"c", "3"}}}}) ==
        json{{"annotations", {{"a", "9"}, {"b", nullptr}, {"c", "3"}}}});
  CHECK(patched({{"annotations", {{"$patch", "delete"}}}}) ==
        json{{"annotations", {{"a", nullptr}, {"b", nullptr}}}});
  CHECK(patched({{"$patch", "replace"}, {"name", "p"}}) ==
        json{{"$patch", "replace"},
             {"name", "p"},
             {"annotations", {{"zoo.kubezoo.io/namespace", "shop"}}}});
}

TEST_CASE("a strategic patch that says what is retained") {
  const auto patched = [](const json& metadata) {
    return spared("Pod", k_given_pod, BodyFormat::strategic_patch,
                  {{"metadata", metadata}})["metadata"];
  };
  CHECK(patched({{"annotations", {{"$retainKeys", json::array({"a"})}, {"a", "9"}}}}) ==
        json{{"annotations", {{"a", "9"}, {"b", nullptr}}}});
  CHECK(patched({{"$retainKeys", json::array({"name", "labels"})}, {"name", "p"}}) ==
        json{{"$retainKeys", json::array({"name", "labels", "annotations"})},
             {"name", "p"},
             {"annotations", {{"a", nullptr}, {"b", nullptr}}}});
  CHECK(patched({{"$retainKeys", json::array({"annotations"})}, {"annotations", {{"c", "3"}}}}) ==
        json{{"$retainKeys", json::array({"annotations"})}, {"annotations", {{"c", "3"}}}});
  const auto space = spared("Namespace", k_given_space, BodyFormat::strategic_patch,
                            {{"metadata", {{"$retainKeys", json::array()}}}})["metadata"];
  CHECK(space["$retainKeys"] == json::array({"labels", "annotations"}));
  CHECK(space["annotations"] == json::object());
  CHECK(space["labels"]["team"] == json());
}

TEST_CASE("a JSON patch of a whole map") {
  const auto patched = [](const json& operations, const json& stored = k_given_pod,
                          std::string_view kind = "Pod") {
    return spared(kind, stored, BodyFormat::json_patch, operations);
  };
  const json back = {{"zoo.kubezoo.io/namespace", "shop"}};
  const auto* const path = "/metadata/annotations";
  CHECK(patched(json::array({patch_step("remove", path)})) ==
        json::array({patch_step("remove", path), patch_step("add", path, back)}));
  for (const auto* op : {"add", "replace", "test"}) {
    CHECK(patched(json::array({patch_step(op, path, {{"c", "3"}})})) ==
          json::array({patch_step(op, path, {{"c", "3"}, {"zoo.kubezoo.io/namespace", "shop"}})}));
    CHECK(patched(json::array({patch_step(op, path, nullptr)})) ==
          json::array({patch_step(op, path, back)}));
  }
  // A test behind a removal sees what is left.
  CHECK(patched(json::array({patch_step("remove", path), patch_step("test", path, nullptr),
                             patch_step("add", "/metadata/annotations/c", "3")})) ==
        json::array({patch_step("remove", path), patch_step("add", path, back),
                     patch_step("test", path, back),
                     patch_step("add", "/metadata/annotations/c", "3")}));
  CHECK(patched(json::array({patch_step("replace", "/metadata", {{"name", "p"}})})) ==
        json::array({patch_step("replace", "/metadata", {{"name", "p"}, {"annotations", back}})}));
  CHECK(
      patched(json::array({patch_step(
          "replace", "", {{"kind", "Pod"}, {"metadata", {{"annotations", {{"c", "3"}}}}}})})) ==
      json::array({patch_step(
          "replace", "",
          {{"kind", "Pod"},
           {"metadata", {{"annotations", {{"c", "3"}, {"zoo.kubezoo.io/namespace", "shop"}}}}}})}));
  const json kept = {{"tenant.kubezoo.io/id", "abc123"},
                     {"zoo.kubezoo.io/inside", "none"},
                     {"pod-security.kubernetes.io/enforce", "baseline"}};
  CHECK(patched(json::array({patch_step("remove", "/metadata/labels")}), k_given_space,
                "Namespace") == json::array({patch_step("remove", "/metadata/labels"),
                                             patch_step("add", "/metadata/labels", kept)}));
}

TEST_CASE("which patches need a look at what is stored") {
  const auto merge = [](const char* text) {
    return patches_whole_maps(BodyFormat::merge_patch, text);
  };
  CHECK_FALSE(merge(R"({"metadata":{"annotations":{"a":null}}})"));
  CHECK_FALSE(merge(R"({"spec":{"annotations":null}})"));
  CHECK_FALSE(merge(R"({})"));
  CHECK_FALSE(merge(R"({"metadata":{"annotations":{"$patch":"merge"}}})"));
  CHECK_FALSE(merge("no JSON"));
  CHECK(merge(R"({"metadata":{"annot\u0061tions":null}})"));
  CHECK(merge(R"({"$patch":"replace","metadata":{"name":"p"}})"));
  CHECK_FALSE(patches_whole_maps(BodyFormat::apply_patch, R"({"metadata":{"labels":null}})"));
  const auto operations = [](const char* text) {
    return patches_whole_maps(BodyFormat::json_patch, text);
  };
  CHECK_FALSE(operations(R"([{"op":"remove","path":"/metadata/annotations/a"}])"));
  CHECK_FALSE(operations(R"([{"op":"remove","path":"/spec"},{"op":"remove"}])"));
  CHECK(
      operations(R"([{"op":"add","path":"/spec","value":1},{"op":"remove","path":"/metadata"}])"));
  CHECK(operations(R"([{"op":"replace","path":"","value":{}}])"));
}

TEST_CASE("an object that is replaced keeps what its tenant does not see") {
  const auto names = tenant();
  const auto put = [&](std::string_view kind, const json& object, const json& stored) {
    const auto out = with_hidden(root_of("", kind), names, object.dump(), stored.dump());
    REQUIRE(out);
    return json::parse(*out)["metadata"];
  };
  const json back = {{"zoo.kubezoo.io/namespace", "shop"}};
  CHECK(put("Pod", {{"metadata", {{"name", "p"}}}}, k_given_pod) ==
        json{{"name", "p"}, {"annotations", back}});
  CHECK(put("Pod", {{"metadata", {{"annotations", nullptr}}}}, k_given_pod) ==
        json{{"annotations", back}});
  CHECK(put("Pod", {{"metadata", {{"annotations", {{"a", "5"}}}}}}, k_given_pod)["annotations"] ==
        json{{"a", "5"}, {"zoo.kubezoo.io/namespace", "shop"}});
  CHECK(put("Pod", {{"metadata", json::object()}}, json{{"metadata", json::object()}}) ==
        json::object());
  const auto space = put("Namespace", {{"metadata", {{"labels", {{"team", "y"}}}}}}, k_given_space);
  CHECK(space["labels"]["zoo.kubezoo.io/inside"] == json(std::string("none")));
  CHECK(space["labels"]["team"] == json(std::string("y")));
  CHECK(space["annotations"] == json{{"zoo.kubezoo.io/x", "y"}});
}

TEST_CASE("which updates need a look at what is stored") {
  const auto& pod = root_of("", "Pod");
  const auto* const reads =
      R"({"spec":{"containers":[{"env":[{"name":"N","valueFrom":{"fieldRef":{"fieldPath":"metadata.namespace"}}}]}]}})";
  CHECK(may_hold_hidden(pod, "", reads));
  CHECK_FALSE(may_hold_hidden(pod, "", R"({"spec":{"containers":[{"name":"c"}]}})"));
  CHECK(may_hold_hidden(pod, "status", "{}"));
  CHECK_FALSE(may_hold_hidden(pod, "ephemeralcontainers", reads));
  CHECK_FALSE(may_hold_hidden(pod, "resize", reads));
  CHECK(may_hold_hidden(root_of("", "Namespace"), "", "{}"));
  CHECK_FALSE(may_hold_hidden(root_of("", "ConfigMap"), "", "{}"));
  CHECK_FALSE(may_hold_hidden(root_of("example.com", "Pod"), "", reads));
}

} // namespace
} // namespace zoo::translate
