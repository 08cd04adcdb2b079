// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/framer.hpp"
#include "daemon/translate/rewrite.hpp"
#include "tests/unit/translate/target_mapping.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace zoo::translate {
namespace {

using Json = nlohmann::json;
constexpr const char* k_rbac = "rbac.authorization.k8s.io";

struct Sent {
  std::string text;
  std::string name, name_space;
  std::size_t foreign = 0;
};

Result<Sent> send(Direction direction, std::string_view group, std::string_view kind,
                  std::string_view text, bool patch = false) {
  const auto names = test::tenant();
  RewriteContext context{names, direction, "default", patch};
  Sent out;
  ZOO_TRY_VOID(rewrite(root_of(group, kind), context, text, out.text));
  out.name = context.name;
  out.name_space = context.name_space;
  out.foreign = context.foreign;
  return out;
}

std::string in(std::string_view group, std::string_view kind, std::string_view text,
               bool patch = false) {
  auto sent = send(Direction::inward, group, kind, text, patch);
  return sent ? sent->text : "refused: " + sent.error().message();
}

std::string out(std::string_view group, std::string_view kind, std::string_view text) {
  auto sent = send(Direction::outward, group, kind, text);
  return sent ? sent->text : "refused: " + sent.error().message();
}

std::string proof(std::string_view group, std::string_view kind, std::string_view text) {
  auto sent = send(Direction::prove, group, kind, text);
  if (!sent) return sent.error().message();
  CHECK(sent->text.empty());
  return "";
}

/// Inward, proven, outward and equal again.
void round_trip(std::string_view group, std::string_view kind, const std::string& tenant,
                const std::string& upstream) {
  CAPTURE(tenant);
  CHECK(in(group, kind, tenant) == upstream);
  CHECK(proof(group, kind, upstream) == "");
  CHECK(out(group, kind, upstream) == tenant);
}

TEST_CASE("what no rule names is copied byte for byte") {
  const std::string text = " { \"metadata\" : {\"name\":\"a\",\n\t\"x\":1.0e5, \"y\" :[ ] "
                           "},\"unknown\":{\"a\":1,\"a\":2},"
                           "\"data\":{\"k\":\"\\u0041\\/\"} } ";
  CHECK(in("", "ConfigMap", text) == text);
  CHECK(out("", "ConfigMap", text) == text);
}

TEST_CASE("the caller learns who the object is") {
  const auto sent =
      send(Direction::inward, "", "ConfigMap", R"({"metadata":{"name":"a","namespace":"team"}})");
  REQUIRE(sent);
  CHECK(sent->name == "a");
  CHECK(sent->name_space == "team");
  CHECK(sent->text == R"({"metadata":{"name":"a","namespace":"abc123-team"}})");
}

TEST_CASE("keys count unescaped, and a key that comes twice at a rule is refused") {
  CHECK(in("", "ConfigMap", R"({"metad\u0061ta":{"n\u0061mespace":"team"}})") ==
        R"({"metad\u0061ta":{"n\u0061mespace":"abc123-team"}})");
  CHECK(in("", "ConfigMap", R"({"metadata":{"namespace":"a","n\u0061mespace":"b"}})") ==
        "refused: duplicate field \"metadata.namespace\"");
  CHECK(in("", "Pod", R"({"spec":{},"spec":{}})") == "refused: duplicate field \"spec\"");
  CHECK(in("", "ResourceQuota", R"({"spec":{"hard":{"pods":"1","pods":"2"}}})") ==
        "refused: duplicate field \"spec.hard.pods\"");
  CHECK(in("", "Pod", R"({"metadata":{"ownerReferences":[{"kind":"A","kind":"B","name":"x"}]}})") ==
        "refused: duplicate field \"metadata.ownerReferences[0].kind\"");
  // Another case is another key.
  CHECK(in("", "ConfigMap", R"({"metadata":{"Namespace":"a","namespace":"b"}})") ==
        R"({"metadata":{"Namespace":"a","namespace":"abc123-b"}})");
}

TEST_CASE("what holds no word of its rules is passed over on its way, and proven") {
  const std::string twice = R"({"spec":{"containers":[{"resources":{"requests":{"a":1,"a":2}}}]}})";
  CHECK(in("", "Pod", twice) == twice);
  CHECK(proof("", "Pod",
              R"({"metadata":{"namespace":"abc123-default"},"spec":{"containers":[)"
              R"({"resources":{"requests":{"a":1,"a":2}}}]}})") ==
        R"(duplicate field "spec.containers[0].resources.requests.a")");
  CHECK(proof("", "Pod", R"({"metadata":{"namespace":"abc123-default"},"spec":{"volumes":{}}})") ==
        "spec.volumes must be a list");
  // An escape may hide a word.
  CHECK(in("", "Pod", R"({"spec":{"volumes":{"x":"\u0070"}}})") ==
        "refused: spec.volumes must be a list");
  CHECK(in("", "Pod", R"({"spec":{"runtimeClassName":"r","runtimeClassName":"s"}})") ==
        "refused: duplicate field \"spec.runtimeClassName\"");
  // The keys of a patch stand within words of their own.
  CHECK(in("", "Pod", R"({"spec":{"volumes":{}}})", true) ==
        "refused: spec.volumes must be a list");
}

TEST_CASE("a policy's parameters live in namespaces, or are of the tenant's own kinds") {
  const auto policy = [](std::string_view version, std::string_view kind) {
    return fmt::format(
        R"({{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicy",)"
        R"("metadata":{{"name":"p"}},"spec":{{"paramKind":{{"apiVersion":"{}","kind":"{}"}}}}}})",
        version, kind);
  };
  const auto in_policy = [&](std::string_view version, std::string_view kind) {
    return in("admissionregistration.k8s.io", "ValidatingAdmissionPolicy", policy(version, kind));
  };
  for (const auto& [version, kind] : std::initializer_list<std::pair<const char*, const char*>>{
           {"v1", "PersistentVolume"},
           {"v1", "Namespace"},
           {"v1", "Node"},
           {"rbac.authorization.k8s.io/v1", "ClusterRole"},
           {"storage.k8s.io/v1", "StorageClass"},
           {"v1", "Unheard"},
           {"apiextensions.k8s.io/v1", "CustomResourceDefinition"}}) {
    CAPTURE(kind);
    CHECK(in_policy(version, kind).find("would be taken from the whole cluster") !=
          std::string::npos);
    CHECK_FALSE(send(Direction::prove, "admissionregistration.k8s.io", "ValidatingAdmissionPolicy",
                     policy(version, kind)));
  }
  CHECK(in_policy("v1", "ConfigMap").find("refused") == std::string::npos);
  CHECK(in_policy("apps/v1", "Deployment").find("refused") == std::string::npos);
  CHECK(in_policy("example.com/v1", "Limit").find("refused") == std::string::npos);
}

