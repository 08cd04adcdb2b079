// SPDX-License-Identifier: Apache-2.0
#include "daemon/net/openssl.hpp"

#include <openssl/err.h>
#include <openssl/pem.h>

#include <algorithm>
#include <cerrno>

namespace zoo::net {
namespace {

Socket& socket_of(BIO* bio) { return *static_cast<Socket*>(BIO_get_data(bio)); }

int bio_write(BIO* bio, const char* bytes, int size) noexcept {
  BIO_clear_retry_flags(bio);
  const auto count = socket_of(bio).send(bytes, static_cast<std::size_t>(size));
  if (count < 0 && errno == EAGAIN) BIO_set_retry_write(bio);
  return static_cast<int>(count);
}

int bio_read(BIO* bio, char* bytes, int size) noexcept {
  BIO_clear_retry_flags(bio);
  auto& socket = socket_of(bio);
  if (socket.allowance() == 0) {
    BIO_set_retry_read(bio);
    return -1;
  }
  const auto count =
      socket.receive(bytes, std::min(static_cast<std::size_t>(size), socket.allowance()));
  if (count < 0 && errno == EAGAIN) BIO_set_retry_read(bio);
  if (count > 0) socket.spend(static_cast<std::size_t>(count));
  return static_cast<int>(count);
}

long bio_control(BIO*, int command, long, void*) noexcept {
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

int bio_create(BIO* bio) noexcept {
  BIO_set_init(bio, 1);
  return 1;
}

BIO_METHOD* socket_method() {
  static BIO_METHOD* const method = [] {
    auto* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "zood socket");
    BIO_meth_set_write(made, bio_write);
    BIO_meth_set_read(made, bio_read);
    BIO_meth_set_ctrl(made, bio_control);
    BIO_meth_set_create(made, bio_create);
    return made;
  }();
  return method;
}

BioPtr memory(std::string_view bytes) {
  return BioPtr(BIO_new_mem_buf(bytes.data(), static_cast<int>(bytes.size())));
}

int no_password(char*, int, int, void*) noexcept { return 0; }

} // namespace

BIO* make_socket_bio(Socket& socket) {
  auto* bio = BIO_new(socket_method());
  if (bio != nullptr) BIO_set_data(bio, &socket);
  return bio;
}

std::string openssl_reason() {
  std::string reason;
  while (const auto code = ERR_get_error()) {
    const char* text = ERR_reason_error_string(code);
    if (reason.empty()) reason = text != nullptr ? text : "unknown reason";
  }
  return reason.empty() ? "unknown reason" : reason;
}

Result<SslContextPtr> make_context(const SSL_METHOD* method) {
  ERR_clear_error();
  SslContextPtr context(SSL_CTX_new(method));
  if (!context || SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION) != 1 ||
      SSL_CTX_set_cipher_list(context.get(), "ECDHE+AESGCM:ECDHE+CHACHA20") != 1)
    return fail(Code::internal, "cannot set up TLS: {}", openssl_reason());
  SSL_CTX_set_options(context.get(), SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE |
                                      SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                      SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_read_ahead(context.get(), 1);
  return context;
}

Result<void> use_certificate(SSL_CTX* context, std::string_view chain_pem, const Secret& key_pem) {
  ERR_clear_error();
  const auto chain = memory(chain_pem);
  const X509Ptr first(PEM_read_bio_X509_AUX(chain.get(), nullptr, no_password, nullptr));
  if (!first) return fail(Code::invalid, "the certificate is not PEM: {}", openssl_reason());
  if (SSL_CTX_use_certificate(context, first.get()) != 1)
    return fail(Code::invalid, "the certificate cannot be used: {}", openssl_reason());
  SSL_CTX_clear_chain_certs(context);
  while (X509* next = PEM_read_bio_X509(chain.get(), nullptr, no_password, nullptr)) {
    if (SSL_CTX_add0_chain_cert(context, next) != 1) {
      X509_free(next);
      return fail(Code::invalid, "the certificate's chain cannot be used: {}", openssl_reason());
    }
  }
  ERR_clear_error(); // the end of the file counts as one
  const auto bytes = memory(key_pem.view());
  const std::unique_ptr<EVP_PKEY, Deleter<EVP_PKEY_free>> key(
      PEM_read_bio_PrivateKey(bytes.get(), nullptr, no_password, nullptr));
  if (!key) return fail(Code::invalid, "the private key is not PEM without a password");
  if (SSL_CTX_use_PrivateKey(context, key.get()) != 1 || SSL_CTX_check_private_key(context) != 1)
    return fail(Code::invalid, "the private key is not the certificate's: {}", openssl_reason());
  return {};
}

Result<void> trust(SSL_CTX* context, std::string_view pem, std::string_view what) {
  ERR_clear_error();
  X509_STORE* store = SSL_CTX_get_cert_store(context);
  const auto bytes = memory(pem);
  int count = 0;
  for (;;) {
    const X509Ptr next(PEM_read_bio_X509_AUX(bytes.get(), nullptr, no_password, nullptr));
    if (!next) break;
    if (X509_STORE_add_cert(store, next.get()) != 1)
      return fail(Code::invalid, "the {} cannot be used: {}", what, openssl_reason());
    ++count;
  }
  const auto last = ERR_peek_last_error();
  const bool at_end =
      ERR_GET_LIB(last) == ERR_LIB_PEM && ERR_GET_REASON(last) == PEM_R_NO_START_LINE;
  const auto reason = openssl_reason();
  if (count == 0) return fail(Code::invalid, "the {} hold no PEM certificate", what);
  if (!at_end)
    return fail(Code::invalid, "certificate {} of the {} is broken: {}", count + 1, what, reason);
  X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN);
  return {};
}

} // namespace zoo::net
