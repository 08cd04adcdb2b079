// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/known_words.hpp"
#include "daemon/translate/mapping.hpp"
#include "daemon/translate/rules.hpp"
#include "daemon/translate/text.hpp"
#include "tests/unit/translate/target_mapping.hpp"

#include <doctest/doctest.h>

namespace zoo::translate {
namespace {

constexpr std::string_view k_volume = "pvc-0f3a2b1c-1111-2222-3333-444455556666";

TEST_CASE("names go inward and come back; foreign ones do not") {
  const auto m = test::tenant();
  CHECK(m.name_in("x") == "abc123-x");
  CHECK(m.name_in("") == "");
  CHECK(m.name_out("abc123-x") == "x");
  CHECK_FALSE(m.name_out("abc123-"));
  CHECK_FALSE(m.name_out("abc123"));
  CHECK_FALSE(m.name_out("abc124-x"));
  CHECK_FALSE(m.name_out("default"));
  CHECK(m.volume_in(k_volume) == k_volume);
  CHECK(m.volume_out(k_volume) == k_volume);
  CHECK_FALSE(m.volume_out("abc123-" + std::string(k_volume)));
  CHECK(m.volume_in("pvc-x") == "abc123-pvc-x");
  CHECK(m.overlay_in(Overlay::storage_class, "standard") == "standard");
  CHECK(m.overlay_in(Overlay::runtime_class, "standard") == "abc123-standard");
  CHECK_FALSE(m.overlay_out(Overlay::storage_class, "abc123-standard"));
  CHECK_FALSE(m.overlay_out(Overlay::storage_class, "premium"));
}

TEST_CASE("groups: built-in and shared ones stay") {
  const auto m = test::tenant();
  for (const char* group : {"", "apps", "rbac.authorization.k8s.io", "meta.k8s.io", "*",
                            "shared.example.org", "nodots"}) {
    CHECK(m.group_in(group) == group);
    CHECK(m.group_out(group) == group);
  }
  CHECK(m.group_in("example.com") == "abc123-example.com");
  CHECK(m.group_in("custom.k8s.io") == "abc123-custom.k8s.io");
  CHECK_FALSE(m.group_out("example.com"));
  CHECK_FALSE(m.group_out("zzz999-example.com"));
  CHECK_FALSE(m.group_out("abc123-shared.example.org"));
  CHECK(m.api_version_in("example.com/v1") == "abc123-example.com/v1");
  CHECK(m.api_version_out("v1") == "v1");
  CHECK(m.crd_name_in("foos.example.com") == "foos.abc123-example.com");
  CHECK(m.crd_name_out("foos.abc123-example.com") == "foos.example.com");
  CHECK_FALSE(m.crd_name_out("foos.example.com"));
  CHECK(m.inert_out(m.inert_in("system:masters")) == "system:masters");
  CHECK_FALSE(m.inert_out("system:masters"));
}

TEST_CASE("the identity maps nothing") {
  const auto m = test::tenant("");
  CHECK(m.name_in("x") == "x");
  CHECK(m.name_out("x") == "x");
  CHECK(m.group_in("example.com") == "example.com");
  CHECK(m.inert_in("u") == "u");
  CHECK(text_out(m, "-x abc123-y") == "-x abc123-y");
}

TEST_CASE("text loses the prefix at the start of a token only") {
  const auto m = test::tenant();
  CHECK(text_out(m, "namespaces \"abc123-a\" not found") == "namespaces \"a\" not found");
  CHECK(text_out(m, "abc123-a/b in abc123-c") == "a/b in c");
  CHECK(text_out(m, "foos.abc123-example.com") == "foos.example.com");
  CHECK(text_out(m, "x-abc123-a xabc123-a 9abc123-a") == "x-abc123-a xabc123-a 9abc123-a");
  CHECK(text_out(m, "abc123- abc123") == "abc123- abc123");
  CHECK(text_out(m, "abc123-abc123-a") == "abc123-a");
  CHECK(text_out(m, "") == "");
}

TEST_CASE("the place of a word in a text tells whether the prefix is zood's") {
  const auto m = test::tenant();
  for (const auto* own :
       {"Created pod: abc123-web-7d9f", "Scaled up replica set abc123-web-7d9f from 0 to 1",
        "create Pod abc123-web-0 in StatefulSet abc123-web successful",
        "deployments.apps \"abc123-web\" not found", "exceeded quota: abc123-quota, used: pods=1",
        "foos.example.com \"x\" is invalid: use abc123-web", "secret 'abc123-web' not found",
        "error looking up service account abc123: serviceaccount \"abc123-sa\" not found",
        "unmounted volumes=[abc123-data]", "Back-off pulling image \"abc123-web/nginx:1.2\"",
        "system:serviceaccount:team:abc123-robot", "team/abc123-web", "deployment/abc123-web",
        "https://abc123-web/healthz", "/api/v1/namespaces/team/pods/abc123-web/log",
        "denied: abc123-web has no owner"})
    CHECK(text_out(m, own) == own);
  for (const auto& [said, shown] : {
           std::pair("namespace abc123-team is going", "namespace team is going"),
           std::pair("Namespace: \"abc123-web\"", "Namespace: \"web\""),
           std::pair("system:serviceaccount:abc123-team:abc123-robot",
                     "system:serviceaccount:team:abc123-robot"),
           std::pair("pod=abc123-web-0_abc123-team(7f0d)", "pod=abc123-web-0_team(7f0d)"),
           std::pair("object \"abc123-team\"/\"abc123-settings\" not registered",
                     "object \"team\"/\"abc123-settings\" not registered"),
           std::pair("Successfully assigned abc123-team/abc123-web-0 to node-1",
                     "Successfully assigned team/abc123-web-0 to node-1"),
           std::pair("no PriorityClass with name abc123-High was found",
                     "no PriorityClass with name High was found"),
           std::pair("storageclass.storage.k8s.io \"abc123-fast\" not found",
                     "storageclass.storage.k8s.io \"fast\" not found"),
           std::pair("device class abc123-gpu does not exist", "device class gpu does not exist"),
           std::pair("AttachVolume.Attach failed for volume \"abc123-pv\" : timeout",
                     "AttachVolume.Attach failed for volume \"pv\" : timeout"),
           std::pair("abc123-example.com/v1, Kind=Foo", "example.com/v1, Kind=Foo"),
           std::pair("no API group \"abc123-example.com\"", "no API group \"example.com\""),
           std::pair("foos.abc123-example.com \"abc123-f\" not found",
                     "foos.example.com \"abc123-f\" not found"),
           std::pair("requested: abc123-fast.storageclass.storage.k8s.io/requests.storage=1Gi",
                     "requested: fast.storageclass.storage.k8s.io/requests.storage=1Gi"),
           std::pair("/api/v1/namespaces/abc123-team/pods/abc123-web",
                     "/api/v1/namespaces/team/pods/abc123-web"),
           std::pair("services/abc123-team/abc123-web", "services/team/abc123-web"),
           std::pair("Code: 4, Key: /services/specs/abc123-team/abc123-web, ResourceVersion: 0",
                     "Code: 4, Key: /services/specs/team/abc123-web, ResourceVersion: 0"),
           std::pair("Key: /abc123-example.com/widgets/abc123-team/abc123-w, ResourceVersion: 0",
                     "Key: /example.com/widgets/team/abc123-w, ResourceVersion: 0"),
           std::pair("Key: /clusterroles/abc123-x, ResourceVersion: 0",
                     "Key: /clusterroles/x, ResourceVersion: 0"),
           std::pair("ValidatingAdmissionPolicy 'abc123-p' with binding 'abc123-b' denied request: "
                     "abc123-web has no owner",
                     "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: "
                     "abc123-web has no owner"),
       })
    CHECK(text_out(m, said) == shown);
}

TEST_CASE("a text of a million words of one sort takes as long as it is long") {
  // Each of them would be a word that reaches to the end.
  std::string text;
  while (text.size() < 3'000'000)
    text += "abc123-a.";
  struct Around final : WordSource {
    KnownWords known{"abc123-"};
    KnownWords& words() override { return known; }
  } around;
  around.known.asked(text);
  CHECK(around.known.full());
  const auto m = test::tenant();
  CHECK(text_out(m, text, &around).size() <= text.size());
  CHECK(text_out(m, text).ends_with("abc123-a."));
  CHECK(word_length(text) <= k_longest_word);
}

TEST_CASE("what stands around a text tells whose its words are") {
  struct Around final : WordSource {
    KnownWords known{"abc123-"};
    KnownWords& words() override { return known; }
  } around;
  const auto m = test::tenant();
  const auto out = [&](std::string_view text) { return text_out(m, text, &around); };
  around.known.upstream(R"({"namespace":"abc123-team","name":"abc123-web","class":"abc123-x.y"})");
  around.known.shown(R"({"namespace":"team","name":"abc123-web","class":"x.y"})");
  CHECK(out("abc123-team and abc123-web and abc123-web-1 and abc123-other") ==
        "team and abc123-web and abc123-web-1 and abc123-other");
  CHECK(out("abc123-team-2, abc123-team.svc, abc123-x.y, in abc123-web") ==
        "abc123-team-2, team.svc, x.y, in abc123-web");
  CHECK(out("hello abc123-default") == "hello default"); // every tenant has it
  // A namespace may be called as a part of the name.
  around.known.upstream(R"({"namespace":"abc123-web"})");
  around.known.shown(R"({"namespace":"web"})");
  CHECK(out("abc123-web/abc123-web-1: abc123-web") == "web/abc123-web-1: abc123-web");
  // Of what was asked for.
  around.known.asked(R"({"metadata":{"name":"abc123-y"},"ref":"_Bad","spec":"abc123-z"})");
  CHECK(out("\"abc123-y\" \"abc123-_Bad\" \"abc123-z\"") == "\"abc123-y\" \"_Bad\" \"abc123-z\"");
  // It holds a bounded number of words.
  for (std::size_t i = 0; i < 2 * KnownWords::k_most; ++i)
    around.known.add("abc123-n" + std::to_string(i), false);
  CHECK(out("abc123-n1 abc123-n" + std::to_string(2 * KnownWords::k_most - 1)) ==
        "n1 abc123-n" + std::to_string(2 * KnownWords::k_most - 1));
}

TEST_CASE("the table knows its kinds") {
  REQUIRE(find_root("", "Pod") != nullptr);
  CHECK(find_root("", "Pod")->guarded);
  CHECK_FALSE(find_root("", "ConfigMap")->guarded);
  CHECK(find_root("apps", "Pod") == nullptr);
  CHECK(find_root("*", "*") == nullptr);
  CHECK(&root_of("example.com", "Foo") == &custom_root());
  CHECK(find_resource("apps", "v1", "deployments")->kind == "Deployment");
  CHECK(find_resource("apps", "", "deployments/scale")->kind == "Scale");
  CHECK(find_resource("apps", "v9", "deployments") == nullptr);
  CHECK(find_kind("*", "Namespace")->naming == Naming::prefixed);
  CHECK(find_kind("storage.k8s.io", "StorageClass")->overlay == Overlay::storage_class);
  CHECK(find_kind("", "StorageClass") == nullptr);
  for (const auto& row : resources())
    CHECK(find_resource(row.group, row.version, row.resource) != nullptr);
  // Protobuf numbers: Pod.spec.volumes[].projected, which JSON inlines (core/v1/generated.proto).
  const auto* spec = find_root("", "Pod")->object->find("spec");
  REQUIRE(spec != nullptr);
  CHECK(spec->field == 2);
  const auto* projected = spec->to->step("volumes")->step("0")->find("projected");
  REQUIRE(projected != nullptr);
  CHECK(projected->field == 26);
  CHECK(projected->inlined == 2);
}

} // namespace
} // namespace zoo::translate