TEST_CASE("where zood reads members that no rule names, none comes twice") {
  CHECK(in("scheduling.k8s.io", "PriorityClass",
           R"({"globalDefault":true,"value":1,"globalDefault":true})") ==
        "refused: duplicate field \"globalDefault\"");
  CHECK(in("scheduling.k8s.io", "PriorityClass",
           R"({"globalDefault":true,"glob\u0061lDefault":false})") ==
        "refused: duplicate field \"globalDefault\"");
  CHECK(
      in("rbac.authorization.k8s.io", "ClusterRole",
         R"({"aggregationRule":{"clusterRoleSelectors":[{}]},"rules":[],"aggregationRule":null})") ==
      "refused: duplicate field \"aggregationRule\"");
  CHECK(in("admissionregistration.k8s.io", "ValidatingWebhookConfiguration",
           R"({"webhooks":[{"clientConfig":{"url":"https://a","url":null}}]})") ==
        "refused: duplicate field \"url\"");
}

TEST_CASE("a value of another type than its rule's is refused with its place") {
  CHECK(in("", "Pod", R"({"metadata":{"namespace":7}})") ==
        "refused: metadata.namespace must be a string");
  CHECK(in("", "Pod", R"({"metadata":[]})") == "refused: metadata must be an object");
  CHECK(in("", "Pod", R"({"metadata":{"ownerReferences":{}}})") ==
        "refused: metadata.ownerReferences must be a list");
  CHECK(in("", "Pod", R"({"metadata":null,"spec":null})") == R"({"metadata":null,"spec":null})");
}

TEST_CASE("Namespace: the label and the level of pod security are injected") {
  round_trip("", "Namespace", R"({"metadata":{"name":"a"}})",
             R"({"metadata":{"name":"abc123-a","labels":{"tenant.kubezoo.io/id":"abc123",)"
             R"("pod-security.kubernetes.io/enforce":"baseline"}}})");
  round_trip("", "Namespace",
             R"({"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"privileged"}}})",
             R"({"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"baseline",)"
             R"("tenant.kubezoo.io/id":"abc123",)"
             R"("kept.zoo.kubezoo.io/pod-security-enforce":"privileged"}}})");
  round_trip("", "Namespace",
             R"({"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"restricted"}}})",
             R"({"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"restricted",)"
             R"("tenant.kubezoo.io/id":"abc123"}}})");
  CHECK(in("", "Namespace", "{}").find("\"tenant.kubezoo.io/id\":\"abc123\"") != std::string::npos);
  CHECK(in("", "Namespace", R"({"metadata":null})").find("tenant.kubezoo.io/id") !=
        std::string::npos);
  CHECK(in("", "Namespace", R"({"metadata":{"labels":null}})").find("tenant.kubezoo.io/id") !=
        std::string::npos);
  CHECK(
      out("", "Namespace",
          R"({"metadata":{"labels":{"kubernetes.io/metadata.name":"abc123-a","b":"c",)"
          R"("tenant.kubezoo.io/id":"abc123","pod-security.kubernetes.io/enforce":"baseline"}}})") ==
      R"({"metadata":{"labels":{"kubernetes.io/metadata.name":"a","b":"c"}}})");
}

TEST_CASE("Namespace: what a tenant may not say") {
  for (const char* text :
       {R"({"metadata":{"name":"abc123-a"}})",
        R"({"metadata":{"labels":{"tenant.kubezoo.io/id":"zzz999"}}})",
        R"({"metadata":{"labels":{"kept.zoo.kubezoo.io/x":"y"}}})",
        R"({"metadata":{"annotations":{"zoo.kubezoo.io/x":"y"}}})",
        R"({"metadata":{"labels":{"resource.kubernetes.io/admin-access":"true"}}})",
        R"({"metadata":{"annotations":{"scheduler.alpha.kubernetes.io/node-selector":"a=b"}}})"}) {
    CAPTURE(text);
    const auto sent = send(Direction::inward, "", "Namespace", text);
    REQUIRE_FALSE(sent);
    CHECK(sent.error().code() == Code::forbidden);
  }
  const auto longest = std::string(56, 'a');
  CHECK(in("", "Namespace", R"({"metadata":{"name":")" + longest + "\"}}").find("abc123-aaa") !=
        std::string::npos);
  CHECK(in("", "Namespace", R"({"metadata":{"name":")" + longest + "a\"}}") ==
        "refused: metadata.name must be no more than 56 characters, for the platform needs 7 of "
        "Kubernetes' 63");
}

TEST_CASE("a namespace that is no name goes nowhere: it would be part of an address") {
  for (const std::string name : {"../x", "a/b", "a.b", "A", "x\\u0000", "%2e"}) {
    CHECK(in("admissionregistration.k8s.io", "ValidatingWebhookConfiguration",
             R"({"metadata":{"name":"a"},"webhooks":[{"clientConfig":{"service":{"namespace":")" +
                 name + R"(","name":"y"}}}]})")
              .find("refused: webhooks[0].clientConfig.service.namespace must be the name of a "
                    "namespace") == 0);
  }
}

TEST_CASE("Namespace: the proof wants label and level") {
  const auto labels = [](const std::string& inner) {
    return R"({"metadata":{"name":"abc123-a","labels":)" + inner + "}}";
  };
  CHECK(proof("", "Namespace", labels("null")) == "metadata.labels must not be null");
  CHECK(proof("", "Namespace", R"({"metadata":{"name":"abc123-a"}})") ==
        "metadata.labels is missing");
  CHECK(proof("", "Namespace", labels("{}")) ==
        "metadata.labels does not carry the tenant's label");
  CHECK(proof("", "Namespace",
              labels(R"({"tenant.kubezoo.io/id":"zzz999",)"
                     R"("pod-security.kubernetes.io/enforce":"baseline"})")) != "");
  CHECK(proof("", "Namespace", labels(R"({"tenant.kubezoo.io/id":"abc123"})")) ==
        "metadata.labels does not enforce pod security");
  CHECK(proof("", "Namespace",
              labels(R"({"tenant.kubezoo.io/id":"abc123",)"
                     R"("pod-security.kubernetes.io/enforce":"privileged"})")) != "");
}

