// SPDX-License-Identifier: Apache-2.0
#include "daemon/gateway/definitions.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

using namespace zoo;
using namespace zoo::gateway;

namespace {

const std::string k_path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/x.example.com";

/// A schema with `what` for the property t of spec.
std::string schema(std::string_view what) {
  return fmt::format(R"({{"type":"object","properties":{{"spec":{{"type":"object",{}}}}}}})", what);
}
std::string t(std::string_view what) { return fmt::format(R"("properties":{{"t":{}}})", what); }

const std::string k_embeds =
    R"({"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true})";
const std::string k_open = R"({"type":"object","x-kubernetes-preserve-unknown-fields":true})";
const std::string k_text = R"({"type":"string"})";
const std::string k_list = R"({"type":"array","items":)";

std::string spec(std::initializer_list<std::string> schemas) {
  std::string versions;
  int n = 0;
  for (const auto& each : schemas) {
    versions += fmt::format(R"({}{{"name":"v{}","schema":{{"openAPIV3Schema":{}}}}})",
                            n == 0 ? "" : ",", n + 1, each);
    ++n;
  }
  return R"({"versions":[)" + versions + "]}";
}

/// "": it may be.
std::string judge(const std::string& after, const std::string& before = {}) {
  const auto is = translate::JsonTree::parse(after);
  REQUIRE(is);
  if (before.empty()) {
    const auto done = check_schemas(is->root(), {});
    return done ? std::string() : done.error().message();
  }
  const auto was = translate::JsonTree::parse(before);
  REQUIRE(was);
  const auto done = check_schemas(is->root(), was->root());
  return done ? std::string() : done.error().message();
}

bool refused(const std::string& said) { return said.find("rule definition-schemas") != said.npos; }

std::string definition(std::string_view metadata, std::string_view status) {
  return fmt::format(
      R"({{"metadata":{{"name":"x.example.com"{}}},"spec":{{"versions":[{{"name":"v1alpha1","served":true,"storage":false}},{{"name":"v1","served":true,"storage":true}}]}},"status":{{{}}}}})",
      metadata, status);
}

Result<DefinitionWrite> write(const std::string& before, const std::string& after,
                              bool status = true) {
  const auto target = translate::parse_target("PUT", k_path + (status ? "/status" : ""));
  REQUIRE(target);
  return judge_definition(*target, before, after);
}

} // namespace

TEST_CASE("a place is an embedded resource in every version that keeps it, or in none") {
  CHECK(judge(spec({schema(t(k_embeds))})).empty());
  CHECK(judge(spec({schema(t(k_embeds)), schema(t(k_embeds))})).empty());
  CHECK(judge(spec({schema(t(k_open)), schema(t(k_open))})).empty());
  // What the other prunes, or holds a text in, it cannot have stored.
  CHECK(judge(spec({schema(t(k_embeds)), schema(R"("properties":{})")})).empty());
  CHECK(judge(spec({schema(t(k_embeds)), schema(t(k_text))})).empty());
  CHECK(judge(spec({schema(t(k_embeds)), R"({"type":"object"})"})).empty());
  // What it keeps, by whatever words, it can.
  for (const auto& other : {
           schema(t(k_open)),
           schema(t(R"({"x-kubernetes-preserve-unknown-fields":true})")),
           schema(R"("x-kubernetes-preserve-unknown-fields":true)"),
           schema(R"("additionalProperties":)" + k_open),
           schema(R"("additionalProperties":true)"),
           k_open,
       }) {
    CAPTURE(other);
    CHECK(refused(judge(spec({schema(t(k_embeds)), other}))));
    CHECK(refused(judge(spec({other, schema(t(k_embeds))}))));
  }
  // Of lists and maps the elements.
  const auto listed = schema(t(k_list + k_embeds + "}"));
  CHECK(judge(spec({listed, listed})).empty());
  CHECK(refused(judge(spec({listed, schema(t(k_list + k_open + "}"))}))));
  const auto mapped = schema(R"("additionalProperties":)" + k_embeds);
  CHECK(judge(spec({mapped, mapped})).empty());
  CHECK(judge(spec({mapped, schema(t(k_embeds))})).empty());
  CHECK(refused(judge(spec({mapped, schema(t(k_open))}))));
  // Keys may be spelt with escapes.
  const std::string escaped =
      R"({"type":"object","x-kubernetes-embedded\u002dresource":true,"x-kubernetes-preserve-unknown-fields":true})";
  CHECK(refused(judge(spec({schema(t(escaped)), schema(t(k_open))}))));
  CHECK(judge(spec({schema(t(k_embeds)), schema(t(k_open))})).find(".spec.t is an embedded") !=
        std::string::npos);
}

