// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/gzip.hpp"
#include "daemon/http/byte_queue.hpp"
#include "daemon/http/h1_reader.hpp"
#include "daemon/net/transport.hpp"
#include "daemon/upstream/pool.hpp"

#include <deque>
#include <optional>
#include <unordered_map>

/// The inside of Pool. Everything on its loop's thread.
namespace zoo::upstream {

class Link;
using Clock = std::chrono::steady_clock;

/// One request, shared by its Call and its connection, whichever of the two goes first.
struct CallState {
  CallHandler* handler = nullptr; ///< null: nobody listens (cancelled, or all was said)
  std::weak_ptr<Link> link;
  std::string head; ///< as sent
  std::string body;
  bool head_request = false;
  bool writes = false; ///< not to be asked for twice
  bool long_running = false;
  bool upgrade = false;
  bool fresh = false; ///< of no use to it is a connection that was used before
  bool retryable = false;
  bool paused = false;
  bool head_seen = false;
  bool tunnel = false;
  bool blocked = false; ///< writable() said no
  Tally::Asks asks = Tally::Asks::read;
  Clock::time_point begun = Clock::now();
  std::shared_ptr<void> gzip;             ///< its place among those that may come so; or null
  Clock::time_point since = Clock::now(); ///< last sign of life from the upstream
};
using CallPtr = std::shared_ptr<CallState>;

struct Pool::Impl : std::enable_shared_from_this<Pool::Impl> {
  Impl(net::Loop& owner, std::shared_ptr<const UpstreamEndpoint> where, PoolLimits bounds,
       std::shared_ptr<Tally> counts);
  /// Tells whoever waits for it, if somebody does.
  void tell_failure(const CallPtr& call, Error error) const;
  void attach(const CallPtr& call); ///< now, or when its turn has come
  bool try_attach(const CallPtr& call);
  /// A connection came to be, or came back: who waits has it, or opens another one.
  void serve_waiting();
  void drop_vain(); ///< kept connections that open for nobody, and for too long
  /// May this tenant have one more long-running call?
  Result<void> share_of(const std::string& owner) const;
  std::shared_ptr<void> gzip_place();           ///< until it goes
  void keep(const std::shared_ptr<Link>& link); ///< its answer has ended cleanly
  void forget(Link& link);
  void sweep();
  void close();

  net::Loop& loop;
  const std::shared_ptr<const UpstreamEndpoint> endpoint;
  PoolLimits limits;
  const std::shared_ptr<Tally> tally; ///< or null
  std::shared_ptr<net::TlsClientContext> tls;
  std::optional<Error> broken;            ///< the endpoint's certificates cannot be used
  std::deque<std::shared_ptr<Link>> idle; ///< most recently used at the back
  std::unordered_map<Link*, std::shared_ptr<Link>> busy;
  std::deque<CallPtr> waiting;                        ///< for a turn to open
  std::unordered_map<std::string, std::size_t> owned; ///< long-running calls, by tenant
  std::size_t owned_all = 0;
  std::size_t opening = 0, may_open;
  std::size_t gzips = 0; ///< calls whose answers may come so
  net::Timer sweeper;
  bool sweeping = false;
  Stats stats;
};

/// One connection to the upstream.
class Link : public net::TransportHandler, public std::enable_shared_from_this<Link> {
public:
  explicit Link(std::shared_ptr<Pool::Impl> pool);
  void open();
  void begin(const CallPtr& call, bool reused);
  void resume(); ///< after a pause, or a rest
  void cancel(); ///< the Call is gone
  void expire(Clock::time_point now);
  void drop(); ///< silently
  /// Of one that is kept. A call that may be repeated need not know for certain.
  bool usable(const CallState& call) const;
  bool opening() const;
  net::Transport* transport() { return transport_.get(); }
  Clock::time_point idle_since() const { return idle_since_; }

private:
  void on_open() override;
  void on_read(std::string_view bytes) override;
  void on_read_end() override;
  void on_written() override;
  void on_failure(Error error) override;
  void settle(); ///< it does not count as opening any more
  void send();
  void take(std::string_view bytes);
  void process(std::string_view input);
  /// More of the answer may be told now.
  bool goes_on() const { return call_ && !call_->paused && !rests_; }
  bool within_gzip() const { return opener_ && !opener_->complete(); }
  bool deliver_head();
  void deliver(std::string_view bytes);
  void open_gzip(); ///< of what is packed
  void finish(bool clean);
  void fail_call(Error error);

  std::shared_ptr<Pool::Impl> pool_;
  std::unique_ptr<net::Transport> transport_;
  http::ResponseReader reader_;
  http::ByteQueue ahead_;                ///< read before the call was paused
  std::unique_ptr<gzip::Opener> opener_; ///< of an answer that comes as gzip
  std::string packed_;                   ///< of it: not opened yet
  std::size_t opened_bytes_ = 0;         ///< of its text, in this turn
  bool rests_ = false;                   ///< until the loop's others had their turn
  bool over_ = false, clean_ = false;    ///< its end was read; the connection can be kept
  CallPtr call_;
  bool reused_ = false;
  bool answered_ = false; ///< the answer's first byte has come
  bool sent_ = false;     ///< the request, or some of it
  std::size_t came_ = 0;  ///< bytes of its body
  bool counted_ = false;  ///< as opening
  Clock::time_point opened_ = Clock::now();
  Clock::time_point idle_since_;
};

} // namespace zoo::upstream
