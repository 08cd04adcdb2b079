// SPDX-License-Identifier: Apache-2.0
#include "common/kube/age.hpp"
#include "daemon/admin/tenant_kind.hpp"
#include "daemon/resources/body.hpp"
#include "daemon/resources/fields.hpp"
#include "daemon/resources/negotiate.hpp"
#include "daemon/resources/openapi.hpp"
#include "daemon/resources/selectors.hpp"
#include "tests/unit/admin/world.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using nlohmann::json;
using namespace zoo;
using namespace zoo::resources;

namespace {

/// The row of Tenant, over a service that nobody asks.
const Kind& kind() {
  static admin::test::FakeTenants tenants;
  static const auto row = admin::tenant_kind(tenants);
  return *row;
}

json openapi_of(bool v3) {
  const KindPtr row(KindPtr(), &kind());
  return v3 ? openapi_v3({&row, 1}, "x") : openapi_v2({&row, 1}, "x");
}

Result<Request> parse(const std::string& target) {
  http::RequestHead head;
  head.method = "GET";
  head.target = target;
  return parse_request(head);
}

bool selects(std::string_view labels, std::map<std::string, std::string> of,
             std::string_view fields = "") {
  api::Tenant tenant;
  tenant.id = "foofoo";
  tenant.phase = api::Phase::ready;
  tenant.labels = std::move(of);
  const auto selectors = Selectors::parse(kind(), labels, fields);
  REQUIRE(selectors);
  return selectors->matches(api::to_json(tenant));
}

} // namespace

TEST_CASE("a path is split and decoded once") {
  const auto request = parse("/apis/x%2Dy/?limit=5&labelSelector=a%3Db,c+d&watch");
  REQUIRE(request);
  CHECK(request->segments == std::vector<std::string>{"apis", "x-y"});
  CHECK(request->parameter("labelSelector") == "a=b,c d");
  CHECK(*request->number("limit") == 5);
  CHECK(request->has("watch"));
  CHECK(parse("/")->segments.empty());
}

TEST_CASE("odd paths are refused") {
  for (const char* target : {"/apis//x", "/apis/../x", "/apis/./x", "/apis/a%2fb", "/apis/a%2Fb",
                             "/apis/%00", "/apis/%zz", "/apis/%4", "//", "*", "/a?x=%g1"}) {
    CAPTURE(target);
    const auto request = parse(target);
    REQUIRE_FALSE(request);
    CHECK(request.error().code() == Code::bad_request);
  }
  CHECK_FALSE(parse("/x?limit=-1")->number("limit"));
  CHECK_FALSE(parse("/x?limit=1e3")->number("limit"));
  CHECK_FALSE(parse("/x?watch=maybe")->flag("watch"));
}

TEST_CASE("bodies: JSON and YAML in, everything broken out") {
  std::vector<std::string> duplicates;
  CHECK(parse_body(R"({"a":1})", "", duplicates));
  CHECK(parse_body(R"({"a":1})", "application/json; charset=utf-8", duplicates));
  CHECK(*parse_body("a: {b: [1]}", "application/yaml", duplicates) == json{{"a", {{"b", {1}}}}});
  CHECK(duplicates.empty());
  CHECK(*parse_body(R"({"a":1,"b":{"c":1,"c":2}})", "application/json", duplicates) ==
        json{{"a", 1}, {"b", {{"c", 2}}}});
  CHECK(duplicates == std::vector<std::string>{"b.c"});

  const auto code = [&](std::string_view text, std::string_view type) {
    const auto out = parse_body(text, type, duplicates);
    REQUIRE_FALSE(out);
    return out.error().code();
  };
  CHECK(code("", "application/json") == Code::bad_request);
  CHECK(code("{\"a\":", "application/json") == Code::bad_request);
  CHECK(code("{\"a\":1} x", "application/json") == Code::bad_request);
  CHECK(code("{\"a\":\"\xff\"}", "application/json") == Code::bad_request);
  CHECK(code(std::string(10000, '['), "application/json") == Code::bad_request);
  CHECK(code(std::string(10000, '[') + std::string(10000, ']'), "application/json") ==
        Code::bad_request);
  CHECK(code(std::string(10000, '['), "application/yaml") != Code::internal);
  CHECK(code("a: b: c", "application/yaml") == Code::bad_request);
  CHECK(code("k8s\0", "application/vnd.kubernetes.protobuf") == Code::unsupported_media_type);
}

