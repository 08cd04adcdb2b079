// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/clusters/sync/mirror_table.hpp"
#include "daemon/clusters/sync/sync_room.hpp"

#include <nlohmann/json_fwd.hpp>

#include <atomic>
#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

namespace zoo::clusters::sync {

/// Keeps the objects of the kinds in mirror_kinds() equal between one virtual cluster and the
/// upstream. A thread "hear-<id>-<kind>" for each kind lists and watches the cluster's; what is to
/// be done stands in the queue, and work() does it on the threads of the Syncer. Nothing is deleted
/// upstream because something could not be read: what the cluster has no more is looked for there
/// once more.
class Mirror {
public:
  Mirror(const SyncRoom& room, const MirrorOptions& options);
  ~Mirror(); ///< ends the threads; nobody may be in work()
  Mirror(const Mirror&) = delete;

  void start();
  /// Every pod of the cluster was noted: from now on it is known what they name. What nobody seems
  /// to name before would be deleted upstream. One thread at a time.
  void pods_noted();

  /// What a pod of the cluster names is wanted upstream from now on. Any thread, as all below.
  void note_pod(const std::string& pod, const nlohmann::json& object);
  void drop_pod(const std::string& pod);

  /// Upstream says this of an object (its metadata) of the cluster's namespaces, or that it is
  /// gone.
  void hear(std::size_t kind, const std::string& name_space, std::string_view name,
            std::string_view object, bool gone);
  /// What upstream said of a kind was perhaps not all.
  void reread(std::size_t kind);

  /// A key of the queue without its first two characters: "m/" one object, "x/" all of a kind.
  /// Blocking.
  Result<WorkNext> work(const std::string& rest, unsigned attempts);
  Result<WorkNext> patrol(const std::string& rest);
  WorkNext fill_room(const std::string& rest); ///< "y/": what was refused for want of it

  /// A Service is being made or changed by the cluster's own API server, which asks for it: what it
  /// becomes there is not changed back for a while.
  void set_asked(std::size_t kind, const std::string& key);

  /// What the cluster may have upstream of Services and nodePorts. Any thread.
  void set_limits(const MirrorLimits& limits);
  /// Were both sides of this kind read? Before that nothing can be claimed.
  bool known(std::size_t kind) const { return sides_[kind].known; }
  /// A place for an object of the cluster that is about to be made or changed upstream.
  /// Code::forbidden, in the cluster's words; Code::unavailable before known(). `tried`: it is
  /// asked only.
  Result<MirrorClaim> claim(std::size_t kind, const std::string& key, const nlohmann::json& object,
                            bool tried = false);
  /// It was made or changed there, by whom the cluster's API server has asked.
  void made(std::size_t kind, const std::string& key, const nlohmann::json& there);

  struct Counts {
    std::size_t objects = 0, refused = 0;
    bool known = false; ///< both sides of all kinds were read
    std::string full;   ///< a kind of which not all are upstream, since there are too many
  };
  Counts counts() const;
  std::size_t objects(std::size_t kind) const { return sides_[kind].table.size(); }
  /// "" or why the cluster's own side is not heard.
  std::string trouble() const;

private:
  struct Side {     ///< of one kind
    bool on = true; ///< else upstream has none of it, and the cluster's are not heard
    MirrorTable table;
    std::atomic<bool> listed = false, known = false;
    std::string trouble; ///< under mutex_
    std::jthread thread;
  };
  struct Target {
    std::size_t kind;
    std::string key;
    ObjectName at;
  };
  static Target target_of(const std::string& rest);
  std::string queue_key(std::size_t kind, const std::string& key) const;
  std::string path_there(const MirrorKind& kind, const ObjectName& at) const;
  void start(std::size_t kind);
  void listen(std::size_t kind, const std::stop_token& stop);
  Result<void> listen_once(std::size_t kind, const std::stop_token& stop);
  void note(std::size_t kind, const nlohmann::json& object);
  bool is_wanted(std::size_t kind, const std::string& key) const;

  Result<std::optional<nlohmann::json>> read_here(const Target& target);
  Result<std::optional<nlohmann::json>> read_there(const Target& target);
  Result<WorkNext> create(const Target& target, const MirrorFacts& facts, unsigned attempts);
  Result<WorkNext> change(const Target& target, const MirrorFacts& facts, unsigned attempts);
  Result<WorkNext> replace(const Target& target, const MirrorFacts& facts);
  Result<WorkNext> remove(const Target& target, const MirrorFacts& facts);
  Result<WorkNext> clear(std::size_t kind);
  Result<void> range_there(std::size_t kind, upstream::ControlApi& api,
                           const std::function<void(const std::string& key,
                                                    const nlohmann::json& metadata)>& each) const;
  Result<WorkNext> show(const Target& target, const MirrorFacts& facts);
  Result<WorkNext> refuse(const Target& target, const MirrorFacts& facts, const std::string& why,
                          unsigned attempts, bool crowded = false);
  void accepted(const Target& target, const MirrorFacts& facts);
  void room_made(std::size_t kind); ///< what is limited may be tried again, soon
  /// What is to be sent upstream. A refusal is Code::invalid or forbidden.
  Result<nlohmann::json> inward(const MirrorKind& kind, const MirrorWish& wish,
                                nlohmann::json object) const;

  const SyncRoom& room_;
  References references_;
  mutable std::mutex mutex_;
  std::deque<Side> sides_; ///< last: their threads use all the rest
};

} // namespace zoo::clusters::sync
