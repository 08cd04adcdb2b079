// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/discovery_json.hpp"
#include "daemon/translate/validity.hpp"

#include <doctest/doctest.h>

using namespace zoo;
using namespace zoo::translate;

namespace {

/// Fields and what is said of them, up to the second colon.
std::string faults(std::string_view group, std::string_view resource, std::string_view object,
                   bool whole = true) {
  const auto tree = JsonTree::parse(object);
  REQUIRE(tree);
  std::string out;
  for (const auto& each : faults_of(group, resource, tree->root(), whole)) {
    const auto colon = each.message.find(": ", each.message.find(": ") + 1);
    out += each.field + ' ' + each.message.substr(0, colon) + '\n';
  }
  return out;
}

std::string of_binding(std::string_view object, bool whole = false) {
  return faults("rbac.authorization.k8s.io", "clusterrolebindings", object, whole);
}

std::string of_rule(const std::string& rule) {
  return faults("rbac.authorization.k8s.io", "clusterroles", R"({"aggregationRule":)" + rule + "}");
}

std::string of_hook(const std::string& members) {
  return faults("admissionregistration.k8s.io", "validatingwebhookconfigurations",
                R"({"webhooks":[{"name":"w",)" + members + "}]}");
}

} // namespace

TEST_CASE("a ClusterRoleBinding names a ClusterRole and the namespaces of its accounts") {
  CHECK(of_binding(R"({"roleRef":{"kind":"Role","name":"r"}})") ==
        "roleRef.kind Unsupported value: \"Role\"\n");
  CHECK(of_binding(R"({"roleRef":{"kind":"ClusterRole","name":"r"},"subjects":[)"
                   R"({"kind":"ServiceAccount","name":"a"},{"kind":"User","name":"u"},)"
                   R"({"kind":"ServiceAccount","namespace":""},)"
                   R"({"kind":"ServiceAccount","name":"a","namespace":"n"}]})") ==
        "subjects[0].namespace Required value\n"
        "subjects[2].name Required value\n"
        "subjects[2].namespace Required value\n");
  // What RoleBindings are judged by too is upstream's to say.
  CHECK(of_binding(R"({"subjects":[{"kind":"Foo"}]})").empty());
  // A patch may leave a member out, a whole object not.
  CHECK(of_binding(R"({"roleRef":{"name":"r"}})").empty());
  CHECK(of_binding(R"({"kind":"ClusterRoleBinding"})").empty()); // applied
  CHECK(of_binding("{}", true) == "roleRef.kind Unsupported value: \"\"\n");
  CHECK(of_binding("{}").empty());
  CHECK(of_binding(R"({"subjects":"x","roleRef":[]})").empty());
}

TEST_CASE("a namespace names levels and versions of pod security that there are") {
  const auto of = [](const std::string& labels) {
    return faults("", "namespaces", R"({"metadata":{"labels":{)" + labels + "}}}");
  };
  const std::string domain = "pod-security.kubernetes.io/";
  for (const std::string good :
       {"enforce\":\"privileged", "warn\":\"restricted", "enforce-version\":\"latest",
        "audit-version\":\"v1.0", "enforce-version\":\"v1.36"})
    CHECK(of('"' + domain + good + '"').empty());
  CHECK(of('"' + domain + R"(enforce":"bogus",")" + domain + R"(audit-version":"v1.036")") ==
        "metadata.labels[" + domain + "enforce] Invalid value: \"bogus\"\n" + "metadata.labels[" +
            domain + "audit-version] Invalid value: \"v1.036\"\n");
  CHECK(of('"' + domain + R"(enforce-version":"v1.")") != "");
  CHECK(of("").empty());
}

TEST_CASE("a PriorityClass is judged by the name that the tenant gave it") {
  const auto of = [](std::string_view object) {
    return faults("scheduling.k8s.io", "priorityclasses", object);
  };
  CHECK(of(R"({"metadata":{"name":"system-x"},"value":2000000000})") ==
        "metadata.name Forbidden: priority class names with 'system-' prefix are reserved for "
        "system use only. error\n");
  CHECK(of(R"({"metadata":{"name":"x"},"value":1000000001})") ==
        "value Forbidden: maximum allowed value of a user defined priority is 1000000000\n");
  CHECK(of(R"({"metadata":{"name":"x"},"value":1000000000})").empty());
  CHECK(of(R"({"metadata":{"name":"system-node-critical"},"value":1})").empty()); // there is one
}

TEST_CASE("an aggregation rule has selectors, and they are such") {
  for (const auto* good :
       {"null", R"({"clusterRoleSelectors":[{}]})",
        R"({"clusterRoleSelectors":[{"matchLabels":{"example.com/a":"b","c":""},)"
        R"("matchExpressions":[{"key":"a","operator":"In","values":["b"]},)"
        R"({"key":"a","operator":"DoesNotExist"}]}]})"})
    CHECK(of_rule(good).empty());
  for (const auto* none : {"{}", R"({"clusterRoleSelectors":[]})"})
    CHECK(of_rule(none) == "aggregationRule.clusterRoleSelectors Required value: at least one "
                           "clusterRoleSelector required if aggregationRule is non-nil\n");
  const std::string first = "aggregationRule.clusterRoleSelectors[0]";
  const auto wrong = first + " Invalid value: null\n";
  CHECK(of_rule(R"({"clusterRoleSelectors":[{"matchLabels":{"bad key":"bad value"}}]})") ==
        first + ".matchLabels Invalid value: \"bad key\"\n" + first +
            ".matchLabels Invalid value: \"bad value\"\n" + wrong);
  const auto expression = [&](const std::string& one) {
    return of_rule(R"({"clusterRoleSelectors":[{"matchExpressions":[)" + one + "]}]}");
  };
  const auto at = first + ".matchExpressions[0].";
  CHECK(expression(R"({"key":"a","operator":"In"})") ==
        at + "values Required value: must be specified when `operator` is 'In' or 'NotIn'\n" +
            wrong);
  CHECK(expression(R"({"key":"a","operator":"Exists","values":["x"]})") ==
        at +
            "values Forbidden: may not be specified when `operator` is 'Exists' or "
            "'DoesNotExist'\n" +
            wrong);
  CHECK(expression(R"({"key":"/a","operator":"Foo"})") ==
        at + "operator Invalid value: \"Foo\"\n" + at + "key Invalid value: \"/a\"\n" + wrong);
  CHECK(expression(R"({"key":"a","operator":"In","values":["b","-"]})") ==
        at + "values[1] Invalid value: \"-\"\n" + wrong);
}

TEST_CASE("scopes and timeouts that zood exchanges are judged before") {
  CHECK(of_hook(R"("timeoutSeconds":30,"rules":[{"scope":"*"},{"scope":"Cluster"},{}])").empty());
  CHECK(of_hook(R"("timeoutSeconds":31,"rules":[{"scope":"*"},{"scope":"X"}])") ==
        "webhooks[0].rules[1].scope Unsupported value: \"X\"\n"
        "webhooks[0].timeoutSeconds Invalid value: 31\n");
  CHECK(of_hook(R"("timeoutSeconds":0)") == "webhooks[0].timeoutSeconds Invalid value: 0\n");
  CHECK(faults("admissionregistration.k8s.io", "validatingadmissionpolicies",
               R"({"spec":{"matchConstraints":{"resourceRules":[{"scope":""}]}}})") ==
        "spec.matchConstraints.resourceRules[0].scope Unsupported value: \"\"\n");
  CHECK(has_validity("rbac.authorization.k8s.io", "clusterroles"));
  CHECK_FALSE(has_validity("rbac.authorization.k8s.io", "rolebindings"));
}
