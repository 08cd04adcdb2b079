// SPDX-License-Identifier: Apache-2.0
#include "daemon/gateway/flows/flows.hpp"
#include "daemon/upstream/upstream.hpp"

namespace zoo::gateway {
namespace {

constexpr std::size_t k_max_status = 1u << 20; ///< bytes of an error's body

/// An HTTP/1.1 upgrade (WebSocket or SPDY): after upstream's 101, bytes both ways as they are.
class Tunnel final : public Flow, private upstream::CallHandler {
public:
  Tunnel(Exchange& exchange, Outgoing request)
      : exchange_(exchange), request_(std::move(request)) {}

  void start() override {
    upstream::CallOptions options;
    options.upgrade = true;
    options.long_running = true;
    options.owner = exchange_.mapping().id();
    call_ = exchange_.upstream()
                .caller(exchange_.gateway().loop())
                .start(head_of(exchange_, request_, "*/*", true), std::move(options), *this);
  }

  // Both halves: the client's buffer has room (Flow), upstream's has (CallHandler).
  void on_drained() override {
    if (!call_) return;
    if (exchange_.writable()) call_->resume();
    if (call_->writable()) exchange_.consume(std::exchange(held_, 0));
  }
  void on_tunnel_data(std::string_view bytes) override {
    if (!call_) return;
    call_->send_data(bytes);
    if (call_->writable()) return exchange_.consume(bytes.size());
    held_ += bytes.size(); // the client's window stays shut until upstream has taken them
  }
  void on_tunnel_end() override {
    if (call_) call_->send_end();
  }

private:
  void on_head(http::ResponseHead head) override {
    status_ = head.status;
    if (status_ != 101) return;
    exchange_.send_head(exchange_.head_out(std::move(head), translate::AnswerKind::upgrade));
  }

  void on_data(std::string_view bytes) override {
    if (status_ != 101) {
      if (body_.size() + bytes.size() <= k_max_status) body_.append(bytes);
      return;
    }
    exchange_.send(bytes);
    if (!exchange_.writable() && call_) call_->pause();
  }

  void on_end() override {
    if (status_ == 101) return exchange_.finish();
    exchange_.send_refusal(status_, body_);
  }

  void on_error(Error error) override { exchange_.abort(error); }

  Exchange& exchange_;
  Outgoing request_;
  int status_ = 0;
  std::size_t held_ = 0;
  std::string body_;
  std::unique_ptr<upstream::Call> call_;
};

} // namespace

std::unique_ptr<Flow> tunnel(Exchange& exchange, Outgoing request) {
  return std::make_unique<Tunnel>(exchange, std::move(request));
}

} // namespace zoo::gateway
