// SPDX-License-Identifier: Apache-2.0
#include "common/kube/json_reads.hpp"

#include <doctest/doctest.h>

using nlohmann::json;
namespace kube = zoo::kube;

TEST_CASE("what stands at a JSON pointer is found as RFC 6901 has it, or nothing is") {
  const auto object = json::parse(R"({"a":{"b":[{"c":"deep"},7],"":"empty","x/y":"slash",
      "x~y":"tilde","n":null},"list":["one"],"text":"t"})");
  CHECK(kube::find_at(object, "") == &object);
  CHECK(kube::text_at(object, "/a/b/0/c") == "deep");
  CHECK(kube::value_at(object, "/a/b/1") == 7);
  CHECK(kube::text_at(object, "/a/") == "empty");
  CHECK(kube::text_at(object, "/a/x~1y") == "slash");
  CHECK(kube::text_at(object, "/a/x~0y") == "tilde");
  CHECK(kube::find_at(object, "/a/n")->is_null());
  for (const char* nowhere : {"/b", "/a/b/2", "/a/b/x", "/a/b/0x", "/a/b/-", "/text/0",
                              "/a/b/0/c/d", "/a/none~1x", "/a/b/99999999999999999999"})
    CHECK_MESSAGE(kube::find_at(object, nowhere) == nullptr, nowhere);
  // What is of another type is empty.
  CHECK(kube::text_at(object, "/a") == "");
  CHECK(kube::list_at(object, "/text").empty());
  CHECK(kube::list_at(object, "/list").size() == 1);
  CHECK(kube::texts_at(object, "/a").size() == 3);
  CHECK(kube::texts_at(object, "/list").empty());
  CHECK(kube::value_at(object, "/none").is_null());
}
