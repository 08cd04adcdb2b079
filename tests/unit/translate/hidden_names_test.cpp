// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/hidden_names.hpp"
#include "daemon/translate/rewrite.hpp"
#include "tests/unit/translate/target_mapping.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <tuple>

namespace zoo::translate {
namespace {

std::string walked(Direction direction, std::string_view group, std::string_view kind,
                   std::string_view text) {
  const auto names = test::tenant();
  RewriteContext context{names, direction, "default", false};
  std::string out;
  const auto done = rewrite(root_of(group, kind), context, text, out);
  return done ? out : "refused: " + done.error().message();
}

std::string named(std::string_view name) {
  return R"({"metadata":{"name":")" + std::string(name) + R"("}})";
}

} // namespace

TEST_CASE("each kind hides its own names") {
  CHECK(hidden_object("", "configmaps", "zoo-root-ca.crt"));
  CHECK_FALSE(hidden_object("", "configmaps", "zoo-baseline"));
  CHECK_FALSE(hidden_object("", "configmaps", "kube-root-ca.crt"));
  CHECK_FALSE(hidden_object("", "configmaps", ""));
  CHECK_FALSE(hidden_object("", "secrets", "zoo-root-ca.crt"));
  CHECK_FALSE(hidden_object("example.com", "configmaps", "zoo-root-ca.crt"));
  CHECK(hidden_object("networking.k8s.io", "networkpolicies", "zoo-baseline"));
  CHECK(hidden_object("rbac.authorization.k8s.io", "rolebindings", "zoo-tenant"));
  CHECK(hidden_object("rbac.authorization.k8s.io", "rolebindings", "zoo:crb:x"));
  CHECK_FALSE(hidden_object("rbac.authorization.k8s.io", "roles", "zoo-tenant"));
  CHECK(hidden_names("", "configmaps")->selectable());
  CHECK_FALSE(hidden_names("rbac.authorization.k8s.io", "rolebindings")->selectable());
  CHECK(hidden_names_of_kind("", "ConfigMap") == hidden_names("", "configmaps"));
  CHECK(hidden_names("", "pods") == nullptr);
}

TEST_CASE("no object of a tenant's gets such a name, nor is one proven") {
  for (const auto& [group, kind, name] :
       {std::tuple("", "ConfigMap", "zoo-root-ca.crt"),
        std::tuple("networking.k8s.io", "NetworkPolicy", "zoo-baseline"),
        std::tuple("rbac.authorization.k8s.io", "RoleBinding", "zoo-tenant")}) {
    CAPTURE(kind);
    CHECK(walked(Direction::inward, group, kind, named(name)).starts_with("refused"));
    CHECK(walked(Direction::prove, group, kind, named(name)).starts_with("refused"));
    CHECK(walked(Direction::outward, group, kind, named(name)) == named(name));
    CHECK(walked(Direction::inward, group, kind, named("zoo")) == named("zoo"));
  }
  // Of each kind its own alone.
  CHECK(walked(Direction::inward, "", "ConfigMap", named("zoo-baseline")) == named("zoo-baseline"));
  CHECK(walked(Direction::inward, "", "Secret", named("zoo-root-ca.crt")) ==
        named("zoo-root-ca.crt"));
  CHECK(walked(Direction::inward, "", "ConfigMap", R"({"metadata":{"name":"a","name":"b"}})")
            .starts_with("refused: duplicate field"));
  // What upstream alone reads is its own business.
  constexpr std::string_view k_twice = R"({"data":{"a":"b"},"data":{}})";
  CHECK(walked(Direction::inward, "", "ConfigMap", k_twice) == k_twice);
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
  const auto plain = test::tenant();
  RewriteContext nothing{plain, Direction::outward, "default", false};
  std::string as_it_is;
  REQUIRE(rewrite(root_of("", "ConfigMap"), nothing, of_upstream, as_it_is));
  CHECK(as_it_is == of_upstream); // nothing is to be shown
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

} // namespace zoo::translate
