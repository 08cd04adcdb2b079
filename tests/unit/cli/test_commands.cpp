// SPDX-License-Identifier: Apache-2.0
#include "common/base/error_table.hpp"
#include "tests/unit/cli/harness.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <sstream>

using namespace zoo;
using namespace zoo::cli;
using namespace zoo::cli::test;
using nlohmann::json;

namespace {

const std::string k_list = std::string("GET ") + k_tenants;
const std::string k_post = std::string("POST ") + k_tenants;
const std::string k_watch = std::string("WATCH ") + k_tenants;
std::string get_of(const std::string& id) { return k_list + "/" + id; }

/// An administrator's, of a zood at https://a:7444.
constexpr const char* k_kubeconfig_of_a = R"(
apiVersion: v1
kind: Config
current-context: a
contexts: [{name: a, context: {cluster: a, user: a}}]
clusters: [{name: a, cluster: {server: "https://a:7444"}}]
users: [{name: a, user: {token: t}}]
)";

} // namespace

TEST_CASE("mistyped commands, options and formats are answered with what was meant") {
  Zooctl zooctl;
  const std::vector<std::pair<std::vector<std::string>, std::string>> table = {
      {{"tenat", "list"}, "did you mean 'tenant'?"},
      {{"tenant", "lsit"}, "did you mean 'list'?"},
      {{"tenant", "creat", "foofoo"}, "did you mean 'create'?"},
      {{"create", "foofoo"}, "did you mean 'zooctl tenant create'?"},
      {{"tenant", "create", "foofoo", "--dispaly-name", "x"}, "did you mean '--display-name'?"},
      {{"tenant", "list", "--sokcet=x"}, "did you mean '--socket'?"},
      {{"tenant", "list", "-o", "tabel"}, "did you mean 'table'?"},
      {{"tenant", "list", "-o", "qqqqqqqqq"}, "only table, wide, json, yaml, name"},
      {{"completion", "bsh"}, "did you mean 'bash'?"},
      {{"frobnicate"}, "zooctl --help"},
  };
  for (const auto& [arguments, expected] : table) {
    const auto outcome = zooctl(arguments);
    CAPTURE(outcome.err);
    CHECK(outcome.status == 64);
    CHECK(outcome.out.empty());
    CHECK(has(outcome.err, expected));
  }
  CHECK(zooctl.server.requests.empty());
}

TEST_CASE("command lines that lack something are usage errors, and ask nothing") {
  Zooctl zooctl;
  const std::vector<std::vector<std::string>> table = {
      {},
      {"tenant"},
      {"tenant", "create"},
      {"tenant", "get"},
      {"tenant", "delete"},
      {"tenant", "delete", "foofoo", "-f", "x"},
      {"tenant", "apply"},
      {"tenant", "create", "foofoo", "-f", "-"},
      {"tenant", "create", "foofoo", "--label", "nonsense"},
      {"tenant", "create", "foofoo", "--label", "a=1", "--label", "a=2"},
      {"tenant", "create", "foofoo", "--timeout", "soon"},
      {"tenant", "create", "foofoo", "--timeout", "0s"},
      {"tenant", "create", "foofoo", "barbar"},
      {"tenant", "create", "foofoo", "--inside", "some"},
      {"tenant", "create", "--inside", "api", "-f", "-"},
      {"dns"},
      {"dns", "corefile", "--domain", "a b"},
      {"dns", "corefile", "--domain", "cluster.local."},
      {"kubeconfig", "export"},
      {"kubeconfig", "export", "foofoo", "--ttl", "-3h"},
      {"kubeconfig", "export", "foofoo", "--ttl", "500ms"}, // 0 s would be zood's default: a year
      {"kubeconfig", "export", "foofoo", "--ttl", "10ms"},
      {"kubeconfig", "export", "foofoo", "--server", "http://x"},
      {"kubeconfig", "export", "foofoo", "--merge", "-o", "x"},
      {"kubeconfig", "export", "foofoo", "-o", "json"},
      {"kubectl"},
      {"status", "-o", "name"},
      {"audit", "--limit", "0"},
      {"audit", "--follow", "-o", "yaml"},
      {"--socket", "a", "--server", "https://b", "status"},
      {"--request-timeout", "never", "status"},
      {"--request-timeout"},
  };
  for (const auto& arguments : table) {
    const auto outcome = zooctl(arguments);
    CAPTURE(arguments);
    CAPTURE(outcome.err);
    CHECK(outcome.status == 64);
    CHECK(outcome.out.empty());
    CHECK_FALSE(outcome.err.empty());
  }
  CHECK(zooctl.server.requests.empty());
}

TEST_CASE("help and version go to standard output") {
  Zooctl zooctl;
  for (const auto& arguments : std::vector<std::vector<std::string>>{
           {"--help"}, {"tenant", "-h"}, {"tenant", "create", "--help"}, {"--version"}}) {
    const auto outcome = zooctl(arguments);
    CHECK(outcome.status == 0);
    CHECK(outcome.err.empty());
    CHECK_FALSE(outcome.out.empty());
  }
  CHECK(has(zooctl({"tenant", "create", "--help"}).out, "--display-name"));
  CHECK(has(zooctl({"tenant", "create", "--help"}).out, "Examples:"));
}

