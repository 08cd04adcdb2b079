// SPDX-License-Identifier: Apache-2.0
#include "daemon/net/connection.hpp"

#include "common/base/log.hpp"
#include "daemon/net/errand.hpp"
#include "daemon/net/guest.hpp"

#include <algorithm>
#include <exception>
#include <random>

namespace zoo::net {
namespace {

using Waiting = http::ServerCodec::Waiting;
using Close = http::ServerCodec::Close;

constexpr std::size_t k_write_size = 64 * 1024;
constexpr std::chrono::seconds k_linger{2};

} // namespace

// ---- LoopShare ----

LoopShare::LoopShare(Loop& owner, std::unique_ptr<http::Service> made, const ListenerLimits& bounds)
    : loop(owner), service(std::move(made)), limits(std::make_shared<const ListenerLimits>(bounds)),
      sweeper(owner), deadline_timer(owner), leaver(owner) {}

void LoopShare::add(file::Fd socket, const std::shared_ptr<TlsServerContext>& tls, bool full) {
  if (closed || (full && !close_longest_idle())) {
    --count;
    return;
  }
  if (!porter && !gate) return serve(std::move(socket), tls.get());
  std::shared_ptr<Visitor> visitor;
  if (gate) {
    visitor = std::make_shared<Errand>(*this, gate);
  } else {
    visitor = std::make_shared<Guest>(*this, porter, only_for, tls);
  }
  visitors.emplace(visitor.get(), visitor);
  visitor->start(std::move(socket));
}

void LoopShare::serve(file::Fd socket, const TlsServerContext* tls, const Origin& origin) {
  auto connection = std::make_shared<Connection>(*this);
  connections.emplace(connection.get(), connection);
  connection->start(std::move(socket), tls, origin);
  if (connections.size() == 1) sweep();
  if (!draining) return;
  // drain() has told those that were here. on_open() tells this one, and it leaves in its turn.
  staying.emplace(std::chrono::steady_clock::now(), connection);
  let_go();
}

void LoopShare::serve(Visitor& visitor, file::Fd socket,
                      const std::shared_ptr<TlsServerContext>& tls, const Origin& origin) {
  if (!service) return remove(visitor); // it is a door for one name alone
  ++count;
  serve(std::move(socket), tls.get(), origin);
  remove(visitor);
}

bool LoopShare::close_longest_idle() {
  Connection* longest = nullptr;
  std::optional<Connection::Idle> least;
  for (const auto& [key, connection] : connections) {
    const auto idle = connection->idle();
    if (!idle || (least && *least <= *idle)) continue;
    least = idle;
    longest = key;
  }
  if (longest == nullptr) return false;
  longest->die();
  return true;
}

void LoopShare::remove(Connection& connection) {
  const auto found = connections.find(&connection);
  if (found == connections.end()) return;
  // It may be on the stack: it goes when the stack is empty.
  loop.post([keep = std::move(found->second)] {});
  connections.erase(found);
  --count;
  if (draining && empty() && on_empty) std::exchange(on_empty, nullptr)();
}

void LoopShare::remove(Visitor& visitor) {
  const auto found = visitors.find(&visitor);
  if (found == visitors.end()) return;
  loop.post([keep = std::move(found->second)] {});
  visitors.erase(found);
  --count;
  if (draining && empty() && on_empty) std::exchange(on_empty, nullptr)();
}

/// One timer for all connections of the loop: its period is small beside every limit.
void LoopShare::sweep() {
  std::vector<std::shared_ptr<Connection>> all;
  all.reserve(connections.size());
  for (const auto& [key, connection] : connections)
    all.push_back(connection);
  const auto now = std::chrono::steady_clock::now();
  for (const auto& connection : all)
    connection->sweep(now);
  if (connections.empty()) return;
  const auto bounds = limits.load();
  const auto least =
      std::min({bounds->handshake, bounds->head, bounds->body, bounds->idle, bounds->write});
  const auto period =
      std::clamp(least / 4, std::chrono::milliseconds(20), std::chrono::milliseconds(1'000));
  sweeper.start(period, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->sweep();
  });
}

void LoopShare::drain(DrainTimes times, std::function<void()> done) {
  draining = true;
  on_empty = std::move(done);
  if (empty()) return std::exchange(on_empty, nullptr)();
  std::vector<std::shared_ptr<Connection>> all;
  for (const auto& [key, connection] : connections)
    all.push_back(connection);
  deadline_timer.start(times.deadline, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->end_at_deadline();
  });
  // Those whose bytes are handed through end by themselves, or at the deadline. Those that nobody
  // has looked at yet may be the listener's own, and are served.
  std::vector<std::shared_ptr<Visitor>> waiting;
  for (const auto& [key, visitor] : visitors)
    if (visitor->waits()) waiting.push_back(visitor);
  for (const auto& visitor : waiting)
    visitor->die();
  std::minstd_rand random{std::random_device{}()};
  std::shuffle(all.begin(), all.end(), random);
  const auto now = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < all.size(); ++i) {
    staying.emplace(now + times.spread * i / all.size(), all[i]);
    all[i]->drain();
  }
  let_go();
}

