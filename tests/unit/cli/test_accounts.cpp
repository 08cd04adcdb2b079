// SPDX-License-Identifier: Apache-2.0
#include "common/base/file.hpp"
#include "tests/unit/cli/harness.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

using namespace zoo;
using namespace zoo::cli;
using namespace zoo::cli::test;
using nlohmann::json;

namespace {

const std::string k_accounts = "/apis/config.kiosk.sh/v1alpha1/accounts";
const std::string k_own_accounts = "/apis/tenancy.kiosk.sh/v1alpha1/accounts";
const std::string k_spaces = "/apis/tenancy.kiosk.sh/v1alpha1/spaces";
const std::string k_me = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
const std::string k_may = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

/// zooctl with a kubeconfig of its own, in $KUBECONFIG.
struct Room {
  TemporaryDirectory directory;
  std::string kubeconfig = (directory / "config").string();
  Zooctl zooctl;

  Room() {
    REQUIRE(file::write(kubeconfig, R"(apiVersion: v1
kind: Config
current-context: here
clusters:
- name: c
  cluster: {server: "https://cluster.example.com:6443", insecure-skip-tls-verify: true}
users:
- name: u
  user: {token: secret}
contexts:
- name: here
  context: {cluster: c, user: u, namespace: home}
- name: there
  context: {cluster: c, user: u}
)",
                        0600));
    zooctl.environment = {"KUBECONFIG=" + kubeconfig};
  }
  void on(const std::string& what, const json& answer, int status = 200) {
    zooctl.server.on(what, {{status, answer.dump()}});
  }
  std::string text() const { return *file::read(kubeconfig); }
  json body(std::string_view method, std::string_view part) const {
    return json::parse(zooctl.server.asked(method, part).body);
  }
};

json account(const std::string& name) {
  return {
      {"metadata", {{"name", name}, {"creationTimestamp", "2026-01-31T23:00:00Z"}}},
      {"spec",
       {{"subjects", {{{"kind", "User"}, {"name", "john"}}, {{"kind", "Group"}, {"name", "devs"}}}},
        {"space", {{"limit", 5}, {"clusterRole", "edit"}}}}},
      {"status", {{"namespaces", {{{"name", "web"}}}}}}};
}

json space(const std::string& name, const std::string& owner) {
  return {
      {"metadata",
       {{"name", name}, {"resourceVersion", "12"}, {"creationTimestamp", "2026-01-31T23:00:00Z"}}},
      {"spec", {{"account", owner}}},
      {"status", {{"phase", "Active"}}}};
}

json not_found(const std::string& kind, const std::string& name) {
  return {{"kind", "Status"},
          {"reason", "NotFound"},
          {"message", fmt::format("{} \"{}\" not found", kind, name)},
          {"details", {{"name", name}, {"kind", kind}}},
          {"code", 404}};
}

json status_of(int code, const std::string& reason, const std::string& message) {
  return json::parse(status(code, reason, message));
}

} // namespace

