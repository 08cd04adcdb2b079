// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/headers.hpp"
#include "daemon/translate/reviews.hpp"
#include "daemon/translate/rewrite.hpp"
#include "daemon/translate/status_text.hpp"
#include "daemon/translate/text.hpp"
#include "daemon/translate/watch_event.hpp"
#include "tests/unit/translate/target_mapping.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <ostream>

using namespace zoo;
using namespace zoo::translate;
using nlohmann::json;
using test::tenant;

TEST_CASE("of a Status that was cut the message stays") {
  const auto mapping = tenant();
  const std::string head =
      R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":")";
  const auto out = [&](const std::string& text) {
    return json::parse(status_out(mapping, {}, text, 422));
  };
  const std::string_view rest = "... (upstream says more than is passed on; correct this first)";
  // Within the causes: the message is whole.
  auto status = out(
      head +
      R"(Foo.abc123-example.com \"x\" is invalid: [spec.a: \u003c1, spec.b: 2]","reason":"Invalid","details":{"causes":[{"message":"spec.a)");
  CHECK(status["message"] ==
        "Foo.example.com \"x\" is invalid: [spec.a: <1, spec.b: 2]" + std::string(rest));
  CHECK(status["reason"] == "Invalid");
  CHECK(status["code"] == 422);
  // Within the message, and within an escape or a character of it.
  for (const std::string_view end : {"", "\\", "\\u00", "\xc3", "\xf0\x9f\x98"}) {
    status = out(head + "in abc123-default: no" + std::string(end));
    CHECK(status["message"] == "in default: no" + std::string(rest));
  }
  // A long one is told in part.
  std::string many;
  while (many.size() < 100'000)
    many += "spec.a: \u00fc, ";
  status = out(head + many + R"(","reason":"Invalid","details":{"cau)");
  const auto told = status["message"].get<std::string>();
  CHECK(told.starts_with("spec.a: \u00fc, spec.a: \u00fc, "));
  CHECK(told.ends_with(rest));
  CHECK(told.size() < 40'000);
  // Not even the message came.
  CHECK(out(R"({"kind":"Status","apiVersion":"v1","metad)")["message"] ==
        "the upstream answered with something that is no Status");
}

TEST_CASE("a Status of upstream speaks the tenant's names") {
  const auto mapping = tenant();
  StatusContext context;
  context.user = "jane";
  const auto out = [&](std::string_view text) {
    return json::parse(status_out(mapping, context, text, 404));
  };
  auto status = out(R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",
    "message":"namespaces \"abc123-nope\" not found","reason":"NotFound",
    "details":{"name":"abc123-nope","kind":"namespaces"},"code":404})");
  CHECK(status["message"] == "namespaces \"nope\" not found");
  CHECK(status["details"]["name"] == "nope");
  CHECK(status["reason"] == "NotFound");
  status = out(
      R"({"kind":"Status","message":"foos.abc123-example.com \"x\" is forbidden: User \"zoo:abc123\" cannot get it",
    "details":{"name":"x","group":"abc123-example.com","kind":"foos",
    "causes":[{"message":"in abc123-default","field":"spec.hard[count/foos.abc123-example.com]","reason":"R"}]},"code":403})");
  CHECK(status["message"] == "foos.example.com \"x\" is forbidden: User \"jane\" cannot get it");
  CHECK(status["details"]["group"] == "example.com");
  CHECK(status["details"]["causes"][0]["message"] == "in default");
  CHECK(status["details"]["causes"][0]["field"] == "spec.hard[count/foos.example.com]");
  CHECK(status["details"]["causes"][0]["reason"] == "R");
  // What is no name is not known for one in a text, but by its own place.
  status = out(R"({"kind":"Status","message":"\"abc123-\u00fc\" is invalid","reason":"Invalid",
    "details":{"name":"abc123-\u00fc","group":"scheduling.k8s.io","kind":"PriorityClass",
    "causes":[{"message":"Invalid value: \"abc123-\u00fc\": no","field":"metadata.name"}]},"code":422})");
  CHECK(status["message"] == "\"\u00fc\" is invalid");
  CHECK(status["details"]["causes"][0]["message"] == "Invalid value: \"\u00fc\": no");
  // Somebody else's name is not shown where it stands alone.
  status =
      out(R"({"kind":"Status","message":"m","details":{"name":"zzz999-x","kind":"namespaces"}})");
  CHECK(status["details"]["name"] == "");
  // A page that upstream tells of while it answers 410.
  context.seal_continue = [](std::string_view token) { return "sealed:" + std::string(token); };
  status =
      out(R"({"kind":"Status","metadata":{"continue":"raw","remainingItemCount":9},"code":410})");
  CHECK(status["metadata"] == json{{"continue", "sealed:raw"}});
  context.seal_continue = nullptr;
  CHECK(out(R"({"kind":"Status","metadata":{"continue":"raw"}})")["metadata"]["continue"] == "");
  for (const std::string_view garbage : {"404 page not found", "", "[]", "{\"kind\":\"Pod\"}"}) {
    status = out(garbage);
    CHECK(status["kind"] == "Status");
    CHECK(status["code"] == 404);
  }
}

TEST_CASE("a refused reference is shown as it was written, though it is no name") {
  for (const auto& [said, own] :
       {std::pair("no PriorityClass with name abc123-High was found",
                  "no PriorityClass with name High was found"),
        std::pair("Invalid value: \"abc123-_Bad\": a name", "Invalid value: \"_Bad\": a name"),
        std::pair("Not found: \"abc123-.x\", Unsupported value: 'abc123-\u00fc'",
                  "Not found: \".x\", Unsupported value: '\u00fc'"),
        // Alone it is a word of somebody's.
        std::pair("dash, \"abc123-\"", "dash, \"abc123-\""), std::pair("abc123-", "abc123-"),
        std::pair("replace('abc123-', 'x-abc123-Y')", "replace('abc123-', 'x-abc123-Y')"),
        std::pair("failed expression: request.namespace.replace('abc123-', '', 1) == 'a'",
                  "failed expression: request.namespace == 'a'")}) {
    CHECK(text_out(tenant(), said) == own);
    CHECK(stored_text_out(tenant(), said) == own);
  }
  StatusContext context;
  context.group = "node.k8s.io";
  context.resource = "runtimeclasses";
  const std::string said = "RuntimeClass.node.k8s.io \"abc123-zoo-inert-x\" is invalid: handler: "
                           "Invalid value: \"zoo-inert-Bad_H\", \"zoo-inert-zoo-inert-x\"";
  CHECK(message_out(tenant(), context, said) ==
        "RuntimeClass.node.k8s.io \"zoo-inert-x\" is invalid: handler: Invalid value: \"Bad_H\", "
        "\"zoo-inert-x\"");
  context.resource = "pods";
  CHECK(message_out(tenant(), context, "pods \"zoo-inert-x\" not found") ==
        "pods \"zoo-inert-x\" not found");
}

TEST_CASE("what a webhook's failure tells of the platform's network is not told") {
  const auto text =
      text_out(tenant(), "failed calling webhook \"w.x\": failed to call webhook: Post "
                         "\"https://s.abc123-team.svc:81/?timeout=1s\": x509: "
                         "certificate is valid for internal, not s.abc123-team.svc");
  CHECK(text.starts_with("failed calling webhook \"w.x\": failed to call webhook: Post "
                         "\"https://s.team.svc:81/?timeout=1s\": the platform does not tell why"));
  CHECK(text.find("internal") == std::string::npos);
  // Within an object it is no longer than it was.
  const std::string called = "failed to call webhook: Post \"https://s.abc123-team.svc:81/\": ";
  const std::string shown = "failed to call webhook: Post \"https://s.team.svc:81/\": ";
  for (const auto& [cause, instead] :
       {std::pair(std::string("EOF"), std::string()),
        std::pair(std::string("context deadline exceeded"), std::string("(rule webhook-errors)")),
        std::pair(std::string(60, 'x'),
                  std::string("the platform does not tell why (rule webhook-errors)"))})
    CHECK(stored_text_out(tenant(), called + cause) == shown + instead);
  const std::string_view own = "abc123: notification webhook failed: Post \"https://b/\": timeout";
  CHECK(text_out(tenant(), own) == own);
}

TEST_CASE("a policy of the platform's refuses as zood itself does") {
  const std::string policy = "ValidatingAdmissionPolicy 'zoo-tenants-pods' with binding "
                             "'zoo-tenants-pods' denied request: ";
  const std::string why = "the affinity of a tenant's pod regards that tenant's namespaces alone";
  const std::string way_out = " (rule platform-policies): leave out what is named, or ask the "
                              "platform's administrator";
  CHECK(text_out(tenant(), "Error creating: pods \"w\" is forbidden: " + policy + why) ==
        "Error creating: pods \"w\" is forbidden: " + why + way_out);
  CHECK(text_out(tenant(), policy + "no (rule x): leave it out") == "no (rule x): leave it out");
  CHECK(stored_text_out(tenant(), policy + why) == why + way_out);
  // Where there is no room for it, the way out is left out.
  CHECK(stored_text_out(tenant(), "ValidatingAdmissionPolicy 'zoo-tenants-x' denied request: no") ==
        "no");
  const std::string own =
      "ValidatingAdmissionPolicy 'abc123-p' with binding 'abc123-b' denied request: no";
  CHECK(text_out(tenant(), own) ==
        "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no");
  StatusContext context;
  context.resource = "pods";
  const auto refusal = json{{"kind", "Status"},
                            {"apiVersion", "v1"},
                            {"status", "Failure"},
                            {"reason", "Invalid"},
                            {"code", 422},
                            {"message", "pods \"w\" is forbidden: " + policy + why},
                            {"details", {{"causes", {{{"message", policy + why}}}}}}};
  const auto told = json::parse(status_out(tenant(), context, refusal.dump(), 422));
  CHECK(told["code"] == 403);
  CHECK(told["reason"] == "Forbidden");
  CHECK(told["message"] == "pods \"w\" is forbidden: " + why + way_out);
  CHECK(told["details"]["causes"][0]["message"] == why + way_out);
}

TEST_CASE("a tenant's own name may begin as upstream's prefix does") {
  const auto said = [](std::string_view kind, std::string_view name, std::string_view message) {
    const auto status = json::parse(status_out(tenant(), {},
                                               json{{"kind", "Status"},
                                                    {"message", message},
                                                    {"details", {{"name", name}, {"kind", kind}}}}
                                                   .dump(),
                                               404));
    return status["details"]["name"].get<std::string>() + ": " +
           status["message"].get<std::string>();
  };
  CHECK(said("configmaps", "abc123-x", "configmaps \"abc123-x\" not found in abc123-team") ==
        "abc123-x: configmaps \"abc123-x\" not found in team");
  CHECK(said("configmaps", "abc123-x", "\"abc123-x-y\" and \"abc123-xy\"") ==
        "abc123-x: \"abc123-x-y\" and \"abc123-xy\"");
  CHECK(said("namespaces", "abc123-abc123-default",
             "namespaces \"abc123-abc123-default\" not found") ==
        "abc123-default: namespaces \"abc123-default\" not found");
  CHECK(said("namespaces", "abc123-default", "namespaces \"abc123-default\" not found") ==
        "default: namespaces \"default\" not found");
}

TEST_CASE("what the tenant sent tells which words of the answer are its own") {
  StatusContext context;
  const std::string target = "/apis/apps/v1/namespaces/team/deployments?fieldManager=abc123-m";
  const std::string body = R"({"metadata":{"name":"abc123-web"},"spec":{"a":"abc123-a","b":"b"}})";
  context.request = {target, body};
  const auto shown = [&](std::string_view text) { return message_out(tenant(), context, text); };
  CHECK(shown("spec.a: Invalid value: \"abc123-a\": no") ==
        "spec.a: Invalid value: \"abc123-a\": no");
  CHECK(shown("spec.b: Invalid value: \"abc123-b\": no") == "spec.b: Invalid value: \"b\": no");
  CHECK(shown("abc123-web by abc123-m: abc123-team, abc123-b, abc123-never") ==
        "abc123-web by abc123-m: team, b, abc123-never");
  const auto mapping = tenant();
  RequestWords words(mapping, context);
  AnswerHeaders filter(mapping, AnswerKind::api, {}, &words);
  CHECK(filter.passes("Warning", "299 - \"abc123-web in abc123-team is abc123-b\"") ==
        "299 - \"abc123-web in team is b\"");
}

TEST_CASE("a ClusterRoleBinding's Status does not show how it is stored") {
  StatusContext context;
  context.group = "rbac.authorization.k8s.io";
  context.resource = "clusterrolebindings";
  const auto status = json::parse(status_out(
      tenant(), context,
      R"({"kind":"Status","message":"rolebindings.rbac.authorization.k8s.io \"zoo:crb:b\" not found",
      "details":{"name":"zoo:crb:b","group":"rbac.authorization.k8s.io","kind":"rolebindings"}})",
      404));
  CHECK(status["message"] == "clusterrolebindings.rbac.authorization.k8s.io \"b\" not found");
  CHECK(status["details"]["name"] == "b");
  CHECK(status["details"]["kind"] == "clusterrolebindings");
  const auto message = [&](std::string_view text) { return message_out(tenant(), context, text); };
  CHECK(message("RoleBinding.rbac.authorization.k8s.io \"\" is invalid: metadata.name: Required") ==
        "ClusterRoleBinding.rbac.authorization.k8s.io \"\" is invalid: metadata.name: Required");
  CHECK(message("RoleBinding in version \"v1\" cannot be handled as a RoleBinding: x") ==
        "ClusterRoleBinding in version \"v1\" cannot be handled as a ClusterRoleBinding: x");
  CHECK(message("converting (RoleBindingList) to ClusterRoleBinding") ==
        "converting (ClusterRoleBindingList) to ClusterRoleBinding");
  CHECK(message("Key: /rolebindings/abc123-kube-system/zoo:crb:x, ResourceVersion: 0") ==
        "Key: /clusterrolebindings/x, ResourceVersion: 0");
  CHECK(message("failed to create typed patch object (abc123-kube-system/zoo:crb:x; rbac)") ==
        "failed to create typed patch object (/x; rbac)");
  // What somebody wrote stays.
  CHECK(message("Invalid value: \"RoleBinding\": my-rolebindings") ==
        "Invalid value: \"RoleBinding\": my-rolebindings");
}