TEST_CASE("an ID that breaks the rule is refused before zood is asked") {
  Zooctl zooctl;
  for (const auto* id : {"foo", "FOOFOO", "foo-fo", "foofooo", "foofo/", "..", ""}) {
    const auto outcome = zooctl({"tenant", "create", "--no-wait", id});
    CAPTURE(id);
    CHECK(outcome.status == (std::string_view(id).empty() ? 64 : 65));
  }
  CHECK(zooctl.server.requests.empty());
}

TEST_CASE("a tenant may be called as results call it") {
  for (const auto* name : {"foofoo", "tenant/foofoo", "tenants/foofoo"}) {
    CAPTURE(name);
    Zooctl zooctl;
    zooctl.server.on(std::string("GET ") + k_tenants + "/foofoo", {{200, tenant("foofoo")}});
    CHECK(zooctl({"tenant", "get", name, "-o", "name"}).out == "foofoo\n");
  }
}

TEST_CASE("create sends a Tenant, waits until it is Ready and says so") {
  Zooctl zooctl;
  zooctl.server.on(k_post, {{201, tenant("foofoo", "Pending")}});
  zooctl.server.on(k_list, {{200, list({tenant("foofoo", "Pending")})}});
  zooctl.server.on(k_watch, {{200, R"({"type":"MODIFIED","object":)" + tenant("foofoo") + "}\n"}});
  const auto outcome = zooctl({"tenant", "create", "foofoo", "--display-name", "[Foo] {Inc}",
                               "--label", "a=b=c", "--label", "team=[x]"});
  CHECK(outcome.status == 0);
  CHECK(outcome.out == "tenant/foofoo created\n");
  CHECK(outcome.err == "tenant foofoo is Ready\n");
  const auto& request = zooctl.server.asked("POST", k_tenants);
  CHECK(has(request.url, "fieldValidation=Strict"));
  CHECK_FALSE(has(request.url, "dryRun"));
  CHECK(json::parse(request.body) ==
        json::parse(R"({"apiVersion":"tenant.kubezoo.io/v1alpha1","kind":"Tenant",
                        "metadata":{"name":"foofoo","labels":{"a":"b=c","team":"[x]"}},
                        "spec":{"displayName":"[Foo] {Inc}"}})"));
  CHECK(has(zooctl.server.asked("GET", "watch=true").url, "resourceVersion=9"));
  CHECK(zooctl.slept.count() == 0);
}

TEST_CASE("create warns of what does not hold in a tenant that is Ready") {
  Zooctl zooctl;
  auto ready = json::parse(tenant("foofoo"));
  ready["status"]["conditions"] = json::array(
      {{{"type", "Furnished"}, {"status", "False"}, {"message", "it is switched off"}}});
  zooctl.server.on(k_post, {{201, tenant("foofoo", "Pending")}});
  zooctl.server.on(k_list, {{200, list({ready.dump()})}});
  const auto outcome = zooctl({"tenant", "create", "foofoo"});
  CHECK(outcome.status == 0);
  CHECK(outcome.err == "tenant foofoo is Ready\nwarning: it is switched off\n");
}

TEST_CASE("--quiet leaves errors only, -o prints the object that became Ready") {
  Zooctl zooctl;
  zooctl.server.on(k_post, {{201, tenant("foofoo", "Pending")}});
  zooctl.server.on(k_list, {{200, list({tenant("foofoo")})}});
  auto outcome = zooctl({"tenant", "create", "foofoo", "--quiet"});
  CHECK(outcome.out.empty());
  CHECK(outcome.err.empty());
  outcome = zooctl({"tenant", "create", "foofoo", "-o", "json"});
  CHECK(json::parse(outcome.out)["status"]["phase"] == "Ready");
  CHECK(outcome.err.empty());
  CHECK(zooctl({"tenant", "create", "foofoo", "-o", "name"}).out == "foofoo\n");
}

TEST_CASE("--dry-run asks zood to change nothing, and waits for nothing") {
  Zooctl zooctl;
  zooctl.server.on(k_post, {{201, tenant("foofoo", "")}});
  auto outcome = zooctl({"tenant", "create", "foofoo", "--dry-run"});
  CHECK(outcome.out == "tenant/foofoo created (dry run)\n");
  CHECK(zooctl.server.requests.size() == 1);
  CHECK(has(zooctl.server.requests[0].url, "dryRun=All"));

  zooctl.server.on(get_of("foofoo"), {{200, tenant("foofoo")}});
  zooctl.server.on("DELETE " + std::string(k_tenants) + "/foofoo", {{200, tenant("foofoo")}});
  outcome = zooctl({"tenant", "delete", "foofoo", "--dry-run"});
  CHECK(outcome.out == "tenant/foofoo deleted (dry run)\n");
  CHECK(has(zooctl.server.asked("DELETE", "foofoo").url, "dryRun=All"));
}

TEST_CASE("a failure's exit status is that of its row in the error table") {
  for (const auto& row : error_table()) {
    if (row.code == Code::usage || row.code == Code::io || row.code == Code::cancelled) continue;
    Zooctl zooctl;
    zooctl.server.on(
        k_list, {{row.http_status, status(row.http_status, std::string(row.reason), "so it is")}});
    const auto outcome = zooctl({"tenant", "list"});
    CAPTURE(std::string(row.name));
    CHECK(outcome.status == row.exit_status);
    CHECK(outcome.out.empty());
    // A list is always there: who has none is another server.
    CHECK(has(outcome.err,
              row.code == Code::not_found ? "it is not zood's admin API" : "zooctl: so it is"));
  }
}

