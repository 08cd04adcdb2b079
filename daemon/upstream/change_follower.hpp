// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/net/loop.hpp"
#include "daemon/translate/watch_event.hpp"
#include "daemon/upstream/list_source.hpp"
#include "daemon/upstream/watch_source.hpp"

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace zoo::upstream {

class Upstream;

/// Which objects of a kind: those that a selector of fields and one of labels choose; "": all.
struct Selection {
  Selection(std::string by_fields) : fields(std::move(by_fields)) {}
  Selection(const char* by_fields) : fields(by_fields) {}
  static Selection by_labels(std::string labels) {
    Selection out("");
    out.labels = std::move(labels);
    return out;
  }
  std::string fields, labels;
};

/// Tells what becomes of a kind's objects: by a watch from now on, of those that a selection
/// chooses, their metadata or all of them. It goes on from where it was when the watch ends, says
/// nothing for too long, or upstream is busy, with growing pauses; where upstream has forgotten
/// that place, or refuses it, it begins again and says so, for what happened meanwhile is not
/// known. Keeps nothing of the objects. On one loop; follows() from any thread.
class ChangeFollower final : private ListHandler, private WatchHandler {
public:
  struct Hears {
    /// An object was ADDED, MODIFIED or DELETED.
    std::function<void(translate::EventType type, const translate::ObjectKey& key,
                       std::string_view object)>
        changed;
    /// It follows from here on; what happened before was perhaps not told.
    std::function<void()> began;
    /// Of each object that is there when it begins; began() comes behind the last one. Null: none.
    std::function<void(std::string_view name, std::string_view object)> found = nullptr;
    /// What was told is all that happened up to this resourceVersion: behind began(), and by a
    /// bookmark. Null: none.
    std::function<void(std::string_view version)> passed = nullptr;
    /// It looks from the start: what was found before it began may be no more.
    std::function<void()> looks = nullptr;
    /// hears() is another than it was. Null: nobody waits for that.
    std::function<void(bool hears)> hearing = nullptr;
    bool whole = false; ///< objects, not their metadata alone
  };

  /// `silence`: that a watch may be without a word;
  /// upstream has a bookmark each minute.
  ChangeFollower(Upstream& upstream, net::Loop& loop, Caller& caller, std::string path,
                 Selection selection, Hears hears,
                 std::chrono::milliseconds silence = std::chrono::seconds(90));
  ~ChangeFollower() override;

  void start(); ///< any thread
  /// Looks from the start, and hears nothing until then. The loop's thread, and not from inside a
  /// callback.
  void reread();
  bool follows() const { return follows_.load(); }         ///< what changes now will be told
  bool hears() const { return follows() && open_.load(); } ///< and its watch is open

private:
  void begin();
  void watch();
  void again(void (ChangeFollower::*what)());
  void set(bool follows, bool open);
  void heard(); ///< the watch is alive
  void on_list_begin(std::string_view) override {}
  void on_list_item(std::string_view name, std::string_view object) override;
  void on_list_end(const ListEnd& end) override;
  void on_list_error(const Error& error, int http_status, std::string_view body) override;
  void on_watch_begin() override;
  void on_watch_event(std::string_view event) override;
  void on_watch_end(const WatchEnd& end) override;

  Upstream& upstream_;
  net::Loop& loop_;
  Caller& caller_;
  const std::string path_;
  const Selection selection_;
  const Hears hears_;
  const std::chrono::milliseconds silence_;
  net::Timer timer_, silence_timer_;
  std::chrono::milliseconds pause_;
  std::string version_;    ///< of the last event or bookmark
  bool listed_ = false;    ///< `version_` is a list's: what lies before it was not told
  bool forgotten_ = false; ///< upstream has said that it does not know `version_` any more
  std::atomic<bool> follows_ = false, open_ = false;
  std::unique_ptr<List> list_;
  std::unique_ptr<WatchSubscription> watch_;
};

} // namespace zoo::upstream
