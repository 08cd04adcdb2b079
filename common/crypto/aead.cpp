// SPDX-License-Identifier: Apache-2.0
#include "common/crypto/aead.hpp"

#include "common/base/deleter.hpp"
#include "common/crypto/digest.hpp"
#include "common/crypto/openssl.hpp"

#include <openssl/evp.h>

#include <climits>
#include <memory>
#include <stdexcept>

namespace zoo::crypto {
namespace {

constexpr std::size_t k_nonce = 12;
constexpr std::size_t k_tag = 16;

using Context = std::unique_ptr<EVP_CIPHER_CTX, Deleter<EVP_CIPHER_CTX_free>>;

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}
unsigned char* bytes_of(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }

} // namespace

Sealer::Sealer(Secret key32) : key_(std::move(key32)) {
  if (key_.view().size() != k_key_size)
    throw std::invalid_argument("Sealer: not a key of 32 bytes");
}

std::string Sealer::seal(std::string_view plaintext, std::string_view associated) const {
  if (plaintext.size() > INT_MAX - k_nonce - k_tag || associated.size() > INT_MAX) {
    throw std::invalid_argument("Sealer: text too large");
  }
  auto nonce = random_bytes(k_nonce);
  if (!nonce) throw std::runtime_error(nonce.error().text());
  const Context context(EVP_CIPHER_CTX_new());
  std::string out = *nonce;
  out.resize(k_nonce + plaintext.size() + k_tag);
  int written = 0;
  const bool ok = context &&
                  EVP_EncryptInit_ex(context.get(), EVP_aes_256_gcm(), nullptr,
                                     bytes_of(key_.view()), bytes_of(*nonce)) == 1 &&
                  EVP_EncryptUpdate(context.get(), nullptr, &written, bytes_of(associated),
                                    static_cast<int>(associated.size())) == 1 &&
                  EVP_EncryptUpdate(context.get(), bytes_of(out) + k_nonce, &written,
                                    bytes_of(plaintext), static_cast<int>(plaintext.size())) == 1 &&
                  EVP_EncryptFinal_ex(context.get(), bytes_of(out) + k_nonce + plaintext.size(),
                                      &written) == 1 &&
                  EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_GET_TAG, k_tag,
                                      bytes_of(out) + k_nonce + plaintext.size()) == 1;
  if (!ok) throw std::runtime_error(openssl_error(Code::internal, "seal").text());
  return out;
}

Result<Secret> Sealer::open(std::string_view sealed, std::string_view associated) const {
  const auto refuse = [] {
    clear_openssl_errors();
    return fail(Code::invalid, "sealed text is damaged, or was sealed with another key or for "
                               "another purpose");
  };
  if (sealed.size() < k_nonce + k_tag || sealed.size() > INT_MAX || associated.size() > INT_MAX) {
    return refuse();
  }
  const auto nonce = sealed.substr(0, k_nonce);
  const auto body = sealed.substr(k_nonce, sealed.size() - k_nonce - k_tag);
  std::string tag(sealed.substr(sealed.size() - k_tag));
  const Context context(EVP_CIPHER_CTX_new());
  std::string out(body.size() + 1, '\0');
  int written = 0;
  const bool ok =
      context &&
      EVP_DecryptInit_ex(context.get(), EVP_aes_256_gcm(), nullptr, bytes_of(key_.view()),
                         bytes_of(nonce)) == 1 &&
      EVP_DecryptUpdate(context.get(), nullptr, &written, bytes_of(associated),
                        static_cast<int>(associated.size())) == 1 &&
      EVP_DecryptUpdate(context.get(), bytes_of(out), &written, bytes_of(body),
                        static_cast<int>(body.size())) == 1 &&
      EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_SET_TAG, k_tag, tag.data()) == 1 &&
      EVP_DecryptFinal_ex(context.get(), bytes_of(out) + body.size(), &written) == 1;
  out.resize(body.size());
  Secret opened(std::move(out)); // wiped also where the tag was wrong
  if (!ok) return refuse();
  return opened;
}

} // namespace zoo::crypto
