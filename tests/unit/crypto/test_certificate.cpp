// SPDX-License-Identifier: Apache-2.0
#include "common/crypto/certificate.hpp"
#include "common/crypto/issue.hpp"
#include "common/crypto/openssl.hpp"

#include <doctest/doctest.h>
#include <openssl/asn1.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

using namespace zoo;
using namespace zoo::crypto;
using namespace std::chrono_literals;

namespace {

struct Authority {
  PrivateKey key = PrivateKey::generate_p256().value();
  Certificate certificate = make_ca(key, "zood CA", 24h).value();
};

CertificateRequest client_request() {
  CertificateRequest out;
  out.common_name = "foofoo-admin";
  out.organizations = {"system:authenticated", "ops"};
  out.organizational_units = {"foofoo"};
  out.uris = {"urn:uuid:8d7c1f0e-0000-4000-8000-000000000001"};
  out.validity = 1h;
  out.client = true;
  return out;
}

std::string refusal(const Authority& ca, const CertificateRequest& request) {
  const auto key = PrivateKey::generate_p256().value();
  const auto issued = issue(ca.certificate, ca.key, key, request);
  REQUIRE_FALSE(issued);
  CHECK(issued.error().code() == Code::invalid);
  return issued.error().message();
}

/// A certificate as no honest CA makes it: the subject's bytes are given raw.
Certificate forged(int nid, std::string_view value, int asn1_type) {
  const auto key = PrivateKey::generate_p256().value();
  X509* x509 = X509_new();
  X509_set_version(x509, X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(x509), 5);
  X509_gmtime_adj(X509_getm_notBefore(x509), 0);
  X509_gmtime_adj(X509_getm_notAfter(x509), 3600);
  X509_set_pubkey(x509, key.native());
  if (nid == NID_subject_alt_name) {
    auto* names = GENERAL_NAMES_new();
    auto* name = GENERAL_NAME_new();
    auto* text = ASN1_STRING_type_new(V_ASN1_IA5STRING);
    ASN1_STRING_set(text, value.data(), static_cast<int>(value.size()));
    GENERAL_NAME_set0_value(name, GEN_URI, text);
    sk_GENERAL_NAME_push(names, name);
    X509_add1_ext_i2d(x509, nid, names, 0, X509V3_ADD_DEFAULT);
    GENERAL_NAMES_free(names);
  } else {
    X509_NAME_add_entry_by_NID(X509_get_subject_name(x509), nid, asn1_type,
                               reinterpret_cast<const unsigned char*>(value.data()),
                               static_cast<int>(value.size()), -1, 0);
  }
  X509_sign(x509, key.native(), EVP_sha256());
  unsigned char* der = nullptr;
  const int size = i2d_X509(x509, &der);
  REQUIRE(size > 0);
  const std::string bytes(reinterpret_cast<char*>(der), static_cast<std::size_t>(size));
  OPENSSL_free(der);
  X509_free(x509);
  clear_openssl_errors();
  return Certificate::from_der(bytes).value();
}

} // namespace

TEST_CASE("a client certificate says what was asked") {
  const Authority ca;
  const auto key = PrivateKey::generate_p256().value();
  const auto certificate = issue(ca.certificate, ca.key, key, client_request()).value();
  CHECK(certificate.common_name().value() == "foofoo-admin");
  CHECK(certificate.organizations().value() ==
        std::vector<std::string>{"system:authenticated", "ops"});
  CHECK(certificate.organizational_units().value() == std::vector<std::string>{"foofoo"});
  CHECK(certificate.uri_sans().value() == client_request().uris);
  CHECK(certificate.dns_sans().value().empty());
  CHECK(certificate.issued_by(ca.certificate));
  CHECK(certificate.belongs_to(key));
  CHECK_FALSE(certificate.belongs_to(ca.key));
  CHECK_FALSE(certificate.is_ca());
  CHECK(certificate.serial().size() == 32);
  const auto now = std::chrono::system_clock::now();
  CHECK(certificate.not_before() < now - 4min);
  CHECK(certificate.not_after() > now + 59min);
  CHECK(X509_get_extended_key_usage(certificate.native()) == XKU_SSL_CLIENT);
  CHECK(X509_get_key_usage(certificate.native()) == KU_DIGITAL_SIGNATURE);
  CHECK(X509_get0_authority_key_id(certificate.native()) != nullptr);
  CHECK(ASN1_OCTET_STRING_cmp(X509_get0_authority_key_id(certificate.native()),
                              X509_get0_subject_key_id(ca.certificate.native())) == 0);
  CHECK(X509_get_signature_nid(certificate.native()) == NID_ecdsa_with_SHA256);
}

