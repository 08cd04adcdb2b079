// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/clusters/sync/mirror_kind.hpp"
#include "daemon/clusters/sync/stored.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace zoo::clusters::sync {

/// What zood knows of one object of a mirrored kind, on both sides; no objects (docs/limits.md).
struct MirrorFacts {
  std::optional<MirrorHere> here; ///< nothing: the cluster has none that is wanted upstream
  std::optional<MirrorThere> there;
  std::uint64_t shown = 0; ///< the version of upstream's that the cluster shows
  std::uint64_t told = 0;  ///< fingerprint of the refusal that was told last; 0: none
  bool crowded = false;    ///< it was refused since the cluster may have no more of them
  std::int64_t asked = 0;  ///< Unix seconds: when the cluster's API server had it changed
  /// nodePorts that are counted for it, which is counted itself; nothing: it is not upstream.
  std::optional<std::uint32_t> taken;
  std::optional<std::uint32_t> before; ///< `taken` before the first of the claims in `holds`
  std::uint32_t holds = 0;             ///< of claim(), that are not settled
  /// Counted in StoredBytes: while claims are held the largest, and what it is without them.
  std::uint32_t bytes = 0, bytes_before = 0;
};

class MirrorTable;

/// What MirrorTable::claim() has counted for an object that is being made or changed upstream. It
/// ends as not done, unless told. Moved, not copied; the table outlives it.
class MirrorClaim {
public:
  MirrorClaim() = default; ///< it was asked for only
  MirrorClaim(MirrorTable& table, std::string key, std::uint32_t bytes)
      : table_(&table), key_(std::move(key)), bytes_(bytes) {}
  MirrorClaim(MirrorClaim&& other) noexcept
      : table_(std::exchange(other.table_, nullptr)), key_(std::move(other.key_)),
        bytes_(other.bytes_) {}
  MirrorClaim& operator=(MirrorClaim&&) = delete;
  ~MirrorClaim() { settle(false); }
  void done() { settle(true); } ///< it was, and note_there() has told so

private:
  void settle(bool done);
  MirrorTable* table_ = nullptr;
  std::string key_;
  std::uint32_t bytes_ = 0;
};

/// Objects of one kind of one cluster, by "namespace/name" in the cluster's names. Any thread; no
/// call blocks.
class MirrorTable {
public:
  /// Objects of a kind of one cluster that are kept equal; those beyond are not upstream.
  static constexpr std::size_t k_most = 10'000;

  /// Before anything is noted: what its objects take is counted there, which outlives the table.
  /// `limited`: MirrorLimits are of this kind.
  void use(StoredBytes& stored, bool limited);

  enum class Noted : std::uint8_t { same, other, full };
  Noted note_here(const std::string& key, MirrorHere here);
  /// The cluster has it no more, or it is not wanted any more. False: it was not known.
  bool drop_here(const std::string& key);
  void begin_here() { set_full(false); } ///< all that the cluster has is about to be noted
  /// All that the cluster has was noted: what is not in `seen` is no more. Their keys.
  std::vector<std::string> keep_here(const std::unordered_set<std::string>& seen);

  /// Upstream has this; of two the later one counts. True: something is another thing.
  bool note_there(const std::string& key, MirrorThere there);
  /// Upstream's of this UID is gone; "": whatever there was.
  void drop_there(const std::string& key, std::string_view uid = {});
  /// All of them were read: those not in `seen` are not there as far as is known.
  void keep_there(const std::unordered_set<std::string>& seen);

  // ---- what the cluster may have upstream of what all share: an exact sum over all its namespaces

  /// What is taken stays taken, be it more than that.
  void set_limits(const MirrorLimits& limits);
  /// May it be upstream with so many nodePorts? Code::forbidden, in the cluster's words: no.
  Result<void> allows(const std::string& key, std::uint32_t ports) const;
  /// The same of one that is about to be made or changed there, with so many bytes: from now on it
  /// is counted.
  Result<MirrorClaim> claim(const std::string& key, std::uint32_t ports, std::size_t bytes = 0);
  void settle(const std::string& key, bool done, std::uint32_t bytes); ///< MirrorClaim's
  MirrorLimits taken() const;

  std::optional<MirrorFacts> look(const std::string& key) const;
  void set_shown(const std::string& key, std::uint64_t version);
  void set_told(const std::string& key, std::uint64_t told, bool crowded = false);
  void set_asked(const std::string& key, std::int64_t when);

  /// Each key of which something is to be done, by what is known. `up`: something of upstream's is
  /// shown in the cluster.
  std::vector<std::string> undone(bool up, std::int64_t now) const;
  std::size_t size() const;
  std::size_t refused() const; ///< of which a refusal was told
  /// Of those that were refused for want of room, which there would be room for now, all together:
  /// so many at most.
  std::vector<std::string> fitting(std::size_t most) const;
  bool full() const; ///< something was left out since begin_here()

private:
  Result<void> judge(const std::string& key, std::uint32_t ports) const;
  void tidy(const std::string& key);
  void count(MirrorFacts& facts);
  void take(MirrorFacts& facts, std::optional<std::uint32_t> ports);
  void put_bytes(MirrorFacts& facts, std::uint32_t bytes);
  void set_full(bool full);
  void tell(MirrorFacts& facts, std::uint64_t told, bool crowded = false);

  mutable std::mutex mutex_;
  std::unordered_map<std::string, MirrorFacts> objects_;
  std::size_t here_ = 0, refused_ = 0;
  MirrorLimits limits_, taken_{0, 0};
  bool full_ = false, limited_ = true;
  StoredBytes* stored_ = nullptr; ///< null: nothing is counted
};

/// Which ConfigMaps and Secrets the pods of one cluster name. Any thread; no call blocks.
class References {
public:
  static constexpr std::size_t k_most = 200'000; ///< of all pods together (docs/limits.md)
  /// The pod names these and no others; the answer is what nobody named before, or names any more.
  /// Beyond k_most the last of them are left out.
  std::vector<std::string> set(const std::string& pod, std::vector<std::string> targets);
  std::vector<std::string> drop(const std::string& pod) { return set(pod, {}); }
  bool contains(const std::string& target) const;

private:
  mutable std::mutex mutex_;
  std::unordered_map<std::string, std::vector<std::string>> by_pod_;
  std::unordered_map<std::string, std::size_t> counts_;
  std::size_t all_ = 0; ///< in by_pod_
};

} // namespace zoo::clusters::sync