TEST_CASE("a tenant that is not there: the ID that was meant") {
  Zooctl zooctl;
  zooctl.server.on(k_list, {{200, list({tenant("foofoo"), tenant("barbar")})}});
  auto outcome = zooctl({"tenant", "get", "fofoo"});
  CHECK(outcome.status == 4);
  CHECK(outcome.err == "zooctl: there is no tenant 'fofoo'; did you mean 'foofoo'?\n");
  for (const auto& arguments :
       std::vector<std::vector<std::string>>{{"tenant", "describe", "foofo0"},
                                             {"tenant", "delete", "foofo0"},
                                             {"kubeconfig", "export", "foofo0"}}) {
    outcome = zooctl(arguments);
    CHECK(outcome.status == 4);
    CHECK(has(outcome.err, "did you mean 'foofoo'?"));
  }
  CHECK(has(zooctl({"tenant", "get", "xyzxyz"}).err, "zooctl tenant list"));
}

TEST_CASE("a server that is not zood is called so") {
  Zooctl zooctl;
  const auto outcome = zooctl({"tenant", "get", "foofoo"});
  CHECK(outcome.status == 4);
  CHECK(has(outcome.err, "it is not zood's admin API"));
}

TEST_CASE("what zood has switched off is told as it says it") {
  Zooctl zooctl;
  const auto asked = [&](const std::string& message) {
    zooctl.server.on("GET /zoo/v1/quotas", {{404, status(404, "NotFound", message)}});
    return zooctl({"quota", "show"}).err;
  };
  CHECK(asked("this zood keeps no quotas") == "zooctl: this zood keeps no quotas\n");
  CHECK(
      has(asked("the server could not find the requested resource"), "it is not zood's admin API"));
}

TEST_CASE("answers that are not JSON are errors, not crashes") {
  for (const auto* body : {"", "[]", "<html>", "{\"items\":", "null", "{\"items\":7}"}) {
    Zooctl zooctl;
    zooctl.server.on(k_list, {{200, body}});
    zooctl.server.on("GET /zoo/v1/status", {{200, body}});
    zooctl.server.on("GET /zoo/v1/doctor", {{200, body}});
    CAPTURE(body);
    const auto outcome = zooctl({"tenant", "list"});
    CHECK(outcome.status == (std::string_view(body) == "{\"items\":7}" ? 0 : 70));
    CHECK(zooctl({"status"}).status == outcome.status);
    (void)zooctl({"doctor"});
  }
}

TEST_CASE("lists are read to their last page") {
  Zooctl zooctl;
  zooctl.server.on(k_list,
                   {{200, list({tenant("aaaaaa")}, "token")}, {200, list({tenant("bbbbbb")})}});
  const auto outcome = zooctl({"tenant", "list", "-o", "name", "-l", "team=blue"});
  CHECK(outcome.out == "aaaaaa\nbbbbbb\n");
  CHECK(has(zooctl.server.requests[1].url, "continue=token"));
  CHECK(has(zooctl.server.requests[1].url, "labelSelector=team%3Dblue"));
}

TEST_CASE("words that are also commands can be tenants") {
  Zooctl zooctl;
  for (const std::string id : {"status", "doctor", "tenant", "export", "create"}) {
    zooctl.server.on(get_of(id), {{200, tenant(id)}});
    CHECK(zooctl({"tenant", "get", id, "-o", "name"}).out == id + "\n");
  }
}

TEST_CASE("delete names the UID, and waits until the tenant is gone") {
  Zooctl zooctl;
  zooctl.server.on(get_of("foofoo"), {{200, tenant("foofoo")}});
  zooctl.server.on("DELETE " + std::string(k_tenants) + "/foofoo", {{200, tenant("foofoo")}});
  zooctl.server.on(k_list, {{200, list({tenant("foofoo", "Deleting")})}});
  zooctl.server.on(k_watch, {{200, R"({"type":"DELETED","object":)" + tenant("foofoo") + "}\n"}});
  auto outcome = zooctl({"tenant", "delete", "foofoo"});
  CHECK(outcome.status == 0);
  CHECK(outcome.out == "tenant/foofoo deleted\n");
  const auto body = json::parse(zooctl.server.asked("DELETE", "foofoo").body);
  CHECK(body["preconditions"]["uid"] == "uid-foofoo");

  outcome = zooctl({"tenant", "delete", "foofoo", "--no-wait", "-o", "name"});
  CHECK(outcome.out == "foofoo\n");

  zooctl.server.on(k_list, {{200, list({})}});
  outcome = zooctl({"tenant", "delete", "barbar", "--ignore-not-found"});
  CHECK(outcome.status == 0);
  CHECK(outcome.out.empty());
}

