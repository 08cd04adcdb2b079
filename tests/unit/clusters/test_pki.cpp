// SPDX-License-Identifier: Apache-2.0
#include "common/base/file.hpp"
#include "common/crypto/certificate.hpp"
#include "common/crypto/key.hpp"
#include "daemon/clusters/pki.hpp"
#include "daemon/clusters/record.hpp"
#include "tests/unit/base/temporary_directory.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace zoo;
using namespace zoo::clusters;
using Clock = std::chrono::system_clock;

namespace {

struct PkiWorld {
  test::TemporaryDirectory directory;
  PkiWish wish = [] {
    PkiWish out;
    out.id = "abc123";
    out.address = "127.64.0.7";
    out.names = {"abc123.vc.zood.internal", "192.0.2.1"};
    out.validity = std::chrono::hours(30);
    return out;
  }();

  std::vector<std::string> ensure(Clock::time_point now = Clock::now()) {
    std::vector<std::string> written;
    REQUIRE(ensure_pki(directory.path(), wish, now, written));
    return written;
  }
  crypto::Certificate certificate(const std::string& name) const {
    const auto text = file::read(directory.path() / "pki" / (name + ".crt"));
    REQUIRE(text);
    auto read = crypto::Certificate::from_pem(*text);
    REQUIRE(read);
    return *std::move(read);
  }
  std::string key(const std::string& name) const {
    return file::read(directory.path() / "pki" / (name + ".key")).value_or("none");
  }
  std::string trouble() const {
    std::string out;
    const auto facts = check_pki(directory.path(), wish, Clock::now());
    REQUIRE(facts);
    for (const auto& each : *facts)
      if (!each.trouble.empty()) out += each.name + ": " + each.trouble + ";";
    return out;
  }
};

} // namespace

TEST_CASE_FIXTURE(PkiWorld, "all is made once, private from its first byte") {
  CHECK(ensure().size() == 11); // three authorities and eight leaves
  CHECK(ensure().empty());
  CHECK(trouble().empty());
  using perms = std::filesystem::perms;
  for (const auto& entry : std::filesystem::directory_iterator(directory.path() / "pki"))
    CHECK((entry.status().permissions() & perms::all) == (perms::owner_read | perms::owner_write));
  const auto server = certificate("apiserver");
  const auto names = server.dns_sans();
  REQUIRE(names);
  for (const auto* name : {"abc123.vc.zood.internal", "kubernetes.default.svc"})
    CHECK(std::find(names->begin(), names->end(), name) != names->end());
  CHECK(server.issued_by(certificate("ca")));
  CHECK(certificate("etcd-client").issued_by(certificate("etcd-ca")));
  CHECK_FALSE(certificate("etcd-client").issued_by(certificate("ca")));
}

TEST_CASE_FIXTURE(PkiWorld, "the administrator is none of system:masters") {
  ensure();
  CHECK(certificate("admin-1-0").organizations() ==
        std::vector<std::string>{"zoo:cluster-admins:1"});
  CHECK(certificate("zood").organizations() == std::vector<std::string>{"system:masters"});
  const auto kubeconfig = administrator_kubeconfig(
      directory.path(), wish, {"https://192.0.2.1:7443", "abc123.vc.zood.internal"}, "t1");
  REQUIRE(kubeconfig);
  const auto access = kube::parse_kubeconfig(kubeconfig->view());
  REQUIRE(access);
  CHECK(access->server == "https://192.0.2.1:7443");
  CHECK(access->credentials.tls_server_name == "abc123.vc.zood.internal");
  CHECK(access->context == "t1");
}

TEST_CASE_FIXTURE(PkiWorld, "leaves are made anew at two thirds of their life, with their keys") {
  ensure();
  const auto key_before = key("apiserver"), admin_before = key("admin-1-0");
  const auto serial_before = certificate("apiserver").serial();
  CHECK(ensure(Clock::now() + std::chrono::hours(19)).empty());
  CHECK(ensure(Clock::now() + std::chrono::hours(21)).size() == 8);
  CHECK(key("apiserver") == key_before);
  CHECK(key("admin-1-0") == admin_before);
  CHECK(certificate("apiserver").serial() != serial_before);
}