TEST_CASE("our own refusals are worded as Kubernetes words them") {
  auto status = json::parse(not_found_status("apps", "deployments", "x"));
  CHECK(status["message"] == "deployments.apps \"x\" not found");
  CHECK(status["code"] == 404);
  CHECK(status["details"] == json{{"name", "x"}, {"group", "apps"}, {"kind", "deployments"}});
  status = json::parse(
      forbidden_status("", "pods", "", denied_reason("jane", "list", "", "pods", "", "default")));
  CHECK(status["message"] ==
        "pods is forbidden: User \"jane\" cannot list resource \"pods\" in API "
        "group \"\" in the namespace \"default\"");
  CHECK(denied_reason("a\"b", "get", "apps", "deployments", "scale", "") ==
        "User \"a\\\"b\" cannot get resource \"deployments/scale\" in API group \"apps\" at the "
        "cluster scope");
  status = json::parse(invalid_status("", "Pod", "x", {{"FieldValueInvalid", "m", "spec.a"}}));
  CHECK(status["message"] == "Pod \"x\" is invalid: spec.a: m");
  CHECK(status["code"] == 422);
  CHECK(not_allowed().value().code() == Code::method_not_allowed);
  CHECK(no_resource().value().code() == Code::not_found);
  CHECK(json::parse(expired_status())["reason"] == "Expired");
  CHECK(json::parse(too_many_requests_status(3))["details"]["retryAfterSeconds"] == 3);
  CHECK(json::parse(exists_status("", "namespaces", "a"))["reason"] == "AlreadyExists");
  CHECK(json::parse(conflict_status("", "pods", "a", "r"))["reason"] == "Conflict");
}