TEST_CASE("delete waits for those that go, though another failed") {
  Zooctl zooctl;
  zooctl.server.on(get_of("foofoo"), {{200, tenant("foofoo")}});
  zooctl.server.on("DELETE " + std::string(k_tenants) + "/foofoo", {{200, tenant("foofoo")}});
  zooctl.server.on(k_list, {{200, list({})}});
  for (const std::vector<std::string>& ids :
       {std::vector<std::string>{"foofoo", "barbar"}, {"barbar", "foofoo"}}) {
    const auto outcome = zooctl({"tenant", "delete", ids[0], ids[1]});
    CHECK(outcome.status == 4);
    CHECK(outcome.out == "tenant/foofoo deleted\n");
    CHECK(has(outcome.err, "barbar"));
  }
}

TEST_CASE("several tenants: every one is tried, the first failure decides") {
  Zooctl zooctl;
  zooctl.input = "apiVersion: tenant.kubezoo.io/v1alpha1\nkind: Tenant\nmetadata: {name: aaaaaa}\n"
                 "---\napiVersion: tenant.kubezoo.io/v1alpha1\nkind: Tenant\n"
                 "metadata: {name: bbbbbb}\n";
  zooctl.server.on(k_post,
                   {{409, status(409, "AlreadyExists", "it exists")}, {201, tenant("bbbbbb")}});
  const auto outcome = zooctl({"tenant", "create", "-f", "-", "--no-wait"});
  CHECK(outcome.status == 5);
  CHECK(outcome.out == "tenant/bbbbbb created\n");
  CHECK(outcome.err == "zooctl: it exists\n");
}

TEST_CASE("apply tells created, configured and unchanged apart") {
  Zooctl zooctl;
  zooctl.input = R"({"apiVersion":"tenant.kubezoo.io/v1alpha1","kind":"Tenant",)"
                 R"("metadata":{"name":"foofoo"},"spec":{"id":0},"status":{}})";
  const auto patch = "PATCH " + std::string(k_tenants) + "/foofoo";
  zooctl.server.on(k_list, {{200, list({})}});
  zooctl.server.on(patch, {{201, tenant("foofoo")}});
  CHECK(zooctl({"tenant", "apply", "-f", "-"}).out == "tenant/foofoo created\n");
  zooctl.server.on(k_list, {{200, list({tenant("foofoo")})}});
  CHECK(zooctl({"tenant", "apply", "-f", "-"}).out == "tenant/foofoo unchanged\n");
  CHECK(zooctl({"tenant", "apply", "-f", "-", "--dry-run"}).out ==
        "tenant/foofoo unchanged (dry run)\n");
  const auto changed = tenant("foofoo", "Ready", "", R"({"displayName":"x"})");
  zooctl.server.on(patch, {{200, changed}});
  CHECK(zooctl({"tenant", "apply", "-f", "-"}).out == "tenant/foofoo configured\n");
  const auto& request = zooctl.server.asked("PATCH", "foofoo");
  CHECK(has(request.url, "fieldManager=zooctl"));
  CHECK(json::parse(request.body)["spec"]["id"] == 0);
}

TEST_CASE("kubeconfig export asks for what was wished and prints it as it came") {
  Zooctl zooctl;
  zooctl.server.on("POST " + std::string(k_tenants) + "/foofoo/kubeconfig",
                   {{200, R"({"kubeconfig":"apiVersion: v1\nkind: Config\n"})"}});
  auto outcome = zooctl({"kubeconfig", "export", "foofoo"});
  CHECK(outcome.out == "apiVersion: v1\nkind: Config\n");
  CHECK(outcome.err.empty());
  CHECK(json::parse(zooctl.server.requests.back().body) ==
        json::parse(R"({"administrator":true})"));
  (void)zooctl({"kubeconfig", "export", "foofoo", "--user", "jane", "--group", "dev", "--group",
                "ops", "--ttl", "90m", "--server", "https://zoo:7443"});
  CHECK(json::parse(zooctl.server.requests.back().body) ==
        json::parse(R"({"administrator":false,"user":"jane","groups":["dev","ops"],
                        "ttlSeconds":5400,"server":"https://zoo:7443"})"));
}

TEST_CASE("suspend, rotate and revoke ask for what was wished") {
  Zooctl zooctl;
  const auto path = std::string(k_tenants) + "/foofoo";
  zooctl.server.on("PATCH " + path, {{200, tenant("foofoo")}});
  zooctl.server.on("POST " + path + "/rotate", {{200, tenant("foofoo")}});
  zooctl.server.on("POST " + path + "/revoke", {{200, tenant("foofoo")}});
  const auto body = [&](const char* method, const char* part) {
    return json::parse(zooctl.server.asked(method, part).body);
  };
  CHECK(zooctl({"tenant", "suspend", "foofoo"}).out == "tenant/foofoo suspended\n");
  CHECK(body("PATCH", "/foofoo")["spec"]["suspended"] == true);
  zooctl.server.on("PATCH " + std::string(k_tenants) + "/barbar", {{200, tenant("barbar")}});
  const auto two = zooctl({"tenant", "suspend", "foofoo", "barbar", "-o", "yaml"}).out;
  CHECK(two.find("\n---\napiVersion:") != std::string::npos); // two documents
  CHECK(two.find("---") == two.rfind("---"));
  const auto table = zooctl({"tenant", "suspend", "foofoo", "barbar", "-o", "table"}).out;
  CHECK(std::count(table.begin(), table.end(), '\n') == 3); // one header
  CHECK(zooctl({"tenant", "resume", "foofoo"}).out == "tenant/foofoo resumed\n");
  CHECK(body("PATCH", "/foofoo")["spec"]["suspended"] == false);
  CHECK(zooctl({"tenant", "rotate", "foofoo", "--revoke-old"}).status == 0);
  CHECK(body("POST", "/rotate")["revokeOld"] == true);
  CHECK(zooctl({"tenant", "revoke", "foofoo", "--serial", "0a", "--serial", "0b"}).out ==
        "tenant/foofoo lost 2 certificates\n");
  CHECK(body("POST", "/revoke") == json{{"serials", {"0a", "0b"}}});
  CHECK(zooctl({"tenant", "revoke", "foofoo", "--all"}).status == 0);
  CHECK(body("POST", "/revoke") == json{{"all", true}});
  CHECK(zooctl({"tenant", "revoke", "foofoo"}).status == 64);
  CHECK(zooctl({"tenant", "revoke", "foofoo", "--all", "--serial", "0a"}).status == 64);
}

