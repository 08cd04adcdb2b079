// SPDX-License-Identifier: Apache-2.0
#include "common/base/file.hpp"
#include "common/crypto/issue.hpp"
#include "common/kube/kubeconfig.hpp"
#include "daemon/tenants/identity.hpp"
#include "tests/unit/tenants/fixture.hpp"

#include <algorithm>

using namespace zoo;
using namespace zoo::tests;
using tenants::Pki;

namespace {

bool private_file(const std::filesystem::path& path) {
  using std::filesystem::perms;
  return (std::filesystem::status(path).permissions() & perms::mask) ==
         (perms::owner_read | perms::owner_write);
}

} // namespace

TEST_CASE("the authorities are made once, private, and kept") {
  const Directory directory;
  const auto first = must(Pki::open({directory.path, {}, {}, {}}))->ca_pem();
  const auto again = must(Pki::open({directory.path, {}, {}, {}}));
  CHECK(again->ca_pem() == first);
  CHECK(again->ca_pem() != again->admin_ca_pem());
  for (const auto* name : {"ca.crt", "ca.key", "admin-ca.crt", "admin-ca.key"})
    CHECK(private_file(directory.path / "pki" / name));
}

TEST_CASE("a lost authority of tenants is not made anew") {
  const Directory directory;
  const auto at = [&](const char* name) { return directory.path / "pki" / name; };
  tenants::PkiOptions options{directory.path, {}, {}, {}};
  const auto ca = must(Pki::open(options))->ca_pem();
  const auto key = must(file::read(at("ca.key")));
  options.has_tenants = true;
  CHECK(must(Pki::open(options))->ca_pem() == ca);

  std::filesystem::remove(at("ca.crt"));
  const auto refused = Pki::open(options);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code() == Code::invalid);
  CHECK(refused.error().text().find("from a backup") != std::string::npos);
  CHECK(must(file::read(at("ca.key"))) == key);

  std::filesystem::remove_all(directory.path / "pki");
  CHECK(Pki::open(options).error().code() == Code::invalid);
  CHECK_FALSE(std::filesystem::exists(at("ca.key")));
}

TEST_CASE("a key without its certificate is kept") {
  const Directory directory;
  const auto at = [&](const char* name) { return directory.path / "pki" / name; };
  const tenants::PkiOptions options{directory.path, {}, {}, {}};
  const auto served = must(
      crypto::Certificate::from_pem(must(must(Pki::open(options))->serving()).certificate_pem));
  for (const auto* name : {"ca", "admin-ca"}) {
    const auto file = std::string(name);
    const auto key = must(file::read(at((file + ".key").c_str())));
    std::filesystem::remove(at((file + ".crt").c_str()));
    const auto pki = must(Pki::open(options));
    CHECK(must(file::read(at((file + ".key").c_str()))) == key);
    CHECK(served.issued_by(pki->ca()));
  }
  std::filesystem::remove(at("ca.crt"));
  must(file::write_secret(at("ca.key"), "not a key"));
  CHECK(Pki::open(options).error().code() == Code::invalid);
  CHECK(must(file::read(at("ca.key"))) == "not a key");
}

TEST_CASE("the serving certificate follows the hosts") {
  const Directory directory;
  const auto pki = must(Pki::open({directory.path, {}, {}, {"0.0.0.0", "bastion.example.com"}}));
  const auto first = must(pki->serving());
  const auto certificate = must(crypto::Certificate::from_pem(first.certificate_pem));
  CHECK(certificate.issued_by(pki->ca()));
  const auto names = must(certificate.dns_sans());
  for (const std::string name : {"localhost", "kubernetes.default.svc", "bastion.example.com"})
    CHECK(std::find(names.begin(), names.end(), name) != names.end());
  const auto addresses = certificate.ip_sans();
  CHECK(std::find(addresses.begin(), addresses.end(), "::1") != addresses.end());
  CHECK(std::find(addresses.begin(), addresses.end(), "0.0.0.0") == addresses.end());
  CHECK(must(pki->serving()).certificate_pem == first.certificate_pem);
  CHECK(must(pki->serving({"192.0.2.1"})).certificate_pem != first.certificate_pem);
}

