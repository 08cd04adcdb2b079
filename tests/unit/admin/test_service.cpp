// SPDX-License-Identifier: Apache-2.0
#include "common/crypto/certificate.hpp"
#include "common/crypto/issue.hpp"
#include "common/crypto/key.hpp"
#include "tests/unit/admin/world.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <latch>

using nlohmann::json;
using namespace zoo;
using namespace zoo::admin;
using namespace zoo::admin::test;

namespace {

/// A length-delimited protobuf field.
std::string field(char number, const std::string& bytes) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())} + bytes;
}

std::string certificate_for(const std::string& name,
                            const std::vector<std::string>& organizations) {
  auto ca_key = crypto::PrivateKey::generate_p256();
  auto ca = crypto::make_ca(*ca_key, "admins", std::chrono::hours(1));
  auto key = crypto::PrivateKey::generate_p256();
  crypto::CertificateRequest wanted;
  wanted.common_name = name;
  wanted.organizations = organizations;
  wanted.validity = std::chrono::hours(1);
  wanted.client = true;
  return crypto::issue(*ca, *ca_key, *key, wanted)->der();
}

} // namespace

TEST_CASE("a list is a TenantList, and a table where that is wanted") {
  World world;
  world.add("123456", "Numbers");
  world.add("foofoo", "", {{"team", "a"}});
  auto list = world.ask("GET", k_tenants);
  CHECK(list->status() == 200);
  CHECK(list->stream.head.headers.get("Content-Type") == "application/json");
  CHECK(list->json()["kind"] == "TenantList");
  CHECK(list->json()["metadata"]["resourceVersion"] == "102");
  CHECK(list->json()["items"][0]["metadata"]["name"] == "123456");

  auto table = world.ask("GET", k_tenants, "", {k_table});
  CHECK(table->json()["kind"] == "Table");
  CHECK(table->json()["columnDefinitions"][1]["name"] == "Status");
  CHECK(table->json()["rows"][0]["cells"] ==
        json::array({"123456", "Pending", "Numbers", "<none>", "60m", "<none>", "uid-100"}));
  CHECK(table->json()["rows"][1]["object"]["kind"] == "PartialObjectMetadata");
  CHECK(world.ask("GET", k_tenants + "?includeObject=None", "", {k_table})
            ->json()["rows"][0]
            .contains("object") == false);

  auto some = world.ask("GET", k_tenants + "?labelSelector=team%3Da");
  REQUIRE(some->json()["items"].size() == 1);
  CHECK(some->json()["items"][0]["metadata"]["name"] == "foofoo");
  auto named = world.ask("GET", k_tenants + "?fieldSelector=metadata.name%3D123456");
  CHECK(named->json()["items"].size() == 1);
  CHECK(world.ask("GET", k_tenants + "?fieldSelector=metadata.name%3Dnobody")
            ->json()["items"]
            .empty());
  CHECK(world.ask("GET", k_tenants + "?fieldSelector=spec.x%3D1")->status() == 400);
}

TEST_CASE("pages follow each other and meet every tenant once") {
  World world;
  for (int i = 0; i < 25; ++i)
    world.add(fmt::format("ten{:03}", i), "", {{"even", i % 2 == 0 ? "yes" : "no"}});
  for (const std::string selector : {"", "&labelSelector=even%3Dyes"}) {
    std::vector<std::string> names;
    std::string token, revision;
    do {
      auto page = world.ask("GET", k_tenants + "?limit=4" + selector +
                                       (token.empty() ? "" : "&continue=" + token));
      REQUIRE(page->status() == 200);
      const auto body = page->json();
      for (const auto& item : body["items"])
        names.push_back(item["metadata"]["name"]);
      CHECK(page->json()["items"].size() <= 4);
      if (revision.empty()) revision = page->json()["metadata"]["resourceVersion"];
      CHECK(page->json()["metadata"]["resourceVersion"] == revision);
      token = page->json()["metadata"].value("continue", "");
      if (names.size() == 4)
        world.tenants.touch("ten024", [](auto& tenant) { tenant.account = "x"; });
    } while (!token.empty());
    CHECK(names.size() == (selector.empty() ? 25 : 13));
    CHECK(std::is_sorted(names.begin(), names.end()));
  }
  CHECK(world.ask("GET", k_tenants + "?continue=rubbish")->status() == 400);
  CHECK(world.ask("GET", k_tenants + "?limit=x")->status() == 400);
  CHECK(world.ask("GET", k_tenants + "?resourceVersion=999999")->status() == 504);
  CHECK(world.ask("GET", k_tenants + "?resourceVersion=5&resourceVersionMatch=Exact")->status() ==
        410);
}