TEST_CASE("definitions carry the tenant's label") {
  const std::string group = "apiextensions.k8s.io", kind = "CustomResourceDefinition";
  const std::string own = R"({"metadata":{"name":"things.example.com"}})";
  const auto labels = [](const std::string& inner) {
    return R"({"metadata":{"name":"things.abc123-example.com","labels":)" + inner + "}}";
  };
  round_trip(group, kind, own, labels(R"({"tenant.kubezoo.io/id":"abc123"})"));
  CHECK(in(group, kind, R"({"metadata":{"labels":null}})") ==
        R"({"metadata":{"labels":{"tenant.kubezoo.io/id":"abc123"}}})");
  CHECK(in(group, kind, R"({"metadata":{"labels":{"tenant.kubezoo.io/id":"abc123"}}})") ==
        "refused: metadata.labels[\"tenant.kubezoo.io/id\"] is reserved (rule reserved-names): the "
        "platform sets it, leave it out");
  CHECK(in(group, kind, R"({"metadata":{"labels":{"a":"b"}}})", true) ==
        R"({"metadata":{"labels":{"a":"b","tenant.kubezoo.io/id":"abc123"}}})");
  // An apply patch is whole, and never leaves it out.
  CHECK(in(group, kind,
           R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition"})", true)
            .find("tenant.kubezoo.io/id") != std::string::npos);
  CHECK(proof(group, kind, labels(R"({"a":"b"})")) ==
        "metadata.labels does not carry the tenant's label");
  CHECK(proof(group, kind, labels(R"({"tenant.kubezoo.io/id":"zzz999"})")) ==
        "metadata.labels[\"tenant.kubezoo.io/id\"] must be the tenant's own");
  CHECK(out(group, kind, labels(R"({"a":"b"})")) ==
        R"({"metadata":{"name":"things.example.com","labels":{"a":"b"}}})");
}

TEST_CASE("what a patch has left of a definition is labelled") {
  const auto& root = root_of("apiextensions.k8s.io", "CustomResourceDefinition");
  const auto names = test::tenant();
  const auto stored = [](const std::string& labels) {
    return R"({"metadata":{"name":"things.abc123-example.com",)" + labels +
           R"("resourceVersion":"7"},"spec":{"group":"abc123-example.com"}})";
  };
  for (const char* labels : {"", R"("labels":{"a":"b"},)"}) {
    const auto settled = settle(root, names, stored(labels));
    REQUIRE((settled && *settled));
    CHECK(proof("apiextensions.k8s.io", "CustomResourceDefinition", **settled) == "");
    CHECK(out("apiextensions.k8s.io", "CustomResourceDefinition", **settled) ==
          out("apiextensions.k8s.io", "CustomResourceDefinition", stored(labels)));
  }
  // Nothing else of it is another: what is not the tenant's stays, for the proof to refuse.
  const std::string foreign =
      R"({"metadata":{"name":"things.abc123-example.com"},"spec":{"group":"zzz999-example.com"}})";
  const auto kept = settle(root, names, foreign);
  REQUIRE((kept && *kept));
  CHECK((*kept)->find("zzz999-example.com") != std::string::npos);
  CHECK(proof("apiextensions.k8s.io", "CustomResourceDefinition", **kept) != "");
  const auto right = settle(root, names, stored(R"("labels":{"tenant.kubezoo.io/id":"abc123"},)"));
  CHECK((right && !*right));
}

TEST_CASE("an escaped slash hides no word") {
  const std::string role =
      R"({"metadata":{"name":"r","annotations":{"zoo.kubezoo.io\/aggregation-rule":"{}"}}})";
  CHECK(in("rbac.authorization.k8s.io", "ClusterRole", role).find("is reserved") !=
        std::string::npos);
  CHECK(in("", "ConfigMap", R"({"metadata":{"annotations":{"zoo.kubezoo.io\/x":""}}})")
            .find("is reserved") != std::string::npos);
}

TEST_CASE("patches of labels keep the fence") {
  CHECK(in("", "Namespace", R"({"metadata":{"labels":{"a":"b"}}})", true) ==
        R"({"metadata":{"labels":{"a":"b","tenant.kubezoo.io/id":"abc123"}}})");
  CHECK(in("", "Namespace", R"({"metadata":{"labels":{"$patch":"replace","a":"b"}}})", true) ==
        R"({"metadata":{"labels":{"$patch":"replace","a":"b","tenant.kubezoo.io/id":"abc123"}}})");
  CHECK(in("", "Namespace", R"({"spec":{}})", true) == R"({"spec":{}})");
  // An apply patch is whole: it names its kind.
  CHECK(
      in("", "Namespace", R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"a"}})", true)
          .find("pod-security.kubernetes.io/enforce") != std::string::npos);
  CHECK(in("", "Pod", R"({"metadata":{"$setElementOrder/ownerReferences":[{"uid":"u"}]}})", true) ==
        R"({"metadata":{"$setElementOrder/ownerReferences":[{"uid":"u"}]}})");
}

