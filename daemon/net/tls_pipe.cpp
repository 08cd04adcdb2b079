// SPDX-License-Identifier: Apache-2.0
#include "daemon/net/tls_pipe.hpp"

#include "daemon/net/openssl.hpp"

#include <openssl/err.h>

#include <algorithm>
#include <array>
#include <climits>

namespace zoo::net {
namespace {

constexpr std::size_t k_piece = 16 * 1024; // RFC 8446 section 5.1: a record's data

} // namespace

struct TlsPipe::Impl {
  SslPtr ssl; ///< owns both BIOs
  BIO* in = nullptr;
  BIO* out = nullptr;
  bool open = false, ended = false;
  std::size_t silent = 0; ///< bytes since the last data
};

TlsPipe::TlsPipe() : impl_(std::make_unique<Impl>()) {}

TlsPipe::~TlsPipe() {
  // What was not closed in order may be resumed all the same.
  if (impl_->ssl) SSL_set_shutdown(impl_->ssl.get(), SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
}

Result<std::unique_ptr<TlsPipe>> TlsPipe::connect(const TlsClientContext& context) {
  std::unique_ptr<TlsPipe> made(new TlsPipe);
  auto& impl = *made->impl_;
  impl.ssl.reset(context.new_session());
  BioPtr in(BIO_new(BIO_s_mem())), out(BIO_new(BIO_s_mem()));
  if (!impl.ssl || !in || !out) return fail(Code::internal, "no memory for a TLS session");
  BIO_set_mem_eof_return(in.get(), -1); // empty is not the end
  BIO_set_mem_eof_return(out.get(), -1);
  impl.in = in.get();
  impl.out = out.get();
  SSL_set_bio(impl.ssl.get(), in.release(), out.release());
  ZOO_TRY_VOID(made->shake_hands());
  return made;
}

Result<void> TlsPipe::shake_hands() {
  auto* ssl = impl_->ssl.get();
  ERR_clear_error();
  const int result = SSL_do_handshake(ssl);
  if (result == 1) {
    impl_->open = true;
    return {};
  }
  const int why = SSL_get_error(ssl, result);
  if (why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE) {
    ERR_clear_error();
    return {};
  }
  std::string reason = openssl_reason();
  if (const auto verdict = SSL_get_verify_result(ssl); verdict != X509_V_OK)
    reason = X509_verify_cert_error_string(verdict);
  return fail(Code::unavailable, "the TLS handshake failed: {}", reason);
}

Result<void> TlsPipe::receive(std::string_view came, std::string& plain) {
  auto& impl = *impl_;
  while (!came.empty()) {
    const auto size = std::min<std::size_t>(came.size(), INT_MAX);
    if (BIO_write(impl.in, came.data(), static_cast<int>(size)) != static_cast<int>(size))
      return fail(Code::internal, "no memory for what came by TLS");
    came.remove_prefix(size);
    impl.silent += size;
  }
  if (!impl.open) ZOO_TRY_VOID(shake_hands());
  if (!impl.open) {
    if (impl.silent <= k_most_silent) return {};
    return fail(Code::unavailable, "the TLS handshake failed: it does not end");
  }
  std::array<char, k_piece> piece; // NOLINT: filled by SSL_read
  for (;;) {
    ERR_clear_error();
    const int count = SSL_read(impl.ssl.get(), piece.data(), static_cast<int>(piece.size()));
    if (count > 0) {
      impl.silent = 0;
      plain.append(piece.data(), static_cast<std::size_t>(count));
      continue;
    }
    switch (SSL_get_error(impl.ssl.get(), count)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
      if (impl.silent <= k_most_silent) return {};
      return fail(Code::unavailable, "the connection broke: it sends TLS records without data");
    case SSL_ERROR_ZERO_RETURN:
      impl.ended = true;
      return {};
    default:
      return fail(Code::unavailable, "the connection broke: {}", openssl_reason());
    }
  }
}

Result<void> TlsPipe::write(std::string_view plain) {
  while (!plain.empty()) {
    const auto size = std::min<std::size_t>(plain.size(), INT_MAX / 2);
    ERR_clear_error();
    const int count = SSL_write(impl_->ssl.get(), plain.data(), static_cast<int>(size));
    if (count <= 0) return fail(Code::unavailable, "the connection broke: {}", openssl_reason());
    plain.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

std::string TlsPipe::take() {
  std::string out(BIO_ctrl_pending(impl_->out), '\0');
  if (out.empty()) return out;
  const int count = BIO_read(impl_->out, out.data(), static_cast<int>(out.size()));
  out.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  return out;
}

bool TlsPipe::open() const { return impl_->open; }
bool TlsPipe::ended() const { return impl_->ended; }

} // namespace zoo::net