TEST_CASE_FIXTURE(PkiWorld, "other names make another certificate of the server alone") {
  ensure();
  wish.names.push_back("extra.example.com");
  CHECK(trouble() == "apiserver: it has other names than are wished;");
  CHECK(ensure() == std::vector<std::string>{"apiserver"});
  CHECK(trouble().empty());
}

TEST_CASE_FIXTURE(PkiWorld, "another epoch has another group, another key, and nothing of before") {
  ensure();
  const auto before = key("admin-1-0");
  wish.epoch = 2;
  wish.rotation = 1;
  CHECK(ensure() == std::vector<std::string>{"admin-2-1"});
  CHECK(key("admin-2-1") != before);
  CHECK(certificate("admin-2-1").organizations() ==
        std::vector<std::string>{"zoo:cluster-admins:2"});
  CHECK(key("admin-1-0") == "none");
}

TEST_CASE_FIXTURE(PkiWorld, "the group of the next epoch is not to be guessed") {
  const auto mark = random_mark(), other = random_mark();
  REQUIRE(mark);
  REQUIRE(other);
  CHECK(mark->size() == 32);
  CHECK(*mark != *other);
  wish.mark = *mark;
  ensure();
  CHECK(certificate("admin-1-0").organizations() ==
        std::vector<std::string>{"zoo:cluster-admins:1:" + *mark});
  CHECK(trouble().empty());
  wish.epoch = 2;
  wish.mark = *other;
  CHECK(ensure() == std::vector<std::string>{"admin-2-0"});
  CHECK(certificate("admin-2-0").organizations() ==
        std::vector<std::string>{"zoo:cluster-admins:2:" + *other});
  // The longest that there can be: X.520 takes 64 characters of an organization.
  CHECK(administrators_group(4'294'967'295U, *mark).size() <= 64);
}

TEST_CASE("a record keeps the mark of its epoch, and one without has none") {
  store::Record stored;
  stored.key = "default/t1";
  stored.value = R"({"object":{"metadata":{"name":"t1","namespace":"default"}},
    "place":{"id":"abc123","number":1,"epoch":3,"mark":"0a1b"}})";
  const auto marked = record_of(stored);
  REQUIRE(marked);
  CHECK(administrators_group(marked->place.epoch, marked->place.mark) ==
        "zoo:cluster-admins:3:0a1b");
  stored.value = R"({"object":{"metadata":{"name":"t1","namespace":"default"}},
    "place":{"id":"abc123","number":1,"epoch":3}})";
  const auto former = record_of(stored);
  REQUIRE(former);
  CHECK(administrators_group(former->place.epoch, former->place.mark) == "zoo:cluster-admins:3");
}

TEST_CASE_FIXTURE(PkiWorld, "what was damaged or interrupted is made good") {
  ensure();
  const auto pki = directory.path() / "pki";
  std::filesystem::remove(pki / "scheduler.crt"); // killed between key and certificate
  REQUIRE(file::write(pki / "etcd-server.crt", "broken", 0600));
  auto written = ensure();
  std::sort(written.begin(), written.end());
  CHECK(written == std::vector<std::string>{"etcd-server", "scheduler"});
  REQUIRE(drop_leaves(directory.path(), wish));
  CHECK(ensure().size() == 8);
  CHECK(trouble().empty());
}

TEST_CASE("an address of IPv6 is the same one however it is written") {
  PkiWorld world;
  world.wish.names.emplace_back("2001:DB8:0::0:1");
  world.ensure();
  CHECK(world.trouble().empty());
  CHECK(world.ensure().empty());
}