TEST_CASE("an account is created as its options say") {
  Room room;
  room.on("POST " + k_accounts, account("blue"), 201);
  const auto made = room.zooctl({"account",
                                 "create",
                                 "blue",
                                 "--user",
                                 "john",
                                 "--group",
                                 "devs",
                                 "--sa",
                                 "ci/robot",
                                 "--role",
                                 "edit",
                                 "--limit",
                                 "5",
                                 "--space-label",
                                 "team=blue",
                                 "--deletion-policy",
                                 "Refuse",
                                 "--template",
                                 "walls:CPU=2,OPEN=no",
                                 "--template",
                                 "redis"});
  CAPTURE(made.err);
  CHECK(made.status == 0);
  CHECK(made.out == "account/blue created\n");
  const auto sent = room.body("POST", k_accounts);
  CHECK(sent["spec"]["subjects"].size() == 3);
  CHECK(sent["spec"]["subjects"][0]["apiGroup"] == "rbac.authorization.k8s.io");
  CHECK(sent["spec"]["subjects"][2] ==
        json{{"kind", "ServiceAccount"}, {"name", "robot"}, {"namespace", "ci"}});
  CHECK(sent["spec"]["space"]["limit"] == 5);
  CHECK(sent["spec"]["space"]["clusterRole"] == "edit");
  CHECK(sent["spec"]["space"]["spaceTemplate"]["metadata"]["labels"]["team"] == "blue");
  CHECK(sent["spec"]["deletionPolicy"] == "Refuse");
  const auto& instances = sent["spec"]["space"]["templateInstances"];
  REQUIRE(instances.size() == 2);
  CHECK(instances[0]["spec"]["template"] == "walls");
  CHECK(instances[0]["spec"]["parameters"][1] == json{{"name", "OPEN"}, {"value", "no"}});
  CHECK(instances[1] == json{{"spec", {{"template", "redis"}}}});

  CHECK(room.zooctl({"account", "create", "blue", "--role", "none", "--dry-run"}).out ==
        "account/blue created (dry run)\n");
  CHECK(room.body("POST", "dryRun=All")["spec"]["space"]["clusterRole"] == "");
  for (const std::vector<std::string>& wrong :
       {std::vector<std::string>{"account", "create", "x", "--sa", "robot"},
        {"account", "create", "x", "--limit", "many"},
        {"account", "create", "x", "--space-label", "team"},
        {"account", "create", "x", "--deletion-policy", "Never"},
        {"account", "add-member", "x"}})
    CHECK(room.zooctl(wrong).status == 64);
}

TEST_CASE("an account is applied: made, changed, or as it is said already") {
  Room room;
  auto stored = account("blue");
  stored["metadata"]["resourceVersion"] = "5";
  room.on("GET " + k_accounts + "/blue", not_found("accounts", "blue"), 404);
  room.on("PATCH " + k_accounts + "/blue", stored, 201);
  CHECK(room.zooctl({"account", "apply", "blue", "--user", "john"}).out ==
        "account/blue created\n");
  CHECK(room.body("PATCH", "force=true")["spec"]["subjects"].size() == 1);
  room.on("GET " + k_accounts + "/blue", stored);
  CHECK(room.zooctl({"account", "apply", "blue", "--user", "john"}).out ==
        "account/blue unchanged\n");
  stored["metadata"]["resourceVersion"] = "6";
  room.on("PATCH " + k_accounts + "/blue", stored);
  CHECK(room.zooctl({"account", "apply", "blue", "--limit", "3"}).out ==
        "account/blue configured\n");
}

TEST_CASE("accounts are shown; to members, who may not read all, by their own view") {
  Room room;
  const json list = {{"items", {account("blue"), account("green")}}};
  room.on("GET " + k_accounts, status_of(403, "Forbidden", "no"), 403);
  room.on("GET " + k_own_accounts, list);
  const auto table = room.zooctl({"account", "list", "-o", "wide"});
  CAPTURE(table.err);
  CHECK(table.status == 0);
  CHECK(table.out ==
        "NAME    SPACES   MEMBERS   ROLE   READY    AGE   WHO                DELETION\n"
        "blue    1/5      2         edit   <none>   60m   john, group devs   <none>\n"
        "green   1/5      2         edit   <none>   60m   john, group devs   <none>\n");
  CHECK(room.zooctl({"account", "list", "-o", "name"}).out == "blue\ngreen\n");

  room.on("GET " + k_accounts, list);
  room.on("GET " + k_accounts + "/bleu", not_found("accounts", "bleu"), 404);
  const auto wrong = room.zooctl({"account", "get", "bleu"});
  CHECK(wrong.status == 4);
  CHECK(has(wrong.err, "there is no account 'bleu' that you may see; did you mean 'blue'?"));

  room.on("GET " + k_accounts + "/blue", account("blue"));
  const auto told = room.zooctl({"account", "describe", "blue"}).out;
  CHECK(has(told, "Members:          john\n                  group devs\n"));
  CHECK(has(told, "Owns:             web\n"));
}