TEST_CASE("certificates of a tenant, in a table and by name") {
  Zooctl zooctl;
  zooctl.server.on(k_list + "/foofoo/certificates",
                   {{200, json{{"kind", "TenantCertificateList"},
                               {"items",
                                {{{"serial", "0a1b"},
                                  {"user", "jane"},
                                  {"groups", {"dev", "ops"}},
                                  {"source", "export"},
                                  {"expires", "2026-03-01T00:00:00Z"},
                                  {"revoked", true}}}}}
                              .dump()}});
  const auto table = zooctl({"tenant", "certificates", "foofoo"}).out;
  CHECK(has(table, "0a1b"));
  CHECK(has(table, "dev,ops"));
  CHECK(has(table, "Revoked"));
  CHECK(zooctl({"tenant", "certificates", "foofoo", "-o", "name"}).out == "0a1b\n");
}

TEST_CASE("kubectl gets its words untouched, a kubeconfig without a name and a cache of its own") {
  TemporaryDirectory directory;
  const auto kubectl = directory / "kubectl";
  std::filesystem::copy("/bin/true", kubectl);
  Zooctl zooctl;
  zooctl.environment = {"PATH=/nowhere:" + directory.path().string(), "HOME=/srv/jane",
                        "KUBECONFIG=/srv/jane/prod"};
  zooctl.server.on("GET " + std::string(k_tenants) + "/foofoo", {{200, tenant("foofoo")}});
  zooctl.server.on("POST " + std::string(k_tenants) + "/foofoo/kubeconfig",
                   {{200, R"({"kubeconfig":"x\n"})"}});
  const std::vector<std::vector<std::string>> lines = {
      {"kubectl", "foofoo", "--", "patch", "x", "-p", R"([{"op":"add"}])", "", "--", "-o",
       "--quiet"},
      {"kubectl", "foofoo", "patch", "x", "-p", R"([{"op":"add"}])", "", "--", "-o", "--quiet"},
      {"--request-timeout=5s", "kubectl", "--user", "jane", "--", "foofoo", "patch", "x", "-p",
       R"([{"op":"add"}])", "", "--", "-o", "--quiet"}};
  for (const auto& line : lines) {
    zooctl.executed.clear();
    (void)zooctl(line);
    REQUIRE(zooctl.executed.size() == 1);
    const auto& program = zooctl.executed[0];
    CHECK(program.path == kubectl.string());
    CHECK(program.arguments == std::vector<std::string>{"kubectl", "patch", "x", "-p",
                                                        R"([{"op":"add"}])", "", "--", "-o",
                                                        "--quiet"});
    std::size_t configs = 0;
    for (const auto& entry : program.environment) {
      if (!entry.starts_with("KUBECONFIG=")) continue;
      ++configs;
      CHECK(entry.starts_with("KUBECONFIG=/proc/self/fd/"));
    }
    CHECK(configs == 1);
    CHECK(program.environment.back() == "KUBECACHEDIR=/srv/jane/.kube/cache/zooctl/foofoo");
  }
}

TEST_CASE("kubectl as the administrator uses the certificate that there is") {
  TemporaryDirectory directory;
  std::filesystem::copy("/bin/true", directory / "kubectl");
  Zooctl zooctl;
  zooctl.environment = {"PATH=" + directory.path().string()};
  auto kept = nlohmann::json::parse(tenant("foofoo"));
  kept["metadata"]["annotations"]["kubezoo.io/tenant.kubeconfig.base64"] = "a2VwdAo=";
  const auto one = std::string(k_tenants) + "/foofoo";
  zooctl.server.on("GET " + one, {{200, kept.dump()}});
  zooctl.server.on("POST " + one + "/kubeconfig", {{200, R"({"kubeconfig":"issued\n"})"}});
  const auto given = [&](std::vector<std::string> arguments) {
    zooctl.executed.clear();
    zooctl.server.requests.clear();
    const auto outcome = zooctl(std::move(arguments));
    CAPTURE(outcome.err);
    REQUIRE(zooctl.executed.size() == 1);
    REQUIRE_FALSE(zooctl.server.requests.empty());
    return zooctl.server.requests.back().method;
  };
  CHECK(given({"kubectl", "foofoo", "get", "pods"}) == "GET");
  // What zood keeps is the administrator's for as long as zood says.
  CHECK(given({"kubectl", "--user", "jane", "foofoo", "get", "pods"}) == "POST");
  CHECK(given({"kubectl", "--user", "jane", "--group", "dev", "foofoo", "get", "pods"}) == "POST");
  CHECK(given({"kubectl", "--ttl", "1h", "foofoo", "get", "pods"}) == "POST");
  // One that zood cannot show is issued.
  zooctl.server.on("GET " + one, {{200, tenant("foofoo")}});
  CHECK(given({"kubectl", "foofoo", "get", "pods"}) == "POST");
}

