// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/translate/framer.hpp"
#include "daemon/upstream/call.hpp"
#include "daemon/upstream/watch_bridge.hpp"
#include "daemon/upstream/watch_parts.hpp"

#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace zoo::upstream {

class Feed;

/// Hears a feed, on its loop. May retire() it in any callback, and destroy it later.
class FeedOwner {
public:
  virtual ~FeedOwner() = default;
  virtual void on_feed_ready(Feed& feed) = 0;                        ///< open() may be asked again
  virtual bool on_feed_event(Feed& feed, const EventPtr& event) = 0; ///< does anybody hear it?
  virtual void on_feed_pause(Feed& feed) = 0; ///< everything that came together was said
  virtual void on_feed_stalled(Feed& feed, bool stalled) = 0;
  virtual void on_feed_expired(Feed& feed) = 0; ///< something is lost: whoever followed it ends
  /// It never began, or cannot go on.
  virtual void on_feed_refused(Feed& feed, const WatchEnd& why) = 0;
  /// It will tell what has changed since latest(). Says which keys its followers want, by their
  /// prefixes.
  virtual std::vector<std::string> on_feed_gap(Feed& feed) = 0;
};

/// One upstream watch on a whole kind, kept open: after an end it goes on where it was, over a 410
/// by a Bridge. Keeps the last events for who comes later. While nobody has heard any for a while
/// and they come in a row, it rests between two readings, so that they come some at a time: what
/// waking up costs is many times an event (docs/decisions/137). Loop thread only.
class Feed final : private CallHandler, private ListHandler, public translate::FrameHandler {
public:
  Feed(FeedOwner& owner, Upstream& upstream, net::Loop& loop, WatchKindPtr kind,
       const SharedWatchLimits& limits, std::uint32_t id, std::uint64_t version);
  ~Feed() override;

  /// `trusted`: the version is upstream's. Else it is first held against the current one, since a
  /// feed from the future would never say anything.
  void start(bool trusted);
  void retire(); ///< no more callbacks
  void pause();
  void resume();
  void attend(); ///< somebody came: what there is will be read now

  std::uint32_t id() const { return id_; }
  std::uint64_t floor() const { return floor_; }   ///< everything behind it is in the window
  std::uint64_t latest() const { return latest_; } ///< nothing up to it is still to come
  bool verified() const { return verified_; }      ///< floor() is known
  bool stalled() const { return stalled_; }
  bool open() const { return begun_ && !gone_; } ///< since(), and what comes, has no gap

  /// Upstream's Warnings about the kind.
  const http::ResponseHead& said() const { return said_; }

  /// What came behind `version`, of one bucket; "": of all.
  std::vector<EventPtr> since(std::uint64_t version, std::string_view bucket) const;
  /// Takes over what an older one remembers of the time before floor().
  void extend(const Feed& older);

private:
  void connect();
  void lost();
  void again();
  void cross();
  void crossed(Result<Bridge::Crossed> result);
  void remember(EventPtr event);
  std::size_t most_bytes() const; ///< of the window
  void say_stalled(bool stalled);
  void listen();
  void check_silence();
  void may_rest(std::chrono::steady_clock::duration since_last);
  std::optional<std::chrono::milliseconds> rest_wanted() const;
  void rest();
  void rest_no_more();
  void read_on();
  bool patient();

  void on_head(http::ResponseHead head) override;
  void on_data(std::string_view bytes) override;
  void on_end() override;
  void on_error(Error error) override;
  void on_frame(std::string_view text) override;

  void on_list_begin(std::string_view) override {}
  void on_list_item(std::string_view, std::string_view) override {}
  void on_list_end(const ListEnd& end) override;
  void on_list_error(const Error& error, int http_status, std::string_view body) override;

  FeedOwner& owner_;
  Upstream& upstream_;
  net::Loop& loop_;
  WatchKindPtr kind_;
  const SharedWatchLimits& limits_;
  const std::uint32_t id_;
  std::uint64_t floor_, latest_;
  std::deque<EventPtr> window_;
  std::size_t window_bytes_ = 0;
  bool verified_ = true, begun_ = false, stalled_ = false, retired_ = false, paused_ = false;
  bool bookmarks_ = false; ///< upstream sends some of this kind
  bool broken_ = false;    ///< what this stream says is not read any more
  bool gone_ = false;      ///< upstream does not remember `latest_`, or fails behind it
  unsigned failures_ = 0;  ///< within a stream that was accepted, with nothing between them
  int status_ = 0;
  std::string body_;
  http::ResponseHead said_;
  std::chrono::milliseconds wait_;
  std::chrono::steady_clock::time_point heard_; ///< upstream
  std::chrono::steady_clock::time_point wanted_at_;
  bool wanted_ = false; ///< what this reading has brought
  enum class Rest { none, due, now } resting_ = Rest::none;
  std::chrono::duration<double> pace_;    ///< between two events, smoothed
  std::chrono::milliseconds last_rest_{}; ///< none in front of this reading: 0
  std::size_t turn_bytes_ = 0;            ///< read since a rest became due
  std::optional<std::chrono::steady_clock::time_point> refused_; ///< since when it is
  net::Timer retry_, silence_, rest_;
  std::unique_ptr<translate::Framer> framer_;
  std::unique_ptr<List> now_;
  std::unique_ptr<Bridge> bridge_, old_bridge_;
  std::unique_ptr<Call> call_; // last: cancelled first
};

} // namespace zoo::upstream
