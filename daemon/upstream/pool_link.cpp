// SPDX-License-Identifier: Apache-2.0
#include "daemon/upstream/pool_link.hpp"

#include "common/base/log.hpp"
#include "common/base/text.hpp"

namespace zoo::upstream {
namespace {

constexpr std::size_t k_long = 32 * 1024; ///< bytes of an answer that will have more of them
/// Bytes of text that are taken out of gzip before the loop's other connections have their turn:
/// what came as little may be much.
constexpr std::size_t k_opened_turn = 128 * 1024;

} // namespace

Link::Link(std::shared_ptr<Pool::Impl> pool)
    : pool_(std::move(pool)), reader_({pool_->limits.head_bytes, 0, 1'000}) {}

void Link::open() {
  ++pool_->opening;
  counted_ = true;
  const auto& endpoint = *pool_->endpoint;
  transport_ =
      net::Transport::connect(pool_->loop, endpoint.host, endpoint.port, pool_->tls.get(), *this);
}

void Link::begin(const CallPtr& call, bool reused) {
  call_ = call;
  call->link = weak_from_this();
  call->since = Clock::now();
  reused_ = reused;
  answered_ = false;
  sent_ = false;
  came_ = 0;
  ahead_.clear();
  opener_.reset();
  packed_.clear();
  over_ = false;
  rests_ = false;
  reader_.start_next(call->head_request);
  if (transport_->phase() == net::Transport::Phase::open) send();
}

void Link::settle() {
  if (std::exchange(counted_, false)) --pool_->opening;
}

void Link::on_open() {
  const auto self = shared_from_this();
  ++pool_->stats.opened;
  if (transport_->session_resumed()) ++pool_->stats.resumed;
  const auto protocol = transport_->alpn();
  if (!protocol.empty() && protocol != "http/1.1")
    return fail_call({Code::unavailable, "the upstream does not speak HTTP/1.1"});
  settle();
  pool_->may_open = std::min(2 * pool_->may_open, pool_->limits.connections);
  if (call_) {
    send();
  } else {
    transport_->read(true); // hears when the upstream closes
  }
  pool_->serve_waiting();
}

void Link::send() {
  call_->since = Clock::now();
  sent_ = true;
  if (call_->retryable) {
    transport_->write_view(call_->head); // which is kept for another connection
  } else {
    transport_->write(std::move(call_->head));
  }
  if (!call_->body.empty()) transport_->write(std::move(call_->body));
  transport_->read(!call_->paused);
}

void Link::on_read(std::string_view bytes) {
  const auto self = shared_from_this();
  if (!call_) return pool_->forget(*this); // an idle connection has nothing to say
  answered_ = true;
  take(bytes);
}

void Link::take(std::string_view bytes) {
  call_->since = Clock::now();
  opened_bytes_ = 0;
  try {
    process(bytes);
  } catch (const std::exception& error) {
    // A bug of who reads the answer must not leave its client without one.
    log::error("upstream", "an exception while an answer was read: {}", error.what());
    fail_call(
        {Code::internal, "the upstream's answer could not be handled: this is a bug of zood"});
  }
}

void Link::process(std::string_view input) {
  if (opener_) open_gzip();
  while (goes_on() && !over_) {
    switch (reader_.next(input)) {
    case http::ReadEvent::need_more:
      if (opener_) open_gzip();
      return;
    case http::ReadEvent::head:
      if (!deliver_head()) return;
      break;
    case http::ReadEvent::data:
      came_ += reader_.data().size();
      if (came_ > k_long && !call_->long_running && !call_->tunnel) transport_->gather(true);
      if (opener_) {
        if (packed_.empty()) packed_.reserve(reader_.data().size() + input.size());
        packed_ += reader_.data(); // together: opening has a price for each time
      } else {
        deliver(reader_.data());
      }
      break;
    case http::ReadEvent::end:
      over_ = true;
      clean_ = reader_.keep_alive() && input.empty();
      if (opener_) open_gzip();
      break;
    case http::ReadEvent::failed:
      return fail_call({Code::unavailable, fmt::format("the upstream's answer is not HTTP: {}",
                                                       reader_.failure().message)});
    }
  }
  if (!over_) {
    if (call_) ahead_.push(input);
  } else if (goes_on()) {
    if (within_gzip())
      return fail_call({Code::unavailable, "the upstream's answer ended within its gzip"});
    finish(clean_);
  }
}

void Link::deliver(std::string_view bytes) {
  if (const auto call = call_; call->handler != nullptr) call->handler->on_data(bytes);
}

/// What waits for a call that is paused, or for the next turn, is some kilobytes at most: those of
/// one reading.
void Link::open_gzip() {
  const auto came = std::exchange(packed_, {});
  std::string_view packed = came;
  while (goes_on()) {
    const auto text = opener_->next(packed);
    if (!text)
      return fail_call({Code::unavailable, "the upstream's answer: " + text.error().message()});
    if (text->empty()) return;
    opened_bytes_ += text->size();
    rests_ = opened_bytes_ >= k_opened_turn;
    deliver(*text);
  }
  if (!call_) return;
  packed_ = packed;
  if (!rests_) return;
  transport_->read(false);
  resume();
}

bool Link::deliver_head() {
  const auto call = call_;
  auto head = reader_.take_head();
  call->head_seen = true;
  call->tunnel = head.status == 101;
  if (call->tunnel && !call->upgrade) {
    fail_call({Code::unavailable, "the upstream switched protocols without being asked"});
    return false;
  }
  if (call->gzip && text::iequals(head.headers.get("content-encoding"), "gzip")) {
    opener_ = std::make_unique<gzip::Opener>();
    for (const auto* name : {"content-encoding", "content-length", "vary"}) // of what nobody sees
      head.headers.remove(name);
  }
  if (pool_->tally)
    pool_->tally->answered(
        call->asks, head.status,
        std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - call->begun));
  if (call->handler != nullptr) call->handler->on_head(std::move(head));
  return call_ != nullptr;
}

/// The answer is complete. The connection is in its place before the handler hears of it, so that
/// a request made from there uses it again.
void Link::finish(bool clean) {
  const auto self = shared_from_this();
  const auto call = std::exchange(call_, nullptr);
  call->link.reset();
  opener_.reset();
  if (clean && !call->upgrade && transport_->unsent() == 0) {
    idle_since_ = Clock::now();
    transport_->gather(false);
    transport_->read(true); // hears when the upstream closes
    pool_->keep(self);
  } else {
    // A refused upgrade: whoever repeats it must not use up the ports by connections that wait.
    if (clean && call->upgrade) transport_->abort();
    pool_->forget(*this);
  }
  if (auto* handler = std::exchange(call->handler, nullptr)) handler->on_end();
}

void Link::on_read_end() {
  const auto self = shared_from_this();
  if (!call_) return pool_->forget(*this);
  if (call_->tunnel) { // half-closed: the other direction lives until the Call goes
    const auto call = call_;
    if (auto* handler = std::exchange(call->handler, nullptr)) handler->on_end();
    return;
  }
  if (reader_.complete_at_close() && !within_gzip()) return finish(false);
  fail_call({Code::unavailable, answered_
                                    ? "the upstream closed the connection within its answer"
                                    : "the upstream closed the connection without an answer"});
}

void Link::on_written() {
  const auto call = call_;
  if (call && call->tunnel && call->handler != nullptr && std::exchange(call->blocked, false))
    call->handler->on_drained();
}

void Link::on_failure(Error error) { fail_call(std::move(error)); }

void Link::fail_call(Error error) {
  const auto self = shared_from_this();
  const auto call = std::exchange(call_, nullptr);
  const auto pool = pool_;
  if (counted_) pool->may_open = pool->limits.first_opening;
  pool->forget(*this);
  if (call) call->link.reset();
  if (call && call->handler != nullptr) {
    if (reused_ && !answered_ && call->retryable) {
      call->retryable = false; // once
      call->fresh = true;
      return pool->attach(call);
    }
    // Clients repeat what is unavailable, whatever it was: this may have been done. Of a Timeout
    // nobody knows.
    if (sent_ && call->writes && error.code() == Code::unavailable)
      error = Error(Code::timeout, error.message() + ", and may have done what was asked");
    pool->tell_failure(call, std::move(error));
  }
  pool->serve_waiting();
}

/// In a turn of the loop's own: what waits, and then what comes.
void Link::resume() {
  pool_->loop.post([weak = weak_from_this(), call = call_] {
    const auto self = weak.lock();
    if (!self || self->call_ != call || !call || call->paused) return;
    self->rests_ = false;
    const std::string ahead(self->ahead_.view());
    self->ahead_.clear();
    self->take(ahead); // an end that has come announces itself no more
    if (self->call_ == call && self->goes_on()) self->transport_->read(true);
  });
}

/// What has not been sent leaves a connection that is worth its handshake: whoever asks and takes
/// it back in one breath shall not make one each time.
void Link::cancel() {
  const auto self = shared_from_this();
  call_ = nullptr;
  if (!opening()) return pool_->forget(*this);
  idle_since_ = Clock::now();
  pool_->keep(self);
}

bool Link::opening() const {
  return transport_ && (transport_->phase() == net::Transport::Phase::connecting ||
                        transport_->phase() == net::Transport::Phase::handshaking);
}

bool Link::usable(const CallState& call) const {
  if (opening()) return Clock::now() - opened_ < pool_->limits.connect / 2; // time enough is left
  return transport_ && transport_->quiet(!call.retryable);
}

void Link::drop() {
  settle();
  call_ = nullptr;
  transport_.reset();
}

void Link::expire(Clock::time_point now) {
  if (!call_ || !transport_) return;
  const auto& limits = pool_->limits;
  const auto& where = *pool_->endpoint;
  if (opening()) {
    const bool connecting = transport_->phase() == net::Transport::Phase::connecting;
    if (now - opened_ > limits.connect * (connecting ? 1 : 2))
      fail_call({Code::unavailable,
                 fmt::format("{}:{} does not answer: no {} within {} ms", where.host, where.port,
                             connecting ? "connection" : "TLS handshake", limits.connect.count())});
    return;
  }
  if (call_->long_running || call_->tunnel || call_->paused) return;
  if (now - call_->since > limits.answer)
    fail_call({Code::timeout, fmt::format("the upstream gave no {} within {} ms",
                                          call_->head_seen ? "more of its answer" : "answer",
                                          limits.answer.count())});
}

} // namespace zoo::upstream