TEST_CASE("nothing becomes an embedded resource later") {
  const auto with = schema(t(k_embeds)), without = schema(R"("properties":{})");
  CHECK(judge(spec({with}), spec({with})).empty());
  CHECK(judge(spec({with, with}), spec({with})).empty());
  CHECK(judge(spec({with, with}), spec({with, without})).empty());
  CHECK(judge(spec({without}), spec({with})).empty());
  CHECK(refused(judge(spec({with}), spec({schema(t(k_open))}))));
  // It may have been kept there before it was left out.
  CHECK(refused(judge(spec({with}), spec({without}))));
}

TEST_CASE("selectable fields are named by plain words") {
  const auto selects = [](std::string_view path) {
    return judge(fmt::format(
        R"({{"versions":[{{"name":"v1"}},{{"name":"v2","selectableFields":[{{"jsonPath":".spec.a"}},{{"jsonPath":{}}}]}}]}})",
        path));
  };
  for (const auto* path : {R"(".spec.color")", R"(".a_b.c-d.E1")", R"("")"}) {
    CAPTURE(path);
    CHECK(selects(path).empty());
  }
  for (const auto* path : {R"(".spec.*")", R"(".spec.a}b")", R"(".spec.a{")", R"(".spec.a b")",
                           R"(".spec..a")", R"("spec.a")", R"(".spec.")", R"(".")", R"(".a\\b")",
                           R"(".spec.a[0]")", R"(".spec.\u002a")", R"(".spec.$")"}) {
    CAPTURE(path);
    CHECK(refused(selects(path)));
  }
}

TEST_CASE("embedded resources are bounded") {
  std::string deep = k_embeds;
  for (int i = 0; i < 140; ++i)
    deep = R"({"type":"object","properties":{"a":)" + deep + "}}";
  CHECK(refused(judge(spec({deep}))));
  std::string many;
  for (std::size_t i = 0; i <= k_max_embedded; ++i)
    many += fmt::format(R"({}"p{}":{})", i == 0 ? "" : ",", i, k_embeds);
  CHECK(refused(judge(spec({schema(R"("properties":{)" + many + "}")}))));
}

TEST_CASE("a status keeps what upstream's controllers write there") {
  const auto before = definition(
      "",
      R"("conditions":[{"type":"Established","status":"True"},{"type":"mine","status":"a"}],"acceptedNames":{"plural":"xs"},"storedVersions":["v1alpha1","v1"])");
  auto done = write(
      before,
      definition(
          "",
          R"("conditions":[{"message":"patched"}],"acceptedNames":{},"storedVersions":["v1alpha1","v1"])"));
  REQUIRE(done);
  CHECK(done->dropped.empty());
  CHECK(
      done->body ==
      definition(
          "",
          R"("conditions":[{"type":"Established","status":"True"},{"message":"patched"}],"acceptedNames":{"plural":"xs"},"storedVersions":["v1alpha1","v1"])"));
  // Upstream would put the storage version alone for none.
  for (const auto* status : {R"("conditions":[],"storedVersions":[])", R"("conditions":[])",
                             R"("storedVersions":null)"}) {
    CAPTURE(status);
    done = write(before, definition("", status));
    REQUIRE(done);
    CHECK(done->dropped.empty());
    CHECK(done->body.find(R"("storedVersions":["v1alpha1","v1"])") != std::string::npos);
    CHECK(done->body.find(R"("acceptedNames":{"plural":"xs"})") != std::string::npos);
    CHECK(done->body.find(R"({"type":"Established","status":"True"})") != std::string::npos);
  }
  done = write(before, R"({"metadata":{"name":"x.example.com"},"spec":{}})");
  REQUIRE(done);
  CHECK(done->body.find(R"("storedVersions":["v1alpha1","v1"])") != std::string::npos);
}