TEST_CASE("the kubeconfig stands in a GET of one tenant and nowhere else") {
  World world;
  world.add("foofoo");
  const auto one = k_tenants + "/foofoo";
  auto get = world.ask("GET", one);
  CHECK(get->json()["metadata"]["annotations"][std::string(api::k_kubeconfig_annotation)] ==
        "U0VDUkVU");
  CHECK(world.ask("GET", one, "", {{"Accept", "application/yaml"}})->stream.body.find("U0VDUkVU") !=
        std::string::npos);
  for (const auto& talk : {world.ask("GET", k_tenants), world.ask("GET", one, "", {k_table}),
                           world.ask("GET", one + "/status"),
                           world.ask("GET", one, "",
                                     {{"Accept", "application/json;as=PartialObjectMetadata;"
                                                 "g=meta.k8s.io;v=v1"}}),
                           world.ask("GET", k_tenants + "?watch=1&timeoutSeconds=9")})
    CHECK(talk->stream.body.find("U0VDUkVU") == std::string::npos);
  auto head = world.ask("HEAD", one);
  CHECK(head->status() == 200);
  CHECK(head->stream.body.empty());
}

TEST_CASE("errors are Status, with what was meant") {
  World world;
  struct Case {
    const char* method;
    std::string path;
    int status;
    const char* words;
  };
  for (const auto& each :
       {Case{"GET", k_tenants + "/nobody", 404, "not found"},
        Case{"GET", "/apis/tenant.kubezoo.io/v1alpha1/tenats", 404, "did you mean \"tenants\"?"},
        Case{"POST", "/apis/tenant.kubezoo.io", 405, "it allows GET"},
        Case{"POST", "/apis/tenant.kubezoo.io/v1alpha1", 405, "it allows GET"},
        Case{"GET", "/apis/tenant.kubezoo.io/v1", 404, "could not find"},
        Case{"PUT", "/apis/tenant.kubezo.io", 404, "did you mean \"tenant.kubezoo.io\"?"},
        Case{"GET", "/apis/tenants.kubezoo.io/v1alpha1/tenants", 404, "\"tenant.kubezoo.io\"?"},
        Case{"GET", "/apis/tenant.kubezoo.io/v1alpha2/tenants", 404, "\"v1alpha1\"?"},
        Case{"GET", "/apis/tenant.kubezoo.io/v1alpha1/namespaces/x/tenants", 404, "no namespace"},
        Case{"GET", k_tenants + "/foofoo/kubeconfg", 404, "\"kubeconfig\"?"},
        Case{"GET", "/zoo/v1/statu", 404, "\"status\"?"},
        Case{"GET", "/api/v1/pods", 404, "no resource"}, Case{"GET", "/ap", 404, "\"api\"?"},
        Case{"GET", "/a/../b", 400, "must not contain"},
        Case{"DELETE", k_tenants, 405, "GET, POST"},
        Case{"POST", k_tenants + "/foofoo", 405, "does not allow"},
        Case{"GET", k_tenants + "/foofoo/kubeconfig", 405, "POST"},
        Case{"BREW", "/zoo/v1/status", 405, "GET"}}) {
    CAPTURE(each.method);
    CAPTURE(each.path);
    auto talk = world.ask(each.method, each.path);
    CHECK(talk->status() == each.status);
    const auto body = talk->json();
    CHECK(body["kind"] == "Status");
    CHECK(body["code"] == each.status);
    CHECK(body["message"].get<std::string>().find(each.words) != std::string::npos);
  }
  CHECK(world.ask("GET", k_tenants + "/nobody")->json()["details"]["name"] == "nobody");
  CHECK(world.ask("DELETE", k_tenants)->stream.head.headers.get("Allow") == "GET, POST");
}

