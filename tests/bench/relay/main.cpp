// SPDX-License-Identifier: Apache-2.0
//
// The rooms of sockets, HTTP and upstream connections with nothing in between: each request goes
// upstream with other credentials and is else as it came, each answer comes back as it is. Beside
// zood it tells what of a request is translation, authorization and audit, and beside nginx what is
// not. With --open what may be long is opened and compressed again on its way, as it has to be
// where names within it are others.
//
//   relay --listen ADDRESS --upstream PORT --pki DIR --fields FILE [--open]
//
// DIR has apiserver.crt, apiserver.key and ca.crt. FILE has a field a line, "Name: value". The
// address is printed.
#include "common/base/file.hpp"
#include "daemon/gateway/compressed_answer.hpp"
#include "daemon/http/field_lines.hpp"
#include "daemon/http/stream.hpp"
#include "daemon/net/listener.hpp"
#include "daemon/net/workers.hpp"
#include "daemon/upstream/pool.hpp"

#include <CLI/CLI.hpp>

#include <csignal>
#include <iostream>
#include <sstream>
#include <thread>

namespace {

using namespace zoo;
using Fields = std::shared_ptr<const http::FieldLines>;

/// What a loop's requests have in common.
struct Loop {
  upstream::Pool pool;
  Fields fields;
  bool opens = false;          ///< what may be long
  std::size_t compressing = 0; ///< answers
};

/// Hands the answer on as it comes.
class Answer final : public upstream::CallHandler {
public:
  Answer(Loop& loop, http::ServerStream& stream) : loop_(loop), stream_(stream) {}
  void ask(http::RequestHead head, std::string body) {
    using Encoding = upstream::CallOptions::Encoding;
    upstream::CallOptions options;
    options.body = std::move(body);
    options.encoding = loop_.opens ? Encoding::gzip : Encoding::own;
    call_ = loop_.pool.start(std::move(head), std::move(options), *this);
  }
  void cancel() { call_.reset(); }
  void resume() {
    if (call_) call_->resume();
  }

private:
  void on_head(http::ResponseHead head) override {
    if (loop_.opens && gateway::worth_compressing(head)) {
      compressed_ = std::make_unique<gateway::CompressedAnswer>(loop_.compressing, std::move(head));
    } else {
      stream_.send_head(head, false);
    }
  }
  void on_data(std::string_view bytes) override {
    if (compressed_) {
      put(compressed_->add(bytes), false);
    } else {
      stream_.send_data(bytes, false);
    }
    if (!stream_.writable()) call_->pause();
  }
  void on_end() override {
    if (compressed_) {
      put(compressed_->end(), true);
    } else {
      stream_.send_data({}, true);
    }
  }
  void put(const gateway::CompressedAnswer::Ready& ready, bool end) {
    if (ready.head) stream_.send_head(*ready.head, false);
    if (end || !ready.bytes.empty()) stream_.send_data(ready.bytes, end);
  }
  void on_error(Error error) override {
    std::cerr << "relay: " << error.message() << '\n';
    stream_.reset(http::ResetReason::aborted);
  }

  Loop& loop_;
  http::ServerStream& stream_;
  std::unique_ptr<gateway::CompressedAnswer> compressed_; ///< null: as it comes
  std::unique_ptr<upstream::Call> call_;
};

/// One request.
class Pass final : public http::StreamHandler {
public:
  Pass(Loop& loop, http::RequestHead head, http::ServerStream& stream)
      : head_(std::move(head)), answer_(loop, stream), stream_(stream) {
    head_.headers.remove("content-length");
    head_.prepared = loop.fields;
    if (stream_.request_complete()) ask();
  }

private:
  void ask() {
    if (!std::exchange(asked_, true)) answer_.ask(std::move(head_), std::move(body_));
  }
  void on_data(std::string_view bytes) override {
    body_.append(bytes);
    stream_.consume(bytes.size());
  }
  void on_end() override { ask(); }
  void on_reset() override { answer_.cancel(); }
  void on_drained() override { answer_.resume(); }

  http::RequestHead head_;
  Answer answer_;
  http::ServerStream& stream_;
  std::string body_;
  bool asked_ = false;
};

/// A loop's requests and its connections upstream.
class Relay final : public http::Service {
public:
  Relay(net::Loop& loop, std::shared_ptr<const upstream::UpstreamEndpoint> endpoint, Fields fields,
        bool opens)
      : loop_{{loop, std::move(endpoint)}, std::move(fields), opens} {}
  std::unique_ptr<http::StreamHandler> on_request(http::RequestHead head,
                                                  http::ServerStream& stream) override {
    return std::make_unique<Pass>(loop_, std::move(head), stream);
  }

private:
  Loop loop_;
};

http::Headers parse_fields(const std::string& text) {
  http::Headers out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto colon = line.find(": ");
    if (colon == std::string::npos) throw std::runtime_error("a field without a colon: " + line);
    out.add(line.substr(0, colon), line.substr(colon + 2));
  }
  return out;
}

} // namespace

int main(int argc, char** argv) {
  std::string listen = "127.0.0.1:0", pki, fields;
  std::uint16_t port = 0;
  bool opens = false;
  CLI::App app{"a proxy that changes nothing", "relay"};
  app.add_option("--listen", listen);
  app.add_option("--upstream", port)->required();
  app.add_option("--pki", pki)->required()->check(CLI::ExistingDirectory);
  app.add_option("--fields", fields)->required()->check(CLI::ExistingFile);
  app.add_flag("--open", opens);
  CLI11_PARSE(app, argc, argv);
  try {
    sigset_t ends;
    ::sigemptyset(&ends);
    for (const int each : {SIGTERM, SIGINT})
      ::sigaddset(&ends, each);
    ::pthread_sigmask(SIG_BLOCK, &ends, nullptr); // of the workers, too

    const auto of_pki = [&pki](const char* name) { return file::read(pki + "/" + name).value(); };
    net::TlsServerOptions tls;
    tls.certificate_chain_pem = of_pki("apiserver.crt");
    tls.key_pem = file::read_secret(pki + "/apiserver.key").value();
    tls.client_ca_pem = of_pki("ca.crt");
    const auto endpoint = std::make_shared<upstream::UpstreamEndpoint>();
    endpoint->host = "127.0.0.1";
    endpoint->port = port;
    endpoint->server_name = "localhost";
    endpoint->ca_pem = tls.client_ca_pem;
    const auto sent = std::make_shared<const http::FieldLines>(
        http::FieldLines::make(parse_fields(file::read(fields).value())).value());

    net::Workers workers(std::thread::hardware_concurrency(), "worker");
    const auto listener =
        net::Listener::tcp(
            workers.loops(), listen, net::TlsServerContext::create(tls).value(), {},
            [&](net::Loop& loop) { return std::make_unique<Relay>(loop, endpoint, sent, opens); })
            .value();
    std::cout << listener->address() << std::endl;
    int signal = 0;
    ::sigwait(&ends, &signal);
    workers.stop();
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "relay: " << error.what() << '\n';
    return 1;
  }
}