TEST_CASE("RBAC is stored inert") {
  round_trip(
      k_rbac, "ClusterRoleBinding",
      R"({"kind":"ClusterRoleBinding","metadata":{"name":"x"},)"
      R"("roleRef":{"kind":"ClusterRole","name":"cluster-admin"},)"
      R"("subjects":[{"kind":"Group","name":"system:authenticated"},)"
      R"({"kind":"ServiceAccount","name":"s","namespace":"d"}]})",
      R"({"kind":"RoleBinding","metadata":{"name":"zoo:crb:x","namespace":"abc123-kube-system"},)"
      R"("roleRef":{"kind":"ClusterRole","name":"zoo:system:cluster-admin"},)"
      R"("subjects":[{"kind":"Group","name":"zoo:inert:abc123:system:authenticated"},)"
      R"({"kind":"ServiceAccount","name":"s","namespace":"zoo:inert:abc123:d"}]})");
  round_trip(k_rbac, "Role", R"({"rules":[{"apiGroups":["","example.com"],"verbs":["*"]}]})",
             R"({"rules":[{"apiGroups":["","abc123-example.com"],"verbs":["zoo:*"]}]})");
  CHECK(proof(k_rbac, "Role", R"({"rules":[{"verbs":["get"]}]})") != "");
  CHECK(proof(k_rbac, "RoleBinding", R"({"subjects":[{"kind":"User","name":"system:masters"}]})") !=
        "");
  CHECK(proof(k_rbac, "RoleBinding", R"({"roleRef":{"kind":"ClusterRole","name":"admin"}})") != "");
  CHECK(in(k_rbac, "ClusterRole", R"({"metadata":{"name":"system:node"}})").starts_with("refused"));
  // Kubernetes has none of this name: it is the tenant's own.
  round_trip(k_rbac, "ClusterRole", R"({"metadata":{"name":"system:vpa-actor"}})",
             R"({"metadata":{"name":"abc123-system:vpa-actor"}})");
  round_trip(k_rbac, "RoleBinding",
             R"({"roleRef":{"kind":"ClusterRole","name":"system:vpa-actor"}})",
             R"({"roleRef":{"kind":"ClusterRole","name":"abc123-system:vpa-actor"}})");
  CHECK(out(k_rbac, "RoleBinding",
            R"({"roleRef":{"kind":"ClusterRole","name":"zoo:system:system:vpa-actor"}})") ==
        R"({"roleRef":{"kind":"ClusterRole","name":"system:vpa-actor"}})");
  CHECK(proof(k_rbac, "RoleBinding",
              R"({"roleRef":{"kind":"ClusterRole","name":"zoo:system:system:vpa-actor"}})") != "");
  // A ServiceAccount without a namespace is one of the binding's own.
  CHECK(
      in(k_rbac, "RoleBinding",
         R"({"subjects":[{"kind":"ServiceAccount","name":"s"},)"
         R"({"kind":"User","name":"u"}]})") ==
      R"({"subjects":[{"kind":"ServiceAccount","name":"s","namespace":"zoo:inert:abc123:default"},)"
      R"({"kind":"User","name":"zoo:inert:abc123:u"}]})");
  CHECK(proof(k_rbac, "RoleBinding", R"({"subjects":[{"kind":"ServiceAccount","name":"s"}]})") ==
        "subjects[0].namespace is missing");
  for (const char* name : {"zoo-tenant", "zoo:crb:x"})
    CHECK(in(k_rbac, "RoleBinding", R"({"metadata":{"name":")" + std::string(name) + "\"}}")
              .starts_with("refused"));
  CHECK(in("", "ConfigMap", R"({"metadata":{"name":"zoo-root-ca.crt"}})").starts_with("refused"));
  CHECK(proof("", "ConfigMap", R"({"metadata":{"name":"zoo-root-ca.crt"}})") != "");
  CHECK(in("networking.k8s.io", "NetworkPolicy", R"({"metadata":{"name":"zoo-baseline"}})")
            .starts_with("refused"));
  // Of each kind its own name alone.
  round_trip("", "ConfigMap", R"({"metadata":{"name":"zoo-baseline"}})",
             R"({"metadata":{"name":"zoo-baseline"}})");
  round_trip("", "Secret", R"({"metadata":{"name":"zoo-root-ca.crt"}})",
             R"({"metadata":{"name":"zoo-root-ca.crt"}})");
  CHECK(in("", "ConfigMap",
           R"({"metadata":{"ownerReferences":[{"apiVersion":"rbac.authorization.k8s.io/v1",)"
           R"("kind":"ClusterRoleBinding","name":"x"}]}})")
            .starts_with("refused"));
}

TEST_CASE("ConfigMap kube-root-ca.crt shows the authorities of zood") {
  const Mapping names("abc123", std::make_shared<const SharedNames>(),
                      std::make_shared<const std::string>("-\n\"zood\""));
  const auto shown = [&](std::string_view kind, std::string_view text,
                         Direction direction = Direction::outward) {
    RewriteContext context{names, direction, "default", false};
    std::string made;
    const auto done = rewrite(root_of("", kind), context, text, made);
    return done ? made : "refused: " + done.error().message();
  };
  const std::string of_upstream =
      R"({"metadata":{"name":"kube-root-ca.crt"},"data":{"a":{"ca.crt":"b"},"ca.crt" : "up","z":""}})";
  CHECK(shown("ConfigMap", of_upstream) ==
        R"({"metadata":{"name":"kube-root-ca.crt"},"data":{"a":{"ca.crt":"b"},)"
        R"("ca.crt" : "-\n\"zood\"","z":""}})");
  CHECK(shown("ConfigMap", of_upstream, Direction::inward) == of_upstream);
  CHECK(out("", "ConfigMap", of_upstream) == of_upstream); // nothing is to be shown
  for (const std::string other :
       {R"({"metadata":{"name":"kube-root-ca.crt"},"data":null})",
        R"({"metadata":{"name":"kube-root-ca.crt"},"data":{}})",
        R"({"metadata":{"name":"kube-root-ca.crt"},"binaryData":{"ca.crt":"up"}})",
        R"({"metadata":{"name":"another"},"data":{"ca.crt":"own"}})",
        R"({"metadata":{"name":"kube-root-ca.crt"}})"}) {
    CAPTURE(other);
    CHECK(shown("ConfigMap", other) == other);
  }
  CHECK(shown("Secret", of_upstream) == of_upstream);
  CHECK(shown("ConfigMap", R"({"metadata":{"name":"kube-root-ca.crt"},"data":{"ca.crt")")
            .starts_with("refused"));
}

