// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/upstream/watch_feed.hpp"
#include "daemon/upstream/watch_parts.hpp"

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

/// The home side of the shared watches. Loop thread of the kind's home only.
namespace zoo::upstream {

class Home;

/// All subscribers of one kind. One feed serves them; a subscriber from before its window gets a
/// second one that begins there, and when that has come to where the first one's memory begins, it
/// joins it.
class Hub final : private FeedOwner {
public:
  Hub(SharedWatches::Impl& shared, Home& home, net::Loop& loop, WatchKindPtr kind);
  ~Hub() override;

  void join(const Joining& joining);
  void leave(std::uint64_t id);
  bool idle() const { return records_.empty() && feeds_.empty(); }

private:
  struct Record {
    std::size_t loop = 0;
    std::uint32_t feed = 0;
    std::uint64_t version = 0; ///< where it began
    std::string bucket;
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };
  using Counts = std::vector<std::uint32_t>; ///< by loop

  void on_feed_ready(Feed& feed) override;
  bool on_feed_event(Feed& feed, const EventPtr& event) override;
  void on_feed_pause(Feed& feed) override;
  void on_feed_stalled(Feed& feed, bool stalled) override;
  void on_feed_expired(Feed& feed) override;
  void on_feed_refused(Feed& feed, const WatchEnd& why) override;
  std::vector<std::string> on_feed_gap(Feed& feed) override;

  void place(const Joining& joining);
  Feed* best(std::uint64_t version) const;
  Feed& open(std::uint64_t version, bool trusted);
  void attach(const Joining& joining, Feed& feed);
  void forget(std::uint64_t id);
  void drop(Feed& feed);   ///< with its subscribers, who have been told
  void let_go(Feed& feed); ///< nobody follows it
  void remove(Feed& feed);
  void merge();
  void tidy();
  void linger_over();
  void bookmark();
  void say(std::size_t loop, std::function<void(Listeners&)> task);
  void say_all(const std::function<void(Listeners&)>& task);
  void flush();
  void hold_back();

  SharedWatches::Impl& shared_;
  Home& home_;
  net::Loop& loop_;
  WatchKindPtr kind_;
  std::vector<std::unique_ptr<Feed>> feeds_; ///< the oldest floor first
  std::unordered_map<std::uint64_t, Record> records_;
  std::unordered_map<std::uint32_t, std::size_t> followers_;        ///< by feed
  std::unordered_map<std::uint32_t, std::vector<Joining>> waiting_; ///< by feed, until it is open
  std::unordered_map<std::string, Counts, Hash, std::equal_to<>> counts_; ///< by bucket
  Counts any_;
  std::vector<std::vector<Said>> said_; ///< by loop, not posted yet
  bool lingering_ = false;
  net::Timer linger_, bookmark_, hold_;
};

/// The hubs at home on one loop.
class Home {
public:
  Home(SharedWatches::Impl& shared, net::Loop& loop) : shared_(shared), loop_(loop) {}

  void join(const WatchKindPtr& kind, const Joining& joining);
  void leave(const WatchKind& kind, std::uint64_t id);
  void forget_if_idle(const std::string& name); ///< later

private:
  SharedWatches::Impl& shared_;
  net::Loop& loop_;
  std::unordered_map<std::string, std::unique_ptr<Hub>> hubs_;
};

} // namespace zoo::upstream
