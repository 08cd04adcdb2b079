// SPDX-License-Identifier: Apache-2.0
#include "daemon/accounts/account_api.hpp"
#include "daemon/resources/workers.hpp"
#include "daemon/translate/target.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <set>
#include <string>

using namespace zoo;
using namespace zoo::accounts;

namespace {

/// "jane list namespaces": somebody may that in the whole cluster.
class Table final : public authz::Rights {
public:
  explicit Table(std::set<std::string> allowed) : allowed_(std::move(allowed)) {}
  authz::Decision decide(const authz::User& user, const authz::Attributes& asked) const override {
    // kube-apiserver asks of a namespace by its name as within itself.
    CHECK((asked.name_space.empty() || asked.name_space == asked.name));
    return {allowed_.contains(user.name + " " + asked.verb + " " + asked.resource), "a rule"};
  }
  Reach namespaces_of(const authz::User&, authz::Attributes) const override { return {}; }
  authz::Policy::Rules rules_for(const authz::User&, std::string_view) const override { return {}; }

private:
  const std::set<std::string> allowed_;
};

class Known final : public access::UpstreamRights {
public:
  Result<authz::RightsPtr> rights() const override {
    if (table == nullptr) return fail(Code::unavailable, "not read yet");
    return table;
  }
  authz::RightsPtr table;
};

struct World {
  explicit World(std::set<std::string> allowed) {
    known->table = std::make_shared<const Table>(std::move(allowed));
  }
  bool serves(const std::string& method, const std::string& path,
              std::string_view content_type = "application/json") const {
    const auto target = translate::parse_target(method, path);
    REQUIRE(target);
    return api.serves(jane(), *target, content_type);
  }
  std::string decides(const char* verb, const char* resource, const char* name = "") const {
    const auto decided = api.decides(
        jane(), {verb, true, "", "v1", resource, "", "default", name, ""}); // kubectl says one
    return !decided ? "upstream" : decided->allowed ? "yes" : "no";
  }
  static access::Principal jane() {
    access::Principal out;
    out.user = "jane";
    return out;
  }

  std::shared_ptr<Known> known = std::make_shared<Known>();
  resources::Workers workers{"test", 2};
  AccountApi api{resources::Api::Parts{}, workers, known};
};

} // namespace

TEST_CASE("the kinds of accounts are answered here whatever somebody may") {
  const World world({"jane list spaces"});
  CHECK(world.serves("GET", "/apis/tenancy.kiosk.sh/v1alpha1/spaces"));
  CHECK(world.serves("DELETE", "/apis/tenancy.kiosk.sh/v1alpha1/spaces/a"));
  CHECK(world.serves("GET", "/apis/tenancy.kiosk.sh/v1beta1/anything"));
  CHECK_FALSE(world.serves("GET", "/apis/config.kiosk.sh/v1alpha1/accounts"));
  CHECK_FALSE(world.serves("GET", "/apis/tenancy.kiosk.sh")); // a document
}

TEST_CASE("namespaces are answered here for who may not the same in the whole cluster") {
  const std::string all = "/api/v1/namespaces", one = all + "/a";
  const World nobody({});
  CHECK(nobody.serves("GET", all));
  CHECK(nobody.serves("GET", all + "?watch=true"));
  CHECK(nobody.serves("GET", one));
  CHECK(nobody.serves("POST", all));
  // Upstream judges the rest.
  CHECK_FALSE(nobody.serves("PUT", one));
  CHECK_FALSE(nobody.serves("PATCH", one));
  CHECK_FALSE(nobody.serves("DELETE", one));
  CHECK_FALSE(nobody.serves("GET", one + "/status"));
  CHECK_FALSE(nobody.serves("PUT", one + "/finalize"));
  CHECK_FALSE(nobody.serves("GET", one + "/pods"));
  CHECK_FALSE(nobody.serves("GET", "/api/v1/watch/namespaces"));
  const World reader({"jane list namespaces", "jane get namespaces"});
  CHECK_FALSE(reader.serves("GET", all));
  CHECK_FALSE(reader.serves("GET", one));
  CHECK(reader.serves("GET", all + "?watch=true"));
  CHECK(reader.serves("POST", all));
  CHECK_FALSE(World({"jane create namespaces"}).serves("POST", all));
}

TEST_CASE("an applied namespace is answered here for who may not patch it upstream") {
  const std::string one = "/api/v1/namespaces/a", apply = "application/apply-patch+yaml";
  const World nobody({});
  CHECK(nobody.serves("PATCH", one, apply));
  CHECK_FALSE(nobody.serves("PATCH", one, "application/merge-patch+json"));
  CHECK_FALSE(nobody.serves("PATCH", one + "/status", apply));
  CHECK_FALSE(nobody.serves("PATCH", one + "/pods/p", apply));
  CHECK_FALSE(World({"jane patch namespaces"}).serves("PATCH", one, apply));
}

TEST_CASE("while upstream's rights are not known, nobody has any") {
  const World world({"jane list namespaces"});
  world.known->table = nullptr;
  CHECK(world.serves("GET", "/api/v1/namespaces"));
  const AccountAuthorizer authorizer(world.known);
  authz::Attributes wanted;
  wanted.verb = "impersonate";
  wanted.resource = "users";
  std::optional<Code> refused;
  authorizer.authorize(World::jane(), wanted, [&](const Result<access::Decision>& decision) {
    if (!decision) refused = decision.error().code();
  });
  CHECK(refused == Code::unavailable);
}

TEST_CASE("an access review says yes where zood answers what upstream would refuse") {
  const World member({"jane create spaces"});
  CHECK(member.decides("list", "namespaces") == "yes");
  CHECK(member.decides("watch", "namespaces") == "yes");
  CHECK(member.decides("create", "namespaces") == "yes");
  CHECK(member.decides("get", "namespaces") == "upstream");
  CHECK(member.decides("list", "namespaces", "a") == "upstream");
  CHECK(member.decides("delete", "namespaces") == "upstream");
  CHECK(member.decides("list", "pods") == "upstream");
  CHECK(World({}).decides("create", "namespaces") == "upstream");
  CHECK(World({"jane list namespaces"}).decides("list", "namespaces") == "upstream");
}

TEST_CASE("who would be somebody else is judged here, and nothing else is") {
  const World world({"jane impersonate users"});
  const AccountAuthorizer authorizer(world.known);
  authz::Attributes wanted;
  wanted.verb = "delete";
  wanted.resource = "nodes";
  const auto straight = authorizer.decide_now(World::jane(), wanted);
  REQUIRE(straight);
  CHECK(straight->allowed); // upstream judges it
  wanted.verb = "impersonate";
  for (const auto* resource : {"users", "groups"}) {
    wanted.resource = resource;
    CHECK_FALSE(authorizer.decide_now(World::jane(), wanted));
    std::optional<bool> allowed;
    authorizer.authorize(World::jane(), wanted, [&](const Result<access::Decision>& decision) {
      if (decision) allowed = decision->allowed;
    });
    CHECK(allowed == (wanted.resource == "users"));
  }
}