TEST_CASE("what would act for the whole cluster is held back and shown") {
  const std::string role =
      R"({"metadata":{"name":"x","labels":{"rbac.authorization.k8s.io/aggregate-to-edit":"true"}},)"
      R"("aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"a":"b"}}]}})";
  const auto stored = in(k_rbac, "ClusterRole", role);
  CHECK(stored.find("aggregationRule") == std::string::npos);
  CHECK(stored.find("rbac.authorization.k8s.io/aggregate-to") == std::string::npos);
  CHECK(proof(k_rbac, "ClusterRole", stored) == "");
  CHECK(Json::parse(out(k_rbac, "ClusterRole", stored)) == Json::parse(role));
  CHECK(proof(k_rbac, "ClusterRole", R"({"aggregationRule":{"clusterRoleSelectors":[{}]}})") != "");
  CHECK(
      proof(k_rbac, "ClusterRole",
            R"({"metadata":{"labels":{"rbac.authorization.k8s.io/aggregate-to-edit":"true"}}})") !=
      "");

  const std::string priority = R"({"metadata":{"name":"x"},"globalDefault":true,"value":1})";
  const auto held = in("scheduling.k8s.io", "PriorityClass", priority);
  CHECK(held.find("globalDefault") == std::string::npos);
  CHECK(Json::parse(out("scheduling.k8s.io", "PriorityClass", held)) == Json::parse(priority));
  CHECK(proof("scheduling.k8s.io", "PriorityClass", R"({"globalDefault":true})") != "");
  CHECK(in("scheduling.k8s.io", "PriorityClass", R"({"metadata":{"name":"system-x"}})")
            .starts_with("refused"));
  CHECK(
      proof(
          "storage.k8s.io", "StorageClass",
          R"({"metadata":{"annotations":{"storageclass.kubernetes.io/is-default-class":"true"}}})") !=
      "");
}

TEST_CASE("a certificate request is stored under the tenant's signer and shows who asked") {
  const std::string asked =
      R"({"metadata":{"name":"x"},"spec":{"signerName":"kubernetes.io/kube-apiserver-client",)"
      R"("request":"eA==","usages":["client auth"]}})";
  const auto stored = Json::parse(in("certificates.k8s.io", "CertificateSigningRequest", asked));
  CHECK(stored["metadata"]["name"] == "abc123-x");
  CHECK(stored["spec"]["signerName"] == "abc123-kubernetes.io/kube-apiserver-client");

  auto upstream = stored;
  upstream["spec"]["username"] = "zoo:abc123";
  upstream["spec"]["groups"] = {"zoo:tenants", "system:authenticated"};
  upstream["spec"]["extra"] = {{"zoo-user", {"jane%20doe"}}, {"zoo-group", {"a%2Fb"}}};
  const auto shown =
      Json::parse(out("certificates.k8s.io", "CertificateSigningRequest", upstream.dump()));
  CHECK(shown["metadata"]["name"] == "x");
  CHECK(shown["spec"]["signerName"] == "kubernetes.io/kube-apiserver-client");
  CHECK(shown["spec"]["username"] == "jane doe");
  CHECK(shown["spec"]["groups"] == Json({"a/b", "system:authenticated"}));
  CHECK_FALSE(shown["spec"].contains("extra"));
  upstream["spec"]["extra"]["zoo-group"].push_back("system%3Aauthenticated");
  CHECK(Json::parse(out("certificates.k8s.io", "CertificateSigningRequest",
                        upstream.dump()))["spec"]["groups"] == shown["spec"]["groups"]);

  // Made upstream by somebody else: his name is not the tenant's to see.
  upstream["spec"]["username"] = "kubernetes-admin";
  upstream["spec"].erase("extra");
  const auto strange =
      Json::parse(out("certificates.k8s.io", "CertificateSigningRequest", upstream.dump()));
  CHECK(strange["spec"]["username"] == "");
  CHECK(strange["spec"]["groups"].empty());
}

TEST_CASE("webhooks and policies reach the tenant's namespaces only") {
  const std::string hooks =
      R"({"metadata":{"name":"x"},"webhooks":[{"name":"w","namespaceSelector":{"matchLabels":{"a":"b"}},)"
      R"("rules":[{"apiGroups":["*"],"scope":"*"},{"apiGroups":["example.com"]},)"
      R"({"apiGroups":["example.com"],"scope":"Cluster"},{"apiGroups":[""],"scope":"Namespaced"}],)"
      R"("clientConfig":{"service":{"name":"s","namespace":"team"}}}]})";
  const auto stored = in("admissionregistration.k8s.io", "ValidatingWebhookConfiguration", hooks);
  const auto json = Json::parse(stored);
  for (const auto& rule : json["webhooks"][0]["rules"])
    CHECK(rule["scope"] == "Namespaced");
  CHECK(json["webhooks"][0]["rules"][2]["apiGroups"] == Json{"cluster.zoo.kubezoo.io"});
  CHECK(json["webhooks"][0]["namespaceSelector"]["matchLabels"]["tenant.kubezoo.io/id"] ==
        "abc123");
  CHECK(json["webhooks"][0]["clientConfig"]["service"]["namespace"] == "abc123-team");
  CHECK(proof("admissionregistration.k8s.io", "ValidatingWebhookConfiguration", stored) == "");
  // What the tenant left out reads as apiserver's default.
  auto defaulted = Json::parse(hooks);
  defaulted["webhooks"][0]["rules"][1]["scope"] = "*";
  CHECK(Json::parse(out("admissionregistration.k8s.io", "ValidatingWebhookConfiguration",
                        stored)) == defaulted);
  // Without a selector it would see everybody.
  CHECK(proof("admissionregistration.k8s.io", "MutatingWebhookConfiguration",
              R"({"webhooks":[{"name":"w"}]})") == "webhooks[0].namespaceSelector is missing");
  const std::string policy =
      R"({"metadata":{"name":"x"},"spec":{"matchConstraints":{"resourceRules":[{"apiGroups":["apps"]}]}}})";
  const auto fenced = in("admissionregistration.k8s.io", "ValidatingAdmissionPolicy", policy);
  CHECK(Json::parse(fenced)["spec"]["matchConstraints"]["namespaceSelector"]["matchLabels"]
                           ["tenant.kubezoo.io/id"] == "abc123");
  CHECK(proof("admissionregistration.k8s.io", "ValidatingAdmissionPolicy", fenced) == "");
  CHECK(Json::parse(out("admissionregistration.k8s.io", "ValidatingAdmissionPolicy",
                        fenced))["spec"]["matchConstraints"]["resourceRules"][0]["scope"] == "*");
  CHECK(proof("admissionregistration.k8s.io", "ValidatingAdmissionPolicy", R"({"spec":{}})") != "");
}

