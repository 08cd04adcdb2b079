// SPDX-License-Identifier: Apache-2.0
#include "common/crypto/certificate.hpp"

#include "common/base/deleter.hpp"
#include "common/crypto/key.hpp"
#include "common/crypto/openssl.hpp"

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <climits>
#include <ctime>
#include <new>
#include <optional>

namespace zoo::crypto {
namespace {

using Bio = std::unique_ptr<BIO, Deleter<BIO_free_all>>;
using Names = std::unique_ptr<GENERAL_NAMES, Deleter<GENERAL_NAMES_free>>;

std::optional<std::chrono::system_clock::time_point> time_of(const ASN1_TIME* time) {
  std::tm parts{};
  if (time == nullptr || ASN1_TIME_to_tm(time, &parts) != 1) return std::nullopt;
  return std::chrono::system_clock::from_time_t(timegm(&parts));
}

Result<std::string> text_of(const ASN1_STRING* string, std::string_view what) {
  unsigned char* utf8 = nullptr;
  const int length = ASN1_STRING_to_UTF8(&utf8, string);
  if (length < 0) {
    clear_openssl_errors();
    return fail(Code::invalid, "the certificate's {} cannot be read as text", what);
  }
  std::string text(reinterpret_cast<char*>(utf8), static_cast<std::size_t>(length));
  OPENSSL_free(utf8);
  if (!is_clean_name(text)) {
    return fail(Code::invalid, "the certificate's {} holds a control character", what);
  }
  return text;
}

Bio reader(std::string_view text) {
  Bio bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  if (!bio) throw std::bad_alloc();
  return bio;
}

} // namespace

void Certificate::Free::operator()(x509_st* certificate) const noexcept { X509_free(certificate); }

Certificate::Certificate(Pointer x509) : x509_(std::move(x509)) {}
Certificate::Certificate(Certificate&&) noexcept = default;
Certificate& Certificate::operator=(Certificate&&) noexcept = default;
Certificate::~Certificate() = default;

Result<Certificate> Certificate::checked(Pointer x509) {
  Certificate out(std::move(x509));
  const auto before = time_of(X509_get0_notBefore(out.native()));
  const auto after = time_of(X509_get0_notAfter(out.native()));
  if (!before || !after) {
    clear_openssl_errors();
    return fail(Code::invalid, "the certificate's dates cannot be read");
  }
  out.not_before_ = *before;
  out.not_after_ = *after;
  const int length = i2d_X509(out.native(), nullptr);
  if (length <= 0) return fail(openssl_error(Code::invalid, "encode the certificate"));
  out.der_.resize(static_cast<std::size_t>(length));
  auto* to = reinterpret_cast<unsigned char*>(out.der_.data());
  i2d_X509(out.native(), &to);
  return out;
}

Result<Certificate> Certificate::from_pem(std::string_view pem) {
  if (pem.size() > INT_MAX) return fail(Code::too_large, "the certificate is too large");
  Pointer x509(PEM_read_bio_X509(reader(pem).get(), nullptr, nullptr, nullptr));
  if (!x509) return fail(openssl_error(Code::invalid, "read the certificate (PEM)"));
  return checked(std::move(x509));
}

Result<Certificate> Certificate::from_der(std::string_view der) {
  if (der.size() > LONG_MAX) return fail(Code::too_large, "the certificate is too large");
  const auto* from = reinterpret_cast<const unsigned char*>(der.data());
  const auto* const end = from + der.size();
  Pointer x509(d2i_X509(nullptr, &from, static_cast<long>(der.size())));
  if (!x509) return fail(openssl_error(Code::invalid, "read the certificate (DER)"));
  if (from != end) return fail(Code::invalid, "cannot read the certificate (DER): bytes behind it");
  return checked(std::move(x509));
}

Result<std::vector<Certificate>> Certificate::bundle_from_pem(std::string_view pem) {
  if (pem.size() > INT_MAX) return fail(Code::too_large, "the certificates are too large");
  std::vector<Certificate> out;
  const auto bio = reader(pem);
  for (;;) {
    Pointer x509(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
    if (!x509) {
      const bool end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
      if (!end || out.empty()) {
        return fail(
            openssl_error(Code::invalid, fmt::format("read certificate {} (PEM)", out.size() + 1)));
      }
      clear_openssl_errors();
      return out;
    }
    ZOO_TRY(auto certificate, checked(std::move(x509)));
    out.push_back(std::move(certificate));
  }
}

std::string Certificate::to_pem() const {
  const Bio bio(BIO_new(BIO_s_mem()));
  if (!bio || PEM_write_bio_X509(bio.get(), native()) != 1) throw std::bad_alloc();
  char* data = nullptr;
  const auto size = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

Sha256 Certificate::sha256() const { return crypto::sha256(der_); }

Result<std::vector<std::string>> Certificate::subject(int nid, std::string_view what) const {
  std::vector<std::string> out;
  const auto* name = X509_get_subject_name(native());
  for (int at = -1; (at = X509_NAME_get_index_by_NID(name, nid, at)) >= 0;) {
    ZOO_TRY(auto text, text_of(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, at)), what));
    out.push_back(std::move(text));
  }
  return out;
}

Result<std::string> Certificate::common_name() const {
  ZOO_TRY(auto names, subject(NID_commonName, "common name"));
  if (names.size() > 1) return fail(Code::invalid, "the certificate has several common names");
  return names.empty() ? std::string() : std::move(names.front());
}

Result<std::vector<std::string>> Certificate::organizations() const {
  return subject(NID_organizationName, "organization");
}

Result<std::vector<std::string>> Certificate::organizational_units() const {
  return subject(NID_organizationalUnitName, "organizational unit");
}

Result<std::vector<std::string>> Certificate::sans(int type, std::string_view what) const {
  std::vector<std::string> out;
  int critical = 0;
  const Names names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(native(), NID_subject_alt_name, &critical, nullptr)));
  if (!names) {
    clear_openssl_errors();
    if (critical == -1) return out; // no such extension
    return fail(Code::invalid, "the certificate's alternative names cannot be read");
  }
  for (int i = 0; i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const auto* name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type != type) continue;
    ZOO_TRY(auto text,
            text_of(type == GEN_URI ? name->d.uniformResourceIdentifier : name->d.dNSName, what));
    out.push_back(std::move(text));
  }
  return out;
}

