// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/deleter.hpp"
#include "common/base/result.hpp"
#include "common/base/secret.hpp"
#include "daemon/net/socket.hpp"

#include <openssl/ssl.h>

#include <string>
#include <string_view>

/// What the OpenSSL files of daemon/net share. Included by them alone.
namespace zoo::net {

using SslContextPtr = std::unique_ptr<SSL_CTX, Deleter<SSL_CTX_free>>;
using SslPtr = std::unique_ptr<SSL, Deleter<SSL_free>>;
using BioPtr = std::unique_ptr<BIO, Deleter<BIO_free_all>>;
using X509Ptr = std::unique_ptr<X509, Deleter<X509_free>>;

/// Empties the thread's queue of OpenSSL errors: the reason of the first one, for a sentence.
std::string openssl_reason();

/// TLS 1.2 and later, AEAD with forward secrecy, no compression, no renegotiation.
Result<SslContextPtr> make_context(const SSL_METHOD* method);
Result<void> use_certificate(SSL_CTX* context, std::string_view chain_pem, const Secret& key_pem);
/// Trusts every certificate of `pem` as it is, an intermediate too (as Go's x509 does).
Result<void> trust(SSL_CTX* context, std::string_view pem, std::string_view what);

/// Bytes of records without data, in a row: whoever sends more is cut off (docs/limits.md).
inline constexpr std::size_t k_most_silent = 64 * 1024;

/// Reads and writes a socket, which outlives it.
BIO* make_socket_bio(Socket& socket);

} // namespace zoo::net