using Fields = std::vector<std::pair<std::string, std::string>>;

Fields filtered(auto& filter, const Fields& fields) {
  Fields out;
  for (const auto& [name, value] : fields)
    if (const auto passed = filter.passes(name, value)) out.emplace_back(name, *passed);
  return out;
}

TEST_CASE("no credential and no hop-by-hop field goes upstream") {
  const Fields sent = {{"User-Agent", "kubectl"},
                       {"user-agent", "second"},
                       {"Authorization", "Bearer x"},
                       {"Impersonate-User", "root"},
                       {"X-Remote-User", "root"},
                       {"X-Forwarded-For", "1.2.3.4"},
                       {"Cookie", "a=b"},
                       {"Accept-Encoding", "gzip"},
                       {"If-None-Match", "x"},
                       {"Content-Type", "application/json"},
                       {"Upgrade", "SPDY/3.1"},
                       {"Sec-WebSocket-Protocol",
                        "v5.channel.k8s.io, base64url.bearer.authorization.k8s.io.c2VjcmV0"}};
  const auto passed = [](const Fields& fields, bool upgrade, bool proxied = false) {
    std::vector<std::string_view> connection;
    for (const auto& [name, value] : fields)
      if (name == "Connection") connection.push_back(value);
    RequestHeaders filter(upgrade, proxied, connection);
    return filtered(filter, fields);
  };
  CHECK(passed(sent, false) ==
        Fields{{"User-Agent", "kubectl"}, {"Content-Type", "application/json"}});
  const auto upgraded = passed(sent, true);
  CHECK(upgraded == Fields{{"User-Agent", "kubectl"},
                           {"Content-Type", "application/json"},
                           {"Upgrade", "SPDY/3.1"},
                           {"Sec-WebSocket-Protocol", "v5.channel.k8s.io"}});
  const Fields to_own = {{"User-Agent", "kubectl"},
                         {"Cookie", "a=b"},
                         {"If-None-Match", "x"},
                         {"Content-Type", "application/json"}};
  CHECK(passed(sent, false, true) == to_own); // a tenant's own service
  CHECK(passed({{"Connection", "cookie"}, {"Cookie", "a=b"}, {"X-A", "b"}}, false, true) ==
        Fields{{"X-A", "b"}});
  CHECK(passed({{"IMPERSONATE-Uid", "x"},
                {"x-remote-extra-a", "x"},
                {"Transfer-Encoding", "x"},
                {"X-Real-Ip", "10.0.0.1"}},
               false, true)
            .empty());
  CHECK(split_subprotocols("a,base64url.bearer.authorization.k8s.io.tok , b").bearer == "tok");
  CHECK(passed({{"Connection", "user-agent"}, {"User-Agent", "x"}}, false).empty());
  CHECK(passed({{"User-Agent", "x\r\nImpersonate-User: root"}}, false).empty());
}

