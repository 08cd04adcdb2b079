// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/net/loop.hpp"
#include "daemon/upstream/shared_watches.hpp"
#include "daemon/upstream/upstream.hpp"
#include "daemon/upstream/watch_source.hpp"

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace zoo::test {

/// Two running loops in front of an upstream that answers what the test says. What is called on the
/// test's thread runs on the loop that it concerns and is waited for.
class WatchWorld {
public:
  /// A request upstream, used on its loop alone. What is said while it is paused is heard at once
  /// all the same.
  struct Asked {
    std::size_t loop = 0;
    http::RequestHead head;
    std::string owner;
    upstream::CallHandler* handler = nullptr; ///< null: cancelled
    bool taken = false;                       ///< by the test
    bool paused = false;
    std::size_t pauses = 0;
  };
  using AskedPtr = std::shared_ptr<Asked>;

  explicit WatchWorld(const upstream::SharedWatchLimits& limits = quick());
  ~WatchWorld();
  static upstream::SharedWatchLimits quick(); ///< waits a few milliseconds where zood waits seconds

  void on(std::size_t loop, const std::function<void()>& task);
  void settle(); ///< what was posted, and posted by that, has run

  /// The next request whose target contains this; waits for it.
  AskedPtr next(std::string_view part);
  AskedPtr next_watch() { return next("watch=true"); }
  AskedPtr next_list() { return next("limit="); }
  /// Waits until it is read again, and says how often it was not.
  std::size_t pauses(const AskedPtr& asked);
  std::size_t open_watches(); ///< upstream, not cancelled
  bool none(std::string_view part);

  void answer(const AskedPtr& asked, int status);           ///< the head
  void say(const AskedPtr& asked, const std::string& text); ///< of the body
  void end(const AskedPtr& asked);
  void fail(const AskedPtr& asked, Code code = Code::unavailable);
  /// A whole list of items, at a version.
  void list(const AskedPtr& asked, std::uint64_t version, const std::vector<std::string>& items);
  static std::string param(const AskedPtr& asked, std::string_view key);

  bool eventually(const std::function<bool()>& holds);

  upstream::Upstream& upstream() { return *upstream_; }
  net::Loop& loop(std::size_t index) { return loops_[index]; }

private:
  void with(const AskedPtr& asked, const std::function<void(upstream::CallHandler&)>& task);
  class Fake;
  std::array<net::Loop, 2> loops_;
  std::unique_ptr<upstream::Upstream> upstream_;
  std::array<std::unique_ptr<Fake>, 2> fakes_;
  std::array<std::thread, 2> threads_;
};

using Heard = std::vector<std::string>;

/// A subscriber on one of the loops.
class WatchClient final : private upstream::WatchHandler {
public:
  WatchClient(WatchWorld& world, std::size_t loop, upstream::WatchRequest request);
  ~WatchClient() override;

  /// "ADDED foofoo-a/x 12", "BOOKMARK 13", "ERROR": so far.
  Heard heard();
  bool begun();
  std::optional<upstream::WatchEnd> end();
  std::vector<bool> stalls();
  void pause();
  void resume();
  void set_room(bool room); ///< what take_room() says

private:
  void on_watch_begin() override { begun_ = true; }
  bool take_room(std::size_t) override { return room_; }
  void on_watch_event(std::string_view event) override;
  void on_watch_bookmark(std::string_view version) override;
  void on_watch_stalled(bool stalled) override { stalls_.push_back(stalled); }
  void on_watch_end(const upstream::WatchEnd& end) override { end_ = end; }

  WatchWorld& world_;
  std::size_t loop_;
  bool begun_ = false, room_ = true;
  Heard heard_;
  std::vector<bool> stalls_;
  std::optional<upstream::WatchEnd> end_;
  std::unique_ptr<upstream::WatchSubscription> watch_;
};

/// A watch of pods: of all with this prefix, or of a namespaced path.
upstream::WatchRequest pods(std::string prefix, std::uint64_t version);
upstream::WatchRequest pods_of(const std::string& name_space, std::uint64_t version);
std::string pod(std::string_view key, std::uint64_t version, std::string_view labels = "{}");
std::string event(std::string_view type, std::string_view key, std::uint64_t version,
                  std::string_view labels = "{}");
/// The resourceVersion that a page of a range list is read at.
std::int64_t revision_of_page(const WatchWorld::AskedPtr& asked);
std::string bookmark_event(std::uint64_t version);
std::string gone_event();

} // namespace zoo::test
