// SPDX-License-Identifier: Apache-2.0
#include "daemon/tenants/drift.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>

using namespace zoo;
using translate::EventType;

namespace {

std::string said(std::string_view path, EventType type, const translate::ObjectKey& key) {
  for (const auto& kind : tenants::room_kinds()) {
    if (kind.path == path) return std::string(tenants::spoiled(kind, type, key));
  }
  FAIL("no kind of a room: ", path);
  return "";
}

} // namespace

TEST_CASE("what changes or goes in a tenant's namespace may have spoiled its room") {
  constexpr std::string_view bindings = "/apis/rbac.authorization.k8s.io/v1/rolebindings";
  CHECK(said(bindings, EventType::deleted, {"foofoo-team", "zoo-tenant", "", false}) == "foofoo");
  CHECK(said(bindings, EventType::modified, {"foofoo-default", "zoo-tenant", "", false}) ==
        "foofoo");
  CHECK(said(bindings, EventType::added, {"foofoo-default", "zoo-tenant", "", false}).empty());
  for (const auto* space : {"default", "kube-system", "foofoo", "foofoo-", "foofoox-a", ""}) {
    CAPTURE(space);
    CHECK(said(bindings, EventType::deleted, {space, "zoo-tenant", "", false}).empty());
  }
  CHECK(said("/apis/certificates.k8s.io/v1/certificatesigningrequests", EventType::modified,
             {"", "foofoo-web", "", false}) == "foofoo");
}

TEST_CASE("a namespace may lack its binding from its first moment on") {
  constexpr std::string_view spaces = "/api/v1/namespaces";
  for (const auto type : {EventType::added, EventType::modified, EventType::deleted}) {
    CHECK(said(spaces, type, {"", "foofoo-team", "", false}) == "foofoo");
    CHECK(said(spaces, type, {"", "default", "", false}).empty());
  }
}

TEST_CASE("what is kept in each namespace, gone or changed, has spoiled the room") {
  for (const auto& [path, name] :
       {std::pair("/api/v1/configmaps", "zoo-root-ca.crt"),
        std::pair("/apis/networking.k8s.io/v1/networkpolicies", "zoo-baseline")}) {
    CAPTURE(path);
    CHECK(said(path, EventType::deleted, {"foofoo-team", name, "", false}) == "foofoo");
    CHECK(said(path, EventType::modified, {"foofoo-team", name, "", false}) == "foofoo");
    CHECK(said(path, EventType::added, {"foofoo-team", name, "", false}).empty());
    const auto kinds = tenants::room_kinds();
    CHECK(std::any_of(kinds.begin(), kinds.end(), [&](const tenants::RoomKind& kind) {
      return kind.path == path && kind.name == name;
    }));
  }
}
