// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/conflicts.hpp"
#include "daemon/translate/patch.hpp"
#include "daemon/translate/relay_form.hpp"
#include "daemon/translate/relay_patch.hpp"
#include "tests/unit/translate/relay_world.hpp"

#include <doctest/doctest.h>

namespace zoo::translate {
namespace {

using test::guard;
using test::Json;
using test::relay;
using test::sent;

constexpr std::string_view k_group = test::k_admission_group;
constexpr std::string_view k_validating = "ValidatingWebhookConfiguration";
constexpr std::string_view k_definition = "CustomResourceDefinition";
constexpr std::string_view k_definitions = "apiextensions.k8s.io";

const Root& guard_root() { return root_of(k_group, k_validating); }

std::string url_of(const HookName& name) { return relay().base + relay_path(relay(), name); }

Json shown(std::string_view stored) {
  const auto out = sent(Direction::outward, k_group, k_validating, stored, nullptr);
  return out ? Json::parse(*out) : Json(out.error().message());
}

std::string proof(std::string_view stored, const Relay* through = &relay()) {
  const auto out = sent(Direction::prove, k_group, k_validating, stored, through);
  return out ? "" : out.error().message();
}

std::string annotation(Held held) { return held_annotation(held, "a.guard.test"); }

/// A version upstream has.
Json versioned(Json object) {
  object["metadata"]["resourceVersion"] = "7";
  return object;
}

TEST_CASE("a path says whom it is for, and nobody else can make one") {
  const auto path = relay_path(relay(), guard());
  CHECK(path.starts_with("/w/abc123/validating/abc123-guard/a.guard.test/"));
  const auto parsed = parse_relay_path(relay(), path);
  REQUIRE(parsed);
  CHECK(parsed->id == "abc123");
  CHECK(parsed->hook == Hook::validating);
  CHECK(parsed->object == "abc123-guard");
  CHECK(parsed->webhook == "a.guard.test");

  const HookName conversion{"abc123", Hook::conversion, "ws.abc123-w.test", ""};
  const auto converts = relay_path(relay(), conversion);
  CHECK(converts.starts_with("/w/abc123/conversion/ws.abc123-w.test/-/"));
  REQUIRE(parse_relay_path(relay(), converts));
  CHECK(parse_relay_path(relay(), converts)->webhook.empty());

  auto forged = path;
  forged.back() = forged.back() == 'A' ? 'B' : 'A';
  CHECK_FALSE(parse_relay_path(relay(), forged));
  auto other = path;
  other.replace(other.find("abc123"), 6, "zzz999");
  CHECK_FALSE(parse_relay_path(relay(), other));
  for (const std::string& wrong : {std::string(), std::string("/w/"), path + "/", path + "x",
                                   path.substr(1), path + "?a=b", path.substr(0, path.rfind('/')),
                                   std::string("/w/abc123/deleting/x/y/z"), std::string(5000, '/')})
    CHECK_FALSE(parse_relay_path(relay(), wrong));
  const Relay another{relay().base, relay().ca_pem, Secret::copy_of("another key")};
  CHECK_FALSE(parse_relay_path(another, path));
}

TEST_CASE("a webhook of a Service has the relay's address, and is shown as it was written") {
  const auto stored = Json::parse(test::stored_guard());
  const auto& config = stored["webhooks"][0]["clientConfig"];
  CHECK(config == Json{{"url", url_of(guard())},
                       {"caBundle", "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCnpvb2QK"}});
  const auto& held = stored["metadata"]["annotations"];
  CHECK(held[annotation(Held::name)] == Json(std::string("hook")));
  CHECK(held[annotation(Held::name_space)] == Json(std::string("abc123-shop")));
  CHECK(held[annotation(Held::path)] == Json(std::string("/validate")));
  CHECK(held[annotation(Held::port)] == Json(std::string("443"))); // apiserver's default
  CHECK(held[annotation(Held::authority)] == Json(std::string("Q0E=")));
  CHECK(proof(stored.dump()) == "");

  auto wanted = Json::parse(test::k_configuration);
  wanted["webhooks"][0]["clientConfig"]["service"]["port"] = 443; // apiserver's default
  auto seen = shown(stored.dump());
  seen["webhooks"][0].erase("namespaceSelector"); // which apiserver shows as {}
  if (seen["metadata"].contains("annotations")) CHECK(seen["metadata"]["annotations"].empty());
  seen["metadata"].erase("annotations");
  CHECK(seen == wanted);
}

TEST_CASE("a relay's address is proven to be the webhook's own") {
  auto stored = Json::parse(test::stored_guard());
  CHECK(proof(stored.dump(), nullptr).find("a relay that is not its own") != std::string::npos);
  auto& url = stored["webhooks"][0]["clientConfig"]["url"];
  auto forged = url.get<std::string>();
  forged.back() = forged.back() == 'A' ? 'B' : 'A';
  url = forged;
  CHECK(proof(stored.dump()).find("a relay that is not its own") != std::string::npos);
  // Another host is no relay: such a webhook must have no effect.
  url = "https://evil.test/w/abc123/validating/abc123-guard/other/x";
  CHECK(proof(stored.dump()).find("URL") != std::string::npos);
  url = url_of({"abc123", Hook::validating, "abc123-guard", "b.guard.test"});
  CHECK(proof(stored.dump()).find("URL") != std::string::npos);
  // The Service behind the right address must be the tenant's.
  url = url_of(guard());
  stored["metadata"]["annotations"][annotation(Held::name_space)] = "zzz999-shop";
  CHECK(proof(stored.dump()).find("outside the tenant") != std::string::npos);
}

TEST_CASE("a Service that upstream would refuse is refused in its words") {
  const auto refusal = [](const Json& service) {
    auto object = Json::parse(test::k_configuration);
    object["webhooks"][0]["clientConfig"]["service"] = service;
    const auto out = sent(Direction::inward, k_group, k_validating, object.dump(), &relay());
    return out ? std::string() : out.error().message();
  };
  const auto has = [](const std::string& text, std::string_view part) {
    CAPTURE(text);
    CHECK(text.find(part) != std::string::npos);
  };
  has(refusal({{"namespace", "shop"}}), "webhooks[0].clientConfig.service.name: Required value");
  has(refusal({{"name", "a"}}), "service.namespace: Required value");
  has(refusal({{"name", "A/b"}, {"namespace", "shop"}}), "no Service can be called so");
  has(refusal({{"name", "a"}, {"namespace", "shop"}, {"port", 70000}}), "port is not valid");
  has(refusal({{"name", "a"}, {"namespace", "shop"}, {"path", "x"}}), "must start with a '/'");
  has(refusal({{"name", "a"}, {"namespace", "shop"}, {"path", "/a//b"}}), "segment[1]");
  has(refusal({{"name", "a"}, {"namespace", "shop"}, {"path", "/a?b=c"}}), "segment[0]");
  CHECK(refusal({{"name", "a"}, {"namespace", "shop"}, {"path", "/a/b/"}}).empty());
  auto generated = Json::parse(test::k_configuration);
  generated["metadata"] = {{"generateName", "guard-"}};
  const auto out = sent(Direction::inward, k_group, k_validating, generated.dump(), &relay());
  REQUIRE_FALSE(out);
  has(out.error().message(), "rule webhook-names");
}

TEST_CASE("what is applied by two managers stays apart") {
  // cert-manager's cainjector: the name and the authority alone.
  const std::string injected =
      R"({"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingWebhookConfiguration",)"
      R"("metadata":{"name":"guard"},"webhooks":[{"name":"a.guard.test",)"
      R"("clientConfig":{"caBundle":"Q0E="}}]})";
  const auto names = test::tenant();
  const auto out =
      patch_in(guard_root(), names, BodyFormat::apply_patch, injected, {}, true, &relay());
  REQUIRE(out);
  const auto applied = Json::parse(*out);
  CHECK_FALSE(applied["webhooks"][0].contains("clientConfig"));
  CHECK(applied["metadata"]["annotations"] == Json{{annotation(Held::authority), "Q0E="}});
}

TEST_CASE("who owns a Service or an authority owns it in both forms") {
  auto stored = Json::parse(test::stored_guard());
  const std::string hook = R"(k:{"name":"a.guard.test"})";
  stored["metadata"]["managedFields"] = Json::parse(R"([
    {"manager":"helm","operation":"Apply","apiVersion":"admissionregistration.k8s.io/v1",
     "fieldsType":"FieldsV1","fieldsV1":{}},
    {"manager":"injector","operation":"Apply","apiVersion":"admissionregistration.k8s.io/v1",
     "fieldsType":"FieldsV1","fieldsV1":{}}])");
  auto& helm = stored["metadata"]["managedFields"][0]["fieldsV1"];
  for (const auto held : {Held::name, Held::name_space, Held::path})
    helm["f:metadata"]["f:annotations"]["f:" + annotation(held)] = Json::object();
  helm["f:webhooks"][hook] = {
      {".", Json::object()},
      {"f:name", Json::object()},
      {"f:clientConfig", {{"f:url", Json::object()}, {"f:caBundle", Json::object()}}}};
  auto& injector = stored["metadata"]["managedFields"][1]["fieldsV1"];
  injector["f:metadata"]["f:annotations"]["f:" + annotation(Held::authority)] = Json::object();
  injector["f:webhooks"][hook] = {{".", Json::object()}, {"f:name", Json::object()}};