TEST_CASE("a volume is not filled from a kind of snapshots that the storage does not know") {
  const auto source = [](const char* member, const char* group) {
    return Json{{"spec", {{member, {{"apiGroup", group}, {"kind", "VolumeSnapshot"}}}}}};
  };
  const auto whole = [&](const char* kind, const Json& claim) -> Json {
    if (kind == std::string_view("StatefulSet"))
      return {{"spec", {{"volumeClaimTemplates", {claim}}}}};
    const Json pod = {
        {"volumes", {{{"name", "v"}, {"ephemeral", {{"volumeClaimTemplate", claim}}}}}}};
    if (kind == std::string_view("Pod")) return {{"spec", pod}};
    if (kind == std::string_view("Deployment")) return {{"spec", {{"template", {{"spec", pod}}}}}};
    return claim;
  };
  for (const auto& [group, kind] :
       {std::pair{"", "PersistentVolumeClaim"}, std::pair{"", "Pod"},
        std::pair{"apps", "StatefulSet"}, std::pair{"apps", "Deployment"}}) {
    CAPTURE(kind);
    for (const auto* member : {"dataSource", "dataSourceRef"}) {
      const auto own = whole(kind, source(member, "snapshot.storage.k8s.io")).dump();
      const auto refused = in(group, kind, own);
      CHECK(refused.find("(rule volume-snapshots)") != std::string::npos);
      CHECK(in(group, kind, own, true) == refused);
      // A populator of the tenant's own is asked for by its own kind.
      round_trip(group, kind, whole(kind, source(member, "fill.example.com")).dump(),
                 whole(kind, source(member, "abc123-fill.example.com")).dump());
      // What the platform shares goes by its name.
      auto shared = std::make_shared<SharedNames>();
      shared->groups.insert("snapshot.storage.k8s.io");
      const Mapping names("abc123", shared);
      RewriteContext context{names, Direction::inward, "default"};
      std::string sent;
      CHECK(rewrite(root_of(group, kind), context, own, sent));
      CHECK(sent == own);
    }
  }
}

TEST_CASE("an expression that was stored before groups were cut is made right by a patch") {
  const std::string_view group = "admissionregistration.k8s.io";
  const std::string_view kind = "ValidatingAdmissionPolicy";
  const std::string policy =
      R"({"metadata":{"name":"x"},"spec":{"matchConstraints":{"namespaceSelector":{"matchLabels":{"a":"b"}},)"
      R"("resourceRules":[{"apiGroups":[""],"scope":"Namespaced"}]},"validations":[{"expression":"object.apiVersion == 'v1'"}]}})";
  const auto stored = in(group, kind, policy);
  CHECK(stored.find("dyn(object.apiVersion.replace('abc123-', '', 1)) == 'v1'") !=
        std::string::npos);
  CHECK(proof(group, kind, stored) == "");
  CHECK(Json::parse(out(group, kind, stored)) == Json::parse(policy));
  auto before = Json::parse(stored);
  before["spec"]["validations"][0]["expression"] = "object.apiVersion == 'v1'";
  CHECK(proof(group, kind, before.dump()).find("(rule expression-groups)") != std::string::npos);
  const auto settled = settle(root_of(group, kind), test::tenant(), before.dump()).value();
  REQUIRE(settled);
  CHECK(proof(group, kind, *settled) == "");
  auto whole = Json::parse(policy);
  whole["spec"]["variables"] = {{{"name", "k"}, {"expression", "request.kind"}}};
  CHECK(in(group, kind, whole.dump())
            .starts_with("refused: spec.variables[0].expression hands on 'request'"));
}

TEST_CASE("nobody defines kinds in the platform's groups") {
  for (const char* group : {"shared.example.org", "networking.k8s.io"}) {
    const auto text = Json{{"metadata", {{"name", std::string("foos.") + group}}}}.dump();
    CHECK(in("apiextensions.k8s.io", "CustomResourceDefinition", text).starts_with("refused"));
    CHECK(out("apiextensions.k8s.io", "CustomResourceDefinition", text) == text);
  }
  // Upstream takes no group without a dot, whoever's definition it is, and says so itself.
  const auto plain = in("apiextensions.k8s.io", "CustomResourceDefinition",
                        R"({"metadata":{"name":"foos.apps"},"spec":{"group":"apps"}})");
  CHECK(Json::parse(plain)["metadata"]["name"] == "foos.apps");
}

TEST_CASE("a tenant's mutations leave alone what reaches out of it") {
  const std::string_view group = "admissionregistration.k8s.io";
  const std::string policy =
      R"({"metadata":{"name":"x"},"spec":{"matchConstraints":{"namespaceSelector":{"matchLabels":{"a":"b"}},)"
      R"("resourceRules":[{"apiGroups":[""],"scope":"Namespaced"}]}}})";
  const std::string hook =
      R"({"metadata":{"name":"x"},"webhooks":[{"name":"w","namespaceSelector":{"matchLabels":{"a":"b"}},)"
      R"("matchConditions":[{"name":"own","expression":"true"}]}]})";
  for (const auto& [kind, text] : {std::pair{"MutatingAdmissionPolicy", &policy},
                                   std::pair{"MutatingWebhookConfiguration", &hook}}) {
    const auto stored = in(group, kind, *text);
    const auto json = Json::parse(stored);
    const auto& conditions = kind == std::string_view("MutatingAdmissionPolicy")
                                 ? json["spec"]["matchConditions"]
                                 : json["webhooks"][0]["matchConditions"];
    CHECK(conditions.back()["name"] == "zoo.kubezoo.io/own-objects");
    CHECK(conditions.back()["expression"].get<std::string>().find("'/services'") !=
          std::string::npos);
    CHECK(proof(group, kind, stored) == "");
    CHECK(Json::parse(out(group, kind, stored)) == Json::parse(*text));
    // A patch can take it away: its result is not right, and becomes so.
    auto patched = stored;
    patched.replace(patched.find("/services"), 9, "/nothings");
    CHECK(proof(group, kind, patched) != "");
    const auto settled = settle(root_of(group, kind), test::tenant(), patched).value();
    REQUIRE(settled);
    CHECK(proof(group, kind, *settled) == "");
  }
  CHECK(in(group, "MutatingAdmissionPolicy",
           R"({"spec":{"matchConditions":[{"name":"zoo.kubezoo.io/own-objects"}]}})")
            .starts_with("refused"));
}