TEST_CASE("an answer's fields pass by list, warnings in the tenant's words") {
  const Fields received = {{"Content-Type", "application/json"},
                           {"Warning", "299 - \"abc123-example.com/v1 Foo is deprecated\""},
                           {"X-Kubernetes-Pf-Flowschema-Uid", "u"},
                           {"Etag", "\"x\""},
                           {"Set-Cookie", "a"},
                           {"Retry-After", "1"},
                           {"Content-Length", "9"}};
  const auto mapping = tenant();
  const auto passed = [&](AnswerKind kind, const std::vector<std::string_view>& connection) {
    AnswerHeaders filter(mapping, kind, connection);
    return filtered(filter, received);
  };
  const auto api = passed(AnswerKind::api, {});
  CHECK(api == Fields{{"Content-Type", "application/json"},
                      {"Warning", "299 - \"example.com/v1 Foo is deprecated\""},
                      {"Retry-After", "1"}});
  CHECK(passed(AnswerKind::proxied, {}).size() == 6);
  CHECK(passed(AnswerKind::proxied, {"close, set-cookie", "ETAG"}).size() == 4);
}

TEST_CASE("the representation is chosen from Accept") {
  struct Row {
    const char* accept;
    Representation want;
  };
  for (const auto& row :
       {Row{"", Representation::object}, Row{"*/*", Representation::object},
        Row{"application/json", Representation::object},
        Row{"application/json;stream=watch", Representation::object},
        Row{"application/vnd.kubernetes.protobuf, application/json;q=0.5", Representation::object},
        Row{"application/json;as=Table;v=v1;g=meta.k8s.io,application/"
            "json;as=Table;v=v1beta1;g=meta.k8s.io,application/json",
            Representation::table},
        Row{"application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json",
            Representation::object},
        Row{"application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,"
            "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json",
            Representation::partial_list},
        Row{"application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
            Representation::partial},
        Row{"application/json;as=Nonsense;g=a;v=b, */*;q=0.1", Representation::object}}) {
    CAPTURE(row.accept);
    const auto choice = choose_accept(row.accept, "");
    REQUIRE(choice);
    CHECK(choice->representation == row.want);
    CHECK(choice->upstream_accept.view().starts_with("application/json"));
  }
  for (const std::string_view bad :
       {"application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io",
        "application/vnd.kubernetes.protobuf;q=0", "image/png", "application/json;q=0",
        "application/yaml;q=0"})
    CHECK(choose_accept(bad, "").error().code() == Code::not_acceptable);
  CHECK_FALSE(choose_accept("application/vnd.kubernetes.protobuf, */*", "")->protobuf);
  const auto only = choose_accept("application/vnd.kubernetes.protobuf", "");
  REQUIRE(only);
  CHECK(only->protobuf);
  CHECK(only->upstream_accept.view() == "application/json");
  const auto metadata = choose_accept(
      "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", "");
  REQUIRE(metadata);
  CHECK(metadata->protobuf);
  CHECK(metadata->representation == Representation::partial);
  CHECK_FALSE(choose_accept("application/vnd.kubernetes.protobuf", "", true));
  const auto yaml = choose_accept("application/json;q=0.5, application/yaml", "");
  REQUIRE(yaml);
  CHECK(yaml->yaml);
  CHECK(yaml->upstream_accept.view() == "application/json");
  CHECK_FALSE(choose_accept("application/json, application/yaml", "")->yaml);
  CHECK(wants_yaml("application/yaml"));
  CHECK_FALSE(wants_yaml("application/json, application/yaml"));
  CHECK(choose_accept("", "None")->include == IncludeObject::none);
  CHECK(upstream_include(IncludeObject::none) == "Metadata");
  CHECK_FALSE(choose_accept("", "none"));
  const auto aggregated = choose_accept(
      "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json", "",
      true);
  CHECK(aggregated->representation == Representation::aggregated);
  CHECK(*choose_body("create", "") == BodyFormat::json);
  CHECK(*choose_body("update", "application/json; charset=utf-8") == BodyFormat::json);
  CHECK(*choose_body("create", "application/yaml") == BodyFormat::yaml);
  CHECK(*choose_body("patch", "application/apply-patch+yaml") == BodyFormat::apply_patch);
  CHECK_FALSE(choose_body("create", "application/vnd.kubernetes.protobuf"));
  CHECK_FALSE(choose_body("patch", ""));
  CHECK_FALSE(choose_body("patch", "application/json"));
}

