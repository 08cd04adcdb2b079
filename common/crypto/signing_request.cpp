// SPDX-License-Identifier: Apache-2.0
#include "common/crypto/signing_request.hpp"

#include "common/base/deleter.hpp"
#include "common/crypto/key.hpp"
#include "common/crypto/openssl.hpp"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <algorithm>
#include <climits>
#include <new>

namespace zoo::crypto {
namespace {

using Bio = std::unique_ptr<BIO, Deleter<BIO_free_all>>;
using Request = std::unique_ptr<X509_REQ, Deleter<X509_REQ_free>>;

constexpr std::size_t k_longest_name = 64; // RFC 5280, ub-common-name and ub-organization-name
constexpr int k_security_bits = 112;       ///< RSA 2048; P-256 has 128

Result<std::vector<std::string>> names_of(const X509_NAME* subject, int nid,
                                          std::string_view what) {
  std::vector<std::string> out;
  for (int at = -1; (at = X509_NAME_get_index_by_NID(subject, nid, at)) >= 0;) {
    const auto* data = X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at));
    unsigned char* utf8 = nullptr;
    const int length = ASN1_STRING_to_UTF8(&utf8, data);
    if (length < 0) {
      clear_openssl_errors();
      return fail(Code::invalid, "the request's {} cannot be read", what);
    }
    std::string text(reinterpret_cast<char*>(utf8), static_cast<std::size_t>(length));
    OPENSSL_free(utf8);
    if (!is_clean_name(text)) {
      return fail(Code::invalid, "the request's {} must be UTF-8 without control characters", what);
    }
    out.push_back(std::move(text));
  }
  return out;
}

Result<void> add_name(X509_NAME* subject, int nid, std::string_view value, std::string_view what) {
  const auto characters = std::count_if(value.begin(), value.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80; // what does not continue one, in UTF-8
  });
  if (value.empty() || !is_clean_name(value) ||
      static_cast<std::size_t>(characters) > k_longest_name)
    return fail(Code::invalid,
                "the {} of a certificate has 1 to {} characters of UTF-8, and no control "
                "characters",
                what, k_longest_name);
  if (X509_NAME_add_entry_by_NID(subject, nid, MBSTRING_UTF8,
                                 reinterpret_cast<const unsigned char*>(value.data()),
                                 static_cast<int>(value.size()), -1, 0) != 1)
    return fail(openssl_error(Code::internal, fmt::format("set the request's {}", what)));
  return {};
}

} // namespace

void SigningRequest::Free::operator()(evp_pkey_st* key) const noexcept { EVP_PKEY_free(key); }
SigningRequest::SigningRequest(SigningRequest&&) noexcept = default;
SigningRequest& SigningRequest::operator=(SigningRequest&&) noexcept = default;
SigningRequest::~SigningRequest() = default;

Result<SigningRequest> SigningRequest::from_pem(std::string_view pem) {
  if (pem.size() > INT_MAX) return fail(Code::too_large, "the certificate request is too large");
  const Bio bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  if (!bio) throw std::bad_alloc();
  const Request request(PEM_read_bio_X509_REQ(bio.get(), nullptr, nullptr, nullptr));
  if (!request) return fail(openssl_error(Code::invalid, "read the certificate request (PEM)"));
  SigningRequest out;
  out.key_.reset(X509_REQ_get_pubkey(request.get()));
  if (!out.key_) return fail(openssl_error(Code::invalid, "read the certificate request's key"));
  if (X509_REQ_verify(request.get(), out.key_.get()) != 1) {
    clear_openssl_errors();
    return fail(Code::invalid, "the certificate request is not signed with its own key");
  }
  if (EVP_PKEY_get_security_bits(out.key_.get()) < k_security_bits) {
    return fail(Code::invalid, "the certificate request's key is too weak: RSA has 2048 bits or "
                               "more, an elliptic curve 224");
  }
  const auto* subject = X509_REQ_get_subject_name(request.get());
  ZOO_TRY(auto users, names_of(subject, NID_commonName, "common name"));
  if (users.size() > 1) {
    return fail(Code::invalid, "the certificate request has several common names");
  }
  if (!users.empty()) out.common_name_ = std::move(users.front());
  ZOO_TRY(out.organizations_, names_of(subject, NID_organizationName, "organization"));
  return out;
}

Result<std::string> signing_request_pem(const PrivateKey& key, std::string_view common_name,
                                        const std::vector<std::string>& organizations) {
  const Request request(X509_REQ_new());
  if (!request) throw std::bad_alloc();
  auto* subject = X509_REQ_get_subject_name(request.get());
  for (const auto& each : organizations)
    ZOO_TRY_VOID(add_name(subject, NID_organizationName, each, "organization"));
  ZOO_TRY_VOID(add_name(subject, NID_commonName, common_name, "common name"));
  const Bio bio(BIO_new(BIO_s_mem()));
  if (!bio) throw std::bad_alloc();
  if (X509_REQ_set_pubkey(request.get(), key.native()) != 1 ||
      X509_REQ_sign(request.get(), key.native(), EVP_sha256()) <= 0 ||
      PEM_write_bio_X509_REQ(bio.get(), request.get()) != 1)
    return fail(openssl_error(Code::internal, "make the certificate request"));
  char* text = nullptr;
  const auto size = BIO_get_mem_data(bio.get(), &text);
  return std::string(text, static_cast<std::size_t>(size));
}

} // namespace zoo::crypto