Result<std::vector<std::string>> Certificate::uri_sans() const { return sans(GEN_URI, "URI"); }
Result<std::vector<std::string>> Certificate::dns_sans() const { return sans(GEN_DNS, "DNS name"); }

std::vector<std::string> Certificate::ip_sans() const {
  std::vector<std::string> out;
  const Names names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(native(), NID_subject_alt_name, nullptr, nullptr)));
  clear_openssl_errors();
  for (int i = 0; names && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const auto* name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type != GEN_IPADD) continue;
    const int length = ASN1_STRING_length(name->d.iPAddress);
    char text[INET6_ADDRSTRLEN];
    if ((length == 4 || length == 16) &&
        inet_ntop(length == 4 ? AF_INET : AF_INET6, ASN1_STRING_get0_data(name->d.iPAddress), text,
                  sizeof text) != nullptr) {
      out.emplace_back(text);
    }
  }
  return out;
}

std::string Certificate::serial() const {
  const auto* serial = X509_get0_serialNumber(native());
  const auto text = hex_encode({reinterpret_cast<const char*>(ASN1_STRING_get0_data(serial)),
                                static_cast<std::size_t>(ASN1_STRING_length(serial))});
  return (ASN1_STRING_type(serial) & V_ASN1_NEG) != 0 ? "-" + text : text;
}

bool Certificate::is_ca() const {
  const bool ca =
      X509_check_ca(native()) == 1 && (X509_get_key_usage(native()) & KU_KEY_CERT_SIGN) != 0;
  clear_openssl_errors();
  return ca;
}

bool Certificate::issued_by(const Certificate& issuer) const {
  auto* key = X509_get0_pubkey(issuer.native());
  const bool issued =
      key != nullptr &&
      X509_NAME_cmp(X509_get_issuer_name(native()), X509_get_subject_name(issuer.native())) == 0 &&
      X509_verify(native(), key) == 1;
  clear_openssl_errors();
  return issued;
}

bool Certificate::belongs_to(const PrivateKey& key) const {
  const auto* own = X509_get0_pubkey(native());
  const bool equal = own != nullptr && EVP_PKEY_eq(own, key.native()) == 1;
  clear_openssl_errors();
  return equal;
}

} // namespace zoo::crypto
