// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/published.hpp"
#include "daemon/net/gate.hpp"
#include "daemon/net/listener.hpp"
#include "daemon/net/proxy_reader.hpp"
#include "daemon/net/transport.hpp"
#include "daemon/net/visitor.hpp"

#include <atomic>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>

/// The inside of a Listener: what it has on each of its loops.
namespace zoo::net {

class Connection;

/// What was known of a connection before it began.
struct Origin {
  std::string client;    ///< as a PROXY header has it that was read already; "": none was
  std::string asked_for; ///< where its CONNECT wanted to go; "": there was none
};

/// A listener's part on one loop. Used on that loop's thread, except for atomics and `limits`.
struct LoopShare : std::enable_shared_from_this<LoopShare> {
  LoopShare(Loop& owner, std::unique_ptr<http::Service> made, const ListenerLimits& bounds);
  /// `full`: the listener has as many as it may; one that is idle makes room, or this one goes.
  void add(file::Fd socket, const std::shared_ptr<TlsServerContext>& tls, bool full);
  void serve(file::Fd socket, const TlsServerContext* tls,
             const Origin& origin = {}); ///< as a Connection
  /// What was a visitor is served from now on.
  void serve(Visitor& visitor, file::Fd socket, const std::shared_ptr<TlsServerContext>& tls,
             const Origin& origin);
  bool close_longest_idle(); ///< false: every connection here has an open stream
  void remove(Connection& connection);
  void remove(Visitor& visitor);
  bool empty() const { return connections.empty() && visitors.empty(); }
  void sweep();
  void drain(DrainTimes times, std::function<void()> done);
  void let_go();          ///< those whose turn it is to leave()
  void end_at_deadline(); ///< says what is left, and cuts it
  void cut();             ///< every connection, at once

  Loop& loop;
  std::unique_ptr<http::Service> service;
  Published<const ListenerLimits> limits;
  std::atomic<std::size_t> count{0}; ///< connections here or on their way here
  std::atomic<std::uint64_t> full_handshakes{0}, resumed_handshakes{0}, failed_handshakes{0};
  std::unordered_map<Connection*, std::shared_ptr<Connection>> connections;
  std::shared_ptr<Porter> porter; ///< null: whoever comes is served
  /// The name given to the porter for every connection; "": the server name that each one sends.
  std::string only_for;
  std::shared_ptr<Gate> gate; ///< null: it is no proxy's door
  std::unordered_map<Visitor*, std::shared_ptr<Visitor>> visitors;
  std::atomic<std::uint64_t> passed_inward{0}, passed_outward{0}; ///< bytes handed through
  Timer sweeper;
  Timer deadline_timer;
  Timer leaver;
  /// While it drains: when each connection is to leave, earliest first.
  std::multimap<std::chrono::steady_clock::time_point, std::weak_ptr<Connection>> staying;
  std::function<void()> on_empty;
  bool draining = false;
  bool closed = false; ///< the listener is gone
};

/// One client connection: moves bytes between a Transport and a codec, and watches the clock. Where
/// a load balancer made it, the PROXY header is read first.
class Connection : public TransportHandler, public std::enable_shared_from_this<Connection> {
public:
  explicit Connection(LoopShare& share) : share_(share), limits_(share.limits.load()) {}
  /// `tls`, null: plain; it outlives the time until the PROXY header was read.
  void start(file::Fd socket, const TlsServerContext* tls, const Origin& origin = {});
  void sweep(std::chrono::steady_clock::time_point now);
  void drain(); ///< http::ServerCodec::drain(), as soon as it shakes hands no more
  void leave(); ///< http::ServerCodec::leave(), likewise
  /// Its client has just connected, or is about to have, and has asked nothing yet.
  bool just_come(std::chrono::steady_clock::time_point now) const;
  std::size_t open_streams() const { return codec_ ? codec_->open_streams() : 0; }
  /// Since when it has had no stream: nullopt if it has one. Those that never had one come first.
  struct Idle {
    bool served;
    std::chrono::steady_clock::time_point since;
    auto operator<=>(const Idle&) const = default;
  };
  std::optional<Idle> idle() const;
  void die(); ///< resets its streams and leaves; destroyed a moment later

private:
  class Busy;
  using Clock = std::chrono::steady_clock;
  void begin(file::Fd socket, const TlsServerContext* tls); ///< what comes is the client's own
  void on_open() override;
  void on_read(std::string_view bytes) override;
  void on_read_end() override;
  void on_written() override { pump(); }
  void on_failure(Error error) override;
  void pump();
  bool close_if_wanted();
  void hold_if_refused();
  void note();

  LoopShare& share_;
  const std::shared_ptr<const ListenerLimits> limits_;
  http::ConnectionInfo info_;
  std::unique_ptr<http::ServerCodec> codec_;
  std::unique_ptr<ProxyReader> proxy_; ///< while the PROXY header is not whole
  std::unique_ptr<Transport> transport_;
  bool dead_ = false;
  bool busy_ = false;  ///< inside the codec: pump() follows anyway
  bool dirty_ = false; ///< the codec has something new to say
  bool posted_ = false;
  bool lingering_ = false;   ///< everything is written: what still comes is thrown away
  std::size_t lingered_ = 0; ///< bytes of that
  bool write_ended_ = false;
  bool read_ended_ = false;
  bool asked_to_go_ = false;
  bool leaving_ = false;
  bool shakes_hands_ = false;  ///< of TLS
  bool held_ = false;          ///< it was told to wait: nothing is read
  std::uint64_t refused_ = 0;  ///< by the codec, when last looked at
  std::uint32_t refusals_ = 0; ///< in a row
  Clock::time_point refused_at_;
  Clock::time_point stalled_looked_;  ///< when streams were asked whether they stand still
  std::chrono::milliseconds hold_{0}; ///< the last one; 0: it has not been held of late
  std::optional<Timer> hold_timer_;
  Clock::time_point opened_ = Clock::now();
  Clock::time_point last_read_ = opened_;
  Clock::time_point last_stream_ = opened_;
  Clock::time_point waiting_since_ = opened_;
  Clock::time_point progress_ = opened_;
  Clock::time_point lingering_since_;
  http::ServerCodec::Waiting waiting_ = http::ServerCodec::Waiting::nothing;
  std::size_t produced_ = 0; ///< since the last sweep
  std::size_t last_unsent_ = 0;
};

} // namespace zoo::net
