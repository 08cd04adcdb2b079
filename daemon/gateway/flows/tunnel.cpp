// SPDX-License-Identifier: Apache-2.0
#include "daemon/gateway/flows/flows.hpp"
#include "daemon/translate/headers.hpp"
#include "daemon/translate/text.hpp"
#include "daemon/upstream/upstream.hpp"

namespace zoo::gateway {
namespace {

/// An HTTP/1.1 upgrade (WebSocket or SPDY): after upstream's 101, bytes both ways as they are. Who
/// answers without an upgrade may be the tenant's own service, whose words these are then, or, to
/// exec, attach and port-forward, the kubelet.
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
    head_ = std::move(head);
    if (head_.status == 101) return pass_on(translate::AnswerKind::upgrade);
    const bool reads = service() ? may_be_status(head_) : head_.status >= 400;
    if (!reads) pass_on(translate::AnswerKind::proxied);
  }

  void on_data(std::string_view bytes) override {
    if (!passing_) {
      if (body_.add(exchange_, bytes) || !service()) return; // no error has more to say
      pass_on(translate::AnswerKind::proxied);
    }
    exchange_.send(bytes);
    if (!exchange_.writable() && call_) call_->pause();
  }

  void on_end() override {
    if (!passing_ && is_status(body_.text)) return refused();
    if (!passing_ && !service()) {
      const auto context = status_context(exchange_);
      translate::RequestWords words(exchange_.mapping(), context);
      body_.text = translate::text_out(exchange_.mapping(), body_.text, &words);
    }
    if (!passing_) {
      pass_on(service() ? translate::AnswerKind::proxied : translate::AnswerKind::api);
    }
    exchange_.finish();
  }

  bool service() const { return exchange_.target().subresource == "proxy"; }

  void pass_on(translate::AnswerKind kind) {
    passing_ = true;
    exchange_.send_head(exchange_.head_out(std::move(head_), kind));
    exchange_.send(std::exchange(body_.text, {}));
  }

  void refused() {
    auto* exchange = &exchange_;
    auto again = [exchange](Outgoing request) -> std::unique_ptr<Flow> {
      return std::make_unique<Tunnel>(*exchange, std::move(request));
    };
    if (recheck_refusal(exchange_, request_, head_.status, body_.text, std::move(again))) return;
    exchange_.heard(head_);
    exchange_.send_refusal(head_.status, body_.text);
  }

  void on_error(Error error) override { exchange_.abort(error); }

  Exchange& exchange_;
  Outgoing request_;
  http::ResponseHead head_;
  bool passing_ = false; ///< its head was sent
  std::size_t held_ = 0; ///< bytes that the client may not send more of
  Collected body_;       ///< what may be an error's
  std::unique_ptr<upstream::Call> call_;
};

} // namespace

std::unique_ptr<Flow> tunnel(Exchange& exchange, Outgoing request) {
  return std::make_unique<Tunnel>(exchange, std::move(request));
}

} // namespace zoo::gateway
