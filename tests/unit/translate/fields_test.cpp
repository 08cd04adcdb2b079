// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/rewrite.hpp"
#include "tests/unit/translate/target_mapping.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace zoo::translate {
namespace {

using Json = nlohmann::json;

std::string sent(Direction direction, std::string_view group, std::string_view kind,
                 std::string_view text) {
  const auto names = test::tenant();
  RewriteContext context{names, direction, "default"};
  std::string out;
  const auto done = rewrite(root_of(group, kind), context, text, out);
  return done ? out : "refused: " + done.error().message();
}

std::string in(std::string_view group, std::string_view kind, std::string_view text) {
  return sent(Direction::inward, group, kind, text);
}

std::string out(std::string_view group, std::string_view kind, std::string_view text) {
  return sent(Direction::outward, group, kind, text);
}

} // namespace

TEST_CASE("managedFields: keys that hold names, and zood's own") {
  const auto fields = [](const char* inner) {
    return std::string(R"({"metadata":{"managedFields":[{"fieldsV1":)") + inner + "}]}}";
  };
  CHECK(in("", "ResourceQuota", fields(R"({"f:spec":{"f:hard":{"f:count/a.example.com":{}}}})")) ==
        fields(R"({"f:spec":{"f:hard":{"f:count/a.abc123-example.com":{}}}})"));
  CHECK(out("", "ResourceQuota",
            fields(R"({"f:spec":{"f:hard":{"f:count/a.abc123-example.com":{}}}})")) ==
        fields(R"({"f:spec":{"f:hard":{"f:count/a.example.com":{}}}})"));
  CHECK(
      out("", "Namespace",
          fields(R"({"f:metadata":{"f:labels":{".":{},"f:tenant.kubezoo.io/id":{},"f:a":{}}}})")) ==
      fields(R"({"f:metadata":{"f:labels":{".":{},"f:a":{}}}})"));
  CHECK(out("", "Pod",
            fields(R"({"f:spec":{"f:containers":{"k:{\"name\":\"x\"}":{"f:resources":{"f:limits":)"
                   R"({"f:deviceclass.resource.kubernetes.io/abc123-g":{}}}}}}})")) ==
        fields(R"({"f:spec":{"f:containers":{"k:{\"name\":\"x\"}":{"f:resources":{"f:limits":)"
               R"({"f:deviceclass.resource.kubernetes.io/g":{}}}}}}})"));
}

TEST_CASE("managedFields: what zood adds belongs to nobody") {
  const auto managed = [](std::string_view labels, std::string_view owned) {
    return fmt::format(R"({{"metadata":{{"name":"n","labels":{{{}}},"managedFields":[)"
                       R"({{"manager":"m","fieldsV1":{}}}]}}}})",
                       labels, owned);
  };
  const auto fields_out = [&](std::string_view labels, std::string_view owned) {
    const auto shown =
        Json::parse(out("", "Namespace", managed(labels, owned)))["metadata"]["managedFields"];
    return shown.empty() ? "{}" : shown[0]["fieldsV1"].dump();
  };
  const auto fields_in = [&](std::string_view labels, std::string_view owned) {
    const auto sent =
        Json::parse(in("", "Namespace", managed(labels, owned)))["metadata"]["managedFields"];
    return sent.empty() ? "{}" : sent[0]["fieldsV1"].dump();
  };
  const std::string wish = R"("f:kept.zoo.kubezoo.io/pod-security-enforce":{})";
  const std::string level = R"("f:pod-security.kubernetes.io/enforce":{})";
  const std::string id = R"("f:tenant.kubezoo.io/id":{})";
  const auto labels = [](const std::string& inner) {
    return R"({"f:metadata":{"f:labels":{)" + inner + "}}}";
  };
  const std::string base = R"("pod-security.kubernetes.io/enforce":"baseline")";
  const std::string strict = R"("pod-security.kubernetes.io/enforce":"restricted")";
  const std::string wished = base + R"(,"kept.zoo.kubezoo.io/pod-security-enforce":"privileged")";
  CHECK(fields_out(base, labels(R"(".":{},"f:a":{},)" + level + "," + id)) ==
        labels(R"(".":{},"f:a":{})"));
  CHECK(fields_out(base, labels(level + "," + id)) == "{}");
  CHECK(fields_out(base, labels(level)) == "{}"); // without any word of zood's own
  CHECK(fields_out(base, labels(R"(".":{},)" + id)) == "{}");
  CHECK(fields_out(base, R"({"f:metadata":{"f:annotations":{".":{},"f:b":{}},"f:labels":{)" + id +
                             R"(}},"f:spec":{}})") ==
        R"({"f:metadata":{"f:annotations":{".":{},"f:b":{}}},"f:spec":{}})");
  CHECK(fields_out(wished, labels(wish + "," + level + "," + id)) == labels(level));
  CHECK(fields_out(wished, labels(level + "," + id)) == "{}");
  CHECK(fields_out(strict, labels(level + "," + id)) == labels(level));
  CHECK(fields_out(strict, labels(wish + "," + id)) == "{}");
  // What was read comes back, and what nobody has read is not made anybody's.
  CHECK(fields_in(R"("pod-security.kubernetes.io/enforce":"privileged")", labels(level)) ==
        labels(wish + "," + level));
  CHECK(fields_in(strict, labels(level)) == labels(level));
  CHECK(fields_in("", labels(R"("f:a":{},)" + id)) == labels(R"("f:a":{})"));
  CHECK(fields_in("", labels(id)) == "{}");
  CHECK(fields_in("", labels(wish)) == "{}"); // forged

  const auto definition = [](std::string_view inner) {
    return fmt::format(R"({{"metadata":{{"labels":{{"tenant.kubezoo.io/id":"abc123"}},)"
                       R"("managedFields":[{{"fieldsV1":{}}}]}}}})",
                       inner);
  };
  CHECK(Json::parse(out("apiextensions.k8s.io", "CustomResourceDefinition",
                        definition(labels(R"(".":{},)" + id))))["metadata"]["managedFields"]
            .empty());
  // Of several managers those that own something stay.
  const auto three = [&](const std::string& a, const std::string& b, const std::string& c) {
    const auto shown = Json::parse(out("", "Namespace",
                                       R"({"metadata":{"managedFields":[ {"fieldsV1":)" + a +
                                           R"(} , {"fieldsV1":)" + b + R"(},{"fieldsV1":)" + c +
                                           "}]}}"))["metadata"]["managedFields"];
    return shown.dump();
  };
  const auto none = labels(id), some = labels(R"("f:a":{})");
  CHECK(three(none, none, none) == "[]");
  CHECK(three(some, none, none) == R"([{"fieldsV1":)" + some + "}]");
  CHECK(three(none, some, none) == R"([{"fieldsV1":)" + some + "}]");
  CHECK(three(none, none, some) == R"([{"fieldsV1":)" + some + "}]");
  CHECK(three(some, none, some) == R"([{"fieldsV1":)" + some + R"(},{"fieldsV1":)" + some + "}]");

  const auto hooks = [](std::string_view operation, std::string_view selector,
                        std::string_view of) {
    const auto text = fmt::format(
        R"({{"apiVersion":"admissionregistration.k8s.io/v1","kind":"MutatingWebhookConfiguration",)"
        R"("metadata":{{"name":"abc123-w","managedFields":[{{"manager":"m","operation":"{}",)"
        R"("fieldsType":"FieldsV1","fieldsV1":{{"f:webhooks":{{"k:{{\"name\":\"a.b.c\"}}":{{{}}}}}}}}}]}},)"
        R"("webhooks":[{{"name":"a.b.c","namespaceSelector":{}}}]}})",
        operation, of, selector);
    const auto shown =
        Json::parse(out("admissionregistration.k8s.io", "MutatingWebhookConfiguration", text));
    return shown["metadata"]["managedFields"][0]["fieldsV1"]["f:webhooks"].front().dump();
  };
  const std::string bare = R"({"matchLabels":{"tenant.kubezoo.io/id":"abc123"}})";
  const std::string own = R"({"matchLabels":{"a":"b","tenant.kubezoo.io/id":"abc123"}})";
  const std::string fence = R"("k:{\"name\":\"zoo.kubezoo.io/own-objects\"}":{".":{},"f:name":{}})";
  const std::string selects = R"(".":{},"f:name":{},"f:namespaceSelector":{})";
  CHECK(hooks("Apply", bare, selects) == R"({".":{},"f:name":{}})");
  CHECK(hooks("Apply", own, selects) == "{" + selects + "}");
  CHECK(hooks("Update", bare, selects) == "{" + selects + "}"); // as upstream's own default
  CHECK(hooks("Apply", own, R"("f:matchConditions":{".":{},)" + fence + R"(},"f:name":{})") ==
        R"({"f:name":{}})");
  const std::string mine = R"("f:matchConditions":{".":{},"k:{\"name\":\"x\"}":{".":{}})";
  CHECK(hooks("Update", own, mine + "," + fence + "}") == "{" + mine + "}}");
}