TEST_CASE("kubectl's certificate is valid for a second at least, not for zood's default") {
  TemporaryDirectory directory;
  std::filesystem::copy("/bin/true", directory / "kubectl");
  Zooctl zooctl;
  zooctl.environment = {"PATH=" + directory.path().string()};
  const auto outcome = zooctl({"kubectl", "--ttl", "500ms", "foofoo", "get", "pods"});
  CHECK(outcome.status == 64);
  CHECK(outcome.err.find("--ttl must be one second or more") != std::string::npos);
  CHECK(zooctl.executed.empty());
}

TEST_CASE("what zood cannot store is told by the exit status of files") {
  Zooctl zooctl;
  zooctl.server.on(
      "GET " + std::string(k_tenants) + "/foofoo",
      {{500, status(500, "StorageFailure", "cannot write zood.db: the disk is full")}});
  const auto outcome = zooctl({"tenant", "get", "foofoo"});
  CHECK(outcome.status == 74);
  CHECK(has(outcome.err, "the disk is full"));
}

TEST_CASE("without kubectl: how to get it, before a credential is issued") {
  Zooctl zooctl;
  zooctl.environment = {"PATH=/nowhere"};
  const auto outcome = zooctl({"kubectl", "foofoo", "--", "get", "pods"});
  CHECK(outcome.status == 4);
  CHECK(has(outcome.err, "kubernetes-client"));
  CHECK(zooctl.server.requests.empty());
}

TEST_CASE("status shows everything zood says, in zood's order") {
  Zooctl zooctl;
  zooctl.server.on("GET /zoo/v1/status",
                   {{200, R"({"version":"0.1.0","listen":"127.0.0.1:41234","adminListen":"",
      "upstream":{"server":"https://k8s","reachable":true},"tenants":{"Ready":2,"Pending":1},
      "uptimeSeconds":4000,"newThing":[1]})"}});
  check_golden("status.txt", zooctl({"status"}).out);
  CHECK(json::parse(zooctl({"status", "-o", "json"}).out)["uptimeSeconds"] == 4000);
}

TEST_CASE("top shows what is used of what") {
  Zooctl zooctl;
  const std::string usage = R"({"quota":{"namespaces":{"used":3,"limit":3},"webhooks":{"limit":100},
    "customresourcedefinitions":{"used":95,"limit":100},"services.nodeports":{"used":0,"limit":9}},
    "flow":{"requestsInflight":{"used":2,"limit":400},"mutationsInflight":{"used":1,"limit":200},
    "longRunning":{"used":7,"limit":2000},"bufferedBytes":{"used":0,"limit":1024},"queued":1,
    "refused":12}})";
  zooctl.server.on(k_list, {{200, R"({"metadata":{},"items":[
    {"metadata":{"name":"foofoo"},"status":{"usage":)" +
                                      usage + R"(}},
    {"metadata":{"name":"barbar"},"status":{"usage":5}},{"metadata":{"name":"odd"}}]})"}});
  zooctl.server.on(get_of("foofoo"),
                   {{200, R"({"metadata":{"name":"foofoo"},"status":{"usage":)" + usage + "}}"}});
  check_golden("top.txt", zooctl({"top"}).out);
  check_golden("top-wide.txt", zooctl({"top", "foofoo", "-o", "wide"}).out);
  const auto record = json::parse(zooctl({"top", "foofoo", "-o", "json"}).out);
  CHECK(record["items"][0]["name"] == "foofoo");
  CHECK(record["items"][0]["usage"] == json::parse(usage));
}