TEST_CASE("watch events are taken apart and rewritten") {
  const auto key = object_key(
      R"({"kind":"Pod","spec":{"metadata":{"name":"no"}},"metadata":{"name":"a\u002db","namespace":"abc123-x","resourceVersion":"7"},"broken)");
  REQUIRE(key);
  CHECK(key->text() == "abc123-x/a-b");
  CHECK(key->resource_version == "7");
  CHECK(
      object_key(
          R"({"metadata":{"resourceVersion":"1","annotations":{"k8s.io/initial-events-end":"true"}}})")
          ->initial_events_end);
  for (const std::string_view bad :
       {"", "[]", "{}", "{\"metadata\":1}", "{\"metadata\":{\"name\":"})
    CHECK_FALSE(object_key(bad));
  for (const std::string_view bad :
       {"", "{}", "{\"type\":\"NEW\",\"object\":{}}", "{\"type\":\"ADDED\"}",
        "{\"type\":\"ADDED\",\"object\":[]}", "{\"type\":\"ADDED\",\"object\":{}"})
    CHECK_FALSE(parse_event(bad));
  std::string out;
  const auto& root = *find_root("", "Pod");
  REQUIRE(event_out(
      root, tenant(), {},
      R"({"type":"MODIFIED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p","namespace":"abc123-a"}}})",
      out));
  CHECK(out ==
        "{\"type\":\"MODIFIED\",\"object\":{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{"
        "\"name\":\"p\",\"namespace\":\"a\"}}}\n");
  out.clear();
  REQUIRE(event_out(
      root, tenant(), {},
      R"({"type":"ERROR","object":{"kind":"Status","message":"in abc123-a","code":410}})", out));
  CHECK(json::parse(out)["object"]["message"] == "in a");
  CHECK(json::parse(make_bookmark(
            "v1", "Pod", "9",
            true))["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"] == "true");
}

