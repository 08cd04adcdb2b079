// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/codec.hpp"
#include "daemon/http/h1_reader.hpp"
#include "tests/bench/micro/allocations.hpp"
#include "tests/bench/micro/samples.hpp"

#include <fmt/format.h>
#include <nghttp2/nghttp2.h>

namespace {

using namespace zoo;

/// Answers every request with the same body, as soon as it is whole.
class Answering : public http::Service {
public:
  explicit Answering(std::string body) : body_(std::move(body)) {}
  std::unique_ptr<http::StreamHandler> on_request(http::RequestHead,
                                                  http::ServerStream& stream) override {
    struct Handler : http::StreamHandler {
      Handler(http::ServerStream& to, const std::string& text) : stream_(to), body_(text) {}
      void on_data(std::string_view bytes) override { stream_.consume(bytes.size()); }
      void on_end() override {
        http::ResponseHead head{200, {{"content-type", "application/json"}}};
        head.headers.add("content-length", std::to_string(body_.size()));
        stream_.send_head(head, false);
        stream_.send_data(body_, true);
      }
      void on_reset() override {}
      void on_drained() override {}
      http::ServerStream& stream_;
      const std::string& body_;
    };
    return std::make_unique<Handler>(stream, body_);
  }

private:
  const std::string body_;
};

const std::string& request() {
  static const std::string text =
      "GET /api/v1/namespaces/default/configmaps/bench HTTP/1.1\r\nHost: zood\r\n"
      "User-Agent: kubectl/v1.36.3 (linux/amd64) kubernetes/1111111\r\n"
      "Accept: application/json\r\nAccept-Encoding: gzip\r\n\r\n";
  return text;
}

void h1_server(benchmark::State& state) {
  Answering service(bench::config_map("default"));
  const http::ConnectionInfo info;
  const auto codec = http::make_h1_codec({}, service, info, [] {});
  std::string out;
  std::size_t answered = 0;
  const bench::Meter meter(state, request().size());
  for ([[maybe_unused]] auto turn : state) {
    out.clear();
    codec->receive(request());
    answered += codec->produce(out, 64 * 1024);
  }
  if (answered == 0) state.SkipWithError("no answer");
}
BENCHMARK(h1_server);

void h1_answer_read(benchmark::State& state) {
  const auto body = bench::config_map("abc123-default");
  const auto text = fmt::format(
      "HTTP/1.1 200 OK\r\nAudit-Id: 8ff1d5f5-1e0d-4f0b-9d8c-2f0f3a6a4a11\r\nCache-Control: "
      "no-cache, private\r\nContent-Type: application/json\r\nX-Kubernetes-Pf-Flowschema-Uid: "
      "1b7e4f5e\r\nX-Kubernetes-Pf-Prioritylevel-Uid: 5d3a\r\nDate: Thu, 01 Jan 2026 00:00:00 "
      "GMT\r\nContent-Length: {}\r\n\r\n{}",
      body.size(), body);
  http::ResponseReader reader({64 * 1024, 0, 1'000});
  const bench::Meter meter(state, text.size());
  for ([[maybe_unused]] auto turn : state) {
    reader.start_next(false);
    std::string_view input(text);
    auto event = http::ReadEvent::need_more;
    while (event != http::ReadEvent::end && event != http::ReadEvent::failed) {
      event = reader.next(input);
      if (event == http::ReadEvent::head) benchmark::DoNotOptimize(reader.take_head());
    }
    if (event == http::ReadEvent::failed) return state.SkipWithError("not read");
  }
}
BENCHMARK(h1_answer_read);

/// A client of nghttp2 in front of the codec, both without sockets.
class Client {
public:
  Client() {
    nghttp2_session_callbacks* callbacks = nullptr;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_client_new(&session_, callbacks, nullptr);
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, nullptr, 0);
    nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, 1 << 30);
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client() { nghttp2_session_del(session_); }
  void ask() {
    const auto field = [](const char* name, const char* value) {
      const auto bytes = [](const char* text) {
        return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text));
      };
      return nghttp2_nv{bytes(name), bytes(value), std::strlen(name), std::strlen(value),
                        NGHTTP2_NV_FLAG_NONE};
    };
    const nghttp2_nv fields[] = {
        field(":method", "GET"),
        field(":path", "/api/v1/namespaces/default/configmaps/bench"),
        field(":scheme", "https"),
        field(":authority", "zood"),
        field("accept", "application/json"),
        field("accept-encoding", "gzip"),
        field("user-agent", "kubectl/v1.36.3 (linux/amd64) kubernetes/1111111"),
    };
    nghttp2_submit_request(session_, nullptr, fields, std::size(fields), nullptr, nullptr);
  }
  std::string take() {
    std::string out;
    const std::uint8_t* bytes = nullptr;
    for (ssize_t count = 1; count > 0;) {
      count = nghttp2_session_mem_send(session_, &bytes);
      if (count > 0)
        out.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(count));
    }
    return out;
  }
  void give(std::string_view bytes) {
    nghttp2_session_mem_recv(session_, reinterpret_cast<const std::uint8_t*>(bytes.data()),
                             bytes.size());
  }

private:
  nghttp2_session* session_ = nullptr;
};

/// Includes what nghttp2's client costs.
void h2_round_trip(benchmark::State& state) {
  Answering service(bench::config_map("default"));
  const http::ConnectionInfo info;
  const auto codec = http::make_h2_codec({}, service, info, [] {});
  Client client;
  std::string out;
  std::size_t bytes = 0;
  const bench::Meter meter(state, bench::config_map("default").size());
  for ([[maybe_unused]] auto turn : state) {
    client.ask();
    codec->receive(client.take());
    out.clear();
    bytes += codec->produce(out, 64 * 1024);
    client.give(out);
  }
  if (bytes == 0) state.SkipWithError("no answer");
}
BENCHMARK(h2_round_trip);

} // namespace