TEST_CASE("a server certificate carries names and addresses") {
  const Authority ca;
  CertificateRequest request;
  request.common_name = "zood";
  request.dns_names = {"localhost", "kubernetes.default.svc"};
  request.ip_addresses = {"127.0.0.1", "::1"};
  request.validity = 1h;
  request.server = true;
  const auto key = PrivateKey::generate_p256().value();
  const auto certificate = issue(ca.certificate, ca.key, key, request).value();
  CHECK(certificate.dns_sans().value() == request.dns_names);
  CHECK(certificate.ip_sans() == request.ip_addresses);
  CHECK(X509_get_extended_key_usage(certificate.native()) == XKU_SSL_SERVER);
  CHECK(X509_check_host(certificate.native(), "localhost", 0, 0, nullptr) == 1);
  CHECK(X509_check_ip_asc(certificate.native(), "::1", 0) == 1);
}

TEST_CASE("a CA is a CA, signs itself and nobody else's") {
  const Authority ca, other;
  CHECK(ca.certificate.is_ca());
  CHECK(ca.certificate.issued_by(ca.certificate));
  CHECK_FALSE(ca.certificate.issued_by(other.certificate)); // same name, another key
}

TEST_CASE("two certificates never share a serial number") {
  const Authority ca;
  const auto key = PrivateKey::generate_p256().value();
  CHECK(issue(ca.certificate, ca.key, key, client_request())->serial() !=
        issue(ca.certificate, ca.key, key, client_request())->serial());
}

TEST_CASE("a certificate never outlives its CA") {
  const Authority ca;
  auto request = client_request();
  request.validity = 1000h;
  const auto key = PrivateKey::generate_p256().value();
  CHECK(issue(ca.certificate, ca.key, key, request)->not_after() == ca.certificate.not_after());
}

TEST_CASE("PEM and DER lead to the same certificate") {
  const Authority ca;
  const auto pem = Certificate::from_pem("preamble\n" + ca.certificate.to_pem()).value();
  const auto der = Certificate::from_der(ca.certificate.der()).value();
  CHECK(pem.der() == der.der());
  CHECK(pem.sha256() == sha256(ca.certificate.der()));
}

TEST_CASE("a bundle gives every certificate, or none where one is broken") {
  const Authority one, two;
  const auto both = one.certificate.to_pem() + "\ncomment\n" + two.certificate.to_pem();
  CHECK(Certificate::bundle_from_pem(both)->size() == 2);
  const auto broken =
      one.certificate.to_pem() + "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
  CHECK(Certificate::bundle_from_pem(broken).error().message().find("certificate 2") !=
        std::string::npos);
  CHECK(Certificate::bundle_from_pem("").error().code() == Code::invalid);
  CHECK(Certificate::bundle_from_pem("no block").error().code() == Code::invalid);
}

TEST_CASE("broken certificates are refused") {
  const Authority ca;
  const auto& der = ca.certificate.der();
  CHECK_FALSE(Certificate::from_der(""));
  CHECK_FALSE(Certificate::from_der(der.substr(0, der.size() - 1)));
  CHECK(Certificate::from_der(der + "x").error().message().find("behind") != std::string::npos);
  CHECK(Certificate::from_pem("").error().code() == Code::invalid);
  CHECK(Certificate::from_pem(std::string("\0\xff", 2)).error().code() == Code::invalid);
}

