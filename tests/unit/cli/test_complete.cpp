// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/cli/harness.hpp"

#include <doctest/doctest.h>

using namespace zoo::cli::test;

namespace {

struct Completing {
  Zooctl zooctl;
  std::string operator()(std::vector<std::string> words) {
    words.insert(words.begin(), "__complete");
    const auto outcome = zooctl(std::move(words));
    CHECK(outcome.status == 0);
    CHECK(outcome.err.empty());
    return outcome.out;
  }
};

} // namespace

TEST_CASE("commands, options and formats are completed; hidden commands are not") {
  Completing complete;
  check_golden("complete-root.txt", complete({""}));
  check_golden("complete-create-options.txt", complete({"tenant", "create", "foofoo", "--"}));
  CHECK(complete({"tenant", "l"}) == "list\tList all tenants\n:none\n");
  CHECK(complete({"tenant", "list", "-o", ""}) ==
        "table\t\nwide\t\njson\t\nyaml\t\nname\t\n:none\n");
  CHECK(complete({"tenant", "list", "--output=y"}) == "--output=yaml\t\n:none\n");
  CHECK(complete({"completion", "z"}) == "zsh\t\n:none\n");
  CHECK(complete({"tenant", "apply", "-f", ""}) == ":file\n");
  CHECK(complete({"--dir", ""}) == ":dir\n");
  CHECK(complete({"nonsense", ""}) == ":none\n");
  CHECK(complete({}).ends_with(":none\n"));
}

TEST_CASE("IDs come from zood within a second, for as many words as the command takes") {
  Completing complete;
  complete.zooctl.server.on(
      std::string("GET ") + k_tenants,
      {{200,
        list({tenant("foofoo", "Ready", "", R"({"displayName":"Foo Inc."})"), tenant("barbar")})}});
  CHECK(complete({"tenant", "get", ""}) == "foofoo\tFoo Inc.\nbarbar\tReady\n:none\n");
  CHECK(complete({"tenant", "get", "foofoo", "b"}) == "barbar\tReady\n:none\n");
  CHECK(complete({"kubeconfig", "export", "f"}) == "foofoo\tFoo Inc.\n:none\n");
  CHECK(complete({"kubeconfig", "export", "foofoo", ""}) == ":none\n");
  CHECK(complete.zooctl.server.requests.back().timeout == std::chrono::seconds(1));
  CHECK(complete({"--socket", "/x/y", "kubectl", ""}) ==
        "foofoo\tFoo Inc.\nbarbar\tReady\n:none\n");
  CHECK(complete.zooctl.server.requests.back().unix_socket == "/x/y");
}

TEST_CASE("verbs and serials are completed, of certificates that are valid") {
  Completing complete;
  CHECK(complete({"audit", "--verb", "delete"}) == "delete\t\ndeletecollection\t\n:none\n");
  CHECK(complete({"audit", "--verb=wa"}) == "--verb=watch\t\n:none\n");
  complete.zooctl.server.on(
      std::string("GET ") + k_tenants + "/foofoo/certificates",
      {{200, R"({"items":[{"serial":"4f2b","user":"jane"},{"serial":"4fff","revoked":true},)"
             R"({"serial":"5a01","user":"joe"}]})"}});
  CHECK(complete({"tenant", "revoke", "foofoo", "--serial", ""}) ==
        "4f2b\tjane\n5a01\tjoe\n:none\n");
  CHECK(complete({"tenant", "revoke", "foofoo", "--serial", "4"}) == "4f2b\tjane\n:none\n");
  CHECK(complete({"tenant", "revoke", "--serial", ""}) == ":none\n");
}

TEST_CASE("completion is silent when zood is away") {
  Completing complete;
  complete.zooctl.server.on(std::string("GET ") + k_tenants,
                            {{0, "", zoo::Error(zoo::Code::timeout, "slow")}});
  CHECK(complete({"tenant", "get", ""}) == ":none\n");
}