void LoopShare::let_go() {
  constexpr std::chrono::milliseconds k_turn{20}, k_again{200};
  const auto now = std::chrono::steady_clock::now();
  while (!staying.empty() && staying.begin()->first <= now) {
    const auto next = staying.extract(staying.begin());
    const auto connection = next.mapped().lock();
    if (!connection) continue;
    if (connection->just_come(now)) {
      staying.emplace(now + k_again, connection);
    } else {
      connection->leave();
    }
  }
  if (staying.empty()) return;
  leaver.start(k_turn, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->let_go();
  });
}

void LoopShare::end_at_deadline() {
  std::size_t streams = 0;
  for (const auto& [key, connection] : connections)
    streams += connection->open_streams();
  if (streams > 0)
    log::warning("net", "{} requests on {} connections did not end in time, and are cut", streams,
                 connections.size());
  cut();
}

void LoopShare::cut() {
  std::vector<std::shared_ptr<Connection>> all;
  for (const auto& [key, connection] : connections)
    all.push_back(connection);
  for (const auto& connection : all)
    connection->die();
  std::vector<std::shared_ptr<Visitor>> passing;
  for (const auto& [key, visitor] : visitors)
    passing.push_back(visitor);
  for (const auto& visitor : passing)
    visitor->die();
}

// ---- Connection ----

/// Inside the codec: pump() follows anyway. However the scope is left, it is left; a callee that
/// throws has left the codec half way, so that the connection goes with it.
class Connection::Busy {
public:
  explicit Busy(Connection& connection)
      : connection_(connection), exceptions_(std::uncaught_exceptions()) {
    connection_.busy_ = true;
  }
  ~Busy() {
    connection_.busy_ = false;
    if (std::uncaught_exceptions() == exceptions_) return;
    connection_.share_.loop.post([weak = connection_.weak_from_this()] {
      if (const auto self = weak.lock()) self->die();
    });
  }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

private:
  Connection& connection_;
  const int exceptions_;
};

void Connection::start(file::Fd socket, const TlsServerContext* tls, const Origin& origin) {
  info_.peer = origin.client;
  info_.asked_for = origin.asked_for;
  if (!origin.client.empty()) return begin(std::move(socket), tls);
  if (!limits_->is_balancer(socket.get())) return begin(std::move(socket), tls);
  proxy_ = std::make_unique<ProxyReader>(share_.loop, std::move(socket),
                                         [weak = weak_from_this(), tls](ProxyReader::Read read) {
                                           const auto self = weak.lock();
                                           if (!self || self->dead_) return;
                                           if (!read) return self->die();
                                           self->info_.peer = std::move(read->client);
                                           self->begin(std::move(read->socket), tls);
                                         });
}

void Connection::begin(file::Fd socket, const TlsServerContext* tls) {
  shakes_hands_ = tls != nullptr;
  transport_ = Transport::accept(share_.loop, std::move(socket), tls, *this);
}

