// SPDX-License-Identifier: Apache-2.0
#include "common/base/file.hpp"
#include "common/crypto/issue.hpp"
#include "common/kube/kubeconfig.hpp"
#include "daemon/app/door_certificates.hpp"
#include "daemon/tenants/pki.hpp"
#include "tests/unit/base/temporary_directory.hpp"

#include <doctest/doctest.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <algorithm>

using namespace zoo;
using namespace std::chrono_literals;

namespace {

template <class T>
T must(Result<T> result) {
  if (!result) FAIL(result.error().text());
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

/// DER of what a client of that door sees.
std::string shown(const net::TlsServerContext& door) {
  const std::unique_ptr<SSL, decltype(&SSL_free)> session(door.new_session(), SSL_free);
  auto* certificate = SSL_get_certificate(session.get());
  REQUIRE(certificate != nullptr);
  unsigned char* bytes = nullptr;
  const int size = i2d_X509(certificate, &bytes);
  REQUIRE(size > 0);
  std::string out(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
  OPENSSL_free(bytes);
  return out;
}

struct Bench {
  test::TemporaryDirectory directory;
  std::unique_ptr<tenants::Pki> pki;
  std::unique_ptr<app::DoorCertificates> certificates;
  std::shared_ptr<net::TlsServerContext> tenants_door, admin_door;

  /// Certificates are dated back a little: one of a minute is due from the beginning.
  explicit Bench(std::chrono::seconds validity, const config::Values& values = config::Values()) {
    tenants::PkiOptions options;
    options.directory = directory.path();
    options.serving_validity = validity;
    pki = must(tenants::Pki::open(std::move(options)));
    certificates = std::make_unique<app::DoorCertificates>(*pki, values);
    tenants_door = must(certificates->open_tenants(Secret(std::string(32, 'k'))));
    admin_door = must(certificates->open_admin());
    certificates->write_admin_kubeconfig("https://127.0.0.1:7444");
  }
  std::string kubeconfig() const { return must(file::read(directory.path() / "admin.kubeconfig")); }
};

} // namespace

TEST_CASE("zood's own certificates are made anew while it runs, and only then when they are due") {
  for (const auto& [validity, due] : {std::pair{1min, true}, std::pair{60min, false}}) {
    CAPTURE(due);
    Bench bench(validity);
    const auto tenants = shown(*bench.tenants_door), admins = shown(*bench.admin_door);
    const auto kubeconfig = bench.kubeconfig();
    bench.certificates->renew();
    CHECK((shown(*bench.tenants_door) != tenants) == due);
    CHECK((shown(*bench.admin_door) != admins) == due);
    CHECK((bench.kubeconfig() != kubeconfig) == due);
    const auto access = must(kube::parse_kubeconfig(bench.kubeconfig()));
    CHECK(access.server == "https://127.0.0.1:7444");
    const auto held = must(crypto::Certificate::from_pem(access.credentials.client_cert_pem));
    CHECK(bench.certificates->admin_ends() == held.not_after());
    const auto seen = must(crypto::Certificate::from_der(shown(*bench.admin_door)));
    CHECK(bench.certificates->serving_ends() == seen.not_after());
  }
}

TEST_CASE("a certificate that is given is shown as it is, and its end told") {
  const test::TemporaryDirectory given;
  const auto key = must(crypto::PrivateKey::generate_p256());
  const auto certificate = must(crypto::make_ca(key, "given", 1min));
  must(file::write_secret(given.path() / "tls.crt", certificate.to_pem()));
  must(file::write_secret(given.path() / "tls.key", key.to_pem().view()));
  config::Values values;
  must(values.set("tls.certificate", (given.path() / "tls.crt").string()));
  must(values.set("tls.key", (given.path() / "tls.key").string()));
  Bench bench(60min, values);
  CHECK(bench.certificates->serving_ends() == certificate.not_after());
  bench.certificates->renew();
  CHECK(shown(*bench.tenants_door) == certificate.der());
  CHECK_FALSE(std::filesystem::exists(bench.directory.path() / "pki" / "server.crt"));

  bench.certificates->reload(config::Values()); // which name none any more
  CHECK(shown(*bench.tenants_door) != certificate.der());
  CHECK(must(crypto::Certificate::from_der(shown(*bench.admin_door))).issued_by(bench.pki->ca()));
}

TEST_CASE("a disk that takes nothing leaves admin.kubeconfig as it was, and keeps no door shut") {
  Bench bench(1min);
  const auto before = shown(*bench.tenants_door);
  const auto kubeconfig = bench.kubeconfig();
  const auto folder = bench.directory.path() / "pki";
  std::filesystem::rename(folder, bench.directory.path() / "aside");
  bench.certificates->renew();
  CHECK(bench.kubeconfig() == kubeconfig);
  const auto in_memory = must(crypto::Certificate::from_der(shown(*bench.tenants_door)));
  CHECK(in_memory.der() != before);
  CHECK(in_memory.issued_by(bench.pki->ca()));
  std::filesystem::rename(bench.directory.path() / "aside", folder);
  bench.certificates->renew();
  CHECK(bench.kubeconfig() != kubeconfig);
}

TEST_CASE("doctor is told of a door whose certificate ends") {
  using Level = tenants::Finding::Level;
  for (const auto& [validity, level] :
       {std::pair<std::chrono::seconds, Level>{60min, Level::warning},
        std::pair<std::chrono::seconds, Level>{24h * 100, Level::ok}}) {
    const Bench bench(validity);
    const auto found = bench.certificates->findings("127.0.0.1");
    REQUIRE(found.size() == 2);
    CHECK(found[0].subject == "tenants' door");
    CHECK(found[0].level == level);
    CHECK(found[0].remedy.empty() == (level == Level::ok));
    CHECK(found[1].subject == "administrators' CA");
    CHECK(found[1].level == Level::ok);
  }
}

TEST_CASE("a host that is known later is in zood's own certificate, and nothing is made twice") {
  Bench bench(60min);
  const auto before = shown(*bench.tenants_door);
  CHECK(bench.certificates->cover({"10.0.0.77", "kubernetes.default.svc.example"}).empty());
  const auto after = shown(*bench.tenants_door);
  CHECK(after != before);
  const auto certificate = must(crypto::Certificate::from_der(after));
  const auto addresses = certificate.ip_sans();
  CHECK(std::find(addresses.begin(), addresses.end(), "10.0.0.77") != addresses.end());
  CHECK(shown(*bench.admin_door) == after);
  CHECK(bench.certificates->cover({"10.0.0.77"}).empty());
  CHECK(shown(*bench.tenants_door) == after);
}

TEST_CASE("of a certificate that is given it is told what it is not good for") {
  const test::TemporaryDirectory given;
  const auto key = must(crypto::PrivateKey::generate_p256());
  must(file::write_secret(given.path() / "tls.crt",
                          must(crypto::make_ca(key, "given", 60min)).to_pem()));
  must(file::write_secret(given.path() / "tls.key", key.to_pem().view()));
  config::Values values;
  must(values.set("tls.certificate", (given.path() / "tls.crt").string()));
  must(values.set("tls.key", (given.path() / "tls.key").string()));
  Bench bench(60min, values);
  const std::vector<std::string> hosts{"10.0.0.77", "kubernetes"};
  CHECK(bench.certificates->cover(hosts) == hosts);
  std::string said;
  for (const auto& each : bench.certificates->findings("zood.example.com"))
    if (each.level == tenants::Finding::Level::warning && each.subject == "tenants' door")
      said += each.message + "\n";
  CHECK(said.find("its certificate is not good for zood.example.com, which kubeconfigs name\n") !=
        said.npos);
  CHECK(said.find("its certificate is not by the tenants' CA") != said.npos);
}

TEST_CASE("a certificate is good for a host by its name, a star for one label, or its address") {
  const Bench bench(24h * 100);
  auto& certificates = *bench.certificates;
  CHECK(certificates.cover({"*.example.com", "2001:db8::1"}).empty());
  const auto warned = [&](const std::string& host) {
    for (const auto& each : certificates.findings(host))
      if (each.message.find("is not good for " + host) != std::string::npos) return true;
    return false;
  };
  CHECK_FALSE(warned("zood.example.com"));
  CHECK_FALSE(warned("ZOOD.Example.com"));
  CHECK_FALSE(warned("2001:0DB8:0::1"));
  CHECK(warned("a.zood.example.com"));
  CHECK(warned("example.com"));
  CHECK(warned("2001:db8::2"));
}

TEST_CASE("a CA that is about to come is trusted beside the one that is") {
  const test::TemporaryDirectory given;
  const auto next = must(crypto::make_ca(must(crypto::PrivateKey::generate_p256()), "next", 60min));
  must(file::write_secret(given.path() / "next.crt", next.to_pem()));
  config::Values values;
  must(values.set("tls.further_ca", (given.path() / "next.crt").string()));
  Bench bench(60min, values);
  CHECK(bench.pki->server_ca_pem() == bench.pki->ca_pem() + next.to_pem());
  bench.certificates->reload(config::Values());
  CHECK(bench.pki->server_ca_pem() == bench.pki->ca_pem());
}