TEST_CASE("selectors hold as Kubernetes' do") {
  CHECK(selects("", {}));
  CHECK(selects("a=1", {{"a", "1"}}));
  CHECK(selects("a == 1 , b", {{"a", "1"}, {"b", ""}}));
  CHECK_FALSE(selects("a=1", {{"a", "2"}}));
  CHECK(selects("a!=1", {}));
  CHECK_FALSE(selects("a!=1", {{"a", "1"}}));
  CHECK(selects("a in (1, 2)", {{"a", "2"}}));
  CHECK_FALSE(selects("a in (1,2)", {}));
  CHECK(selects("a notin (1,2)", {}));
  CHECK(selects("!a", {}));
  CHECK(selects("! a", {{"b", "1"}}));
  CHECK_FALSE(selects("!a", {{"a", ""}}));
  CHECK(selects("", {}, "metadata.name=foofoo,status.phase==Ready"));
  CHECK_FALSE(selects("", {}, "metadata.name!=foofoo"));
  for (const char* bad : {"a in 1", "a near (1)", "a in (1", "=1", ",", "a b", "!"}) {
    CAPTURE(bad);
    CHECK_FALSE(Selectors::parse(kind(), bad, ""));
  }
  for (const char* bad : {"spec.x=1", "metadata.name", "=a"}) {
    CAPTURE(bad);
    CHECK_FALSE(Selectors::parse(kind(), "", bad));
  }
}

TEST_CASE("the first shape of Accept that can be made is made") {
  CHECK(negotiate("", true)->shape == Shape::object);
  CHECK(negotiate("*/*", true)->shape == Shape::object);
  const auto table =
      negotiate("application/json;as=Table;v=v1;g=meta.k8s.io,application/json", true);
  CHECK(table->shape == Shape::table);
  CHECK(negotiate("application/json;as=Table;v=v9;g=meta.k8s.io,application/json", true)->shape ==
        Shape::object);
  CHECK(negotiate("application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,"
                  "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
                  true)
            ->shape == Shape::metadata);
  CHECK(negotiate("application/yaml", true)->yaml);
  const auto none = negotiate("application/vnd.kubernetes.protobuf", true);
  REQUIRE_FALSE(none);
  CHECK(none.error().code() == Code::not_acceptable);
}

TEST_CASE("ages read as kubectl's") {
  const std::pair<std::int64_t, const char*> cases[] = {{-5, "<invalid>"},
                                                        {0, "0s"},
                                                        {119, "119s"},
                                                        {120, "2m"},
                                                        {605, "10m"},
                                                        {190, "3m10s"},
                                                        {3 * 3600, "3h"},
                                                        {3 * 3600 + 300, "3h5m"},
                                                        {9 * 3600, "9h"},
                                                        {48 * 3600, "2d"},
                                                        {49 * 3600, "2d1h"},
                                                        {8 * 86400, "8d"},
                                                        {364LL * 86400, "364d"},
                                                        {730LL * 86400, "2y"},
                                                        {3000LL * 86400, "8y"}};
  for (const auto& [seconds, words] : cases) {
    CAPTURE(seconds);
    CHECK(kube::human_duration(seconds) == words);
  }
  CHECK(kube::unix_seconds("1970-01-02T00:00:01Z") == 86401);
  CHECK(kube::unix_seconds("") == -1);
  CHECK(kube::unix_seconds("yesterday") == -1);
  CHECK(kube::unix_seconds("1970-01-02T00:00:01Zx") == -1);
}

TEST_CASE("unknown and repeated fields are named, with what was meant") {
  const json tenant = {
      {"spec", {{"displayNam", "x"}, {"id", 0}}}, {"metadata", {{"lables", {}}}}, {"zzz", 1}};
  const std::vector<std::string> twice = {"spec.quota"};
  const auto warned = judge_fields(kind(), FieldValidation::warn, tenant, twice);
  REQUIRE(warned);
  CHECK(*warned == std::vector<std::string>{
                       "unknown field \"zzz\"",
                       "unknown field \"metadata.lables\", did you mean \"metadata.labels\"?",
                       "unknown field \"spec.displayNam\", did you mean \"spec.displayName\"?",
                       "duplicate field \"spec.quota\""});
  CHECK(judge_fields(kind(), FieldValidation::ignore, tenant, twice)->empty());
  const auto strict = judge_fields(kind(), FieldValidation::strict, tenant, {});
  REQUIRE_FALSE(strict);
  CHECK(strict.error().message().starts_with("strict decoding error: unknown field"));
  CHECK_FALSE(field_validation("Loose"));
}