TEST_CASE_FIXTURE(PkiWorld,
                  "an authority is announced, used and settled, each with what was before") {
  ensure();
  const auto bundle = [this](const char* name) {
    const auto text = file::read(directory.path() / "pki" / (std::string(name) + ".crt"));
    REQUIRE(text);
    auto all = crypto::Certificate::bundle_from_pem(*text);
    REQUIRE(all);
    return *std::move(all);
  };
  const auto to = [this](AuthorityStage stage) {
    wish.authority = stage;
    ++wish.authority_turn;
    auto written = ensure();
    std::sort(written.begin(), written.end());
    return written;
  };
  const auto names = [this] {
    std::string out;
    const auto facts = check_pki(directory.path(), wish, Clock::now());
    REQUIRE(facts);
    for (const auto& each : *facts)
      if (each.authority) out += each.name + " ";
    return out;
  };
  const auto former = certificate("ca");
  const auto server = certificate("apiserver").serial();
  const auto administrator = key("admin-1-0");

  CHECK(to(AuthorityStage::announced) == std::vector<std::string>{"ca", "front-proxy-ca"});
  REQUIRE(bundle("ca").size() == 2);
  CHECK(bundle("ca")[0].serial() == former.serial());
  CHECK(certificate("ca-signing").serial() == former.serial());
  CHECK(certificate("apiserver").serial() == server); // the former one signs
  CHECK(names() == "ca ca-next etcd-ca front-proxy-ca front-proxy-ca-next ");
  CHECK(bundle("ca")[0].common_name().value_or("") != bundle("ca")[1].common_name().value_or(""));
  const auto kubeconfig =
      administrator_kubeconfig(directory.path(), wish, {"https://192.0.2.1:7443", ""}, "t1");
  REQUIRE(kubeconfig);
  const auto access = kube::parse_kubeconfig(kubeconfig->view());
  REQUIRE(access);
  CHECK(crypto::Certificate::bundle_from_pem(access->credentials.ca_pem)->size() == 2);
  CHECK(ensure().empty());

  SUBCASE("and used") {
    const auto next = bundle("ca")[1].serial();
    const auto written = to(AuthorityStage::used);
    CHECK(written.size() == 8); // two authorities, and the six leaves of these
    CHECK(std::find(written.begin(), written.end(), "etcd-server") == written.end());
    CHECK(bundle("ca")[0].serial() == next);
    CHECK(bundle("ca")[1].serial() == former.serial());
    CHECK(certificate("ca-signing").serial() == next);
    CHECK(certificate("apiserver").issued_by(certificate("ca")));
    CHECK_FALSE(certificate("apiserver").issued_by(former));
    CHECK(key("admin-1-0") == administrator);
    CHECK(key("ca-next") == "none");
    CHECK(names() == "ca ca-former etcd-ca front-proxy-ca front-proxy-ca-former ");
    CHECK(ensure().empty());
    CHECK(trouble().empty());

    CHECK(to(AuthorityStage::settled) == std::vector<std::string>{"ca", "front-proxy-ca"});
    CHECK(bundle("ca").size() == 1);
    CHECK(bundle("ca")[0].serial() == next);
    CHECK(trouble().empty());
    CHECK(ensure().empty());
  }
  SUBCASE("and used, with an interruption at its first step") {
    const auto pki = directory.path() / "pki";
    std::filesystem::rename(pki / "ca-next.key", pki / "ca.key");
    wish.authority = AuthorityStage::used;
    ensure();
    CHECK(bundle("ca").size() == 2);
    CHECK(certificate("ca-signing").belongs_to(*crypto::PrivateKey::from_pem(key("ca"))));
    CHECK(trouble().empty());
  }
  SUBCASE("or taken back") {
    CHECK(to(AuthorityStage::settled) == std::vector<std::string>{"ca", "front-proxy-ca"});
    CHECK(bundle("ca").size() == 1);
    CHECK(bundle("ca")[0].serial() == former.serial());
    CHECK(key("ca-next") == "none");
    CHECK(certificate("apiserver").serial() == server);
  }
}

TEST_CASE("stages follow each other in one order") {
  using Stage = AuthorityStage;
  CHECK(may_follow(Stage::settled, Stage::announced));
  CHECK(may_follow(Stage::announced, Stage::used));
  CHECK(may_follow(Stage::announced, Stage::settled));
  CHECK(may_follow(Stage::used, Stage::settled));
  CHECK_FALSE(may_follow(Stage::settled, Stage::used));
  CHECK_FALSE(may_follow(Stage::used, Stage::announced));
  for (const auto stage : {Stage::settled, Stage::announced, Stage::used})
    CHECK(authority_stage(stage_name(stage)) == stage);
  CHECK_FALSE(authority_stage("next"));
}
