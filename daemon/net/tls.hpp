// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "common/base/secret.hpp"

#include <chrono>
#include <memory>
#include <string>

struct ssl_st;

/// TLS by OpenSSL: 1.2 and later, AEAD ciphers, no compression, no renegotiation. The contexts may
/// be shared by all loops; what they hand out (SSL objects) belongs to one connection.
namespace zoo::net {

/// How long after its whole handshake a session may be resumed, and so how old the verdict on its
/// client's certificate can be. What can change sooner is asked at each request: dates, revocation,
/// the Tenant.
inline constexpr std::chrono::hours k_session_life{8};

struct TlsServerOptions {
  std::string certificate_chain_pem; ///< own certificate first
  Secret key_pem;
  std::string client_ca_pem; ///< one or more; empty: no client certificate is asked for
  Secret ticket_key{};       ///< of sessions that may be resumed (tls_tickets.hpp); empty: none may
  std::chrono::seconds session_life = k_session_life; ///< at most that
};

/// A listener's identity. A client certificate is asked for and never required: one of an unknown
/// or expired authority still completes the handshake, and ConnectionInfo says it is not verified,
/// so that the answer can be a 401 with words. Without a ticket key sessions are never resumed, and
/// a verdict on a certificate is never older than its connection; with one it may be as old as a
/// session lives, never older than the authorities.
class TlsServerContext {
public:
  /// Code::invalid, with what was wrong with which of the three.
  static Result<std::shared_ptr<TlsServerContext>> create(const TlsServerOptions& options);
  ~TlsServerContext();
  /// New connections use the new options, existing ones go on. On an error nothing changes.
  Result<void> reload(const TlsServerOptions& options);

  ssl_st* new_session() const; ///< for Transport; owned by the caller

private:
  TlsServerContext();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

struct TlsClientOptions {
  std::string ca_pem;          ///< empty: the system's
  std::string certificate_pem; ///< empty: none is shown
  Secret key_pem;
  std::string server_name; ///< DNS name or IP address that the server's certificate must carry
  std::string alpn = "http/1.1";
};

/// How zood speaks to one server. Keeps the last sessions and offers them for resumption.
class TlsClientContext {
public:
  static Result<std::shared_ptr<TlsClientContext>> create(const TlsClientOptions& options);
  ~TlsClientContext();

  ssl_st* new_session() const; ///< for Transport; owned by the caller

private:
  TlsClientContext();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace zoo::net