TEST_CASE("the socket lets in root, zood's user and the group") {
  World world;
  world.info.peer_uid = static_cast<int>(geteuid());
  CHECK(world.ask("GET", "/zoo/v1/status")->status() == 200);
  if (geteuid() == 65534) return;
  world.info.peer_uid = 65534;
  world.info.peer_gid = 65534;
  auto refused = world.ask("GET", "/zoo/v1/status");
  CHECK(refused->status() == 403);
  CHECK(refused->json()["message"].get<std::string>().find("group 'zoo'") != std::string::npos);
  CHECK(world.ask("GET", "/readyz")->status() == 200);

  DoorOptions options;
  options.unix_group = "root"; // gid 0, whatever the machine
  world.info.peer_gid = 0;
  const auto who = identify(world.info, options);
  REQUIRE(who);
  CHECK(who->groups.front() == k_administrators);
  options.unix_group = "";
  CHECK_FALSE(identify(world.info, options));
}

TEST_CASE("the TLS door lets in verified administrators alone") {
  World world;
  world.info = http::ConnectionInfo{};
  world.info.peer = "127.0.0.1:5";
  CHECK(world.ask("GET", "/version")->status() == 401);
  world.info.peer_certificate_der =
      certificate_for("alice", {std::string(k_administrators), "ops"});
  CHECK(world.ask("GET", "/version")->status() == 401);
  world.info.peer_certificate_verified = true;
  CHECK(world.ask("GET", "/version")->status() == 200);
  auto self = world.ask("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews",
                        R"({"kind":"SelfSubjectReview","apiVersion":"authentication.k8s.io/v1"})");
  CHECK(self->json()["status"]["userInfo"]["username"] == "alice");
  CHECK(self->json()["status"]["userInfo"]["groups"] == json::array({k_administrators, "ops"}));

  world.info.peer_certificate_der = certificate_for("admin", {"zoo:cluster-admins"});
  auto tenant = world.ask("GET", "/version");
  CHECK(tenant->status() == 403);
  CHECK(tenant->json()["reason"] == "Forbidden");
  world.info.peer_certificate_der = "rubbish";
  CHECK(world.ask("GET", "/version")->status() == 401);
}

TEST_CASE("a body above its limit is refused before it is all there") {
  World world;
  Talk talk(world.info);
  http::RequestHead head;
  head.method = "POST";
  head.target = k_tenants;
  talk.handler = world.service->on_request(head, talk.stream);
  const std::string piece(64 << 10, 'x');
  for (int i = 0; i < 20; ++i)
    talk.handler->on_data(piece);
  CHECK(talk.status() == 413);
  CHECK(talk.json()["reason"] == "RequestEntityTooLarge");
  CHECK(talk.stream.consumed == 20 * piece.size());
  talk.handler->on_end();
}

TEST_CASE("of a stranger's body nothing is kept") {
  World world;
  world.info = http::ConnectionInfo{};
  world.info.peer = "127.0.0.1:5";
  const std::string piece(64 << 10, 'x');
  const auto send = [&](Talk& talk, const std::string& target) {
    http::RequestHead head;
    head.method = target == k_tenants ? "POST" : "GET";
    head.target = target;
    talk.handler = world.service->on_request(head, talk.stream);
    talk.handler->on_data(piece);
  };
  Talk tenants(world.info);
  send(tenants, std::string(k_tenants));
  CHECK(tenants.status() == 401); // and not at the body's end
  Talk health(world.info);
  send(health, "/livez"); // which is everybody's
  for (int i = 0; i < 20; ++i)
    health.handler->on_data(piece);
  health.handler->on_end();
  CHECK(health.status() == 200);
  CHECK(health.stream.consumed == 21 * piece.size());
}

TEST_CASE("what a client who left asked for is dropped") {
  World world;
  world.add("foofoo");
  world.tenants.hold(true);
  auto talk = world.start("GET", k_tenants + "/foofoo");
  while (world.tenants.held() == 0)
    std::this_thread::yield();
  talk->handler->on_reset();
  talk->handler.reset();
  world.tenants.hold(false);
  world.loop.run_one(); // the answer comes back and finds nobody
  CHECK_FALSE(talk->stream.has_head);
}

