// SPDX-License-Identifier: Apache-2.0
#include "daemon/tenants/survey.hpp"
#include "tests/unit/tenants/fixture.hpp"

#include <algorithm>
#include <vector>

using namespace zoo;
using namespace zoo::tests;
using nlohmann::json;
using std::chrono::milliseconds;

namespace {

constexpr auto k_classes = "/apis/scheduling.k8s.io/v1/priorityclasses";

std::size_t reads_of(const FakeUpstream& server, const std::string& path) {
  const auto all = server.requests();
  return static_cast<std::size_t>(std::count(all.begin(), all.end(), "GET " + path));
}

} // namespace

TEST_CASE("what occupies a prefix is named") {
  FakeUpstream server;
  const auto api = server.connect();
  tenants::Survey survey(milliseconds(0));
  CHECK(must(survey.occupied(*api, "abcdef")).empty());
  std::string expected;
  SUBCASE("a namespace") {
    server.put("/api/v1/namespaces/abcdef-x", json::object());
    expected = "namespace abcdef-x";
  }
  SUBCASE("a private cluster-scoped object") {
    server.put(std::string(k_classes) + "/abcdef-x", json::object());
    expected = "priorityclasses.scheduling.k8s.io abcdef-x";
  }
  SUBCASE("a definition by its group") {
    server.put("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.abcdef-x.io",
               json::object());
    expected = "customresourcedefinition things.abcdef-x.io";
  }
  SUBCASE("a volume") {
    server.put("/api/v1/persistentvolumes/abcdef-x", json::object());
    expected = "persistentvolume abcdef-x";
  }
  SUBCASE("not a node of the platform") {
    server.put("/api/v1/nodes/abcdef-x", json::object());
    server.put("/apis/storage.k8s.io/v1/csinodes/abcdef-x", json::object());
  }
  SUBCASE("not names that only begin like it") {
    server.put("/api/v1/namespaces/abcdef", json::object());
    server.put("/api/v1/namespaces/abcdefx", json::object());
    server.put("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/abcdef-x.example.com",
               json::object());
  }
  CHECK(must(survey.occupied(*api, "abcdef")) == expected);
}

TEST_CASE(
    "among many objects a prefix is looked for by position, and all over where none is taken") {
  FakeUpstream server;
  SUBCASE("by position") { server.refuse_positions = false; }
  SUBCASE("refused") { server.refuse_positions = true; }
  for (int i = 0; i < 300; ++i)
    server.put(fmt::format("/api/v1/namespaces/b{:05}-default", i), json::object());
  const auto api = server.connect();
  tenants::Survey survey(milliseconds(0));
  for (int turn = 0; turn < 2; ++turn) { // the second knows how many there are
    CHECK(must(survey.occupied(*api, "abcdef")).empty());
    CHECK(must(survey.occupied(*api, "b00299")) == "namespace b00299-default");
    CHECK(must(survey.occupied(*api, "zzzzzz")).empty());
  }
}

TEST_CASE("who asks at the same time shares a round, and each gets its own answer") {
  FakeUpstream server;
  server.put(std::string(k_classes) + "/taken3-x", json::object());
  // More than are read whole: these are looked for one by one.
  for (int i = 0; i < 700; ++i)
    server.put(fmt::format("/api/v1/namespaces/n{:05}-default", i), json::object());
  server.put("/api/v1/namespaces/taken5-default", json::object());
  tenants::Survey survey(milliseconds(200)); // the second round waits, and gathers
  must(survey.occupied(*server.connect(), "first1"));
  const auto before = reads_of(server, k_classes);
  std::vector<std::string> answers(8);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < answers.size(); ++i) {
      threads.emplace_back([&, i] {
        const auto api = server.connect();
        const auto found = survey.occupied(*api, fmt::format("taken{}", i));
        answers[i] = found ? *found : found.error().text();
      });
    }
  }
  for (std::size_t i = 0; i < answers.size(); ++i) {
    CHECK(answers[i] == (i == 3   ? "priorityclasses.scheduling.k8s.io taken3-x"
                         : i == 5 ? "namespace taken5-default"
                                  : ""));
  }
  CHECK(reads_of(server, k_classes) - before < answers.size());
}

TEST_CASE(
    "what is made after a round is seen by the next, and a failure is told to all of a round") {
  FakeUpstream server;
  const auto api = server.connect();
  tenants::Survey survey(milliseconds(0));
  CHECK(must(survey.occupied(*api, "abcdef")).empty());
  server.put(std::string(k_classes) + "/abcdef-x", json::object());
  CHECK_FALSE(must(survey.occupied(*api, "abcdef")).empty());
  server.set_fault([](const std::string&, const std::string& path) {
    return path == k_classes ? std::optional(status(503, "ServiceUnavailable", "try again"))
                             : std::nullopt;
  });
  CHECK(survey.occupied(*api, "abcdef").error().code() == Code::unavailable);
  server.set_fault([](const std::string&, const std::string& path) {
    return path == k_classes
               ? std::optional(http_client::Response{200, {}, R"({"items":[{"metadata":7}]})"})
               : std::nullopt;
  });
  CHECK_FALSE(survey.occupied(*api, "abcdef"));
  server.set_fault({});
  CHECK(must(survey.occupied(*api, "zzzzzz")).empty());
}
