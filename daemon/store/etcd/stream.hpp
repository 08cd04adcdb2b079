// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/store/etcd/gateway.hpp"
#include "daemon/store/etcd/wire.hpp"
#include "daemon/store/store.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

namespace zoo::store::etcd {

/// A key of s/ that was written or that is gone.
struct SessionChange {
  std::string name; ///< behind s/
  std::string value;
  std::int64_t created = 0; ///< 0: gone
  std::int64_t revision = 0;
};

/// Follows a range of etcd's keys on a thread of its own, whatever becomes of members and
/// connections: each change is told once, in order, and none is left out. Where etcd has compacted
/// what the stream missed meanwhile, it compares what there is with what it told: then changes
/// between are told as one, puts before removals, and removals without a value.
class Stream {
public:
  struct Sink {
    /// Changes of records, with etcd's own revisions, in order; then everything up to `position`
    /// was told. An empty batch means that the stream is alive. On the stream's thread.
    std::function<void(std::vector<Change> changes, std::int64_t position)> records;
    /// After the records that were written before or with it. Nothing: nobody asks.
    std::function<void(const SessionChange&)> session;
  };

  /// Follows all records or, with a `kind`, those of that kind: all changes after `from`, an etcd
  /// revision that is neither compacted nor in the future (Code::expired).
  static Result<std::unique_ptr<Stream>> start(Gateway& gateway, const Layout& layout,
                                               std::string_view kind, std::int64_t from, Sink sink);
  ~Stream(); ///< waits for a call of the sink's

  /// Since when nothing was heard.
  std::chrono::milliseconds silence() const;

private:
  using Clock = std::chrono::steady_clock;
  enum class Next { goes_on, ends, compacted };

  Stream(Gateway& gateway, const Layout& layout, std::string_view kind, std::int64_t from,
         Sink sink);
  Result<void> learn(std::int64_t revision);
  void run(std::stop_token stop);
  Result<bool> is_kept(std::stop_token stop);
  Result<void> compare(std::stop_token stop);
  Next on_line(std::string_view line);
  void heard() { heard_ = Clock::now().time_since_epoch().count(); }

  Gateway& gateway_;
  const Layout& layout_;
  const std::string records_; ///< the prefix of what is told as records
  const Sink sink_;
  std::unordered_map<std::string, std::int64_t> known_;   ///< etcd's key -> revision that was told
  std::set<std::pair<std::int64_t, std::string>> beyond_; ///< told already, behind the position
  std::atomic<std::int64_t> position_;
  std::atomic<Clock::rep> heard_;
  std::jthread thread_; // last: everything it uses is there when it starts
};

/// What a range was read at.
struct Moment {
  std::int64_t revision = 0; ///< etcd's
  bool more = false;         ///< than `limit` keys were there
};
/// All keys of a range at one moment, or the first `limit` (0: all), read in pages: `revision` 0 is
/// the latest one. Code::expired if it was compacted.
Result<Moment> read_all(Gateway& gateway, std::string_view begin, std::string_view end,
                        std::int64_t revision, bool values,
                        const std::function<Result<void>(KeyValue)>& each,
                        std::stop_token stop = {}, std::size_t limit = 0);

/// Whether etcd still has all changes after `revision`: Code::expired if not. A watch that begins
/// at the very revision of a compaction is not refused, though etcd before 3.4.34 and 3.5.16 has
/// dropped a removal there: therefore the revision itself is asked for, by a read.
Result<void> check_kept(Gateway& gateway, const Layout& layout, std::int64_t revision,
                        std::stop_token stop = {});

} // namespace zoo::store::etcd
