// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/clusters/pod_place.hpp"
#include "daemon/clusters/sync/ledger.hpp"
#include "daemon/clusters/sync/pod_dress.hpp"
#include "daemon/clusters/sync/pod_status.hpp"
#include "daemon/clusters/sync/pod_step.hpp"
#include "daemon/clusters/sync/stored.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace zoo::clusters::sync {

/// Room that there was not for a pod: in the share, or for bytes in the upstream's store.
struct RoomLacked {
  Amounts amounts;
  std::size_t bytes = 0;
};

/// What zood knows of one pod of a cluster, on both sides; no objects (docs/limits.md).
struct PodFacts {
  std::optional<PodHere> here;
  StatusTerms terms;
  std::string node;        ///< of the cluster
  std::uint64_t texts = 0; ///< fingerprint of the cluster's labels and annotations
  /// What is counted for it against the share: of upstream's pod of this name, be it an earlier one
  /// than the cluster's, or of the one that is being made. Nothing if not `counted`.
  Amounts claims;
  std::string counted_on;  ///< the node on which that is
  std::size_t bytes = 0;   ///< counted in StoredBytes: of upstream's, be it over or not
  std::int64_t grace = -1; ///< with which the cluster's goes; -1: its own
  std::uint64_t shown = 0; ///< fingerprint of the status that the cluster's shows
  /// The one that it was told last, and what it has shown after that: an API server that is older
  /// than the upstream leaves out what it does not know. 0: none.
  std::uint64_t sent = 0, echo = 0;
  bool awaits_echo = false;
  std::optional<PodThere> there;
  bool was_there = false;
  bool counted = false;   ///< in the ledger
  std::uint64_t told = 0; ///< fingerprint of the refusal that was told last; 0: none
  /// What it was refused for want of; nothing: it was not, or for another reason.
  std::optional<RoomLacked> lacks_room;

  /// Does the cluster's show the status of this fingerprint, as far as its API server can?
  bool shows(std::uint64_t status) const {
    return status == shown || (status == sent && shown == echo);
  }
};

/// What was heard of a pod upstream and not looked at yet.
struct Heard {
  /// As upstream wrote it, the last time where it is gone; null: it was not kept.
  std::shared_ptr<const std::string> object;
  bool gone = false; ///< it was deleted
};

/// The pods of one cluster, by "namespace/name" in the cluster's names. Any thread; no call blocks.
class PodTable {
public:
  /// Bytes of what was heard that are kept for one cluster; beyond it, upstream is asked again.
  static constexpr std::size_t k_most = 20'000; ///< pods of the cluster that are noted
  static constexpr std::size_t k_most_heard = std::size_t{8} << 20;

  void use(StoredBytes& stored) {
    stored_ = &stored;
  } ///< before anything is noted; it outlives this

  /// The cluster has this pod. True: something about it is another thing than before.
  bool note_here(const std::string& key, PodFacts facts);
  /// The cluster has it no more. False: it was not known.
  bool drop_here(const std::string& key);
  /// All that the cluster has was noted: what is not in `seen` is no more. Their keys.
  std::vector<std::string> keep_here(const std::unordered_set<std::string>& seen);

  /// Upstream says something of it, or that it is gone.
  void hear(const std::string& key, std::shared_ptr<const std::string> object, bool gone);
  /// Upstream has this, as far as a list says that may be older than what is known.
  void note_there(const std::string& key, PodThere there);
  /// The same, where all of them were read: those not in `seen` are not there as far as is known.
  /// What is counted for them stays so until they were looked for (undone(), set_there()).
  void keep_there(const std::unordered_set<std::string>& seen);

  struct Taken {
    PodFacts facts;
    std::optional<Heard> heard;
  };
  /// What is known, with what was heard since it was taken last; nothing if it is not known.
  std::optional<Taken> take(const std::string& key);
  std::optional<PodFacts> look(const std::string& key) const; ///< what is known

  /// As the worker that looks at the pod has found it. What was counted for one that is not there
  /// is free; true: there was something.
  bool set_there(const std::string& key, std::optional<PodThere> there);
  void set_shown(const std::string& key, std::uint64_t shown); ///< it was told this status
  void set_told(const std::string& key, std::uint64_t told);
  /// The pod is about to ask upstream for `claims`: they are counted for it from now on. If the
  /// share has no room for what is more than was counted for it before, the sums stay as they are,
  /// the answer is the shortage, and `lacks_room` says what there was no room for.
  std::optional<Ledger::Shortage> reserve(const std::string& key, const Amounts& claims);
  /// Upstream has it already, so it is counted whether there is room or not. What was counted for
  /// the name before stays, unless `anew`.
  void count(const std::string& key, const Amounts& claims, const std::string& node,
             bool anew = false);
  bool uncount(const std::string& key); ///< false: it was not counted
  /// Upstream is about to have so many bytes for it. False: there is no room for them, and
  /// `lacks_room` says how many. What it has there stays counted until it is not there any more.
  bool hold_bytes(const std::string& key, std::size_t bytes);
  /// Upstream has so many already: they are counted if none are yet.
  void note_bytes(const std::string& key, std::size_t bytes);
  /// The time of its pods on this node is over, or not any more. Keys of those that are others now.
  std::vector<std::string> strand(const std::string& node, bool over);
  /// The nodes, of the cluster, of those of its pods that are upstream; each once.
  std::unordered_set<std::string> nodes_upstream() const;

  void set_share(Ledger::Sums share);
  Ledger::Sums share_left() const;
  Ledger::Sums used_on(const std::string& node) const; ///< by counted pods
  std::vector<std::string> on_node(const std::string& node) const;
  /// Is it that of one of the cluster's pods, as upstream has them?
  bool has_address(const std::string& address) const;
  /// The node and the containers of a pod that the cluster and the upstream both have; nothing: at
  /// least one of them has none of this key.
  std::optional<PodPlace> place(const std::string& key) const;

  /// Of the pods that are on both sides and are to have tokens: keys, and UIDs in the cluster.
  std::vector<std::pair<std::string, std::string>> with_tokens() const;

  /// Each key of which something is to be done, by what is known.
  std::vector<std::string> undone() const;
  std::size_t size() const;
  std::size_t refused() const; ///< of which a refusal was told
  std::vector<std::string> refused_keys() const;
  /// Of those that were refused for want of room, which there would be room for now, all together:
  /// so many at most.
  std::vector<std::string> fitting(std::size_t most) const;

private:
  struct Entry {
    PodFacts facts;
    std::optional<Heard> heard;
  };
  void forget_heard(Entry& entry);
  void put_there(PodFacts& facts, std::optional<PodThere> there);
  bool release(PodFacts& facts);
  void put_bytes(PodFacts& facts, std::size_t bytes);
  void tidy(const std::string& key); ///< takes out what is on neither side
  void tell(PodFacts& facts, std::uint64_t told);

  mutable std::mutex mutex_;
  std::unordered_map<std::string, Entry> pods_;
  std::unordered_map<std::string, std::size_t> addresses_; ///< of how many pods it is
  std::size_t heard_bytes_ = 0, refused_ = 0;
  Ledger ledger_;
  Ledger::Sums share_;
  StoredBytes* stored_ = nullptr; ///< null: nothing is counted
};

} // namespace zoo::clusters::sync