TEST_CASE("a server without accounts is told from an account that is not there") {
  Room room;
  const auto outcome = room.zooctl({"account", "list"});
  CHECK(outcome.status == 69);
  CHECK(has(outcome.err, "does not serve config.kiosk.sh: zood installs it"));
  const auto spaces = room.zooctl({"space", "create", "web"});
  CHECK(spaces.status == 69);
  CHECK(has(spaces.err, "does not serve tenancy.kiosk.sh: zood's account door does"));
}

TEST_CASE("members are added once, removed if they are there, and nobody's change is lost") {
  Room room;
  room.on("GET " + k_accounts + "/blue", account("blue"));
  room.zooctl.server.on("PUT " + k_accounts + "/blue",
                        {{409, status(409, "Conflict", "changed")}, {200, account("blue").dump()}});
  CHECK(room.zooctl({"account", "add-member", "blue", "--user", "jane"}).out ==
        "account/blue configured\n");
  CHECK(room.body("PUT", "/blue")["spec"]["subjects"].size() == 3);
  CHECK(room.zooctl({"account", "add-member", "blue", "--user", "john"}).out ==
        "account/blue unchanged\n");
  CHECK(room.zooctl({"account", "remove-member", "blue", "--group", "devs"}).status == 0);
  CHECK(room.body("PUT", "/blue")["spec"]["subjects"].size() == 1);
  const auto nobody = room.zooctl({"account", "remove-member", "blue", "--user", "eve"});
  CHECK(nobody.status == 4);
  CHECK(has(nobody.err, "eve is no member of account 'blue'"));
}

TEST_CASE("spaces are made, shown, adopted and transferred") {
  Room room;
  room.on("POST " + k_spaces, space("web", "blue"), 201);
  CHECK(room.zooctl({"space", "create", "web", "--account", "blue"}).out == "space/web created\n");
  CHECK(room.body("POST", k_spaces)["spec"]["account"] == "blue");

  room.on("GET " + k_spaces, {{"items", {space("web", "blue"), space("free", "")}}});
  CHECK(room.zooctl({"space", "list"}).out == "NAME   ACCOUNT   STATUS   AGE\n"
                                              "web    blue      Active   60m\n"
                                              "free   <none>    Active   60m\n");
  room.on("POST " + k_me,
          {{"status", {{"userInfo", {{"username", "jane"}, {"groups", {"devs"}}}}}}}, 201);
  room.on("GET " + k_own_accounts, {{"items", {account("blue")}}});
  CHECK(room.zooctl({"space", "list", "--mine", "-o", "name"}).out == "web\n");
  CHECK(room.zooctl({"space", "list", "--account", "blue"}).status == 0);
  CHECK(has(room.zooctl.server.requests.back().url, "fieldSelector=spec.account%3Dblue"));

  room.on("GET " + k_spaces + "/web", space("web", "blue"));
  room.on("GET " + k_spaces + "/free", space("free", ""));
  room.on("PATCH " + k_spaces + "/free", space("free", "green"));
  room.on("PATCH " + k_spaces + "/web", space("web", "green"));
  CHECK(room.zooctl({"space", "adopt", "free", "--account", "green"}).out ==
        "space/free adopted\n");
  CHECK(room.body("PATCH", "/free") ==
        json{{"metadata", {{"resourceVersion", "12"}}}, {"spec", {{"account", "green"}}}});
  CHECK(room.zooctl({"space", "adopt", "web", "--account", "green"}).status == 6);
  CHECK(room.zooctl({"space", "transfer", "web", "--to", "green"}).out ==
        "space/web transferred\n");
  CHECK(room.zooctl({"space", "transfer", "web", "--to", "blue"}).out == "space/web unchanged\n");
  CHECK(room.zooctl({"space", "transfer", "free", "--to", "blue"}).status == 6);
}

