// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/upstream/watch_branch.hpp"

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace zoo::upstream {

/// One subscriber. Waits for its keys where its selectors want them, then for its place in a feed;
/// or gets a stream of its own after all.
class Subscriber final : public WatchSubscription, private ListHandler {
public:
  Subscriber(Branch& branch, Listeners& listeners, std::uint64_t id, WatchRequest request,
             std::optional<WatchFilter> filter, std::string key_prefix, std::uint64_t version,
             WatchHandler& handler);
  ~Subscriber() override;
  void start();
  void pause() override;
  void resume() override;
  std::optional<std::string> position() const override;

  std::uint64_t id() const { return id_; }
  std::uint32_t feed() const { return feed_; } ///< 0: none yet
  const std::string& bucket() const { return bucket_; }

  void joined(std::uint32_t feed, const http::ResponseHead& head);
  void move(std::uint32_t feed, std::uint64_t stood);
  void offer(const EventPtr& event, EventView& view);
  void bookmark();
  void stalled(bool stalled);
  void end(); ///< when what is waiting was read
  void expire();
  void go_alone();
  void refuse(const WatchEnd& end);
  void time_is_up();
  void drain();
  bool try_room(); ///< drain(); false: it stands in line again
  const std::shared_ptr<WatchOwner>& owner() const { return owner_; }

private:
  void on_list_begin(std::string_view) override {}
  void on_list_item(std::string_view key, std::string_view item) override;
  void on_list_end(const ListEnd& end) override;
  void on_list_error(const Error& error, int http_status, std::string_view body) override;
  void next_keys();
  void join();
  void post_alone();
  void give(translate::EventType type, const SharedEvent& event);
  void keep(const EventPtr& event, translate::EventType type);
  void stand_in_line(); ///< or, where its next event has waited long enough, end
  void give_up();       ///< too much waits to be read; its client goes on from where it was
  void finish(const WatchEnd& end);
  void forget(); ///< what it keeps
  /// Its keys have changed; false: there are too many, or its tenant keeps too much.
  bool count_keys();
  void set_deadline(Clock::time_point when); ///< {}: none

  Branch& branch_;
  Listeners& listeners_;
  const std::uint64_t id_;
  WatchHandler& handler_;
  std::optional<WatchFilter> filter_; ///< nullopt: zood cannot judge; a stream of its own
  std::uint64_t version_;             ///< what came up to it is known to the subscriber
  std::uint32_t feed_ = 0;
  bool paused_ = false, ended_ = false, ending_ = false, expiring_ = false;
  bool known_ = false;           ///< its kind's home was told of it
  std::vector<KeyRange> ranges_; ///< of the shared watch's keys; empty: all
  std::string key_prefix_, bucket_;
  bool bookmarks_;
  struct Waiting {
    EventPtr event;
    translate::EventType type;
  };
  std::list<Waiting> queue_;
  std::size_t keys_ = 0; ///< bytes that were counted
  bool too_many_keys_ = false;
  std::shared_ptr<WatchOwner> owner_;
  bool in_line_ = false;           ///< for room
  Clock::time_point without_room_; ///< since when its next event finds none; {}: it does
  Clock::time_point deadline_;
  using Shows = std::function<bool(std::string_view key)>;
  std::unique_ptr<const Shows> shows_;    ///< null: all keys of ranges_
  std::unique_ptr<WatchRequest> request_; ///< until it has joined
  std::size_t range_at_ = 0;
  std::shared_ptr<void> place_; ///< among the streams that are not shared
  std::unique_ptr<List> retired_list_, list_;
  std::unique_ptr<WatchSubscription> alone_; // last: cancelled first
};

} // namespace zoo::upstream