TEST_CASE("a webhook that is named by its URL is stored without effect") {
  const std::string_view group = "admissionregistration.k8s.io";
  const std::string_view kind = "MutatingWebhookConfiguration";
  const std::string hooks =
      R"({"apiVersion":"admissionregistration.k8s.io/v1","kind":"MutatingWebhookConfiguration",)"
      R"("metadata":{"name":"x"},"webhooks":[)"
      R"({"name":"u","clientConfig":{"url":"https://x"},"namespaceSelector":{"matchLabels":{"a":"b"}},)"
      R"("rules":[{"apiGroups":["apps"],"scope":"Namespaced"},{"apiGroups":["example.com"]}]},)"
      R"({"name":"s","clientConfig":{"service":{"name":"s","namespace":"team"}},)"
      R"("namespaceSelector":{"matchLabels":{"a":"b"}},)"
      R"("rules":[{"apiGroups":["apps"],"scope":"Namespaced"}]}]})";
  const auto stored = in(group, kind, hooks);
  auto json = Json::parse(stored);
  CHECK(json["webhooks"][0]["clientConfig"]["url"] == "https://x");
  for (const auto& rule : json["webhooks"][0]["rules"])
    CHECK(rule["apiGroups"] == Json{"cluster.zoo.kubezoo.io"});
  CHECK(json["webhooks"][1]["rules"][0]["apiGroups"] == Json{"apps"});
  CHECK(proof(group, kind, stored) == "");
  auto shown = Json::parse(hooks);
  shown["webhooks"][0]["rules"][1]["scope"] = "*";
  CHECK(Json::parse(out(group, kind, stored)) == shown);
  const auto& root = root_of(group, kind);
  CHECK(settle(root, test::tenant(), stored).value() == std::nullopt);

  // Rules without groups are refused upstream, which says what is missing.
  const auto bare = in(group, kind,
                       R"({"metadata":{"name":"x"},"webhooks":[{"name":"u","rules":[{}],)"
                       R"("clientConfig":{"url":"https://x"}}]})");
  CHECK_FALSE(Json::parse(bare)["webhooks"][0]["rules"][0].contains("apiGroups"));
  CHECK(proof(group, kind, bare) == "");

  // A patch gave it other rules: they must not be effective.
  auto patched = json;
  patched["webhooks"][0]["rules"] = {{{"apiGroups", {"batch"}}, {"scope", "Namespaced"}}};
  CHECK(proof(group, kind, patched.dump()) != "");
  const auto inert = settle(root, test::tenant(), patched.dump()).value();
  REQUIRE(inert);
  CHECK(proof(group, kind, *inert) == "");
  CHECK(Json::parse(out(group, kind, *inert))["webhooks"][0]["rules"][0]["apiGroups"] ==
        Json{"batch"});

  // A patch gave it a Service: its rules are effective from now on.
  patched = json;
  patched["webhooks"][0]["clientConfig"] = {
      {"service", {{"name", "s"}, {"namespace", "abc123-team"}}}};
  CHECK(proof(group, kind, patched.dump()) == "");
  const auto effective = settle(root, test::tenant(), patched.dump()).value();
  REQUIRE(effective);
  CHECK(Json::parse(*effective)["webhooks"][0]["rules"][0]["apiGroups"] == Json{"apps"});
  CHECK(Json::parse(*effective)["webhooks"][0]["rules"][1]["apiGroups"] ==
        Json{"abc123-example.com"});
  CHECK(proof(group, kind, *effective) == "");
}

TEST_CASE("selectors over namespaces are fenced") {
  const std::string policy =
      R"({"spec":{"ingress":[{"from":[{"namespaceSelector":{}},{"podSelector":{}},)"
      R"({"namespaceSelector":null}]}]}})";
  const auto stored = in("networking.k8s.io", "NetworkPolicy", policy);
  CHECK(stored == R"({"spec":{"ingress":[{"from":[{"namespaceSelector":{"matchLabels":)"
                  R"({"tenant.kubezoo.io/id":"abc123"}}},{"podSelector":{}},)"
                  R"({"namespaceSelector":null}]}]}})");
  CHECK(proof("networking.k8s.io", "NetworkPolicy", stored) == "");
  CHECK(out("networking.k8s.io", "NetworkPolicy", stored) == policy);
  CHECK(proof("networking.k8s.io", "NetworkPolicy",
              R"({"spec":{"ingress":[{"from":[{"namespaceSelector":{}}]}]}})") != "");
  for (const char* selector :
       {R"({"matchLabels":{"tenant.kubezoo.io/id":"zzz999"}})",
        R"({"matchExpressions":[{"key":"tenant.kubezoo.io/id","operator":"Exists"}]})"}) {
    CHECK(
        in("networking.k8s.io", "NetworkPolicy",
           R"({"spec":{"egress":[{"to":[{"namespaceSelector":)" + std::string(selector) + "}]}]}}")
            .starts_with("refused"));
  }
}

TEST_CASE("an Event about a cluster-scoped object lies in its namespace upstream") {
  round_trip("", "Event",
             R"({"metadata":{"namespace":"default"},"involvedObject":{"kind":"Node","name":"n"}})",
             R"({"metadata":{"namespace":"abc123-default"},)"
             R"("involvedObject":{"kind":"Node","name":"n","namespace":"abc123-default"}})");
  round_trip(
      "", "Event",
      R"({"involvedObject":{"apiVersion":"v1","kind":"Namespace","name":"n"},"message":"m"})",
      R"({"involvedObject":{"apiVersion":"v1","kind":"Namespace","name":"abc123-n",)"
      R"("namespace":"abc123-default"},"message":"m"})");
}

TEST_CASE("a label's value that is none goes as it is, for upstream to refuse") {
  const auto policy = [](std::string_view value) {
    return fmt::format(
        R"({{"metadata":{{"name":"n","namespace":"abc123-default"}},"spec":{{"ingress":[{{"from":[{{)"
        R"("namespaceSelector":{{"matchLabels":{{"kubernetes.io/metadata.name":"{}",)"
        R"("tenant.kubezoo.io/id":"abc123"}}}}}}]}}]}}}})",
        value);
  };
  const auto selects = [](std::string_view value) {
    return Json::parse(in(
        "networking.k8s.io", "NetworkPolicy",
        fmt::format(R"({{"spec":{{"ingress":[{{"from":[{{"namespaceSelector":)"
                    R"({{"matchLabels":{{"kubernetes.io/metadata.name":"{}"}}}}}}]}}]}}}})",
                    value)))["spec"]["ingress"][0]["from"][0]["namespaceSelector"]["matchLabels"]
                            ["kubernetes.io/metadata.name"]
                                .get<std::string>();
  };
  CHECK(selects("team") == "abc123-team");
  CHECK(selects("Team") == "abc123-Team"); // a value, though of no namespace
  CHECK(selects("-x") == "-x");
  CHECK(selects("a b") == "a b");
  CHECK(proof("networking.k8s.io", "NetworkPolicy", policy("-x")) == "");
  CHECK(proof("networking.k8s.io", "NetworkPolicy", policy("team")) != "");
}

TEST_CASE("outward nothing fails that is JSON, and garbage never reads beyond its end") {
  for (const char* text : {R"({"metadata":7})", R"({"metadata":{"labels":[]}})", "[]", "7",
                           R"({"spec":{"containers":"x"}})"}) {
    CAPTURE(text);
    CHECK(out("", "Pod", text) == text);
  }
  const std::string whole =
      R"({"metadata":{"name":"a","labels":{"tenant.kubezoo.io/id":"abc123"},"managedFields":)"
      R"([{"fieldsV1":{"f:metadata":{"f:labels":{"f:tenant.kubezoo.io/id":{}}}}}]}})";
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto copy = whole.substr(0, size);
    const auto sent = send(Direction::outward, "", "Namespace", copy);
    REQUIRE_FALSE(sent);
    CHECK(sent.error().code() == Code::internal);
  }
}