  const auto seen = shown(stored.dump());
  const auto& fields = seen["metadata"]["managedFields"];
  REQUIRE(fields.size() == 2);
  CHECK(fields[0]["fieldsV1"]["f:webhooks"][hook]["f:clientConfig"] ==
        Json::parse(R"({"f:service":{"f:name":{},"f:namespace":{},"f:path":{}}})"));
  CHECK(fields[1]["fieldsV1"]["f:webhooks"][hook]["f:clientConfig"] ==
        Json::parse(R"({"f:caBundle":{}})"));
  CHECK_FALSE(fields[0]["fieldsV1"].contains("f:metadata"));

  const auto back = sent(Direction::inward, k_group, k_validating, seen.dump(), &relay());
  REQUIRE(back);
  CHECK(Json::parse(*back)["metadata"]["managedFields"] == stored["metadata"]["managedFields"]);
}

TEST_CASE("who creates a webhook otherwise owns its parts, and who changes one of them that one") {
  auto stored = Json::parse(test::stored_guard());
  const std::string hook = R"(k:{"name":"a.guard.test"})";
  stored["metadata"]["managedFields"] = Json::parse(R"([
    {"manager":"create","operation":"Update","apiVersion":"admissionregistration.k8s.io/v1",
     "fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:annotations":{".":{}}}}},
    {"manager":"edit","operation":"Update","apiVersion":"admissionregistration.k8s.io/v1",
     "fieldsType":"FieldsV1","fieldsV1":{}}])");
  auto& create = stored["metadata"]["managedFields"][0]["fieldsV1"];
  for (const auto held : {Held::name, Held::name_space, Held::path, Held::authority})
    create["f:metadata"]["f:annotations"]["f:" + annotation(held)] = Json::object();
  create["f:webhooks"][hook]["f:clientConfig"] = {
      {".", Json::object()}, {"f:url", Json::object()}, {"f:caBundle", Json::object()}};
  auto& edit = stored["metadata"]["managedFields"][1]["fieldsV1"];
  edit["f:metadata"]["f:annotations"]["f:" + annotation(Held::port)] = Json::object();
  const auto seen = shown(stored.dump());
  const auto& fields = seen["metadata"]["managedFields"];
  REQUIRE(fields.size() == 2);
  CHECK(fields[0]["fieldsV1"] ==
        Json::parse(R"({"f:webhooks":{"k:{\"name\":\"a.guard.test\"}":{"f:clientConfig":{".":{},)"
                    R"("f:caBundle":{},"f:service":{".":{},"f:name":{},"f:namespace":{},)"
                    R"("f:path":{}}}}}})"));
  CHECK(fields[1]["fieldsV1"]["f:webhooks"][hook] ==
        Json::parse(R"({"f:clientConfig":{"f:service":{"f:port":{}}}})"));
}

TEST_CASE("conflicts over annotations of webhooks are told as what they stand for") {
  const auto stored = versioned(Json::parse(test::stored_guard()));
  const auto told = [&](const std::string& field) {
    const Json refusal = {{"kind", "Status"},
                          {"details",
                           {{"causes",
                             {{{"reason", "FieldManagerConflict"},
                               {"message", "conflict with \"helm\""},
                               {"field", field}}}}}}};
    const auto out =
        judge_conflicts(test::tenant(), guard_root(), refusal.dump(), "{}", stored.dump());
    return out ? Json::parse(*out)["details"]["causes"][0]["field"].get<std::string>() : "taken";
  };
  CHECK(told(".metadata.annotations." + annotation(Held::authority)) ==
        R"(.webhooks[name="a.guard.test"].clientConfig.caBundle)");
  CHECK(told(".metadata.annotations." + annotation(Held::port)) ==
        R"(.webhooks[name="a.guard.test"].clientConfig.service.port)");
  CHECK(told(R"(.webhooks[name="a.guard.test"].clientConfig.url)") == "taken");
}

TEST_CASE("a stored object changes its form, and back, with who owns its fields") {
  const auto names = test::tenant();
  auto relayed = versioned(Json::parse(test::stored_guard()));
  const auto same = restate(names, Hook::validating, &relay(), relayed.dump());
  REQUIRE(same);
  CHECK_FALSE(*same);
  const auto direct = restate(names, Hook::validating, nullptr, relayed.dump());
  REQUIRE(direct);
  REQUIRE(*direct);
  const auto stated = Json::parse(**direct);
  CHECK(stated["webhooks"][0]["clientConfig"] ==
        Json::parse(R"({"service":{"name":"hook","namespace":"abc123-shop","path":"/validate",)"
                    R"("port":443},"caBundle":"Q0E="})"));
  CHECK(stated["metadata"]["annotations"].empty());
  CHECK_FALSE(*restate(names, Hook::validating, nullptr, **direct));
  const auto again = restate(names, Hook::validating, &relay(), **direct);
  REQUIRE(again);
  REQUIRE(*again);
  CHECK(Json::parse(**again) == relayed);
  // At another address.
  const Relay moved{"https://192.0.2.9:7444", "other", relay().key.clone()};
  const auto there = restate(names, Hook::validating, &moved, relayed.dump());
  REQUIRE(there);
  REQUIRE(*there);
  CHECK(Json::parse(**there)["webhooks"][0]["clientConfig"]["url"].get<std::string>().starts_with(
      "https://192.0.2.9:7444/w/abc123/"));
}

TEST_CASE("the relay learns where a webhook is") {
  const auto names = test::tenant();
  const auto target = hook_target(names, guard(), test::stored_guard());
  REQUIRE(target);
  CHECK(target->name_space == "abc123-shop");
  CHECK(target->server == "hook.shop.svc");
  CHECK(target->service == "hook");
  CHECK(target->path == "/validate");
  CHECK(target->port == 443);
  CHECK(target->ca_pem == "CA");
  CHECK(target->seconds == 10);
  auto other = guard();
  other.webhook = "b.guard.test";
  CHECK(hook_target(names, other, test::stored_guard()).error().code() == Code::not_found);
  auto foreign = Json::parse(test::stored_guard());
  foreign["metadata"]["annotations"][annotation(Held::name_space)] = "zzz999-shop";
  CHECK(hook_target(names, guard(), foreign.dump()).error().code() == Code::forbidden);
}

/// What upstream makes of a merge patch, near enough of a strategic one of one webhook.
Json merged(const Json& stored, const Json& patch) {
  auto out = stored;
  auto flat = patch;
  if (flat.contains("webhooks")) {
    out["webhooks"][0].merge_patch(flat["webhooks"][0]);
    flat.erase("webhooks");
  }
  out.merge_patch(flat);
  return out;
}

TEST_CASE("a strategic patch of one member is completed by what is stored") {
  const auto names = test::tenant();
  const auto stored = versioned(Json::parse(test::stored_guard()));
  const auto after = [&](const std::string& patch) {
    const auto out = relayed_patch_in(guard_root(), names, relay(), BodyFormat::strategic_patch,
                                      patch, stored.dump());
    if (!out) return Json(out.error().message());
    const auto result = merged(stored, Json::parse(*out));
    CHECK(proof(result.dump()) == "");
    CHECK_FALSE(*settle(guard_root(), names, result.dump(), &relay(), stored.dump()));
    return shown(result.dump())["webhooks"][0]["clientConfig"];
  };
  CHECK(after(R"({"webhooks":[{"name":"a.guard.test","clientConfig":{"caBundle":"TkVX"}}]})") ==
        Json::parse(R"({"caBundle":"TkVX","service":{"name":"hook","namespace":"shop",)"
                    R"("path":"/validate","port":443}})"));
  CHECK(after(R"({"webhooks":[{"name":"a.guard.test","clientConfig":{"service":{"path":"/v2",)"
              R"("port":8443}}}]})") ==
        Json::parse(R"({"caBundle":"Q0E=","service":{"name":"hook","namespace":"shop",)"
                    R"("path":"/v2","port":8443}})"));
  CHECK(after(R"({"webhooks":[{"name":"a.guard.test","clientConfig":{"caBundle":null}}]})") ==
        Json::parse(R"({"service":{"name":"hook","namespace":"shop","path":"/validate",)"
                    R"("port":443}})"));
  CHECK(after(R"({"metadata":{"annotations":null},"webhooks":[{"name":"a.guard.test",)"
              R"("clientConfig":{"service":{"name":"other"}}}]})")["service"]["name"] ==
        Json(std::string("other")));
  CHECK(after(R"({"metadata":{"labels":{"a":"b"}}})")["caBundle"] == Json(std::string("Q0E=")));
}

TEST_CASE("annotations that a patch takes away as a whole are given back") {
  const auto names = test::tenant();
  const auto stored = versioned(Json::parse(test::stored_guard()));
  auto result = stored;
  result["metadata"].erase("annotations");
  const auto settled = settle(guard_root(), names, result.dump(), &relay(), stored.dump());
  REQUIRE(settled);
  REQUIRE(*settled);
  CHECK(proof(**settled) == "");
  CHECK(shown(**settled)["webhooks"][0]["clientConfig"]["service"]["name"] ==
        Json(std::string("hook")));
}

TEST_CASE("a JSON patch is applied to what the tenant sees") {
  const auto names = test::tenant();
  const auto stored = versioned(Json::parse(test::stored_guard()));
  const auto after = [&](const std::string& patch) {
    const auto out = relayed_patch_in(guard_root(), names, relay(), BodyFormat::json_patch, patch,
                                      stored.dump());
    if (!out) return Json(out.error().message());
    const auto result = stored.patch(Json::parse(*out));
    CHECK(proof(result.dump()) == "");
    CHECK_FALSE(*settle(guard_root(), names, result.dump(), &relay(), stored.dump()));
    return shown(result.dump());
  };
  const std::string at = "/webhooks/0/clientConfig";
  CHECK(after(R"([{"op":"test","path":")" + at +
              R"(/caBundle","value":"Q0E="},)"
              R"({"op":"replace","path":")" +
              at + R"(/caBundle","value":"TkVX"}])")["webhooks"][0]["clientConfig"]["caBundle"] ==
        Json(std::string("TkVX")));
  CHECK(
      after(
          R"([{"op":"replace","path":")" + at +
          R"(/service/path","value":"/v2"}])")["webhooks"][0]["clientConfig"]["service"]["path"] ==
      Json(std::string("/v2")));
  CHECK(after(R"([{"op":"remove","path":")" + at + R"(/caBundle"}])")["webhooks"][0]["clientConfig"]
            .contains("caBundle") == false);
  CHECK(
      after(R"([{"op":"add","path":"/metadata/annotations","value":{"a":"b"}}])")["metadata"]
                                                                                 ["annotations"] ==
      Json{{"a", "b"}});
  CHECK(after(R"([{"op":"test","path":")" + at + R"(/service/name","value":"x"}])")
            .get<std::string>()
            .find("failed") != std::string::npos);
  CHECK(after(R"([{"op":"replace","path":")" + at + R"(/url","value":"https://x.test"}])")
            .get<std::string>()
            .find("there is nothing at") != std::string::npos);
  CHECK(after(R"([{"op":"add","path":"/metadata/annotations","value":)"
              R"({"zoo.kubezoo.io/webhook-ca.x":"y"}}])")
            .get<std::string>()
            .find("reserved") != std::string::npos);
}