TEST_CASE("the key of an object that goes on is what its metadata says first") {
  std::string key;
  const std::string_view pod =
      R"({"kind":"Pod","spec":{"metadata":{"name":"x"}},"metadata":{"uid":"u","name":"p","generateName":"p-","namespace":"n","labels":{"a":)";
  CHECK(leading_key(pod, true, key));
  CHECK(key == "n/p");
  CHECK(leading_key(pod.substr(0, pod.find("\"namespace\"")), false, key));
  CHECK(key == "p");
  for (std::size_t size = 0; size < pod.find(",\"labels\""); ++size) {
    CAPTURE(size);
    const std::string copy(pod.substr(0, size)); // of its own, for the sanitizer
    CHECK_FALSE(leading_key(copy, true, key));
  }
  for (const char* text : {R"({"metadata":{"name":"p"}})", R"({"metadata":{"namespace":"n"}})",
                           R"({"metadata":{"name":"p\u0061","namespace":"n"}})",
                           R"({"metadata":{"name":7,"namespace":"n"}})", R"({"metadata":null})",
                           R"({"spec":{}})", "[]", "{}", ""}) {
    CAPTURE(text);
    CHECK_FALSE(leading_key(text, true, key));
  }
}

TEST_CASE("reviews are read and answered") {
  const auto kind = ReviewKind::self_subject_access;
  const std::string body =
      R"({"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","spec":{"resourceAttributes":{"verb":"get","resource":"pods","namespace":"a"}},"status":{"allowed":true}})";
  const auto review = parse_review(kind, body, "");
  REQUIRE(review);
  CHECK(review->attributes->verb == "get");
  CHECK(review->attributes->name_space == "a");
  const auto answer = json::parse(*render_decision(kind, body, {false, false, "no", ""}));
  CHECK(answer["status"] == json{{"allowed", false}, {"reason", "no"}});
  CHECK(answer["spec"] == json::parse(body)["spec"]);
  for (const std::string_view bad :
       {"", "[]", "{}", R"({"spec":{}})",
        R"({"spec":{"resourceAttributes":{},"nonResourceAttributes":{}}})",
        R"({"kind":"Pod","spec":{"resourceAttributes":{}}})",
        R"({"spec":{"resourceAttributes":{"verb":1}}})",
        R"({"spec":{"resourceAttributes":{"verb":"a","verb":"b"}}})"})
    CHECK_FALSE(parse_review(kind, bad, ""));
  const auto subject = ReviewKind::subject_access;
  CHECK_FALSE(parse_review(subject, R"({"spec":{"resourceAttributes":{}}})", ""));
  const auto asked = parse_review(
      subject,
      R"({"spec":{"nonResourceAttributes":{"path":"/x","verb":"get"},"user":"u","groups":["g"],"extra":{"k":["v"]}}})",
      "");
  REQUIRE(asked);
  CHECK_FALSE(asked->attributes->resource_request);
  CHECK(asked->groups == std::vector<std::string>{"g"});
  CHECK(asked->extra.size() == 1);
  const auto local = ReviewKind::local_subject_access;
  CHECK(
      parse_review(local, R"({"spec":{"user":"u","resourceAttributes":{"namespace":"a"}}})", "a"));
  CHECK_FALSE(
      parse_review(local, R"({"spec":{"user":"u","resourceAttributes":{"namespace":"b"}}})", "a"));
  CHECK_FALSE(parse_review(ReviewKind::self_subject_rules, R"({"spec":{}})", ""));
  const auto rules = json::parse(*render_rules(
      R"({"spec":{"namespace":"a"}})",
      {{{"get"}, {""}, {"pods"}, {"x"}, {}}, {{"get"}, {}, {}, {}, {"/version"}}}, false, ""));
  CHECK(rules["status"]["resourceRules"][0]["resourceNames"][0] == "x");
  CHECK(rules["status"]["nonResourceRules"][0]["nonResourceURLs"][0] == "/version");
  CHECK(rules["kind"] == "SelfSubjectRulesReview");
  const auto self = json::parse(*render_self("{}", {"jane", "", {"dev"}, {{"k", {"v"}}}}));
  CHECK(self["status"]["userInfo"] ==
        json{{"username", "jane"}, {"groups", {"dev"}}, {"extra", {{"k", {"v"}}}}});
}

