// SPDX-License-Identifier: Apache-2.0
#include "common/crypto/key.hpp"

#include "common/base/deleter.hpp"
#include "common/crypto/openssl.hpp"

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <climits>
#include <new>

namespace zoo::crypto {
namespace {

using Bio = std::unique_ptr<BIO, Deleter<BIO_free_all>>;

int no_passphrase(char*, int, int, void*) { return -1; }

} // namespace

void PrivateKey::Free::operator()(evp_pkey_st* key) const noexcept { EVP_PKEY_free(key); }

PrivateKey::PrivateKey(evp_pkey_st* key) : key_(key) {}
PrivateKey::PrivateKey(PrivateKey&&) noexcept = default;
PrivateKey& PrivateKey::operator=(PrivateKey&&) noexcept = default;
PrivateKey::~PrivateKey() = default;

Result<PrivateKey> PrivateKey::generate_p256() {
  EVP_PKEY* key = EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256");
  if (key == nullptr) return fail(openssl_error(Code::internal, "make a key"));
  return PrivateKey(key);
}

Result<PrivateKey> PrivateKey::from_pem(std::string_view pem) {
  if (pem.size() > INT_MAX) return fail(Code::too_large, "the private key is too large");
  const Bio bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  if (!bio) throw std::bad_alloc();
  EVP_PKEY* key = PEM_read_bio_PrivateKey(bio.get(), nullptr, no_passphrase, nullptr);
  if (key == nullptr) {
    if (pem.find("ENCRYPTED") != std::string_view::npos) {
      clear_openssl_errors();
      return fail(Code::invalid, "the private key is encrypted: give it without a pass phrase "
                                 "(openssl pkey -in KEY -out PLAIN)");
    }
    return fail(openssl_error(Code::invalid, "read the private key (PEM)"));
  }
  return PrivateKey(key);
}

Secret PrivateKey::to_pem() const {
  const Bio bio(BIO_new(BIO_s_secmem()));
  const auto write = [&] {
    return EVP_PKEY_is_a(key_.get(), "EC") == 1
               ? PEM_write_bio_PrivateKey_traditional(bio.get(), key_.get(), nullptr, nullptr, 0,
                                                      nullptr, nullptr)
               : PEM_write_bio_PKCS8PrivateKey(bio.get(), key_.get(), nullptr, nullptr, 0, nullptr,
                                               nullptr);
  };
  if (!bio || write() != 1) {
    // Only memory can be missing: the key was made or read by OpenSSL itself.
    clear_openssl_errors();
    throw std::bad_alloc();
  }
  char* data = nullptr;
  const auto size = BIO_get_mem_data(bio.get(), &data);
  return Secret::copy_of({data, static_cast<std::size_t>(size)});
}

bool PrivateKey::same_public_key(const PrivateKey& other) const {
  const bool same = EVP_PKEY_eq(key_.get(), other.key_.get()) == 1;
  clear_openssl_errors();
  return same;
}

} // namespace zoo::crypto
