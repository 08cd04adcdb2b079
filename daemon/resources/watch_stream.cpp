// SPDX-License-Identifier: Apache-2.0
#include "daemon/resources/watch_stream.hpp"

#include <nlohmann/json.hpp>

#include <chrono>

namespace zoo::resources {
namespace {

constexpr std::chrono::seconds k_bookmark_interval{55}; ///< "at least every minute"
/// Without timeoutSeconds; upstream takes 30 to 60 minutes (--min-request-timeout).
constexpr std::chrono::seconds k_watch_timeout{40 * 60};

} // namespace

WatchStream::WatchStream(std::shared_ptr<WatchFeed> feed, http::ServerStream& stream,
                         Scheduler& scheduler, Clock now, std::optional<http::EventSocket> socket)
    : feed_(std::move(feed)), stream_(&stream), scheduler_(scheduler), now_(std::move(now)),
      link_(std::make_shared<Link>()), encoder_(feed_->plan()), socket_(std::move(socket)) {
  link_->stream = this;
}

WatchStream::~WatchStream() {
  link_->stream = nullptr;
  feed_->close();
}

void WatchStream::start() {
  if (const auto& refused = feed_->plan().refused) {
    send(encoder_.error(*refused));
    return end();
  }
  feed_->attach([&scheduler = scheduler_, link = link_] {
    scheduler.post([link] {
      if (link->stream != nullptr) link->stream->pump();
    });
  });
  const auto asked = feed_->plan().timeout;
  timeout_ = scheduler_.after(asked.count() > 0 ? asked : k_watch_timeout, [this] { end(); });
  schedule_bookmark();
  pump();
}

void WatchStream::drained() {
  answer_ping();
  pump();
}

void WatchStream::received(std::string_view bytes) {
  if (!socket_ || stream_ == nullptr) return;
  socket_->receive(bytes);
  if (socket_->over()) return end();
  answer_ping();
}

void WatchStream::client_ended() {
  if (socket_) end(); // it went without a close
}

void WatchStream::leave() {
  pump();
  if (stream_ == nullptr) return;
  const bool told = initial_done_ && stream_->writable(); // all of it
  if (told && feed_->plan().bookmarks) send(encoder_.bookmark(false));
  end();
}

void WatchStream::answer_ping() {
  if (!socket_ || stream_ == nullptr || !stream_->writable()) return;
  std::string pong;
  socket_->add_pong(pong);
  if (!pong.empty()) stream_->send_data(pong, false);
}

void WatchStream::send(std::string_view line) {
  if (line.empty()) return;
  if (!socket_) return stream_->send_data(line, false);
  std::string message;
  http::EventSocket::add_message(http::EventSocket::Kind::text, line, message);
  stream_->send_data(message, false);
}

void WatchStream::schedule_bookmark() {
  if (stream_ == nullptr || !feed_->plan().bookmarks) return;
  bookmark_ = scheduler_.after(k_bookmark_interval, [this] {
    if (stream_ != nullptr && initial_done_ && stream_->writable()) send(encoder_.bookmark(false));
    // Not from here: the alarm that runs would be replaced under its own feet.
    scheduler_.post([link = link_] {
      if (link->stream != nullptr) link->stream->schedule_bookmark();
    });
  });
}

void WatchStream::pump() {
  if (stream_ == nullptr) return;
  const auto& plan = feed_->plan();
  const auto now = now_();
  while (plan.emit_initial && initial_sent_ < plan.initial.size()) {
    if (!stream_->writable()) return;
    send(encoder_.initial(*plan.initial[initial_sent_++], now));
  }
  if (!initial_done_) {
    initial_done_ = true;
    if (plan.mark_initial_end) send(encoder_.bookmark(true));
  }
  while (stream_->writable()) {
    const auto change = feed_->take();
    if (!change) break;
    send(encoder_.change(*change, now));
  }
  // Ends like upstream's own watch cache does: the client comes back where it stood.
  if (feed_->overflowed()) end();
}

void WatchStream::end() {
  if (stream_ == nullptr) return;
  std::string last;
  if (socket_) socket_->add_close(last);
  std::exchange(stream_, nullptr)->send_data(last, true);
  feed_->close();
  // May be running inside one of the alarms: they are dropped from a fresh stack.
  scheduler_.post([link = link_] {
    if (link->stream == nullptr) return;
    link->stream->timeout_.reset();
    link->stream->bookmark_.reset();
  });
}

} // namespace zoo::resources
