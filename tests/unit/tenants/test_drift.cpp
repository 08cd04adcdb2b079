// SPDX-License-Identifier: Apache-2.0
#include "daemon/tenants/drift.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace zoo;
using translate::EventType;

namespace {

std::string said(std::string_view path, EventType type, const translate::ObjectKey& key,
                 std::string_view object = "{}") {
  for (const auto& kind : tenants::room_kinds()) {
    if (kind.path == path) return std::string(tenants::spoiled(kind, type, key, object));
  }
  FAIL("no kind of a room: ", path);
  return "";
}

} // namespace

TEST_CASE("what is in a tenant's namespace spoils its room, whatever has become of it") {
  constexpr std::string_view bindings = "/apis/rbac.authorization.k8s.io/v1/rolebindings";
  CHECK(said(bindings, EventType::deleted, {"foofoo-team", "zoo-tenant", "", false}) == "foofoo");
  CHECK(said(bindings, EventType::modified, {"foofoo-default", "zoo-tenant", "", false}) ==
        "foofoo");
  for (const auto* space : {"default", "kube-system", "foofoo", "foofoo-", "foofoox-a", ""}) {
    CAPTURE(space);
    CHECK(said(bindings, EventType::deleted, {space, "zoo-tenant", "", false}).empty());
  }
  CHECK(said("/apis/certificates.k8s.io/v1/certificatesigningrequests", EventType::modified,
             {"", "foofoo-web", "", false}) == "foofoo");
}

TEST_CASE("of namespaces the first ones count, without their label or gone") {
  constexpr std::string_view spaces = "/api/v1/namespaces";
  constexpr std::string_view whole =
      R"({"metadata":{"name":"foofoo-default","labels":{"tenant.kubezoo.io/id":"foofoo"}}})";
  constexpr std::string_view other =
      R"({"metadata":{"name":"foofoo-default","labels":{"tenant.kubezoo.io/id":"barbar"}}})";
  const translate::ObjectKey first{"", "foofoo-default", "", false};
  CHECK(said(spaces, EventType::modified, first, whole).empty());
  CHECK(said(spaces, EventType::modified, first, other) == "foofoo");
  CHECK(said(spaces, EventType::modified, first, R"({"metadata":{}})") == "foofoo");
  CHECK(said(spaces, EventType::modified, first, "not JSON") == "foofoo");
  CHECK(said(spaces, EventType::deleted, first, whole) == "foofoo");
  CHECK(said(spaces, EventType::deleted, {"", "foofoo-team", "", false}, whole).empty());
  CHECK(said(spaces, EventType::deleted, {"", "default", "", false}, whole).empty());
}
