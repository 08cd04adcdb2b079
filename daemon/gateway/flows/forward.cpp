// SPDX-License-Identifier: Apache-2.0
#include "common/base/text.hpp"
#include "daemon/access/local_api.hpp"
#include "daemon/gateway/flows/flows.hpp"
#include "daemon/gateway/page_answer.hpp"
#include "daemon/translate/headers.hpp"
#include "daemon/translate/protobuf_json.hpp"
#include "daemon/translate/status_text.hpp"
#include "daemon/upstream/upstream.hpp"

#include <algorithm>
#include <chrono>
#include <optional>

namespace zoo::gateway {

http::RequestHead head_of(const Exchange& exchange, const Outgoing& request,
                          std::string_view accept, bool upgrade) {
  auto head = upstream_request(exchange, request.actor, request.method,
                               with_query(request.path, request.params), upgrade);
  head.headers.remove("content-type");
  if (!request.content_type.empty()) head.headers.set("Content-Type", request.content_type);
  if (!request.if_none_match.empty()) head.headers.set("If-None-Match", request.if_none_match);
  if (!accept.empty()) head.headers.set("Accept", accept);
  return head;
}

namespace {

constexpr std::chrono::milliseconds k_forward_pause{50};
constexpr std::size_t k_room_waits = 200;  ///< of them: upstream waits as long for who reads
constexpr std::size_t k_longer = 4 * 1024; ///< an object that begins in the piece before

/// "/api/v1/namespaces/foofoo-team/pods" -> "foofoo-team"
std::string namespace_in(std::string_view path) {
  constexpr std::string_view k_segment = "/namespaces/";
  const auto at = path.find(k_segment);
  if (at == std::string_view::npos) return {};
  const auto rest = path.substr(at + k_segment.size());
  return std::string(rest.substr(0, rest.find('/')));
}

} // namespace

bool may_be_status(const http::ResponseHead& head) {
  return head.status >= 400 && head.headers.get("content-encoding").empty() &&
         head.headers.get("content-type").starts_with("application/json");
}

bool buffer_whole(Exchange& exchange, std::size_t bytes, std::size_t& held) {
  if (bytes <= std::max(upstream::k_uncounted, held)) return true;
  if (!exchange.buffer(bytes - held)) return false;
  held = bytes;
  return true;
}

bool Collected::add(Exchange& exchange, std::string_view bytes) {
  const auto size = text.size() + bytes.size();
  full_ = full_ || size > upstream::k_max_status || !buffer_whole(exchange, size, counted_);
  if (!full_) text.append(bytes);
  return !full_;
}

namespace {

/// Is it one object of a namespace that is not there for who asks, of an account's user? Then
/// neither is the object; whoever makes a namespace with what stands in it asks before.
bool hidden_with_its_namespace(const Exchange& exchange) {
  const auto& target = exchange.target();
  const auto& known = exchange.view().rights;
  if (known == nullptr || target.verb != "get" || target.name_space.empty()) return false;
  const auto rights = known->rights();
  authz::Attributes space{"get", true, "", "v1", "namespaces", "", {}, {}, ""};
  space.name_space = space.name = target.name_space;
  return rights && !(*rights)->decide(user_of(exchange.route().principal()), space).allowed;
}

} // namespace

bool recheck_refusal(Exchange& exchange, const Outgoing& request, int http_status,
                     const std::string& body,
                     std::function<std::unique_ptr<Flow>(Outgoing)> again) {
  if (!request.actor.is_client() || !refuses_our_user(exchange, http_status, body)) return false;
  auto name = namespace_in(request.path);
  if (name.empty() || !exchange.first_recheck()) return false;
  exchange.run(recheck_namespace(exchange, std::move(name), body,
                                 [request, again = std::move(again)](Actor actor) {
                                   auto repeated = request;
                                   repeated.actor = actor;
                                   return again(std::move(repeated));
                                 }));
  return true;
}

namespace {

class Forward final : public Flow, private upstream::CallHandler {
public:
  Forward(Exchange& exchange, Outgoing&& request, AnswerShape shape, Rendering&& rendering)
      : exchange_(exchange), request_(std::move(request)), shape_(shape),
        rendering_(std::move(rendering)) {}

