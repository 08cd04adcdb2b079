// SPDX-License-Identifier: Apache-2.0
#include "test_pki.hpp"

#include "common/base/deleter.hpp"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <atomic>

namespace zoo::test {
namespace {

using KeyPtr = std::unique_ptr<EVP_PKEY, Deleter<EVP_PKEY_free>>;
using CertificatePtr = std::unique_ptr<X509, Deleter<X509_free>>;
using BioPtr = std::unique_ptr<BIO, Deleter<BIO_free_all>>;

std::string text_of(BIO* bio) {
  char* bytes = nullptr;
  const auto size = BIO_get_mem_data(bio, &bytes);
  return {bytes, static_cast<std::size_t>(size)};
}

void extend(X509* certificate, int nid, const char* value) {
  auto* extension = X509V3_EXT_conf_nid(nullptr, nullptr, nid, value);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

Identity make(const std::string& name, const Identity* issuer, int days) {
  static std::atomic<long> serial{1'000};
  const KeyPtr key(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256"));
  const CertificatePtr certificate(X509_new());
  X509_set_version(certificate.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), ++serial);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -86'400L * 10);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 86'400L * days);
  X509_set_pubkey(certificate.get(), key.get());
  auto* subject = X509_get_subject_name(certificate.get());
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  KeyPtr issuer_key;
  if (issuer == nullptr) {
    X509_set_issuer_name(certificate.get(), subject);
    extend(certificate.get(), NID_basic_constraints, "critical,CA:TRUE");
  } else {
    const BioPtr bytes(BIO_new_mem_buf(issuer->certificate.data(), -1));
    const CertificatePtr authority(PEM_read_bio_X509(bytes.get(), nullptr, nullptr, nullptr));
    X509_set_issuer_name(certificate.get(), X509_get_subject_name(authority.get()));
    const BioPtr key_bytes(BIO_new_mem_buf(issuer->key.data(), -1));
    issuer_key.reset(PEM_read_bio_PrivateKey(key_bytes.get(), nullptr, nullptr, nullptr));
    extend(certificate.get(), NID_subject_alt_name, "IP:127.0.0.1,DNS:localhost");
    extend(certificate.get(), NID_ext_key_usage, "serverAuth,clientAuth");
  }
  X509_sign(certificate.get(), issuer_key ? issuer_key.get() : key.get(), EVP_sha256());
  const BioPtr certificate_out(BIO_new(BIO_s_mem()));
  const BioPtr key_out(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(certificate_out.get(), certificate.get());
  PEM_write_bio_PrivateKey(key_out.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  return {text_of(certificate_out.get()), text_of(key_out.get())};
}

} // namespace

Pki::Pki(const std::string& name) : ca_(make(name, nullptr, 10)) {}

Identity Pki::issue(const std::string& common_name, int days) const {
  return make(common_name, &ca_, days);
}

} // namespace zoo::test