TEST_CASE("a given authority is used, and a wrong one refused") {
  const Directory directory;
  const auto key = must(crypto::PrivateKey::generate_p256());
  const auto other = must(crypto::PrivateKey::generate_p256());
  const auto ca = must(crypto::make_ca(key, "given", std::chrono::hours(24)));
  const auto at = [&](const char* name) { return directory.path / name; };
  must(file::write_secret(at("ca.crt"), ca.to_pem()));
  must(file::write_secret(at("ca.key"), key.to_pem().view()));
  must(file::write_secret(at("other.key"), other.to_pem().view()));
  CHECK(must(Pki::open({at("d"), at("ca.crt"), at("ca.key"), {}}))->ca_pem() == ca.to_pem());
  CHECK(Pki::open({at("d"), at("ca.crt"), at("other.key"), {}}).error().code() == Code::invalid);
  CHECK(Pki::open({at("d"), at("ca.crt"), {}, {}}).error().code() == Code::usage);
  CHECK(Pki::open({at("d"), at("none.crt"), at("ca.key"), {}}).error().code() == Code::not_found);
  crypto::CertificateRequest leaf;
  leaf.common_name = "leaf";
  leaf.validity = std::chrono::hours(1);
  leaf.client = true;
  must(file::write_secret(at("leaf.crt"), must(crypto::issue(ca, key, other, leaf)).to_pem()));
  CHECK(Pki::open({at("d"), at("leaf.crt"), at("other.key"), {}}).error().code() == Code::invalid);
}

TEST_CASE("the administrator's kubeconfig is by the administrators' authority") {
  const Directory directory;
  const auto pki = must(Pki::open({directory.path, {}, {}, {}}));
  must(pki->write_admin_kubeconfig("https://127.0.0.1:7444"));
  CHECK(private_file(directory.path / "admin.kubeconfig"));
  const auto access = must(kube::load_kubeconfig(directory.path / "admin.kubeconfig"));
  CHECK(access.server == "https://127.0.0.1:7444");
  const auto certificate = must(crypto::Certificate::from_pem(access.credentials.client_cert_pem));
  CHECK_FALSE(certificate.issued_by(pki->ca()));
  CHECK(certificate.issued_by(must(crypto::Certificate::from_pem(pki->admin_ca_pem()))));
  CHECK_FALSE(tenants::identity_of(certificate));
}

TEST_CASE("a certificate is due when a third of its life is left") {
  const auto key = must(crypto::PrivateKey::generate_p256());
  CHECK_FALSE(tenants::due_for_renewal(must(crypto::make_ca(key, "x", std::chrono::hours(1)))));
  CHECK(tenants::due_for_renewal(must(crypto::make_ca(key, "x", std::chrono::seconds(60)))));
  // From 2100 to 2200: made while the clock was ahead.
  CHECK(tenants::due_for_renewal(must(crypto::Certificate::from_pem(
      "-----BEGIN CERTIFICATE-----\n"
      "MIIBDDCBsgIBATAKBggqhkjOPQQDAjAQMQ4wDAYDVQQDDAVsYXRlcjAiGA8yMTAw\n"
      "MDEwMTAwMDAwMFoYDzIyMDAwMTAxMDAwMDAwWjAQMQ4wDAYDVQQDDAVsYXRlcjBZ\n"
      "MBMGByqGSM49AgEGCCqGSM49AwEHA0IABG8KuO2QHVDY8Zknhb/aw+o758tpyH7/\n"
      "3J5bHG+10OvcenYxA8R9rYNLQWEqgaatjrF9t/6iPoEVm04fyQo69jcwCgYIKoZI\n"
      "zj0EAwIDSQAwRgIhAPYjKkh3exm0wm/txelmvJ/Pk7EovPXVpKfG6bChwpDfAiEA\n"
      "xMjAutwfr6C7MTlekHMgcR5A+/8VLASBKhxXSsmmnss=\n"
      "-----END CERTIFICATE-----\n"))));
}