void Connection::on_open() {
  if (std::exchange(shakes_hands_, false))
    ++(transport_->session_resumed() ? share_.resumed_handshakes : share_.full_handshakes);
  proxy_.reset();
  if (info_.peer.empty()) info_.peer = transport_->peer();
  info_.peer_certificate_der = transport_->peer_certificate_der();
  info_.peer_certificate_hash = std::hash<std::string>{}(info_.peer_certificate_der);
  info_.peer_certificate_verified = transport_->peer_certificate_verified();
  info_.peer_authority = transport_->peer_authority();
  const auto credentials = transport_->peer_credentials();
  info_.peer_uid = credentials.uid;
  info_.peer_gid = credentials.gid;
  info_.peer_pid = credentials.pid;
  const auto make = transport_->alpn() == "h2" ? http::make_h2_codec : http::make_h1_codec;
  codec_ = make(limits_->http, *share_.service, info_, [this] { note(); });
  opened_ = last_read_ = last_stream_ = waiting_since_ = progress_ = stalled_looked_ = Clock::now();
  transport_->read(true);
  if (share_.draining) codec_->drain();
  if (leaving_) leave();
  pump();
}

/// The codec's wakeup: only ever a note, since a handler may be on the stack.
void Connection::note() {
  dirty_ = true;
  if (busy_ || std::exchange(posted_, true)) return;
  share_.loop.post([weak = weak_from_this()] {
    if (const auto self = weak.lock()) {
      self->posted_ = false;
      self->pump();
    }
  });
}

void Connection::on_read(std::string_view bytes) {
  if (dead_) return;
  last_read_ = Clock::now();
  if (lingering_) {
    lingered_ += bytes.size();
    if (lingered_ > limits_->http.discard_bytes) die();
    return;
  }
  {
    const Busy busy(*this);
    codec_->receive(bytes);
  }
  if (codec_->open_streams() > 0) last_stream_ = last_read_;
  pump();
}

void Connection::on_read_end() {
  read_ended_ = true;
  if (dead_) return;
  if (lingering_) return die();
  {
    const Busy busy(*this);
    codec_->receive_end();
  }
  pump();
}

void Connection::on_failure(Error error) {
  log::debug("net", "{}", error.message());
  die();
}

void Connection::pump() {
  if (dead_ || !codec_ || busy_) return;
  if (lingering_) {
    if (read_ended_ && transport_->unsent() == 0) die();
    return;
  }
  {
    const Busy busy(*this);
    do {
      dirty_ = false;
      while (transport_->unsent() == 0) { // else the codec keeps its bytes, and counts them
        std::string bytes;
        if (codec_->produce(bytes, k_write_size) == 0) break;
        produced_ += bytes.size();
        transport_->write(std::move(bytes));
      }
    } while (dirty_ && transport_->unsent() == 0);
  }
  if (close_if_wanted()) return;
  hold_if_refused();
  transport_->read(lingering_ || (!held_ && codec_->wants_read()));
}

void Connection::hold_if_refused() {
  const auto refused = codec_->refused();
  if (refused == refused_ || held_) return;
  const auto now = Clock::now();
  if (now - refused_at_ > limits_->refused_least + hold_) { // it has waited
    refusals_ = 0;
    hold_ = std::chrono::milliseconds(0);
  }
  refused_at_ = now;
  refusals_ += static_cast<std::uint32_t>(refused - std::exchange(refused_, refused));
  if (refusals_ < limits_->refusals) return;
  refusals_ = 0;
  hold_ = std::clamp(hold_ * 2, limits_->refused_least, limits_->refused_most);
  held_ = true;
  if (!hold_timer_) hold_timer_.emplace(share_.loop);
  hold_timer_->start(hold_, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self || self->dead_) return;
    self->held_ = false;
    self->refused_ = self->codec_->refused(); // of what was read before
    self->refused_at_ = Clock::now();
    self->pump();
  });
}

