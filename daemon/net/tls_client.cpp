// SPDX-License-Identifier: Apache-2.0
#include "daemon/net/address.hpp"
#include "daemon/net/openssl.hpp"
#include "daemon/net/tls.hpp"

#include <openssl/x509v3.h>

#include <mutex>
#include <vector>

namespace zoo::net {
namespace {

using SessionPtr = std::unique_ptr<SSL_SESSION, Deleter<SSL_SESSION_free>>;

constexpr std::size_t k_sessions = 8;
constexpr std::size_t k_read_ahead = 64 * 1024;

/// The sessions a server gave. Belongs to the SSL_CTX, which may outlive the TlsClientContext.
struct Sessions {
  std::mutex mutex;
  std::vector<SessionPtr> list;

  bool keep(SSL_SESSION* session) {
    const std::lock_guard lock(mutex);
    if (list.size() >= k_sessions) list.erase(list.begin());
    list.emplace_back(session);
    return true;
  }
  SessionPtr take() {
    const std::lock_guard lock(mutex);
    if (list.empty()) return nullptr;
    auto session = std::move(list.back());
    list.pop_back();
    if (SSL_SESSION_get_protocol_version(session.get()) < TLS1_3_VERSION) {
      SSL_SESSION_up_ref(session.get()); // of TLS 1.3 each is used once (RFC 8446 appendix C.4)
      list.insert(list.begin(), SessionPtr(session.get()));
    }
    return session;
  }
};

void free_sessions(void*, void* sessions, CRYPTO_EX_DATA*, int, long, void*) noexcept {
  delete static_cast<Sessions*>(sessions);
}

int sessions_index() {
  static const int index = SSL_CTX_get_ex_new_index(0, nullptr, nullptr, nullptr, free_sessions);
  return index;
}

Sessions* sessions_of(SSL_CTX* context) {
  return static_cast<Sessions*>(SSL_CTX_get_ex_data(context, sessions_index()));
}

int on_new_session(SSL* ssl, SSL_SESSION* session) noexcept {
  auto* sessions = sessions_of(SSL_get_SSL_CTX(ssl));
  if (sessions == nullptr || SSL_SESSION_is_resumable(session) != 1) return 0;
  return sessions->keep(session) ? 1 : 0;
}

} // namespace

struct TlsClientContext::Impl {
  SslContextPtr context;
  std::string server_name;
};

TlsClientContext::TlsClientContext() : impl_(std::make_unique<Impl>()) {}
TlsClientContext::~TlsClientContext() = default;

Result<std::shared_ptr<TlsClientContext>>
TlsClientContext::create(const TlsClientOptions& options) {
  std::shared_ptr<TlsClientContext> made(new TlsClientContext);
  ZOO_TRY(made->impl_->context, make_context(TLS_client_method()));
  auto* raw = made->impl_->context.get();
  if (options.ca_pem.empty()) {
    SSL_CTX_set_default_verify_paths(raw);
  } else {
    ZOO_TRY_VOID(trust(raw, options.ca_pem, "server authorities"));
  }
  if (!options.certificate_pem.empty())
    ZOO_TRY_VOID(use_certificate(raw, options.certificate_pem, options.key_pem));

  auto* parameters = SSL_CTX_get0_param(raw);
  const bool named = is_ip_address(options.server_name)
                         ? X509_VERIFY_PARAM_set1_ip_asc(parameters, options.server_name.c_str())
                         : X509_VERIFY_PARAM_set1_host(parameters, options.server_name.c_str(), 0);
  if (options.server_name.empty() || !named)
    return fail(Code::invalid, "\"{}\" is not a server's name", options.server_name);
  X509_VERIFY_PARAM_set_hostflags(parameters, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  SSL_CTX_set_verify(raw, SSL_VERIFY_PEER, nullptr);

  const auto protocols = static_cast<char>(options.alpn.size()) + options.alpn;
  SSL_CTX_set_alpn_protos(raw, reinterpret_cast<const unsigned char*>(protocols.data()),
                          static_cast<unsigned>(protocols.size()));
  // Lists come in bursts of records: one call of the kernel for several. Given back when empty.
  SSL_CTX_set_default_read_buffer_len(raw, k_read_ahead);
  SSL_CTX_set_session_cache_mode(raw, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL_STORE);
  SSL_CTX_sess_set_new_cb(raw, on_new_session);
  SSL_CTX_set_ex_data(raw, sessions_index(), new Sessions);
  made->impl_->server_name = options.server_name;
  return made;
}

ssl_st* TlsClientContext::new_session() const {
  SSL* ssl = SSL_new(impl_->context.get());
  if (ssl == nullptr) return nullptr;
  SSL_set_connect_state(ssl);
  if (!is_ip_address(impl_->server_name)) SSL_set_tlsext_host_name(ssl, impl_->server_name.c_str());
  if (const auto session = sessions_of(impl_->context.get())->take())
    SSL_set_session(ssl, session.get());
  return ssl;
}

} // namespace zoo::net
