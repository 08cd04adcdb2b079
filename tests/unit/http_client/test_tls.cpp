// SPDX-License-Identifier: Apache-2.0
#include "common/crypto/issue.hpp"
#include "common/http_client/client.hpp"
#include "tests/unit/http_client/scripted_server.hpp"

#include <doctest/doctest.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <unistd.h>

using namespace zoo;
using namespace zoo::crypto;
using namespace std::chrono_literals;

namespace {

struct Party {
  PrivateKey key = PrivateKey::generate_p256().value();
  Certificate certificate;
};

struct Authority {
  PrivateKey key = PrivateKey::generate_p256().value();
  Certificate certificate = make_ca(key, "test CA", 24h).value();
  Party party(bool server) const {
    auto subject = PrivateKey::generate_p256().value();
    CertificateRequest request;
    request.common_name = server ? "server" : "client";
    request.dns_names = {"zood.test"};
    if (server) request.ip_addresses = {"127.0.0.1"};
    request.validity = 1h;
    request.server = server;
    request.client = !server;
    auto certificate_ = issue(certificate, key, subject, request).value();
    return {std::move(subject), std::move(certificate_)};
  }
};

class TlsConnection : public test::Connection {
public:
  TlsConnection(int fd, SSL* ssl) : fd_(fd), ssl_(ssl) {}
  ~TlsConnection() override {
    SSL_shutdown(ssl_);
    SSL_free(ssl_);
    ::close(fd_);
  }
  bool write(std::string_view bytes) override {
    return SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size())) > 0;
  }
  std::string read_some() override {
    char block[4096];
    const int n = SSL_read(ssl_, block, sizeof block);
    return n <= 0 ? std::string() : std::string(block, static_cast<std::size_t>(n));
  }

private:
  int fd_;
  SSL* ssl_;
};

/// Answers each request with the common name of the client's certificate, or "nobody".
class TlsServer {
public:
  explicit TlsServer(const Authority& ca)
      : own_(ca.party(true)), context_(SSL_CTX_new(TLS_server_method())) {
    ::signal(SIGPIPE, SIG_IGN);
    SSL_CTX_use_certificate(context_, own_.certificate.native());
    SSL_CTX_use_PrivateKey(context_, own_.key.native());
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context_), ca.certificate.native());
    SSL_CTX_set_verify(context_, SSL_VERIFY_PEER, nullptr);
    server_ = std::make_unique<test::ScriptedServer>(
        [this](test::Connection& connection) {
          while (true) {
            request_ = connection.read_request();
            if (request_.empty()) return;
            connection.write(test::answer(peer_));
          }
        },
        std::string(), [this](int fd) { return accept(fd); });
  }
  ~TlsServer() {
    server_.reset();
    SSL_CTX_free(context_);
  }
  std::string url() const { return fmt::format("https://127.0.0.1:{}/", server_->port()); }
  int port() const { return server_->port(); }
  const std::string& request() const { return request_; } ///< after its answer

private:
  std::unique_ptr<test::Connection> accept(int fd) {
    SSL* ssl = SSL_new(context_);
    SSL_set_fd(ssl, fd);
    if (SSL_accept(ssl) != 1) {
      SSL_free(ssl);
      ::close(fd);
      return nullptr;
    }
    peer_ = "nobody";
    if (X509* peer = SSL_get1_peer_certificate(ssl)) {
      unsigned char* der = nullptr;
      const int size = i2d_X509(peer, &der);
      peer_ = Certificate::from_der({reinterpret_cast<char*>(der), static_cast<std::size_t>(size)})
                  ->common_name()
                  .value();
      OPENSSL_free(der);
      X509_free(peer);
    }
    return std::make_unique<TlsConnection>(fd, ssl);
  }

  Party own_;
  SSL_CTX* context_;
  std::string peer_, request_;
  std::unique_ptr<test::ScriptedServer> server_;
};

http_client::Request get(const std::string& url) {
  http_client::Request out;
  out.url = url;
  return out;
}

http_client::Credentials trusting(const Authority& ca) {
  http_client::Credentials out;
  out.ca_pem = ca.certificate.to_pem();
  return out;
}

} // namespace

TEST_CASE("a server of the given CA is trusted, and a client certificate is shown to it") {
  const Authority ca;
  const TlsServer server(ca);
  CHECK(http_client::Client(trusting(ca)).perform(get(server.url()))->body == "nobody");
  auto credentials = trusting(ca);
  const auto client = ca.party(false);
  credentials.client_cert_pem = client.certificate.to_pem();
  credentials.client_key_pem = client.key.to_pem();
  CHECK(http_client::Client(credentials.clone()).perform(get(server.url()))->body == "client");
}

TEST_CASE("a server of another CA, or of the system's, is refused unless we are insecure") {
  const Authority ca, other;
  const TlsServer server(ca);
  for (auto make : {+[](const Authority& each) { return trusting(each); },
                    +[](const Authority&) { return http_client::Credentials(); }}) {
    const auto refused = http_client::Client(make(other)).perform(get(server.url()));
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code() == Code::unavailable);
    CHECK(refused.error().message().find("not trusted") != std::string::npos);
  }
  http_client::Credentials insecure;
  insecure.insecure = true;
  CHECK(http_client::Client(std::move(insecure)).perform(get(server.url())));
}

TEST_CASE("the server's name is verified, also one given instead of the URL's") {
  const Authority ca;
  const TlsServer server(ca);
  const auto by_name = fmt::format("https://localhost:{}/", server.port());
  const auto refused = http_client::Client(trusting(ca)).perform(get(by_name));
  REQUIRE_FALSE(refused); // its certificate names 127.0.0.1 and zood.test
  CHECK(refused.error().code() == Code::unavailable);
  auto named = trusting(ca);
  named.tls_server_name = "zood.test";
  http_client::Client client(named.clone());
  CHECK(client.perform(get(by_name)));
  CHECK(server.request().find(fmt::format("Host: localhost:{}\r\n", server.port())) !=
        std::string::npos);
  auto wrong = trusting(ca);
  wrong.tls_server_name = "other.test";
  CHECK_FALSE(http_client::Client(std::move(wrong)).perform(get(server.url())));
}

TEST_CASE("credentials that cannot be used are told apart, and never shown") {
  const Authority ca;
  const TlsServer server(ca);
  auto bad_ca = trusting(ca);
  bad_ca.ca_pem = "hello";
  const auto first = http_client::Client(std::move(bad_ca)).perform(get(server.url()));
  REQUIRE_FALSE(first);
  CHECK(first.error().code() == Code::invalid);
  auto mixed = trusting(ca);
  const auto client = ca.party(false), other = ca.party(false);
  mixed.client_cert_pem = client.certificate.to_pem();
  mixed.client_key_pem = other.key.to_pem();
  const auto second = http_client::Client(std::move(mixed)).perform(get(server.url()));
  REQUIRE_FALSE(second);
  CHECK(second.error().code() == Code::invalid);
  CHECK(second.error().message().find("BEGIN") == std::string::npos);
}

TEST_CASE("https towards a server that speaks no TLS is told") {
  const test::ScriptedServer server([](test::Connection& connection) {
    (void)connection.read_some();
    connection.write("HTTP/1.1 400 Bad Request\r\n\r\n");
  });
  const auto refused =
      http_client::Client({}).perform(get(fmt::format("https://127.0.0.1:{}/", server.port())));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code() == Code::unavailable);
  CHECK(refused.error().message().find("TLS") != std::string::npos);
}