/// True if the connection is gone.
bool Connection::close_if_wanted() {
  const auto wish = codec_->wants_close();
  if (wish == Close::abruptly) {
    // A TLS stream without close_notify is seen to be cut; a plain one needs a reset.
    if (!transport_->encrypted()) transport_->abort();
    die();
    return true;
  }
  if (wish == Close::gracefully && !lingering_) {
    lingering_ = true;
    lingering_since_ = Clock::now();
    {
      const Busy busy(*this);
      codec_->closed();
    }
    transport_->end_write();
    // Closing with unread bytes would make the kernel send a reset, which can overtake the answer.
    if (read_ended_ && transport_->unsent() == 0) {
      die();
      return true;
    }
    return false;
  }
  if (!lingering_ && codec_->write_ended() && !std::exchange(write_ended_, true))
    transport_->end_write();
  return false;
}

void Connection::drain() {
  if (dead_) return;
  asked_to_go_ = true;
  if (!codec_) return; // on_open() does it
  codec_->drain();
  note();
}

void Connection::leave() {
  if (dead_) return;
  asked_to_go_ = leaving_ = true;
  if (!codec_) return; // on_open() does it
  {
    const Busy busy(*this);
    codec_->leave();
  }
  note();
}

bool Connection::just_come(Clock::time_point now) const {
  constexpr std::chrono::seconds k_first{1};
  if (!codec_) return true; // it shakes hands
  const auto is = idle();
  return is && !is->served && now - opened_ < k_first;
}

std::optional<Connection::Idle> Connection::idle() const {
  if (codec_ && codec_->open_streams() > 0) return std::nullopt;
  return Idle{last_stream_ != opened_, last_stream_};
}

void Connection::die() {
  if (std::exchange(dead_, true)) return;
  const auto self = shared_from_this();
  if (shakes_hands_) ++share_.failed_handshakes;
  if (codec_) codec_->closed();
  transport_.reset();
  proxy_.reset();
  share_.remove(*this);
}

void Connection::sweep(Clock::time_point now) {
  if (dead_) return;
  if (!codec_) {
    const auto most = transport_ ? limits_->handshake : limits_->proxy_header;
    if (now - opened_ > most) die();
    return;
  }
  if (now - stalled_looked_ > limits_->write) {
    stalled_looked_ = now;
    {
      const Busy busy(*this);
      codec_->reset_stalled();
    }
    pump();
    if (dead_) return;
  }
  const auto unsent = transport_->unsent();
  const bool held = unsent != 0 || codec_->pending() != 0; // a closed window keeps bytes too
  const bool moved = unsent != last_unsent_ || std::exchange(produced_, 0) != 0;
  if (!held || moved) progress_ = now;
  last_unsent_ = unsent;
  if (lingering_) {
    // A client that is still sending reads its answer only then, or when its sending fails.
    const bool quiet = now - std::max(lingering_since_, last_read_) > k_linger;
    const bool over =
        quiet || share_.draining || now - lingering_since_ > limits_->http.discard_time;
    const bool stuck = over && now - lingering_since_ > k_linger && unsent == 0;
    if (stuck || now - progress_ > limits_->write || (read_ended_ && unsent == 0)) die();
    return;
  }
  codec_->stop_reading_on(now); // notes
  const auto waiting = codec_->waiting_for();
  if (waiting != waiting_) {
    waiting_ = waiting;
    waiting_since_ = waiting == Waiting::close ? now : std::max(last_read_, waiting_since_);
  }
  if (codec_->open_streams() > 0) last_stream_ = now;

  const char* why = nullptr;
  if (now - progress_ > limits_->write) why = "it takes none of its answer";
  if (waiting == Waiting::head && now - waiting_since_ > limits_->head)
    why = "its request's head does not end";
  if (waiting == Waiting::body && now - std::max(waiting_since_, last_read_) > limits_->body)
    why = "its request's body does not end";
  // As kube-apiserver, which closes both ways when one has ended (apimachinery's upgradeaware.go).
  if (waiting == Waiting::close && !held && now - waiting_since_ > limits_->tunnel)
    why = "its tunnel is over, and it does not close";
  if (why != nullptr) {
    log::debug("net", "{} is disconnected: {}", info_.peer, why);
    return die();
  }
  const auto idle = now - last_stream_;
  if (idle > limits_->idle + k_linger) return die();
  if (idle > limits_->idle && !asked_to_go_) leave();
}

} // namespace zoo::net
