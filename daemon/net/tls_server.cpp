// SPDX-License-Identifier: Apache-2.0
#include "common/base/published.hpp"
#include "daemon/net/openssl.hpp"
#include "daemon/net/tls.hpp"
#include "daemon/net/tls_tickets.hpp"

#include <openssl/pem.h>
#include <openssl/x509.h>

namespace zoo::net {
namespace {

// RFC 7301: length-prefixed, in our order of preference.
constexpr unsigned char k_protocols[] = "\x02h2\x08http/1.1";

int select_protocol(SSL*, const unsigned char** out, unsigned char* size,
                    const unsigned char* offered, unsigned int offered_size, void*) noexcept {
  unsigned char* chosen = nullptr;
  const int result = SSL_select_next_proto(&chosen, size, k_protocols, sizeof(k_protocols) - 1,
                                           offered, offered_size);
  *out = chosen;
  return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

/// Verifies and lets pass: the verdict stays in SSL_get_verify_result().
constexpr long k_max_chain = 16 * 1024; ///< bytes of what a client shows, docs/limits.md

int verify(X509_STORE_CTX* chain, void*) noexcept {
  if (X509_verify_cert(chain) != 1 && X509_STORE_CTX_get_error(chain) == X509_V_OK)
    X509_STORE_CTX_set_error(chain, X509_V_ERR_UNSPECIFIED);
  return 1;
}

Result<SslContextPtr> build(const TlsServerOptions& options) {
  ZOO_TRY(auto context, make_context(TLS_server_method()));
  auto* raw = context.get();
  SSL_CTX_set_options(raw, SSL_OP_NO_TICKET | SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_num_tickets(raw, 0);
  SSL_CTX_set_session_cache_mode(raw, SSL_SESS_CACHE_OFF);
  ZOO_TRY_VOID(use_certificate(raw, options.certificate_chain_pem, options.key_pem));
  SSL_CTX_set_alpn_select_cb(raw, select_protocol, nullptr);
  if (!options.ticket_key.empty())
    ZOO_TRY_VOID(
        give_tickets(raw, options.ticket_key, options.client_ca_pem, options.session_life));
  if (options.client_ca_pem.empty()) return context;

  ZOO_TRY_VOID(trust(raw, options.client_ca_pem, "client authorities"));
  SSL_CTX_set_verify(raw, SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_max_cert_list(raw, k_max_chain); // anybody's, and read into objects many times larger
  SSL_CTX_set_cert_verify_callback(raw, verify, nullptr);
  auto* names = sk_X509_NAME_new_null();
  const BioPtr bytes(BIO_new_mem_buf(options.client_ca_pem.data(),
                                     static_cast<int>(options.client_ca_pem.size())));
  for (;;) {
    const X509Ptr next(PEM_read_bio_X509_AUX(bytes.get(), nullptr, nullptr, nullptr));
    if (!next) break;
    sk_X509_NAME_push(names, X509_NAME_dup(X509_get_subject_name(next.get())));
  }
  openssl_reason(); // the end of the text is not an error
  SSL_CTX_set_client_CA_list(raw, names);
  return context;
}

} // namespace

struct TlsServerContext::Impl {
  Published<SSL_CTX> context;
};

TlsServerContext::TlsServerContext() : impl_(std::make_unique<Impl>()) {}
TlsServerContext::~TlsServerContext() = default;

Result<std::shared_ptr<TlsServerContext>>
TlsServerContext::create(const TlsServerOptions& options) {
  std::shared_ptr<TlsServerContext> made(new TlsServerContext);
  ZOO_TRY_VOID(made->reload(options));
  return made;
}

Result<void> TlsServerContext::reload(const TlsServerOptions& options) {
  ZOO_TRY(auto context, build(options));
  impl_->context.store(std::shared_ptr<SSL_CTX>(std::move(context)));
  return {};
}

ssl_st* TlsServerContext::new_session() const {
  SSL* session = SSL_new(impl_->context.load().get());
  if (session != nullptr) SSL_set_accept_state(session);
  return session;
}

} // namespace zoo::net
