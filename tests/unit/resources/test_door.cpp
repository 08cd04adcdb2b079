// SPDX-License-Identifier: Apache-2.0
#include "daemon/resources/door.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>

using namespace zoo;
using namespace zoo::resources;

namespace {

std::string facts(const std::string& method, const std::string& target) {
  http::RequestHead head;
  head.method = method;
  head.target = target;
  const auto request = parse_request(head);
  REQUIRE(request);
  const auto out = facts_of(*request);
  return fmt::format("{} {}/{} {} {}/{}/{}", out.verb, out.group, out.version, out.resource,
                     out.name_space, out.name, out.subresource);
}

} // namespace

TEST_CASE("what a request is about stands in its path and method") {
  CHECK(facts("GET", "/apis/a.test/v1/things") == "list a.test/v1 things //");
  CHECK(facts("GET", "/apis/a.test/v1/things?watch=1") == "watch a.test/v1 things //");
  CHECK(facts("PATCH", "/apis/a.test/v1/things/x/status") == "patch a.test/v1 things /x/status");
  CHECK(facts("POST", "/apis/a.test/v1/namespaces/n/things") == "create a.test/v1 things n//");
  CHECK(facts("DELETE", "/apis/a.test/v1/namespaces/n/things/x") == "delete a.test/v1 things n/x/");
  CHECK(facts("GET", "/zoo/v1/doctor") == "get /  //");
}
