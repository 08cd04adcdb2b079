// SPDX-License-Identifier: Apache-2.0
#include "daemon/net/tls_tickets.hpp"

#include "daemon/net/openssl.hpp"
#include "daemon/net/tls.hpp"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/kdf.h>
#include <openssl/rand.h>

#include <array>
#include <cstdint>
#include <cstring>

namespace zoo::net {
namespace {

constexpr std::size_t k_name = 16, k_cipher_key = 32, k_mac_key = 32;

/// What a ticket of one period is sealed with: AES-256-CBC, then HMAC-SHA-256 (RFC 5077 section 4).
struct TicketKeys {
  std::array<unsigned char, k_name + k_cipher_key + k_mac_key> bytes{};
  TicketKeys() = default;
  TicketKeys(const TicketKeys&) = delete;
  TicketKeys& operator=(const TicketKeys&) = delete;
  ~TicketKeys() { OPENSSL_cleanse(bytes.data(), bytes.size()); }
  unsigned char* name() { return bytes.data(); }
  unsigned char* cipher() { return name() + k_name; }
  unsigned char* mac() { return cipher() + k_cipher_key; }
};

/// HKDF-SHA-256 (RFC 5869) of the server's key: a period has keys of its own, and the time alone
/// says which.
bool derive(const Secret& key, std::int64_t period, TicketKeys& out) {
  using KdfPtr = std::unique_ptr<EVP_KDF, Deleter<EVP_KDF_free>>;
  using ContextPtr = std::unique_ptr<EVP_KDF_CTX, Deleter<EVP_KDF_CTX_free>>;
  const KdfPtr kdf(EVP_KDF_fetch(nullptr, "HKDF", nullptr));
  const ContextPtr context(kdf ? EVP_KDF_CTX_new(kdf.get()) : nullptr);
  if (!context) return false;
  auto info = fmt::format("zood TLS session tickets, period {}", period);
  std::string digest = "SHA256";
  std::string secret(key.view());
  const std::array<OSSL_PARAM, 4> parameters = {
      OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest.data(), 0),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, secret.data(), secret.size()),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, info.data(), info.size()),
      OSSL_PARAM_construct_end()};
  const bool derived =
      EVP_KDF_derive(context.get(), out.bytes.data(), out.bytes.size(), parameters.data()) == 1;
  OPENSSL_cleanse(secret.data(), secret.size());
  return derived;
}

std::int64_t seconds_now() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(since).count();
}

std::int64_t period_now() { return seconds_now() / std::chrono::seconds(k_session_life).count(); }

/// Belongs to the SSL_CTX, which may outlive who made it.
struct Tickets {
  Secret key;
  std::int64_t life; ///< seconds
};

void free_tickets(void*, void* tickets, CRYPTO_EX_DATA*, int, long, void*) noexcept {
  delete static_cast<Tickets*>(tickets);
}

int tickets_index() {
  static const int index = SSL_CTX_get_ex_new_index(0, nullptr, nullptr, nullptr, free_tickets);
  return index;
}

const Tickets* tickets_of(SSL* ssl) {
  return static_cast<const Tickets*>(SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), tickets_index()));
}

bool prepare(TicketKeys& keys, const unsigned char* iv, EVP_CIPHER_CTX* cipher, EVP_MAC_CTX* mac,
             bool seals) {
  std::string digest = "SHA256";
  const std::array<OSSL_PARAM, 3> parameters = {
      OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, keys.mac(), k_mac_key),
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest.data(), 0),
      OSSL_PARAM_construct_end()};
  return EVP_CipherInit_ex(cipher, EVP_aes_256_cbc(), nullptr, keys.cipher(), iv, seals ? 1 : 0) ==
             1 &&
         EVP_MAC_CTX_set_params(mac, parameters.data()) == 1;
}

// What SSL_CTX_set_tlsext_ticket_key_evp_cb(3) asks for: -1 ends the handshake, 0 is no ticket or
// one that is not ours. 2 is a good one after which another is given, for clients show each but
// once (RFC 8446 appendix C.4).
constexpr int k_failed = -1, k_none = 0, k_sealed = 1, k_good = 2;

