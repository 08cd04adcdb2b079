// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/upstream/list_source.hpp"
#include "daemon/upstream/watch_parts.hpp"

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace zoo::upstream {

/// What has happened between a resourceVersion and now, where upstream does not tell any more
/// (DESIGN 7): the objects as they were and as they are, read side by side in upstream's key order
/// and compared. On one loop; not destroyed inside `done`.
class Bridge {
public:
  struct Crossed {
    /// First what is gone, then what is new or different in the order of its resourceVersions.
    /// Whoever stops on the way goes on from the last one without losing anything: the objects that
    /// are gone carry the resourceVersion from before the gap.
    std::vector<EventPtr> events;
    std::uint64_t version = 0; ///< now
  };
  /// Code::expired: the beginning is compacted, or there are too many differences.
  using Done = std::function<void(Result<Crossed>)>;

  /// `prefixes`: of the keys that matter; {""}: all.
  Bridge(Upstream& upstream, net::Loop& loop, WatchKindPtr kind, std::vector<std::string> prefixes,
         std::uint64_t from, std::size_t most_bytes, Done done);
  ~Bridge();

private:
  struct Item {
    std::string key, object;
  };
  /// One of the two moments, page by page.
  class Side final : private ListHandler {
  public:
    Side(Bridge& owner, std::int64_t revision) : owner_(owner), revision_(revision) {}
    void begin(const std::string& prefix);
    void more();
    bool ready() const { return !items_.empty() || !next_; }
    const std::deque<Item>& items() const { return items_; }
    void drop_front();
    std::int64_t revision() const { return revision_; }

  private:
    void on_list_begin(std::string_view) override {}
    void on_list_item(std::string_view key, std::string_view item) override;
    void on_list_end(const ListEnd& end) override;
    void on_list_error(const Error& error, int http_status, std::string_view body) override;

    Bridge& owner_;
    std::int64_t revision_; ///< -1: now, until it is known
    std::string prefix_;
    std::optional<std::string> next_; ///< nullopt: no more behind items_
    std::deque<Item> items_;
    std::size_t bytes_ = 0; ///< of items_
    bool reading_ = false, paused_ = false;
    std::unique_ptr<List> list_;
  };

  void step();
  void later(); ///< step(), outside of a list's callbacks
  void compare(const Item* before, const Item* after);
  void add(std::vector<EventPtr>& events, EventPtr event);
  std::string whole(const std::string& object) const;
  void finish();
  void fail_with(Error error);

  Upstream& upstream_;
  net::Loop& loop_;
  WatchKindPtr kind_;
  std::vector<std::string> prefixes_;
  std::size_t at_ = 0;
  const std::uint64_t from_;
  const std::size_t most_;
  std::size_t bytes_ = 0;
  Done done_;
  net::Timer next_;
  std::vector<EventPtr> gone_, changed_;
  Side before_, after_;
  bool over_ = false;
};

} // namespace zoo::upstream
