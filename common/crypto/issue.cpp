// SPDX-License-Identifier: Apache-2.0
#include "common/crypto/issue.hpp"

#include "common/base/deleter.hpp"
#include "common/crypto/openssl.hpp"

#include <arpa/inet.h>
#include <openssl/asn1.h>
#include <openssl/bn.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <memory>
#include <new>

namespace zoo::crypto {
namespace {

using X509Ptr = std::unique_ptr<X509, Deleter<X509_free>>;
using NamePtr = std::unique_ptr<X509_NAME, Deleter<X509_NAME_free>>;
using Names = std::unique_ptr<GENERAL_NAMES, Deleter<GENERAL_NAMES_free>>;
using Bignum = std::unique_ptr<BIGNUM, Deleter<BN_free>>;
using Extension = std::unique_ptr<X509_EXTENSION, Deleter<X509_EXTENSION_free>>;

constexpr std::size_t k_longest_name = 64; // ub-common-name, ub-organization-name, ...
constexpr auto k_longest_validity = std::chrono::hours(24 * 365 * 100);

Error failed(std::string_view what) { return openssl_error(Code::internal, what); }

std::size_t characters(std::string_view utf8) {
  return static_cast<std::size_t>(std::count_if(utf8.begin(), utf8.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

Result<void> check_name(std::string_view value, std::string_view what) {
  if (value.empty()) return fail(Code::invalid, "a certificate's {} must not be empty", what);
  if (!is_clean_name(value)) {
    return fail(Code::invalid, "a certificate's {} must be UTF-8 without control characters", what);
  }
  if (const auto length = characters(value); length > k_longest_name) {
    return fail(Code::invalid,
                "a certificate's {} has at most {} characters (RFC 5280); this one "
                "has {}",
                what, k_longest_name, length);
  }
  return {};
}

Result<void> add_name(X509_NAME* name, int nid, std::string_view value, std::string_view what) {
  ZOO_TRY_VOID(check_name(value, what));
  if (X509_NAME_add_entry_by_NID(name, nid, MBSTRING_UTF8,
                                 reinterpret_cast<const unsigned char*>(value.data()),
                                 static_cast<int>(value.size()), -1, 0) != 1) {
    return fail(failed(fmt::format("set the certificate's {}", what)));
  }
  return {};
}

Result<void> set_serial(X509* x509) {
  ZOO_TRY(auto bytes, random_bytes(16));
  // Positive and 16 bytes long however it falls (RFC 5280 4.1.2.2).
  bytes[0] = static_cast<char>((static_cast<unsigned char>(bytes[0]) & 0x7f) | 0x40);
  const Bignum number(BN_bin2bn(reinterpret_cast<const unsigned char*>(bytes.data()),
                                static_cast<int>(bytes.size()), nullptr));
  if (!number || BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(x509)) == nullptr) {
    return fail(failed("set the serial number"));
  }
  return {};
}

Result<void> add_extension(X509* x509, X509* issuer, int nid, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, x509, nullptr, nullptr, 0);
  const Extension extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value));
  if (!extension || X509_add_ext(x509, extension.get(), -1) != 1) {
    return fail(failed(fmt::format("add extension {}", OBJ_nid2sn(nid))));
  }
  return {};
}

/// Takes the string over.
Result<void> push_name(GENERAL_NAMES* names, int type, ASN1_STRING* string) {
  auto* name = GENERAL_NAME_new();
  if (name == nullptr || string == nullptr) throw std::bad_alloc();
  GENERAL_NAME_set0_value(name, type, string);
  if (sk_GENERAL_NAME_push(names, name) == 0) throw std::bad_alloc();
  return {};
}

ASN1_STRING* octets(int type, std::string_view bytes) {
  auto* string = ASN1_STRING_type_new(type);
  if (string != nullptr) {
    ASN1_STRING_set(string, bytes.data(), static_cast<int>(bytes.size()));
  }
  return string;
}

Result<void> add_sans(X509* x509, const CertificateRequest& request) {
  if (request.uris.empty() && request.dns_names.empty() && request.ip_addresses.empty()) return {};
  const Names names(GENERAL_NAMES_new());
  if (!names) throw std::bad_alloc();
  const auto add_text = [&](int type, const std::string& text, std::string_view what) {
    const bool ascii =
        std::all_of(text.begin(), text.end(), [](char c) { return c > 32 && c < 127; });
    if (text.empty() || !ascii) {
      return Result<void>(
          fail(Code::invalid, "a certificate's {} must be printable ASCII without blanks", what));
    }
    return push_name(names.get(), type, octets(V_ASN1_IA5STRING, text));
  };
  for (const auto& uri : request.uris)
    ZOO_TRY_VOID(add_text(GEN_URI, uri, "URI"));
  for (const auto& dns : request.dns_names)
    ZOO_TRY_VOID(add_text(GEN_DNS, dns, "DNS name"));
  for (const auto& ip : request.ip_addresses) {
    unsigned char bytes[16];
    std::size_t length = 0;
    if (inet_pton(AF_INET, ip.c_str(), bytes) == 1) length = 4;
    if (length == 0 && inet_pton(AF_INET6, ip.c_str(), bytes) == 1) length = 16;
    if (length == 0) return fail(Code::invalid, "'{}' is not an IP address", ip);
    ZOO_TRY_VOID(
        push_name(names.get(), GEN_IPADD,
                  octets(V_ASN1_OCTET_STRING, {reinterpret_cast<const char*>(bytes), length})));
  }
  if (X509_add1_ext_i2d(x509, NID_subject_alt_name, names.get(), 0, X509V3_ADD_DEFAULT) != 1) {
    return fail(failed("add the alternative names"));
  }
  return {};
}

Result<void> set_dates(X509* x509, std::chrono::seconds validity, const Certificate* ca) {
  if (validity <= std::chrono::seconds::zero() || validity > k_longest_validity) {
    return fail(Code::invalid, "a certificate is valid for one second to 100 years, not {} s",
                validity.count());
  }
  using Clock = std::chrono::system_clock;
  const auto now = Clock::now();
  const auto begin = now - k_backdate;
  auto end = now + validity;
  if (ca != nullptr) {
    if (ca->not_after() <= now) return fail(Code::invalid, "the CA's certificate has expired");
    end = std::min<Clock::time_point>(end, ca->not_after());
  }
  if (ASN1_TIME_set(X509_getm_notBefore(x509), Clock::to_time_t(begin)) == nullptr ||
      ASN1_TIME_set(X509_getm_notAfter(x509), Clock::to_time_t(end)) == nullptr) {
    return fail(failed("set the dates"));
  }
  return {};
}

Result<Certificate> sign(X509* x509, const PrivateKey& key) {
  const int type = EVP_PKEY_get_base_id(key.native());
  const bool own_digest = type == EVP_PKEY_ED25519 || type == EVP_PKEY_ED448;
  if (X509_sign(x509, key.native(), own_digest ? nullptr : EVP_sha256()) == 0) {
    return fail(failed("sign the certificate"));
  }
  unsigned char* der = nullptr;
  const int length = i2d_X509(x509, &der);
  if (length <= 0) return fail(failed("encode the certificate"));
  const std::string bytes(reinterpret_cast<char*>(der), static_cast<std::size_t>(length));
  OPENSSL_free(der);
  return Certificate::from_der(bytes);
}

Result<X509Ptr> begin(EVP_PKEY* subject_key, std::chrono::seconds validity, const Certificate* ca) {
  X509Ptr x509(X509_new());
  if (!x509) throw std::bad_alloc();
  if (X509_set_version(x509.get(), X509_VERSION_3) != 1 ||
      X509_set_pubkey(x509.get(), subject_key) != 1) {
    return fail(failed("begin a certificate"));
  }
  ZOO_TRY_VOID(set_serial(x509.get()));
  ZOO_TRY_VOID(set_dates(x509.get(), validity, ca));
  return x509;
}

Result<Certificate> issue_for(const Certificate& ca, const PrivateKey& ca_key,
                              EVP_PKEY* subject_key, const CertificateRequest& request) {
  if (!ca.belongs_to(ca_key)) {
    return fail(Code::invalid, "the CA's key does not belong to the CA's certificate");
  }
  if (!ca.is_ca()) return fail(Code::invalid, "the CA's certificate may not sign certificates");
  if (!request.server && !request.client) {
    return fail(Code::invalid, "a certificate must be for a server, a client or both");
  }
  ZOO_TRY(const auto x509, begin(subject_key, request.validity, &ca));
  const NamePtr name(X509_NAME_new());
  if (!name) throw std::bad_alloc();
  for (const auto& each : request.organizations)
    ZOO_TRY_VOID(add_name(name.get(), NID_organizationName, each, "organization"));
  for (const auto& each : request.organizational_units)
    ZOO_TRY_VOID(add_name(name.get(), NID_organizationalUnitName, each, "organizational unit"));
  ZOO_TRY_VOID(add_name(name.get(), NID_commonName, request.common_name, "common name"));
  if (X509_set_subject_name(x509.get(), name.get()) != 1 ||
      X509_set_issuer_name(x509.get(), X509_get_subject_name(ca.native())) != 1) {
    return fail(failed("set the names"));
  }
  const char* usage = request.server && request.client ? "serverAuth,clientAuth"
                      : request.server                 ? "serverAuth"
                                                       : "clientAuth";
  ZOO_TRY_VOID(add_extension(x509.get(), ca.native(), NID_basic_constraints, "critical,CA:FALSE"));
  ZOO_TRY_VOID(add_extension(x509.get(), ca.native(), NID_key_usage, "critical,digitalSignature"));
  ZOO_TRY_VOID(add_extension(x509.get(), ca.native(), NID_ext_key_usage, usage));
  ZOO_TRY_VOID(add_extension(x509.get(), ca.native(), NID_subject_key_identifier, "hash"));
  ZOO_TRY_VOID(add_extension(x509.get(), ca.native(), NID_authority_key_identifier, "keyid"));
  ZOO_TRY_VOID(add_sans(x509.get(), request));
  return sign(x509.get(), ca_key);
}

} // namespace