TEST_CASE("a full queue answers 429 and keeps what it took") {
  World world;
  world.add("foofoo");
  world.tenants.hold(true);
  std::vector<std::unique_ptr<Talk>> talks;
  for (int i = 0; i < 4; ++i)
    talks.push_back(world.start("GET", k_tenants + "/foofoo"));
  while (world.tenants.held() < 4)
    std::this_thread::yield();
  for (int i = 0; i < 9; ++i)
    talks.push_back(world.start("GET", k_tenants + "/foofoo"));
  CHECK(talks.back()->status() == 429);
  CHECK(talks.back()->stream.head.headers.get("Retry-After") == "1");
  world.tenants.hold(false);
  for (std::size_t i = 0; i < 12; ++i) {
    world.settle(*talks[i]);
    CHECK(talks[i]->status() == 200);
  }
}

TEST_CASE("slow work leaves a thread for reads") {
  Workers workers("test", 4);
  std::latch blocked(3), release(1), quick(1);
  for (int i = 0; i < 6; ++i)
    REQUIRE(workers.submit(Workers::Kind::slow, [&blocked, &release, i] {
      if (i < 3) blocked.count_down();
      release.wait();
    }));
  blocked.wait();
  REQUIRE(workers.submit(Workers::Kind::quick, [&quick] { quick.count_down(); }));
  quick.wait();
  release.count_down();
  workers.stop();
  CHECK_FALSE(workers.submit(Workers::Kind::quick, [] {}));
  bool ran = false;
  workers.put_away([&ran] { ran = true; });
  CHECK(ran);
}

