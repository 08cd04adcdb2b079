// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/store/store.hpp"

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace zoo::store {

/// Delivers changes to the watches of one store, on one thread of its own, in the order in which
/// they were given. Any thread may call.
class Watchers : public std::enable_shared_from_this<Watchers> {
public:
  using OnChange = std::function<void(const Change&)>;

  Watchers();
  ~Watchers(); ///< what was not delivered yet is dropped

  /// `backlog` comes before whatever is published afterwards. The caller makes sure (by its own
  /// lock) that nothing is published between reading the backlog and this call. What is published
  /// with a revision of `after` or less is left out.
  Subscription add(std::string kind, std::deque<std::shared_ptr<const Change>> backlog,
                   OnChange on_change, std::int64_t after = 0);
  void publish(const std::shared_ptr<const Change>& change);
  /// The same for those alone that were added for `channel` in place of a kind.
  void publish(const std::shared_ptr<const Change>& change, std::string_view channel);
  /// Calls it on the watches' thread, behind everything that was published before.
  void call(std::function<void()> function);

private:
  struct Delivery {
    std::uint64_t watch;
    std::shared_ptr<const Change> change;
    std::function<void()> function = {}; ///< of call(), in their place
  };
  struct Watch {
    std::string kind;
    std::int64_t after;
    std::shared_ptr<const OnChange> on_change;
  };
  void run();
  void cancel(std::uint64_t watch);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::uint64_t, Watch> watches_;
  std::deque<Delivery> queue_;
  std::uint64_t last_ = 0;
  std::uint64_t running_ = 0; ///< the watch whose callback runs now; 0: none
  bool stopping_ = false;
  std::thread thread_; // last: everything it uses is there when it starts
};

} // namespace zoo::store