TEST_CASE("space use changes one context, goes back, and refuses what is not to be seen") {
  Room room;
  room.on("GET " + k_spaces, {{"items", {space("web", "blue")}}});
  room.on("GET " + k_spaces + "/web", space("web", "blue"));
  room.on("GET " + k_spaces + "/home", space("home", "blue"));
  room.on("GET " + k_spaces + "/wep", not_found("spaces", "wep"), 404);
  const auto before = room.text();
  const auto wrong = room.zooctl({"space", "use", "wep"});
  CHECK(wrong.status == 4);
  CHECK(has(wrong.err, "did you mean 'web'?"));
  CHECK(room.zooctl({"space", "use", "-"}).status == 4);
  CHECK(room.text() == before);

  const auto used = room.zooctl({"space", "use", "web"});
  CAPTURE(used.err);
  CHECK(used.status == 0);
  CHECK(has(used.err, "context here now works in space web"));
  CHECK(has(room.text(), "namespace: web\n"));
  CHECK(room.zooctl({"space", "use", "-"}).status == 0);
  CHECK(has(room.text(), "namespace: home\n"));
  CHECK(room.zooctl({"space", "use", "web", "--context", "there"}).status == 0);
  CHECK(room.zooctl({"space", "use", "web", "--context", "nowhere"}).status == 4);
}

TEST_CASE("whoami and can-i say what the cluster says") {
  Room room;
  room.on("POST " + k_me,
          {{"status", {{"userInfo", {{"username", "john"}, {"groups", {"a", "b"}}}}}}}, 201);
  const auto unknown = room.zooctl({"whoami"});
  CHECK(unknown.out == "User:     john\nGroups:   a, b\nAccounts: <unknown>\n");
  room.on("GET " + k_own_accounts, {{"items", {account("blue")}}});
  CHECK(room.zooctl({"whoami"}).out == "User:     john\nGroups:   a, b\nAccounts: blue\n");
  CHECK(room.zooctl({"whoami", "-o", "name"}).out == "john\n");

  room.on("POST " + k_may, {{"status", {{"allowed", true}}}}, 201);
  CHECK(room.zooctl({"can-i", "get", "pods/log", "web-1"}).out == "yes\n");
  CHECK(room.body("POST", k_may)["spec"]["resourceAttributes"] == json{{"verb", "get"},
                                                                       {"resource", "pods"},
                                                                       {"subresource", "log"},
                                                                       {"name", "web-1"},
                                                                       {"namespace", "home"}});
  room.on("POST " + k_may, {{"status", {{"allowed", false}, {"reason", "because"}}}}, 201);
  const auto no = room.zooctl({"can-i", "create", "spaces.tenancy.kiosk.sh", "-n", "*"});
  CHECK(no.status == 1);
  CHECK(no.out == "no\n");
  CHECK(has(no.err, "because"));
  CHECK(room.body("POST", k_may)["spec"]["resourceAttributes"] ==
        json{{"verb", "create"}, {"resource", "spaces"}, {"group", "tenancy.kiosk.sh"}});
}

TEST_CASE("where zood can be asked, it says where its account door is") {
  Room room;
  room.on("GET /zoo/v1/status",
          {{"accountDoor",
            {{"server", "https://zoo.example.com:8443"}, {"certificateAuthorityData", "Q0E="}}}});
  const auto told = room.zooctl({"kubeconfig", "account", "--bare"});
  CAPTURE(told.err);
  CHECK(told.status == 0);
  CHECK(has(told.out, "https://zoo.example.com:8443"));
  CHECK(has(told.out, "Q0E="));
  // What is said counts more, and a kubeconfig that is named is the cluster's.
  CHECK(has(room.zooctl({"kubeconfig", "account", "--bare", "--context", "there"}).out,
            "https://cluster.example.com:6443"));
  room.on("GET /zoo/v1/status", {{"accountDoor", json::object()}});
  CHECK(has(room.zooctl({"kubeconfig", "account", "--bare"}).out,
            "https://cluster.example.com:6443"));
}