int seal(SSL* ssl, const Secret& key, unsigned char* name, unsigned char* iv,
         EVP_CIPHER_CTX* cipher, EVP_MAC_CTX* mac) {
  if (SSL_version(ssl) < TLS1_3_VERSION) return k_none;
  TicketKeys keys;
  if (!derive(key, period_now(), keys)) return k_failed;
  std::memcpy(name, keys.name(), k_name);
  return RAND_bytes(iv, EVP_CIPHER_get_iv_length(EVP_aes_256_cbc())) == 1 &&
                 prepare(keys, iv, cipher, mac, true)
             ? k_sealed
             : k_failed;
}

int open(const Secret& key, const unsigned char* name, const unsigned char* iv,
         EVP_CIPHER_CTX* cipher, EVP_MAC_CTX* mac) {
  const auto now = period_now();
  for (const auto period : {now, now - 1}) {
    TicketKeys keys;
    if (!derive(key, period, keys)) return k_failed;
    if (CRYPTO_memcmp(name, keys.name(), k_name) != 0) continue;
    return prepare(keys, iv, cipher, mac, false) ? k_good : k_failed;
  }
  return k_none;
}

int on_ticket(SSL* ssl, unsigned char* name, unsigned char* iv, EVP_CIPHER_CTX* cipher,
              EVP_MAC_CTX* mac, int seals) noexcept {
  const auto* tickets = tickets_of(ssl);
  if (tickets == nullptr) return k_failed;
  return seals != 0 ? seal(ssl, tickets->key, name, iv, cipher, mac)
                    : open(tickets->key, name, iv, cipher, mac);
}

/// A ticket says when its session's whole handshake was; those that come of it say the same. After
/// one that is good for nothing there is a whole handshake, and another ticket.
int note_age(SSL* ssl, void*) noexcept {
  if (SSL_session_reused(ssl) == 1) return 1;
  const auto now = seconds_now();
  return SSL_SESSION_set1_ticket_appdata(SSL_get_session(ssl), &now, sizeof(now));
}

SSL_TICKET_RETURN judge_age(SSL* ssl, SSL_SESSION* session, const unsigned char*, std::size_t,
                            SSL_TICKET_STATUS status, void*) noexcept {
  if (status != SSL_TICKET_SUCCESS && status != SSL_TICKET_SUCCESS_RENEW)
    return SSL_TICKET_RETURN_IGNORE_RENEW;
  void* noted = nullptr;
  std::size_t size = 0;
  std::int64_t since = 0;
  if (SSL_SESSION_get0_ticket_appdata(session, &noted, &size) != 1 || size != sizeof(since))
    return SSL_TICKET_RETURN_IGNORE_RENEW;
  std::memcpy(&since, noted, sizeof(since));
  const auto* tickets = tickets_of(ssl);
  const auto age = seconds_now() - since;
  return tickets != nullptr && age >= 0 && age <= tickets->life ? SSL_TICKET_RETURN_USE_RENEW
                                                                : SSL_TICKET_RETURN_IGNORE_RENEW;
}

} // namespace

Result<void> give_tickets(ssl_ctx_st* context, const Secret& key, std::string_view bound_to,
                          std::chrono::seconds life) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  auto kept = std::make_unique<Tickets>(Tickets{key.clone(), life.count()});
  const bool done = EVP_Digest(bound_to.data(), bound_to.size(), digest.data(), &size, EVP_sha256(),
                               nullptr) == 1 &&
                    SSL_CTX_set_session_id_context(context, digest.data(), size) == 1 &&
                    SSL_CTX_set_session_ticket_cb(context, note_age, judge_age, nullptr) == 1 &&
                    SSL_CTX_set_ex_data(context, tickets_index(), kept.get()) == 1;
  if (!done) return fail(Code::internal, "TLS session tickets: {}", openssl_reason());
  static_cast<void>(kept.release()); // free_tickets() has it
  SSL_CTX_set_tlsext_ticket_key_evp_cb(context, on_ticket);
  SSL_CTX_clear_options(context, SSL_OP_NO_TICKET);
  SSL_CTX_set_num_tickets(context, 1);
  SSL_CTX_set_timeout(context, life.count());
  return {};
}

} // namespace zoo::net