TEST_CASE("the kubeconfig never gets into what is stored") {
  const std::string key(api::k_kubeconfig_annotation);
  json applied = {{"metadata", {{"annotations", {{key, "SECRET"}, {"a", "b"}}}}}};
  json tenant = {{"metadata",
                  {{"managedFields", json::array()},
                   {"annotations",
                    {{key, "SECRET"},
                     {"kubectl.kubernetes.io/last-applied-configuration", applied.dump()}}}}}};
  scrub(kind(), tenant);
  CHECK(tenant.dump().find("SECRET") == std::string::npos);
  CHECK(tenant.dump().find("managedFields") == std::string::npos);
  const auto kept = json::parse(
      tenant["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"]
          .get<std::string>());
  CHECK(kept["metadata"]["annotations"] == json{{"a", "b"}});

  json broken = {
      {"metadata",
       {{"annotations",
         {{"kubectl.kubernetes.io/last-applied-configuration", "{\"" + key + "\":\"SECRET"}}}}}};
  scrub(kind(), broken);
  CHECK(broken.dump().find("SECRET") == std::string::npos);
}

TEST_CASE("labels and annotations follow Kubernetes' rules") {
  const auto ok = [](const json& labels) {
    return check_metadata({{"metadata", {{"labels", labels}}}}).has_value();
  };
  CHECK(ok({{"a", ""}, {"example.com/x-y_z", "V.1"}}));
  CHECK_FALSE(ok({{"-a", ""}}));
  CHECK_FALSE(ok({{"a", "b c"}}));
  CHECK_FALSE(ok({{"a", std::string(64, 'x')}}));
  CHECK_FALSE(ok({{"Example.com/a", ""}}));
  CHECK_FALSE(
      check_metadata({{"metadata", {{"annotations", {{"a", std::string(300'000, 'x')}}}}}}));
}

TEST_CASE("every schema that OpenAPI refers to is there") {
  for (const auto& document : {openapi_of(true), openapi_of(false)}) {
    const auto text = document.dump();
    for (std::size_t at = text.find("\"$ref\":\"#"); at != std::string::npos;
         at = text.find("\"$ref\":\"#", at + 1)) {
      const auto begin = at + 9;
      const auto path = text.substr(begin, text.find('"', begin) - begin);
      CAPTURE(path);
      CHECK(document.contains(json::json_pointer(path)));
    }
  }
  const auto patch =
      openapi_of(true)["paths"]["/apis/tenant.kubezoo.io/v1alpha1/tenants/{name}"]["patch"];
  CHECK(patch["x-kubernetes-group-version-kind"]["kind"] == "Tenant");
  CHECK(patch["parameters"].dump().find("fieldValidation") != std::string::npos);
}

TEST_CASE("OpenAPI 2.0 as protobuf starts as gnostic's Document does") {
  const auto bytes = openapi_v2_protobuf(openapi_of(false));
  CHECK(bytes.substr(0, 5) == std::string("\x0a\x03") + "2.0");
  CHECK(bytes.find("io.kubezoo.tenant.v1alpha1.TenantSpec") != std::string::npos);
}

TEST_CASE("a warning cannot break out of its header") {
  CHECK(warning_value("a \"b\"\r\nSet-Cookie: x\\") == "299 - \"a \\\"b\\\"  Set-Cookie: x\\\\\"");
}

TEST_CASE("an invalid Tenant's Status names the field") {
  const auto told = [](const char* message) {
    const auto answer = failure_of(kind(), Error(Code::invalid, message), "foofoo");
    const auto details = json::parse(answer.body)["details"];
    CHECK(details["name"] == "foofoo");
    const auto& cause = details["causes"][0];
    return cause["field"].get<std::string>() + " | " + cause.value("message", "");
  };
  CHECK(told("spec.flow.weight must be from 1 to 9") == "spec.flow.weight | must be from 1 to 9");
  CHECK(told("unknown field 'spec.quota.it's', did you mean 'pods'?") ==
        "spec.quota.it's | unknown field, did you mean 'pods'?");
  CHECK(told("unknown field 'x' beside metadata, spec and status") ==
        "x | unknown field beside metadata, spec and status");
  CHECK(told("metadata.annotations['a b'] must be a string") ==
        "metadata.annotations['a b'] | must be a string");
  CHECK(told("spec.x") == "spec.x | ");
  CHECK(told("a tenant's ID is exactly six") == "metadata.name | a tenant's ID is exactly six");
}