TEST_CASE("a text in an object keeps the tenant's own words") {
  const std::string event =
      R"({"metadata":{"name":"abc123-web.17af","namespace":"abc123-team"},"involvedObject":)"
      R"({"kind":"Deployment","namespace":"abc123-team","name":"abc123-web","apiVersion":"apps/v1"},)"
      R"("reason":"ScalingReplicaSet","message":"abc123-web-7d9f of abc123-web: abc123-team, abc123-z"})";
  const std::string shown =
      R"({"metadata":{"name":"abc123-web.17af","namespace":"team"},"involvedObject":)"
      R"({"kind":"Deployment","namespace":"team","name":"abc123-web","apiVersion":"apps/v1"},)"
      R"("reason":"ScalingReplicaSet","message":"abc123-web-7d9f of abc123-web: team, abc123-z"})";
  CHECK(out("", "Event", event) == shown);
  // A second text knows what stands in front of it, the first one included.
  CHECK(
      out("", "Pod",
          R"({"metadata":{"namespace":"abc123-team"},"spec":{"priorityClassName":"abc123-high",)"
          R"("containers":[{"name":"abc123-main"}]},"status":{"conditions":[{"message":)"
          R"("abc123-main abc123-high"},{"message":"abc123-high-1 abc123-team abc123-main"}]}})") ==
      R"({"metadata":{"namespace":"team"},"spec":{"priorityClassName":"high",)"
      R"("containers":[{"name":"abc123-main"}]},"status":{"conditions":[{"message":)"
      R"("abc123-main high"},{"message":"abc123-high-1 team abc123-main"}]}})");
}

TEST_CASE("text that names a policy of the platform's is shown without it") {
  const std::string denial = "ValidatingAdmissionPolicy 'zoo-tenants-pods' with binding "
                             "'zoo-tenants-pods' denied request: no (rule x): leave it out";
  CHECK(Json::parse(out("apps", "ReplicaSet",
                        R"({"status":{"conditions":[{"message":")" + denial +
                            "\"}]}}"))["status"]["conditions"][0]["message"] ==
        "no (rule x): leave it out");
}

} // namespace zoo::translate
