// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/ordered_chunks.hpp"
#include "common/base/published.hpp"
#include "daemon/net/loop.hpp"
#include "daemon/upstream/list_source.hpp"
#include "daemon/upstream/watch_source.hpp"

#include <chrono>
#include <memory>
#include <string>

namespace zoo::upstream {

class Upstream;

/// Keeps the set of names of a cluster-scoped kind, by a list and the watch from there, metadata
/// only, of all objects or of those that `chosen` says of; begins again when the watch ends, or
/// says nothing for `silence` (upstream has a bookmark each minute), with growing pauses while
/// upstream fails; `forgets`: nothing is known meanwhile, else what was. On one loop; names() from
/// any thread.
class NameFollower final : private ListHandler, private WatchHandler {
public:
  using Names = OrderedNames;
  using Chosen = bool (*)(std::string_view name, std::string_view object);

  NameFollower(Upstream& upstream, net::Loop& loop, Caller& caller, std::string path,
               std::string label_selector, Chosen chosen = nullptr, bool forgets = false,
               std::chrono::milliseconds silence = std::chrono::seconds(90));
  ~NameFollower() override;

  void start();                                                            ///< any thread
  std::shared_ptr<const Names> names() const { return published_.load(); } ///< null: unknown yet

private:
  void begin();
  void again();
  void heard(); ///< the watch is alive
  void publish();
  void on_list_begin(std::string_view) override {}
  void on_list_item(std::string_view key, std::string_view item) override;
  void on_list_end(const ListEnd& end) override;
  void on_list_error(const Error& error, int http_status, std::string_view body) override;
  void on_watch_begin() override { heard(); }
  void on_watch_event(std::string_view event) override;
  void on_watch_end(const WatchEnd& end) override;

  Upstream& upstream_;
  net::Loop& loop_;
  Caller& caller_;
  std::string path_, label_selector_;
  const Chosen chosen_; ///< null: all
  const bool forgets_;
  const std::chrono::milliseconds silence_;
  net::Timer timer_, silence_timer_;
  std::chrono::milliseconds pause_{100};
  Names names_;
  Published<const Names> published_;
  std::unique_ptr<List> list_;
  std::unique_ptr<WatchSubscription> watch_;
};

} // namespace zoo::upstream