TEST_CASE("names with a NUL or a control character are refused when they are read") {
  const std::string_view nul("foofoo\0evil", 11);
  CHECK_FALSE(forged(NID_commonName, nul, V_ASN1_UTF8STRING).common_name());
  CHECK_FALSE(forged(NID_commonName, nul, V_ASN1_PRINTABLESTRING).common_name());
  CHECK_FALSE(forged(NID_organizationName, "a\nb", V_ASN1_UTF8STRING).organizations());
  CHECK_FALSE(
      forged(NID_organizationalUnitName, "a\x7f", V_ASN1_UTF8STRING).organizational_units());
  CHECK_FALSE(forged(NID_commonName, "a\xc2\x85", V_ASN1_UTF8STRING).common_name());
  CHECK_FALSE(forged(NID_subject_alt_name, nul, 0).uri_sans());
  CHECK(forged(NID_commonName, "grün", V_ASN1_UTF8STRING).common_name().value() == "grün");
  CHECK(forged(NID_organizationName, "x", V_ASN1_UTF8STRING).common_name().value().empty());
}

TEST_CASE("a common name has at most 64 characters, not bytes") {
  const Authority ca;
  auto request = client_request();
  const auto key = PrivateKey::generate_p256().value();
  request.common_name = std::string(64, 'a');
  CHECK(issue(ca.certificate, ca.key, key, request));
  request.common_name.clear();
  for (int i = 0; i < 64; ++i)
    request.common_name += "ä";
  CHECK(issue(ca.certificate, ca.key, key, request));
  request.common_name += "a";
  CHECK(refusal(ca, request).find("at most 64 characters") != std::string::npos);
}

TEST_CASE("a request that breaks a rule is refused with the rule") {
  const Authority ca;
  const auto with = [](auto change) {
    auto request = client_request();
    change(request);
    return request;
  };
  using R = CertificateRequest;
  CHECK(refusal(ca, with([](R& r) { r.common_name = ""; })).find("empty") != std::string::npos);
  CHECK(refusal(ca, with([](R& r) { r.common_name = "a\nb"; })).find("control") !=
        std::string::npos);
  CHECK(refusal(ca, with([](R& r) { r.organizations = {"\xff"}; })).find("UTF-8") !=
        std::string::npos);
  CHECK(refusal(ca, with([](R& r) { r.client = false; })).find("server, a client") !=
        std::string::npos);
  CHECK(refusal(ca, with([](R& r) { r.validity = 0s; })).find("valid for") != std::string::npos);
  CHECK(
      refusal(ca, with([](R& r) { r.validity = std::chrono::seconds::max(); })).find("100 years") !=
      std::string::npos);
  CHECK(refusal(ca, with([](R& r) { r.ip_addresses = {"300.1.1.1"}; })).find("300.1.1.1") !=
        std::string::npos);
  CHECK(refusal(ca, with([](R& r) { r.dns_names = {"a b"}; })).find("ASCII") != std::string::npos);
  CHECK(refusal(ca, with([](R& r) { r.uris = {std::string("urn:\0x", 6)}; })).find("ASCII") !=
        std::string::npos);
}

TEST_CASE("only a CA with its own key issues") {
  const Authority ca, other;
  const auto key = PrivateKey::generate_p256().value();
  const auto mixed = issue(ca.certificate, other.key, key, client_request());
  CHECK(mixed.error().message().find("does not belong") != std::string::npos);
  const auto leaf = issue(ca.certificate, ca.key, key, client_request()).value();
  CHECK(issue(leaf, key, key, client_request()).error().message().find("may not sign") !=
        std::string::npos);
}