TEST_CASE("a kubeconfig for account users has the credential that was asked for, or none") {
  Room room;
  const auto bare = room.zooctl({"kubeconfig", "account", "--bare"});
  CAPTURE(bare.err);
  CHECK(bare.status == 0);
  CHECK(has(bare.out, "server: https://cluster.example.com:6443\n"));
  CHECK_FALSE(has(bare.out, "token"));

  room.on("POST /api/v1/namespaces/ci/serviceaccounts/robot/token",
          {{"status", {{"token", "of-the-robot"}}}}, 201);
  const auto file = (room.directory / "robot").string();
  CHECK(room.zooctl({"kubeconfig", "account", "--sa", "ci/robot", "--ttl", "2h", "-o", file})
            .status == 0);
  const auto text = *file::read(file);
  CHECK(has(text, "token: of-the-robot\n"));
  CHECK(has(text, "namespace: ci\n"));
  CHECK(room.body("POST", "/token")["spec"]["expirationSeconds"] == 7200);
  CHECK(room.zooctl({"kubeconfig", "account"}).status == 64);
  CHECK(room.zooctl({"kubeconfig", "account", "--user", "system:admin"}).status == 64);
  CHECK(room.zooctl({"kubeconfig", "account", "--bare", "--group", "devs"}).status == 64);
  const std::string requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
  const json request = {{"metadata", {{"name", "zooctl-1"}}}, {"spec", json::object()}};
  auto signed_one = request;
  signed_one["status"]["certificate"] = "bm8gcmVhbCBvbmU=";
  room.on("POST " + requests, request, 201);
  room.on("PUT " + requests + "/zooctl-1/approval", request);
  room.zooctl.server.on("GET " + requests + "/zooctl-1",
                        {{200, request.dump()}, {200, signed_one.dump()}});
  room.on("DELETE " + requests + "/zooctl-1", request);
  const auto issued = room.zooctl(
      {"kubeconfig", "account", "--user", "jane", "--group", "devs", "--ttl", "1h", "-o", "-"});
  CAPTURE(issued.err);
  CHECK(issued.status == 0);
  CHECK(has(issued.out, "client-certificate-data: bm8gcmVhbCBvbmU=\n"));
  CHECK(has(issued.out, "client-key-data: "));
  CHECK(room.body("PUT", "/approval")["status"]["conditions"][0]["type"] == "Approved");
  CHECK(room.body("POST", requests)["spec"]["expirationSeconds"] == 3600);
  CHECK(room.zooctl.server.requests.back().method == "DELETE");
  CHECK(room.zooctl({"kubeconfig", "account", "--bare", "--server", "https://x"}).status == 64);
}

TEST_CASE("uninstall asks zood, or the upstream itself") {
  Room room;
  room.on("POST /zoo/v1/uninstall-accounts",
          {{"removed", {"ClusterRole kiosk-edit"}}, {"left", json::array()}, {"spaces", 1}});
  const auto asked = room.zooctl({"account", "uninstall", "--force"});
  CAPTURE(asked.err);
  CHECK(asked.out == "removed ClusterRole kiosk-edit\n");
  CHECK(has(asked.err, "the namespaces of the accounts stay"));
  CHECK(has(room.zooctl.server.requests.back().url, "force=true"));

  room.on("GET " + k_accounts, {{"items", {account("blue")}}});
  const auto refused = room.zooctl({"account", "uninstall", "--upstream", room.kubeconfig});
  CHECK(refused.status == 6);
  CHECK(has(refused.err, "there is 1 account (blue) with 1 space"));
  room.on("GET " + k_accounts, {{"items", json::array()}});
  const auto nothing = room.zooctl({"account", "uninstall", "--upstream", room.kubeconfig});
  CHECK(nothing.status == 0);
  CHECK(has(nothing.err, "nothing of accounts is there"));
}

TEST_CASE("names of spaces and accounts are completed from the cluster, in silence") {
  Room room;
  room.on("GET " + k_spaces, {{"items", {space("web", "blue"), space("free", "")}}});
  CHECK(room.zooctl({"__complete", "space", "use", ""}).out == "web\tblue\nfree\t\n:none\n");
  CHECK(room.zooctl({"__complete", "space", "transfer", "w"}).out == "web\tblue\n:none\n");
  CHECK(room.zooctl.server.requests.back().timeout == std::chrono::seconds(1));
  const auto away = room.zooctl({"__complete", "account", "get", ""});
  CHECK(away.out == ":none\n");
  CHECK(away.err.empty());
  CHECK(room.zooctl({"__complete", "space", "create", ""}).out == ":none\n");
}