TEST_CASE("a TokenReview is read and answered") {
  const std::string body = R"({"spec":{"token":"abc","audiences":["zood"]}})";
  const auto review = parse_review(ReviewKind::token, body, "");
  REQUIRE(review);
  CHECK(review->token == "abc");
  CHECK(review->audiences == std::vector<std::string>{"zood"});
  CHECK_FALSE(parse_review(ReviewKind::token, R"({"spec":{}})", ""));
  CHECK_FALSE(parse_review(ReviewKind::token, R"({"spec":{"token":"a","token":"b"}})", ""));
  const auto known = json::parse(*render_token(body, {"jane", "1", {"dev"}, {}}, "zood"));
  CHECK(known["kind"] == "TokenReview");
  CHECK(known["status"]["authenticated"] == true);
  CHECK(known["status"]["audiences"] == json{"zood"});
  CHECK(known["status"]["user"] == json{{"username", "jane"}, {"uid", "1"}, {"groups", {"dev"}}});
  const auto unknown = json::parse(*render_no_token(body, "no"));
  CHECK_FALSE(unknown["status"].contains("authenticated"));
  CHECK(unknown["status"]["error"] == "no");
}

TEST_CASE("a TokenRequest is made anew for one audience") {
  const auto request = [](std::string_view body) {
    return token_request_in(body, "robot", "team", "zood");
  };
  const auto plain = request("{}");
  REQUIRE(plain);
  CHECK(json::parse(*plain)["spec"] == json{{"audiences", {"zood"}}});
  const auto full = request(
      R"({"kind":"TokenRequest","metadata":{"name":"robot","namespace":"team","labels":{"a":"b"}},)"
      R"("spec":{"audiences":["zood"],"expirationSeconds":600,"unknown":1,)"
      R"("boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"p","uid":"1","more":{}}},)"
      R"("status":{"token":"x"}})");
  REQUIRE(full);
  CHECK(json::parse(*full) ==
        json{{"apiVersion", "authentication.k8s.io/v1"},
             {"kind", "TokenRequest"},
             {"spec",
              {{"audiences", {"zood"}},
               {"expirationSeconds", 600},
               {"boundObjectRef",
                {{"kind", "Pod"}, {"apiVersion", "v1"}, {"name", "p"}, {"uid", "1"}}}}}});
  for (const std::string_view bad :
       {"", "[]", R"({"kind":"Pod"})", R"({"metadata":{"namespace":"other"}})",
        R"({"metadata":{"name":"other"}})", R"({"spec":{"audiences":["zood","vault"]}})",
        R"({"spec":{"audiences":"zood"}})", R"({"spec":{"expirationSeconds":"1"}})",
        R"({"spec":{},"spec":{"audiences":["vault"]}})",
        R"({"spec":{"audiences":[],"audiences":["vault"]}})"}) {
    CAPTURE(bad);
    CHECK_FALSE(request(bad));
  }
}