TEST_CASE("discovery in both forms, and OpenAPI, with ETags") {
  World world;
  CHECK(world.ask("GET", "/apis")->json()["groups"][0]["name"] == "tenant.kubezoo.io");
  CHECK(world.ask("GET", "/api")->json()["versions"].empty());
  auto both = world.ask("GET", "/apis", "",
                        {{"Accept", "application/json;g=apidiscovery.k8s.io;v=v2;as="
                                    "APIGroupDiscoveryList,application/json"}});
  CHECK(both->stream.head.headers.get("Content-Type") ==
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
  const auto resource = both->json()["items"][0]["versions"][0]["resources"][0];
  CHECK(resource["resource"] == "tenants");
  std::vector<std::string> subresources;
  for (const auto& each : resource["subresources"])
    subresources.push_back(each["subresource"].get<std::string>());
  CHECK(subresources ==
        std::vector<std::string>{"certificates", "kubeconfig", "revoke", "rotate", "status"});
  const std::string tag(both->stream.head.headers.get("ETag"));
  auto again = world.ask("GET", "/apis", "",
                         {{"Accept", "application/json;g=apidiscovery.k8s.io;v=v2;as="
                                     "APIGroupDiscoveryList,application/json"},
                          {"If-None-Match", tag}});
  CHECK(again->status() == 304);
  CHECK(again->stream.body.empty());
  CHECK(world.ask("GET", "/apis/tenant.kubezoo.io")->json()["kind"] == "APIGroup");
  CHECK(world.ask("GET", "/apis/tenant.kubezoo.io/v1alpha1")->json()["resources"].size() == 6);
  CHECK(world.ask("GET", "/openapi/v3")->json()["paths"].size() == 1);
  CHECK(world.ask("GET", "/openapi/v3/apis/tenant.kubezoo.io/v1alpha1")->json()["openapi"] ==
        "3.0.0");
  CHECK(world.ask("GET", "/openapi/v2")->json()["swagger"] == "2.0");
}

TEST_CASE("a zood that makes no backups says so") {
  World world;
  CHECK(world.ask("GET", "/zoo/v1/backup")->status() == 503);
  CHECK(world.ask("GET", "/zoo/v1/backups")->status() == 404);
}

TEST_CASE("metrics say how many tenants there are, and whose certificates end soon") {
  World world;
  world.add("123456");
  world.add("foofoo");
  world.tenants.touch("foofoo", [](api::Tenant& tenant) {
    tenant.phase = api::Phase::ready;
    tenant.set_condition("CertificateExpiring", "True", "EndsSoon", "", "2026-01-31T09:00:00Z");
  });
  const auto answer = world.ask("GET", "/metrics");
  CHECK(answer->status() == 200);
  CHECK(answer->stream.head.headers.get("Content-Type") ==
        "text/plain; version=0.0.4; charset=utf-8");
  const auto& text = answer->stream.body;
  for (const std::string line :
       {"# TYPE zood_connections gauge\nzood_connections 3\n", "zood_tenants{phase=\"Ready\"} 1\n",
        "zood_tenants{phase=\"Pending\"} 1\n", "zood_tenants{phase=\"Failed\"} 0\n",
        "zood_tenants_certificate_expiring 1\n",
        "zood_tenant_certificate_expiring{tenant=\"foofoo\"} 1\n"}) {
    CAPTURE(line);
    CHECK(text.find(line) != std::string::npos);
  }
  CHECK(text.find("123456") == std::string::npos);
  CHECK(world.ask("POST", "/metrics")->status() == 405);
  CHECK(world.ask("GET", "/metric")->stream.body.find("\\\"metrics\\\"") != std::string::npos);

  if (geteuid() == 65534) return;
  world.info.peer_uid = 65534;
  world.info.peer_gid = 65534;
  CHECK(world.ask("GET", "/metrics")->status() == 403);
}

TEST_CASE("zood's own: status, doctor, health, access reviews") {
  World world;
  world.add("foofoo");
  const auto status = world.ask("GET", "/zoo/v1/status")->json();
  CHECK(status["listen"] == "127.0.0.1:7443");
  CHECK(status["tenants"] == json{{"total", 1}, {"Pending", 1}});
  CHECK(status["uptimeSeconds"] == 7);
  CHECK(status["ready"] == true);
  CHECK_FALSE(status.contains("notReady"));
  const auto doctor = world.ask("GET", "/zoo/v1/doctor")->json();
  CHECK(doctor["problems"] == 1);
  CHECK(doctor["findings"][1]["remedy"] == "restart zood");

  CHECK(world.ask("GET", "/healthz")->stream.body == "ok");
  world.status.missing = "upstream is not reachable";
  CHECK(world.ask("GET", "/livez")->status() == 200);
  CHECK(world.ask("GET", "/readyz")->status() == 503);
  const auto unready = world.ask("GET", "/zoo/v1/status")->json();
  CHECK(unready["ready"] == false);
  CHECK(unready["notReady"] == "upstream is not reachable");

  const auto review = [&](const char* group, const char* resource) {
    const json body = {
        {"kind", "SelfSubjectAccessReview"},
        {"spec",
         {{"resourceAttributes", {{"group", group}, {"resource", resource}, {"verb", "create"}}}}}};
    return world.ask("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", body.dump())
        ->json()["status"]["allowed"]
        .get<bool>();
  };
  CHECK(review("tenant.kubezoo.io", "tenants"));
  CHECK(review("*", "*"));
  CHECK_FALSE(review("", "pods"));
}

TEST_CASE("access reviews are read from protobuf") {
  World world;
  const auto path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
  const http::Header type{"Content-Type", "application/vnd.kubernetes.protobuf"};
  const auto wrap = [](const std::string& kind, const std::string& raw) {
    return std::string("k8s\0", 4) +
           field(1, field(1, "authorization.k8s.io/v1") + field(2, kind)) + field(2, raw);
  };
  const auto allowed = [&](const std::string& resource) {
    const auto spec =
        field(1, field(2, "create") + field(3, "tenant.kubezoo.io") + field(5, resource));
    auto talk = world.ask("POST", path,
                          wrap("SelfSubjectAccessReview", field(1, "") + field(2, spec)), {type});
    CHECK(talk->status() == 201);
    return talk->json()["status"]["allowed"].get<bool>();
  };
  CHECK(allowed("tenants"));
  CHECK_FALSE(allowed("pods"));
  const auto whole =
      wrap("SelfSubjectAccessReview", field(2, field(2, field(1, "/x") + field(2, "get"))));
  CHECK(world.ask("POST", path, whole, {type})->status() == 201);
  // Every shorter text is refused or read as a review that asks nothing; none is a crash.
  for (std::size_t size = 1; size < whole.size(); ++size) {
    const auto status = world.ask("POST", path, whole.substr(0, size), {type})->status();
    CHECK((status == 400 || status == 201));
  }
  CHECK(world.ask("POST", path, wrap("SelfSubjectRulesReview", ""), {type})->status() == 400);
}
