// SPDX-License-Identifier: Apache-2.0
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