TEST_CASE("stored versions are dropped alone, and never the storage version") {
  const auto before = definition("", R"("storedVersions":["v1alpha1","v1"])");
  auto done = write(before, definition(R"(,"labels":{"a":"b"})", R"("storedVersions":["v1"])"));
  REQUIRE(done);
  CHECK(done->dropped == std::vector<std::string>{"v1alpha1"});
  CHECK(done->body == definition("", R"("storedVersions":["v1"])"));
  done = write(before, definition("", R"("storedVersions":["v1alpha1"])"));
  REQUIRE_FALSE(done);
  CHECK(done.error().code() == Code::forbidden);
  CHECK(done.error().message().find("rule stored-versions") != std::string::npos);
}

TEST_CASE("who deletes a definition does not keep its objects") {
  const std::string cleans =
      R"(,"finalizers":["a/b","customresourcecleanup.apiextensions.k8s.io"])";
  const std::string kept = R"(,"finalizers":["a/b"])";
  const std::string goes = R"(,"deletionTimestamp":"2026-01-01T00:00:00Z")";
  const std::string status = R"("storedVersions":["v1"])";
  for (const bool of_status : {false, true}) {
    CAPTURE(of_status);
    const auto done =
        write(definition(goes + cleans, status), definition(goes + kept, status), of_status);
    REQUIRE_FALSE(done);
    CHECK(done.error().message().find("rule definition-cleanup") != std::string::npos);
    CHECK(write(definition(goes + cleans, status), definition(goes + cleans, status), of_status));
    // Upstream adds it when the deletion is asked for.
    CHECK(write(definition(cleans, status), definition(kept, status), of_status));
  }
}

TEST_CASE("a definition is as old as its generation was seen") {
  DefinitionAges ages;
  const DefinitionAges::Clock::time_point start{};
  const auto at = [&](int seconds) { return start + std::chrono::seconds(seconds); };
  CHECK(ages.age("a", 1, at(0)).count() == 0);
  CHECK(ages.age("a", 1, at(70)) == std::chrono::seconds(70));
  CHECK(ages.age("a", 2, at(80)).count() == 0);
  CHECK(ages.age("b", 2, at(80)).count() == 0);
  CHECK(ages.age("a", 2, at(90)) == std::chrono::seconds(10));
  // It forgets what it has known for longest.
  for (int i = 0; i < 4096; ++i)
    ages.age("n" + std::to_string(i), 1, at(100));
  CHECK(ages.age("n4095", 1, at(110)) == std::chrono::seconds(10));
  CHECK(ages.age("a", 2, at(110)).count() == 0);
}

TEST_CASE("of very many versions only those with an embedded resource are compared with others") {
  std::string rest;
  for (int i = 0; i < 100'000; ++i)
    rest += ",{}";
  const auto all = [&](std::string_view first) {
    return R"({"versions":[)" + std::string(first) + rest + "]}";
  };
  CHECK(judge(all(R"({"name":"v1","schema":{"openAPIV3Schema":{}}})")) == "");
  // What has no schema takes what the others hold.
  CHECK(judge(all(R"({"name":"v1","schema":{"openAPIV3Schema":{"type":"object","properties":)"
                  R"({"a":{"type":"object","x-kubernetes-embedded-resource":true}}}}})")) == "");
}
