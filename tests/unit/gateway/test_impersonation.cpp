// SPDX-License-Identifier: Apache-2.0
#include "daemon/gateway/gateway.hpp"
#include "daemon/gateway/impersonation.hpp"

#include <doctest/doctest.h>

using namespace zoo::gateway;
using zoo::http::Headers;

namespace {

Impersonation read(const Headers& headers) {
  auto found = read_impersonation(headers);
  REQUIRE(found);
  REQUIRE(*found);
  return **found;
}

std::string asked(const Impersonation& impersonation) {
  std::string out;
  for (const auto& each : impersonation.required) {
    if (!out.empty()) out += "; ";
    out += each.group + "/" + each.resource;
    if (!each.subresource.empty()) out += "/" + each.subresource;
    out += " " + (each.name_space.empty() ? "" : each.name_space + "/") + each.name;
    CHECK(each.verb == "impersonate");
  }
  return out;
}

} // namespace

TEST_CASE("a request without these headers is its own") {
  const auto found = read_impersonation({{"Accept", "*/*"}, {"Impersonated", "no"}});
  REQUIRE(found);
  CHECK_FALSE(*found);
}

TEST_CASE("a user is asked for, and is authenticated then") {
  const auto found = read({{"impersonate-user", "jane"}});
  CHECK(found.as.user == "jane");
  CHECK(found.as.groups == std::vector<std::string>{"system:authenticated"});
  CHECK(asked(found) == "/users jane");
}

TEST_CASE("groups, UID and extras are asked for one by one") {
  const auto found = read({{"Impersonate-User", "jane"},
                           {"Impersonate-Group", "developers"},
                           {"Impersonate-Group", "system:masters"},
                           {"Impersonate-Uid", "1234"},
                           {"Impersonate-Extra-Scopes", "view"},
                           {"Impersonate-Extra-scopes", "edit"},
                           {"Impersonate-Extra-Example.com%2fRole", "x"}});
  CHECK(asked(found) == "/users jane; /groups developers; /groups system:masters; "
                        "authentication.k8s.io/userextras/scopes view; "
                        "authentication.k8s.io/userextras/scopes edit; "
                        "authentication.k8s.io/userextras/example.com/role x; "
                        "authentication.k8s.io/uids 1234");
  CHECK(found.as.uid == "1234");
  CHECK(found.as.groups ==
        std::vector<std::string>{"developers", "system:masters", "system:authenticated"});
  REQUIRE(found.as.extra.size() == 2);
  CHECK(found.as.extra[0].second == std::vector<std::string>{"view", "edit"});
  CHECK(found.as.extra[1].first == "example.com/role");
}

TEST_CASE("a ServiceAccount has its own groups, unless some are asked for") {
  const auto found = read({{"Impersonate-User", "system:serviceaccount:team:robot"}});
  CHECK(asked(found) == "/serviceaccounts team/robot");
  CHECK(found.as.groups == std::vector<std::string>{"system:serviceaccounts",
                                                    "system:serviceaccounts:team",
                                                    "system:authenticated"});
  const auto grouped = read(
      {{"Impersonate-User", "system:serviceaccount:team:robot"}, {"Impersonate-Group", "one"}});
  CHECK(grouped.as.groups == std::vector<std::string>{"one", "system:authenticated"});
}

TEST_CASE("nobody is both authenticated and not") {
  CHECK(read({{"Impersonate-User", "system:anonymous"}}).as.groups ==
        std::vector<std::string>{"system:unauthenticated"});
  CHECK(read({{"Impersonate-User", "jane"}, {"Impersonate-Group", "system:unauthenticated"}})
            .as.groups == std::vector<std::string>{"system:unauthenticated"});
}

TEST_CASE("what is incomplete or not understood is refused") {
  CHECK_FALSE(read_impersonation({{"Impersonate-Group", "developers"}}));
  CHECK_FALSE(read_impersonation({{"Impersonate-Uid", "1"}}));
  CHECK_FALSE(read_impersonation({{"Impersonate-Extra-a", "1"}}));
  CHECK_FALSE(read_impersonation({{"Impersonate-User", "jane"}, {"Impersonate-Soul", "x"}}));
  CHECK_FALSE(read_impersonation({{"Impersonate-User", "ja\xffne"}}));
}