TEST_CASE("a list gives the same, whatever the chunks") {
  struct Items : FrameHandler {
    void on_frame_head(std::string_view text) override { out += text; }
    void on_frame(std::string_view item) override {
      RewriteContext context{names, Direction::outward, ""};
      if (count++ > 0) out += ',';
      CHECK(rewrite(root_of("", "Namespace"), context, item, out));
    }
    void on_frame_tail(std::string_view text) override { out += text; }
    Mapping names = test::tenant();
    std::string out;
    int count = 0;
  };
  const std::string list =
      R"({"kind":"NamespaceList","metadata":{"resourceVersion":"5"},"items":[)"
      R"({"metadata":{"name":"abc123-a","labels":{"tenant.kubezoo.io/id":"abc123"}}},)"
      R"({"metadata":{"name":"abc123-b","labels":{"x":"\"}]\\","tenant.kubezoo.io/id":"abc123"}}}]})";
  std::string first;
  for (std::size_t chunk = 1; chunk <= list.size(); ++chunk) {
    Items items;
    Framer framer(Shape::list, 1 << 20, items);
    for (std::size_t at = 0; at < list.size(); at += chunk)
      REQUIRE(framer.feed(std::string_view(list).substr(at, chunk)));
    REQUIRE(framer.finish());
    if (first.empty()) first = items.out;
    CHECK(items.out == first);
  }
  CHECK(first ==
        R"({"kind":"NamespaceList","metadata":{"resourceVersion":"5"},"items":[)"
        R"({"metadata":{"name":"a"}},{"metadata":{"name":"b","labels":{"x":"\"}]\\"}}}]})");
}

TEST_CASE("an object whose end is found on the way is the same, and half of one is none") {
  const auto names = test::tenant();
  struct Row {
    std::string_view group, kind, text;
  };
  const std::vector<Row> rows = {
      {"", "Pod",
       R"({"metadata":{"name":"p","namespace":"abc123-default","ownerReferences":[{"kind":"Node","name":"n"}]},)"
       R"("spec":{"containers":[{"name":"c","env":[{"value":"}]\""}]}],"affinity":{"podAffinity":{}}},"n":1.5e3})"},
      {"", "Namespace",
       R"({"metadata":{"name":"abc123-a","labels":{"tenant.kubezoo.io/id":"abc123"}},"status":{}})"},
      {"", "Secret", R"( {"metadata":{"name":"s"}})"},
      {k_rbac, "ClusterRole", R"({"metadata":{"name":"abc123-r"},"rules":[]})"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.text);
    const auto& root = root_of(row.group, row.kind);
    const bool whole_only = root.form != Form::plain || row.text.front() == ' ';
    for (const std::string_view behind : {"", ",{\"metadata\":{}}]}", "]}\n", " ", "\"", "x"}) {
      CAPTURE(behind);
      RewriteContext closed{names, Direction::outward, "default"}, open = closed;
      std::string made = "[", wanted = "[";
      REQUIRE(rewrite(root, closed, row.text, wanted));
      const auto text = std::string(row.text) + std::string(behind);
      const auto size = rewrite_open(root, open, text, made);
      CHECK(size == (whole_only ? 0 : row.text.size()));
      CHECK(made == (whole_only ? "[" : wanted));
    }
    for (std::size_t size = 0; size < row.text.size(); ++size) {
      RewriteContext context{names, Direction::outward, "default"};
      std::string made = "[";
      const std::string copy(row.text.substr(0, size)); // of its own, for the sanitizer
      CHECK(rewrite_open(root, context, copy, made) == 0);
      CHECK(made == "[");
    }
  }
}

TEST_CASE("the identity changes nothing") {
  const auto names = test::tenant("");
  const std::string text = R"({"metadata":{"name":"a","namespace":"b"}})";
  for (const auto direction : {Direction::inward, Direction::outward}) {
    RewriteContext context{names, direction, "b"};
    std::string made;
    CHECK(rewrite_open(root_of("", "Namespace"), context, text, made) == 0);
    REQUIRE(rewrite(root_of("", "Namespace"), context, text, made));
    CHECK(made == text);
    CHECK(context.name == "a");
  }
}

} // namespace
} // namespace zoo::translate