  void start() override {
    const bool verbatim = shape_ == AnswerShape::verbatim;
    // A log is text, whatever its client takes; its refusal shall be a Status that can be read.
    const bool log = verbatim && !exchange_.target().connect;
    const auto accept = log               ? std::string_view("application/json, */*")
                        : verbatim        ? exchange_.head().headers.get("accept")
                        : rendering_.wire ? translate::k_protobuf
                                          : rendering_.wanted.upstream_accept.view();
    if (rendering_.wire) exchange_.answer_as_sent();
    upstream::CallOptions options;
    options.body = request_.body;
    options.long_running = exchange_.target().long_running;
    if (options.long_running) options.owner = exchange_.mapping().id();
    if (exchange_.target().verb == "list") options.encoding = upstream::CallOptions::Encoding::gzip;
    auto head = head_of(exchange_, request_, accept);
    if (exchange_.target().connect) { // a proxied answer is nobody's here to open
      options.encoding = upstream::CallOptions::Encoding::own;
      const auto encodings = page_encodings(exchange_.head().headers.get("accept-encoding"));
      if (!encodings.empty() && !text::has_control(encodings))
        head.headers.set("Accept-Encoding", encodings);
    }
    call_ = exchange_.upstream()
                .caller(exchange_.gateway().loop())
                .start(std::move(head), std::move(options), *this);
  }

  void on_drained() override {
    open_more();
    if (exchange_.done() || !call_ || behind()) return;
    if (ended_) return on_end();
    call_->resume();
  }
  bool keeps_much() const override {
    constexpr std::size_t k_much = 4096;
    return translator_ || request_.body.size() > k_much || status_.text.capacity() > k_much ||
           out_.capacity() > k_much;
  }

private:
  void on_head(http::ResponseHead head) override {
    head_ = std::move(head);
    if (head_.status >= 400 && shape_ != AnswerShape::verbatim) return; // its Status is collected
    if (may_be_status(head_)) return;
    if (proxied()) translator_ = page_answer(exchange_, head_);
    if (!translator_) translator_ = make_translator(exchange_, shape_, rendering_);
    // One object is sent whole, with its length; everything else streams.
    if (shape_ != AnswerShape::object) send_head({});
  }

  void send_head(std::optional<std::size_t> length) {
    auto out = exchange_.head_out(std::move(head_), exchange_.target().connect
                                                        ? translate::AnswerKind::proxied
                                                        : translate::AnswerKind::api);
    if (shape_ != AnswerShape::verbatim) {
      out.headers.set("content-type", rendering_.wire ? translate::k_protobuf
                                      : rendering_.wanted.content_type.view().empty()
                                          ? std::string_view("application/json")
                                          : rendering_.wanted.content_type.view());
    }
    if (length) out.headers.set("content-length", std::to_string(*length));
    exchange_.send_head(std::move(out));
  }

  void on_data(std::string_view bytes) override {
    if (!translator_) {
      if (status_.add(exchange_, bytes) || !proxied()) return;
      pass_on(); // too long for a Status, or for what the tenant may hold
    }
    const bool room = hold(came_ += bytes.size());
    if (!room && !exchange_.target().writes()) {
      return refuse(held_too_much());
    }
    if (out_.empty()) out_.reserve(bytes.size() + (shape_ == AnswerShape::object ? 64 : k_longer));
    if (auto fed = translator_->feed(bytes, out_); !fed) return broken(fed.error());
    if (exchange_.head_sent() && !hold_part()) return broken(held_too_much());
    flush();
    if (!room) wait_for_room();
    open_more();
  }

  /// A compressed page is longer than what came of it: the next piece, when its client has read.
  bool behind() const { return translator_ && translator_->behind(); }
  void open_more() {
    while (behind() && exchange_.writable()) {
      if (auto fed = translator_->feed({}, out_); !fed) return broken(fed.error());
      flush();
    }
    if (behind() && call_ && !ended_) call_->pause();
  }

  /// What a write has done shall be told: its answer stays upstream until its tenant may hold more.
  void wait_for_room() {
    if (!room_) room_.emplace(exchange_.gateway().loop());
    if (waits_++ == k_room_waits) {
      exchange_.fail(Error(Code::timeout, "the request was done; but its answer is large, and the "
                                          "requests of this tenant hold as many bytes as they may "
                                          "together"));
      retired_ = std::move(call_);
      return;
    }
    call_->pause();
    room_->start(k_forward_pause, [this] {
      if (exchange_.done()) return;
      if (!hold(came_)) return wait_for_room();
      call_->resume();
    });
  }