TEST_CASE("doctor exits with 1 when there is a problem, and with 0 on warnings") {
  Zooctl zooctl;
  const std::string ok = R"({"level":"ok","subject":"upstream","message":"answers","remedy":""})";
  const std::string warning =
      R"({"level":"warning","subject":"lists","message":"fan out","remedy":"upgrade upstream"})";
  const std::string problem =
      R"({"level":"problem","subject":"ca","message":"expired\u001b[2J","remedy":"make one"})";
  zooctl.server.on("GET /zoo/v1/doctor",
                   {{200, "{\"findings\":[" + ok + "]}"},
                    {200, "{\"findings\":[" + ok + "," + warning + "]}"},
                    {200, "{\"findings\":[" + ok + "," + warning + "," + problem + "]}"}});
  CHECK(zooctl({"doctor"}).status == 0);
  CHECK(zooctl({"doctor"}).status == 0);
  const auto outcome = zooctl({"doctor"});
  CHECK(outcome.status == 1);
  check_golden("doctor.txt", outcome.out);
  CHECK(outcome.err.empty());
}

TEST_CASE("a zood that does not answer is a doctor's finding") {
  Zooctl zooctl;
  zooctl.server.on("GET /zoo/v1/doctor", {{0, "", Error(Code::timeout, "slow")}});
  const auto outcome = zooctl({"--socket", "/nowhere/zood.sock", "doctor", "-o", "json"});
  CHECK(outcome.status == 1);
  CHECK(json::parse(outcome.out)["findings"][0]["level"] == "problem");
}

TEST_CASE("version says zooctl's own even when zood is away") {
  Zooctl zooctl;
  CHECK(zooctl({"version", "--client"}).out == "zooctl " ZOO_VERSION "\n");
  zooctl.server.on("GET /zoo/v1/status",
                   {{200, R"({"version":"9.9"})"}, {0, "", Error(Code::timeout, "slow")}});
  CHECK(zooctl({"version"}).out == "zooctl " ZOO_VERSION "\nzood   9.9\n");
  const auto outcome = zooctl({"version"});
  CHECK(outcome.status == 7);
  CHECK(outcome.out == "zooctl " ZOO_VERSION "\n");
  CHECK(has(outcome.err, "did not answer"));
}

TEST_CASE("audit --follow shows each line once, in columns that stay, until zood says no") {
  const auto line = [](int micros, const std::string& user, const std::string& more = "") {
    return fmt::format(R"({{"time":"2026-01-31T23:59:{:02}.{:06}Z","tenant":"foofoo","user":"{}",)"
                       R"("verb":"get","resource":"pods","code":200,"latencyMicros":1500,)"
                       R"("decision":"allow"{}}})",
                       micros / 1'000'000, micros % 1'000'000, user, more);
  };
  const auto items = [](const std::string& lines) {
    return R"({"items":[)" + lines + R"(],"more":false})";
  };
  const auto a = line(1, "jane"), b = line(2, "j"), late = line(1, "k"),
             c = line(8'000'000, "somebody-longer");
  const auto own = line(9'000'000, "root", R"(,"path":"/zoo/v1/audit")");
  const std::vector<Server::Answer> answers = {{200, items(a)},
                                               {200, items(a + "," + b)},
                                               {200, items(""), Error(Code::unavailable, "away")},
                                               {200, items(late + "," + a + "," + b + "," + c)},
                                               {200, items(c + "," + own)},
                                               {403, status(403, "Forbidden", "no more")}};
  Zooctl zooctl;
  zooctl.server.on("GET /zoo/v1/audit", answers);
  const auto table = zooctl({"audit", "foofoo", "--follow", "--since", "30s"});
  CHECK(table.status != 0);
  CHECK(has(table.err, "no more"));
  CHECK(has(table.err, "trying again"));
  CHECK(std::count(table.out.begin(), table.out.end(), '\n') == 5); // the headers once
  CHECK(table.out.starts_with("TIME"));
  CHECK(table.out.find("VERB") ==
        table.out.find("get", table.out.find('\n')) - table.out.find('\n') - 1);
  CHECK(has(zooctl.server.requests.front().url, "since=2026-01-31T23%3A59%3A30Z"));
  CHECK(has(zooctl.server.requests.back().url, "since=2026-01-31T23%3A59%3A30Z"));

  Zooctl lines;
  lines.server.on("GET /zoo/v1/audit", answers);
  const auto json_lines = lines({"audit", "foofoo", "-f", "-o", "json"});
  std::istringstream read(json_lines.out);
  std::vector<std::string> users;
  for (std::string each; std::getline(read, each);)
    users.push_back(json::parse(each)["user"]);
  CHECK(users == std::vector<std::string>{"jane", "j", "k", "somebody-longer"});
}

TEST_CASE("audit asks every zood that has the store, and names those that do not answer") {
  const auto line = [](int second, const std::string& user) {
    return fmt::format(R"({{"time":"2026-01-31T23:59:{:02}Z","tenant":"foofoo","user":"{}",)"
                       R"("verb":"get","resource":"pods","code":200,"decision":"allow"}})",
                       second, user);
  };
  Zooctl zooctl;
  test::TemporaryDirectory directory;
  zooctl.server.on("GET /zoo/v1/store", {{200, R"({"name":"a","driver":"etcd","replicas":[
      {"name":"a","leads":true},{"name":"b","admin":"https://b:7444"},{"name":"c"}]})"}});
  zooctl.server.on(
      "GET /zoo/v1/audit",
      {{200, R"({"items":[)" + line(1, "jane") + "," + line(3, "jill") + R"(],"more":false})"},
       {200, R"({"items":[)" + line(2, "jack") + R"(],"more":false})"}});
  std::ofstream(directory / "admin.kubeconfig") << k_kubeconfig_of_a;
  const auto dir = directory.path().string();
  const auto lines = zooctl({"--dir", dir, "audit", "foofoo", "-o", "json"});
  CHECK(lines.status == 0);
  CHECK(has(lines.err, "c did not answer, and its lines are missing"));
  CHECK(has(lines.err, "admin.listen"));
  std::vector<std::string> seen;
  const auto answer = json::parse(lines.out);
  for (const auto& each : answer["items"])
    seen.push_back(each["replica"].get<std::string>() + ":" + each["user"].get<std::string>());
  CHECK(fmt::format("{}", fmt::join(seen, " ")) == "a:jane b:jack a:jill");
  CHECK(zooctl.server.asked("GET", "https://b:7444/zoo/v1/audit").method == "GET");
  CHECK(zooctl({"--dir", dir, "audit", "foofoo", "--all-replicas"}).status == 69);
  const auto table = zooctl({"--dir", dir, "audit", "foofoo"});
  CHECK(table.out.starts_with("TIME"));
  CHECK(has(table.out, "REPLICA"));
}

TEST_CASE("audit --follow hears a zood whose clock is behind that of another one") {
  const auto items = [](int second, const std::string& user) {
    return fmt::format(
        R"({{"items":[{{"time":"2026-01-31T23:59:{:02}Z","tenant":"foofoo",)"
        R"("user":"{}","verb":"get","code":200,"decision":"allow"}}],"more":false}})",
        second, user);
  };
  Zooctl zooctl;
  test::TemporaryDirectory directory;
  zooctl.server.on("GET /zoo/v1/store", {{200, R"({"name":"a","driver":"etcd","replicas":[
      {"name":"a","leads":true},{"name":"b","admin":"https://b:7444"}]})"}});
  zooctl.server.on("GET /zoo/v1/audit", {{200, items(50, "jane")},
                                         {200, items(31, "jack")},
                                         {200, items(50, "jane")},
                                         {200, items(32, "jill")},
                                         {403, status(403, "Forbidden", "no more")}});
  std::ofstream(directory / "admin.kubeconfig") << k_kubeconfig_of_a;
  const auto lines =
      zooctl({"--dir", directory.path().string(), "audit", "foofoo", "-f", "-o", "json"});
  std::istringstream read(lines.out);
  std::vector<std::string> seen;
  for (std::string each; std::getline(read, each);) {
    const auto line = json::parse(each);
    seen.push_back(line["replica"].get<std::string>() + ":" + line["user"].get<std::string>());
  }
  CHECK(fmt::format("{}", fmt::join(seen, " ")) == "b:jack a:jane b:jill");
  const auto& behind = zooctl.server.asked("GET", "https://b:7444/zoo/v1/audit").url;
  CHECK(has(behind, "since=2026-01-31T23%3A59%3A29Z")); // two seconds before its own newest line
}

TEST_CASE("status says which zoods have the store") {
  Zooctl zooctl;
  zooctl.server.on("GET /zoo/v1/status", {{200, R"({"version":"1","replicas":[
      {"name":"a","leads":true,"version":"1.2","started":1},{"name":"b","version":"1.3"}]})"}});
  const auto out = zooctl({"status"}).out;
  CHECK(has(out, "Replica a:  1.2, leads, started "));
  CHECK(has(out, "Replica b:  1.3\n"));
}

TEST_CASE("the rules for CoreDNS are printed without asking anybody") {
  Zooctl zooctl;
  const auto rules = zooctl({"dns", "corefile", "--domain", "k8s.example"});
  CHECK(rules.status == 0);
  CHECK(has(rules.out, "zood.zoo-system.svc.k8s.example answer auto"));
  const auto layer = zooctl({"dns", "corefile", "--second-layer"});
  CHECK(has(layer.out, "template IN ANY cluster.local {"));
  CHECK(has(layer.out, "(system|calico|"));
  CHECK(zooctl.server.requests.empty());
}

TEST_CASE("what zood does inside pods is said when a tenant is made") {
  for (const auto& [word, inside] :
       std::vector<std::pair<std::string, json>>{{"all", json()},
                                                 {"api", {{"dns", false}}},
                                                 {"dns", {{"api", false}}},
                                                 {"none", {{"api", false}, {"dns", false}}}}) {
    CAPTURE(word);
    Zooctl zooctl;
    zooctl.server.on(k_post, {{201, tenant("foofoo")}});
    zooctl({"tenant", "create", "foofoo", "--no-wait", "--inside", word});
    const auto sent = json::parse(zooctl.server.asked("POST", k_tenants).body);
    CHECK(sent["spec"].value("inside", json()) == inside);
  }
}

TEST_CASE("a value that is none of an option's: which there are, and which was meant") {
  Zooctl zooctl;
  const std::pair<std::vector<std::string>, const char*> table[] = {
      {{"tenant", "create", "foofoo", "--webhooks", "relays"},
       "--webhooks is one of relay, direct, not 'relays': did you mean 'relay'?"},
      {{"tenant", "create", "foofoo", "--inside", "ap"},
       "--inside is one of all, api, dns, none, not 'ap': did you mean 'api'?"},
      {{"account", "aggregated", "of"},
       "what is one of on, off, status, not 'of': did you mean 'on'?"},
  };
  for (const auto& [arguments, message] : table) {
    CAPTURE(message);
    const auto said = zooctl(arguments);
    CHECK(said.status == 64);
    CHECK(said.err.find(message) != std::string::npos);
    INFO(said.err);
  }
}

TEST_CASE("doctor explains a check, and asks nobody for it") {
  Zooctl zooctl;
  CHECK(zooctl({"doctor", "--explain", "free-space"})
            .out.starts_with("free-space: Room on the disk"));
  CHECK(zooctl({"doctor", "--explain", "list"}).out.find("\nclock\n") != std::string::npos);
  const auto wrong = zooctl({"doctor", "--explain", "free-spice"});
  CHECK(wrong.status == 64);
  CHECK(wrong.err.find("did you mean 'free-space'?") != std::string::npos);
}