TEST_CASE("a traceparent goes upstream if it is one") {
  constexpr std::string_view k_id = "0af7651916cd43dd8448eb211c80319c";
  const std::string good = "00-" + std::string(k_id) + "-b7ad6b7169203331-01";
  CHECK(translate::trace_id_of(good) == k_id);
  CHECK(translate::trace_id_of("cc-" + good.substr(3) + "-what-comes-later") == k_id);
  for (const std::string& wrong : std::initializer_list<std::string>{
           std::string(), good.substr(1), good + "-more", good + "0", "ff" + good.substr(2),
           "00-" + std::string(32, '0') + "-b7ad6b7169203331-01",
           "00-" + std::string(k_id) + "-" + std::string(16, '0') + "-01",
           "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01", "cc" + good.substr(2) + "x",
           "00_" + good.substr(3), good.substr(0, 53) + "0g"}) {
    CAPTURE(wrong);
    CHECK(translate::trace_id_of(wrong).empty());
  }
  translate::RequestHeaders filter(false, false, {});
  CHECK(filter.passes("Traceparent", "00-x") == std::nullopt);
  CHECK(filter.passes("Traceparent", good) == good);
  CHECK(filter.passes("traceparent", good) == std::nullopt); // once
  CHECK(filter.passes("tracestate", "a=b") == std::nullopt);
}