  void flush() {
    if (!exchange_.head_sent()) return; // one object: sent at its end
    exchange_.send(std::exchange(out_, {}));
    if (!exchange_.writable() && call_) call_->pause();
  }

  void on_end() override {
    ended_ = behind();
    if (ended_) return;
    if (!translator_ && (!proxied() || is_status(status_.text))) return refused();
    if (!translator_) pass_on();
    if (auto finished = translator_->finish(out_); !finished) return broken(finished.error());
    translator_.reset(); // it may hold as much as it has made
    if (!exchange_.head_sent()) {
      if (!hold(out_.size()) && !exchange_.target().writes())
        return exchange_.fail(held_too_much());
      send_head(out_.size());
    }
    flush();
    exchange_.finish();
  }

  void on_error(Error error) override { exchange_.abort(error); }

  /// So much is here of an answer that is sent whole: counted as it comes; false: that is more than
  /// its tenant may hold now. Protobuf is counted elsewhere.
  bool hold(std::size_t bytes) {
    return exchange_.head_sent() || rendering_.wire || buffer_whole(exchange_, bytes, held_);
  }

  /// The same of an object within an answer that streams, until it is whole.
  bool hold_part() {
    return upstream::count_part(translator_->held(), part_, [this](auto before, auto now) {
      return exchange_.hold_part(before, now);
    });
  }

  /// Does a service of the tenant's answer?
  bool proxied() const { return shape_ == AnswerShape::verbatim && exchange_.target().connect; }
  /// What was collected is the service's own.
  void pass_on() {
    translator_ = make_translator(exchange_, AnswerShape::verbatim, rendering_);
    send_head({});
    exchange_.send(std::exchange(status_.text, {}));
  }

  void refuse(const Error& error) {
    exchange_.fail(error);
    retired_ = std::move(call_);
  }

  void broken(const Error& error) {
    const bool done = error.code() == Code::too_large && exchange_.target().writes();
    exchange_.abort(
        done ? Error(Code::timeout, "the request was done; but of its answer " + error.message())
             : error);
    retired_ = std::move(call_);
  }

  void refused() {
    if (rendering_.wire && head_.headers.get("content-type").starts_with(translate::k_protobuf)) {
      auto json = translate::protobuf_to_json(status_.text);
      if (!json) return exchange_.fail(json.error());
      status_.text = *std::move(json);
    }
    auto* exchange = &exchange_;
    auto again = [exchange, shape = shape_,
                  rendering = rendering_](Outgoing request) -> std::unique_ptr<Flow> {
      auto rendered = rendering;
      return std::make_unique<Forward>(*exchange, std::move(request), shape, std::move(rendered));
    };
    if (recheck_refusal(exchange_, request_, head_.status, status_.text, std::move(again))) return;
    exchange_.heard(head_);
    if (head_.status == 403 && hidden_with_its_namespace(exchange_)) {
      const auto& target = exchange_.target();
      return exchange_.send_status(
          404, translate::not_found_status(target.group, target.resource, target.name));
    }
    exchange_.send_refusal(head_.status, status_.text);
  }

  Exchange& exchange_;
  Outgoing request_;
  AnswerShape shape_;
  Rendering rendering_;
  http::ResponseHead head_;
  std::unique_ptr<AnswerTranslator> translator_;
  std::string out_;
  std::size_t came_ = 0, held_ = 0; ///< bytes; of these, counted
  std::size_t part_ = 0;            ///< bytes counted of an object that is not whole
  bool ended_ = false;              ///< upstream's answer, of which some has still to be opened
  std::size_t waits_ = 0;
  std::optional<net::Timer> room_;
  Collected status_;
  std::unique_ptr<upstream::Call> retired_;
  std::unique_ptr<upstream::Call> call_; // last: cancelled first
};

} // namespace

std::unique_ptr<Flow> forward(Exchange& exchange, Outgoing&& request, AnswerShape shape,
                              Rendering rendering) {
  return std::make_unique<Forward>(exchange, std::move(request), shape, std::move(rendering));
}

} // namespace zoo::gateway
