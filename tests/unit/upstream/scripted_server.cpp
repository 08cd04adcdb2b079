// SPDX-License-Identifier: Apache-2.0
#include "scripted_server.hpp"

#include "common/base/deleter.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

namespace zoo::test {
namespace {

class SocketConnection : public ScriptedServer::Connection {
public:
  SocketConnection(int socket, SSL_CTX* context) : socket_(socket) {
    const int on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (context == nullptr) return;
    ssl_.reset(SSL_new(context));
    SSL_set_fd(ssl_.get(), socket);
    usable_ = SSL_accept(ssl_.get()) == 1;
  }
  bool usable() const { return usable_; }
  std::string read_head() override {
    std::string head;
    while (!head.ends_with("\r\n\r\n")) {
      const auto byte = read(1);
      if (byte.empty()) return "";
      head += byte;
    }
    return head;
  }
  std::string read(std::size_t count) override {
    std::string out(count, '\0');
    std::size_t have = 0;
    while (have < count) {
      const auto got = ssl_
                           ? SSL_read(ssl_.get(), out.data() + have, static_cast<int>(count - have))
                           : ::recv(socket_, out.data() + have, count - have, 0);
      if (got <= 0) break;
      have += static_cast<std::size_t>(got);
    }
    out.resize(have);
    return out;
  }
  bool write(std::string_view bytes) override {
    while (!bytes.empty()) {
      const auto sent = ssl_ ? SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size()))
                             : ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  void write_slowly(std::string_view bytes) override {
    for (const char& byte : bytes)
      write({&byte, 1});
  }
  void end() override {
    if (ssl_) SSL_shutdown(ssl_.get());
    ::shutdown(socket_, SHUT_WR);
    ended_ = true;
  }
  void cut() override {
    ::shutdown(socket_, SHUT_WR);
    ended_ = true;
  }
  void abort() override {
    const linger at_once{1, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    ended_ = true;
  }
  bool ended() const { return ended_; }

private:
  int socket_;
  std::unique_ptr<SSL, Deleter<SSL_free>> ssl_;
  bool usable_ = true;
  bool ended_ = false;
};

} // namespace

struct ScriptedServer::Tls {
  std::unique_ptr<SSL_CTX, Deleter<SSL_CTX_free>> context{SSL_CTX_new(TLS_server_method())};
};

ScriptedServer::ScriptedServer(const Identity& identity, Script script)
    : script_(std::move(script)) {
  ::signal(SIGPIPE, SIG_IGN); // of this server's SSL_write, not of what is tested
  if (!identity.certificate.empty()) {
    tls_ = std::make_unique<Tls>();
    const std::unique_ptr<BIO, Deleter<BIO_free_all>> certificate(
        BIO_new_mem_buf(identity.certificate.data(), -1)),
        key(BIO_new_mem_buf(identity.key.data(), -1));
    X509* x509 = PEM_read_bio_X509(certificate.get(), nullptr, nullptr, nullptr);
    EVP_PKEY* pkey = PEM_read_bio_PrivateKey(key.get(), nullptr, nullptr, nullptr);
    SSL_CTX_use_certificate(tls_->context.get(), x509);
    SSL_CTX_use_PrivateKey(tls_->context.get(), pkey);
    X509_free(x509);
    EVP_PKEY_free(pkey);
  }
  listening_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ::bind(listening_, reinterpret_cast<sockaddr*>(&address), size);
  ::listen(listening_, 128);
  ::getsockname(listening_, reinterpret_cast<sockaddr*>(&address), &size);
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { accept(); });
}

ScriptedServer::~ScriptedServer() {
  ::shutdown(listening_, SHUT_RDWR);
  acceptor_.join();
  {
    const std::lock_guard lock(mutex_);
    for (const int socket : open_)
      ::shutdown(socket, SHUT_RDWR);
  }
  for (auto& thread : threads_)
    thread.join();
  ::close(listening_);
}

void ScriptedServer::accept() {
  for (;;) {
    const int socket = ::accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) return;
    const int number = count_++;
    const std::lock_guard lock(mutex_);
    open_.push_back(socket);
    threads_.emplace_back([this, socket, number] {
      SocketConnection connection(socket, tls_ ? tls_->context.get() : nullptr);
      if (connection.usable()) script_(connection, number);
      if (!connection.ended()) connection.end();
      const std::lock_guard inner(mutex_);
      std::erase(open_, socket);
      ::close(socket);
    });
  }
}

} // namespace zoo::test