Result<Certificate> issue(const Certificate& ca, const PrivateKey& ca_key,
                          const PrivateKey& subject_key, const CertificateRequest& request) {
  return issue_for(ca, ca_key, subject_key.native(), request);
}

Result<Certificate> issue(const Certificate& ca, const PrivateKey& ca_key,
                          const SigningRequest& subject, const CertificateRequest& request) {
  return issue_for(ca, ca_key, subject.public_key(), request);
}

Result<Certificate> make_ca(const PrivateKey& key, std::string_view common_name,
                            std::chrono::seconds validity) {
  ZOO_TRY(const auto x509, begin(key.native(), validity, nullptr));
  const NamePtr name(X509_NAME_new());
  if (!name) throw std::bad_alloc();
  ZOO_TRY_VOID(add_name(name.get(), NID_commonName, common_name, "common name"));
  if (X509_set_subject_name(x509.get(), name.get()) != 1 ||
      X509_set_issuer_name(x509.get(), name.get()) != 1) {
    return fail(failed("set the names"));
  }
  auto* self = x509.get();
  ZOO_TRY_VOID(add_extension(self, self, NID_basic_constraints, "critical,CA:TRUE,pathlen:0"));
  ZOO_TRY_VOID(
      add_extension(self, self, NID_key_usage, "critical,digitalSignature,keyCertSign,cRLSign"));
  ZOO_TRY_VOID(add_extension(self, self, NID_subject_key_identifier, "hash"));
  ZOO_TRY_VOID(add_extension(self, self, NID_authority_key_identifier, "keyid"));
  return sign(self, key);
}

} // namespace zoo::crypto
