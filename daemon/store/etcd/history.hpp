// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/store/etcd/gateway.hpp"
#include "daemon/store/etcd/stream.hpp"
#include "daemon/store/etcd/wire.hpp"
#include "daemon/store/store.hpp"
#include "daemon/store/watchers.hpp"

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>

namespace zoo::store::etcd {

/// The changes of a store in etcd: one stream for all watches, the latest of its changes kept in
/// memory for watches that begin a little in the past, and a stream of its own for each watch that
/// begins before these. Any thread.
class History {
public:
  /// Changes after etcd's revision `from` are told. Code::unavailable.
  static Result<std::unique_ptr<History>> start(Gateway& gateway, const Layout& layout,
                                                std::int64_t base, std::int64_t from);
  ~History();

  /// Changes of the kind after `from`, a revision of etcd's; those that are told have `base` added.
  /// Code::expired: compacted, or in the future; Code::too_many_requests: 64 watches that begin in
  /// the past run already; Code::unavailable.
  Result<Subscription> watch(std::string_view kind, std::int64_t from,
                             std::function<void(const Change&)> on_change);
  void set_base(std::int64_t base);
  /// Who is told of keys below s/ from now on, on the stream's thread; null: nobody. Returns when
  /// nobody of before is being told.
  void on_session(std::function<void(const SessionChange&)> told);
  /// Calls it when all watches have been told what was published before.
  void call(std::function<void()> function) { watchers_->call(std::move(function)); }
  std::chrono::milliseconds silence() const { return stream_->silence(); }

private:
  static constexpr std::size_t k_kept = 5'000;
  static constexpr std::size_t k_kept_bytes = 16u << 20;
  static constexpr int k_most_of_old = 64;

  History(Gateway& gateway, const Layout& layout, std::int64_t base, std::int64_t from);
  void take(std::vector<Change> changes, std::int64_t position);
  Result<Subscription> watch_old(std::string_view kind, std::int64_t from,
                                 std::function<void(const Change&)> on_change);

  Gateway& gateway_;
  const Layout& layout_;
  std::shared_ptr<Watchers> watchers_;
  mutable std::mutex mutex_;
  std::int64_t base_;
  std::int64_t first_;    ///< kept are all changes after it...
  std::int64_t position_; ///< ...up to it, as etcd counts
  std::size_t bytes_ = 0;
  std::deque<std::shared_ptr<const Change>> kept_; ///< with `base_` added
  std::shared_ptr<std::atomic<int>> old_ = std::make_shared<std::atomic<int>>(0);
  std::uint64_t channels_ = 0;
  std::mutex session_mutex_; ///< held while somebody is told
  std::function<void(const SessionChange&)> session_;
  std::unique_ptr<Stream> stream_; // last: it calls take()
};

} // namespace zoo::store::etcd
