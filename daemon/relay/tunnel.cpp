// SPDX-License-Identifier: Apache-2.0
#include "daemon/relay/tunnel.hpp"

#include "common/base/log.hpp"
#include "common/crypto/digest.hpp"
#include "daemon/translate/query.hpp"

#include <fmt/format.h>

#include <cstring>
#include <utility>

namespace zoo::relay {
namespace {

constexpr std::size_t k_head_bytes = 16 * 1024; ///< of a webhook's answer
constexpr std::size_t k_fields = 64;

std::string random_text(std::size_t count) {
  auto bytes = crypto::random_bytes(count);
  return bytes ? *std::move(bytes) : std::string(count, '\0');
}

/// RFC 6455 5.3. What is masked is TLS, so that nobody between reads anything into it.
std::uint32_t random_mask() {
  std::uint32_t out = 0;
  std::memcpy(&out, random_text(sizeof(out)).data(), sizeof(out));
  return out;
}

/// Of a kubelet: one line for a sentence.
std::string in_one_line(std::string_view words) {
  std::string out;
  for (const char c : words.substr(0, 300))
    out += static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7e ? ' ' : c;
  return out;
}

} // namespace

std::string Way::path() const {
  return fmt::format("/api/v1/namespaces/{}/pods/{}/portforward?ports={}",
                     translate::percent_encode(name_space, ""), translate::percent_encode(pod, ""),
                     port);
}

Tunnel::Tunnel(Way way, std::size_t limit, std::function<void()> gone)
    : way_(std::move(way)), limit_(limit), gone_(std::move(gone)),
      reader_({.head_bytes = k_head_bytes, .target_bytes = 0, .fields = k_fields}) {}

std::shared_ptr<Tunnel> Tunnel::open(upstream::Caller& caller, Way way, std::size_t limit,
                                     std::function<void()> gone) {
  std::shared_ptr<Tunnel> made(new Tunnel(std::move(way), limit, std::move(gone)));
  http::RequestHead head;
  head.method = "GET";
  head.target = made->way_.path();
  head.upgrade = true;
  head.headers.add("Upgrade", "websocket");
  head.headers.add("Sec-WebSocket-Version", "13");
  head.headers.add("Sec-WebSocket-Key", crypto::base64_encode(random_text(16)));
  head.headers.add("Sec-WebSocket-Protocol", PortFrames::k_protocol);
  head.prepared = made->way_.as;
  upstream::CallOptions options;
  options.upgrade = true;
  options.long_running = true;
  options.owner = made->way_.owner;
  made->call_ = caller.start(std::move(head), std::move(options), *made);
  return made;
}

void Tunnel::ask(std::string request, Done done) {
  request_ = std::move(request);
  done_ = std::move(done);
  began_ = head_seen_ = false;
  answer_ = {};
  reader_.start_next(false);
  if (phase_ == Phase::open) send_request();
}

void Tunnel::close() {
  phase_ = Phase::over;
  done_ = nullptr;
  gone_ = nullptr;
  call_.reset();
}

void Tunnel::on_head(http::ResponseHead head) {
  const auto self = shared_from_this();
  if (head.status != 101)
    return fail_with(
        Code::unavailable,
        fmt::format("the port-forward to it was answered with status {}", head.status));
  if (head.headers.get("sec-websocket-protocol") != PortFrames::k_protocol)
    return fail_with(Code::unavailable, "the port-forward to it speaks another protocol");
  auto tls = net::TlsPipe::connect(*way_.tls);
  if (!tls) return fail_with(tls.error().code(), tls.error().message());
  tls_ = *std::move(tls);
  phase_ = Phase::handshake;
  flush();
}

void Tunnel::on_data(std::string_view bytes) {
  const auto self = shared_from_this();
  while (phase_ == Phase::handshake || phase_ == Phase::open) {
    switch (frames_.next(bytes)) {
    case PortFrames::Event::need_more:
      return flush();
    case PortFrames::Event::data:
      if (!take(frames_.data())) return;
      break;
    case PortFrames::Event::ended:
      return fail_with(Code::unavailable, "it closed the port-forward");
    case PortFrames::Event::refused:
      return fail_with(Code::unavailable,
                       "its port cannot be reached: " + in_one_line(frames_.words()));
    case PortFrames::Event::broken:
      return fail_with(Code::unavailable, "the port-forward to it is no WebSocket");
    }
  }
}

void Tunnel::on_end() {
  const auto self = shared_from_this();
  fail_with(Code::unavailable, "the port-forward to it has ended");
}

void Tunnel::on_error(Error error) {
  const auto self = shared_from_this();
  fail_with(Code::unavailable, "the port-forward to it broke: " + error.message());
}

/// False: the tunnel is over.
bool Tunnel::take(std::string_view cipher) {
  const bool was_open = tls_->open();
  std::string plain;
  if (const auto done = tls_->receive(cipher, plain); !done) {
    fail_with(Code::unavailable, done.error().message());
    return false;
  }
  if (!was_open && tls_->open()) {
    phase_ = Phase::open;
    if (done_) send_request();
    if (phase_ == Phase::over) return false;
  }
  if (!plain.empty() && !read_answer(plain)) return false;
  if (!tls_->ended()) return phase_ != Phase::over;
  if (done_ && head_seen_ && reader_.complete_at_close()) {
    finish(false);
  } else {
    fail_with(Code::unavailable, "it closed the connection without a whole answer");
  }
  return false;
}

bool Tunnel::read_answer(std::string_view plain) {
  if (!done_) { // nobody asked
    fail_with(Code::unavailable, "it spoke without being asked");
    return false;
  }
  began_ = true;
  for (;;) {
    switch (reader_.next(plain)) {
    case http::ReadEvent::need_more:
      return true;
    case http::ReadEvent::head: {
      const auto head = reader_.take_head();
      head_seen_ = true;
      answer_.status = head.status;
      if (head.status >= 200) break;
      fail_with(Code::unavailable, "it switched protocols");
      return false;
    }
    case http::ReadEvent::data:
      if (answer_.body.size() + reader_.data().size() > limit_) {
        fail_with(Code::too_large, fmt::format("its answer has more than {} bytes", limit_));
        return false;
      }
      answer_.body += reader_.data();
      break;
    case http::ReadEvent::end:
      finish(reader_.keep_alive() && plain.empty());
      return phase_ != Phase::over;
    case http::ReadEvent::failed:
      fail_with(Code::unavailable, "its answer is not HTTP: " + reader_.failure().message);
      return false;
    }
  }
}

void Tunnel::send_request() {
  if (const auto done = tls_->write(std::exchange(request_, {})); !done)
    return fail_with(Code::unavailable, done.error().message());
  flush();
}

void Tunnel::flush() {
  if (!call_ || !tls_) return;
  std::string out;
  frames_.add_pong(random_mask, out);
  if (const auto cipher = tls_->take(); !cipher.empty()) PortFrames::add(cipher, random_mask, out);
  if (!out.empty()) call_->send_data(out);
}

/// The answer is whole. Who hears of it may ask again, if `again`.
void Tunnel::finish(bool again) {
  const auto done = std::exchange(done_, nullptr);
  if (!again) close();
  if (done) done(std::move(answer_), true);
}

void Tunnel::fail_with(Code code, std::string_view why) {
  if (phase_ == Phase::over) return;
  Error error(code, fmt::format("pod {}, port {}: {}", way_.pod, way_.port, why));
  const auto done = std::exchange(done_, nullptr);
  const auto gone = std::exchange(gone_, nullptr);
  close();
  if (done) return done(fail(std::move(error)), began_);
  log::debug("relay", "a tunnel of tenant {} is over: {}", way_.owner, error.message());
  if (gone) gone();
}

} // namespace zoo::relay