TEST_CASE("a definition is converted through the relay") {
  const std::string own =
      R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",)"
      R"("metadata":{"name":"ws.w.test"},"spec":{"group":"w.test","names":{"plural":"ws",)"
      R"("kind":"W"},"scope":"Namespaced","versions":[],"conversion":{"strategy":"Webhook",)"
      R"("webhook":{"conversionReviewVersions":["v1"],"clientConfig":{"caBundle":"Q0E=",)"
      R"("service":{"name":"hook","namespace":"shop","port":8443}}}}}})";
  const auto stored = sent(Direction::inward, k_definitions, k_definition, own, &relay());
  REQUIRE(stored);
  const auto upstream = Json::parse(*stored);
  const HookName name{"abc123", Hook::conversion, "ws.abc123-w.test", ""};
  CHECK(upstream["spec"]["conversion"]["webhook"]["clientConfig"]["url"] == Json(url_of(name)));
  CHECK(sent(Direction::prove, k_definitions, k_definition, *stored, &relay()));
  const auto back = sent(Direction::outward, k_definitions, k_definition, *stored, nullptr);
  REQUIRE(back);
  CHECK(Json::parse(*back)["spec"] == Json::parse(own)["spec"]);
  const auto target = hook_target(test::tenant(), name, *stored);
  REQUIRE(target);
  CHECK(target->port == 8443);
  // A URL of the tenant's own stays refused.
  auto by_url = Json::parse(own);
  by_url["spec"]["conversion"]["webhook"]["clientConfig"] = {{"url", "https://x.test"}};
  CHECK_FALSE(sent(Direction::inward, k_definitions, k_definition, by_url.dump(), &relay()));
}

} // namespace
} // namespace zoo::translate
