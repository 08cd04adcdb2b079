// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/upstream/change_follower.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace zoo::upstream {

/// Which objects of a cluster-scoped kind are whose, where their keys do not say it: all are read
/// once, when somebody first asks, and followed by a watch since. Of an object its name and its
/// owner's are kept, some 300 bytes, nothing else. What was changed is known a moment later. On one
/// loop; what is public from any thread.
class OwnerIndex {
public:
  using Names = std::set<std::string, std::less<>>;
  static constexpr std::size_t k_gone = 4'096;              ///< objects that went
  using OwnerOf = std::string (*)(std::string_view object); ///< "": nobody's
  enum class Reads { metadata, whole };                     ///< what OwnerOf is given

  OwnerIndex(Upstream& upstream, net::Loop& loop, Caller& caller, std::string path, Reads reads,
             OwnerOf owner);

  /// Objects of an owner that begins so are about to be written, by whom expects to see them then:
  /// what names_of() knows is not enough for `lasting`. By default that is longer than upstream
  /// gives a request (--request-timeout).
  void expect_write(std::string_view owner_prefix,
                    std::chrono::milliseconds lasting = std::chrono::seconds(70));
  /// Names of the objects whose owner begins so; nullopt: not known, or not now.
  std::optional<Names> names_of(std::string_view owner_prefix);
  /// Those whose owner begins with one of these, and the resourceVersion at which they are all.
  struct Moment {
    Names names;
    std::int64_t revision = -1;
  };
  /// nullopt: not known, not now, or more than `most`.
  std::optional<Moment> moment_of(const std::vector<std::string>& owner_prefixes, std::size_t most);
  /// Whose is it, or was it if it is gone (k_gone), as far as was heard? nullopt: not known.
  std::optional<std::string> owner_of(const std::string& name) const;
  /// Is it, as far as was heard, or was it at some time behind `revision` an owner's that `by`
  /// takes? Of the last k_gone objects that changed theirs it is known; false: of others.
  bool owned_behind(const std::string& name, std::int64_t revision,
                    const std::function<bool(std::string_view owner)>& by) const;
  std::int64_t reached() const;         ///< all up to this resourceVersion was heard; -1: unknown
  bool known() const { return known_; } ///< all were read once
  bool hears();                         ///< and changes are heard; begins when first asked
  std::size_t size() const;             ///< how many objects there are

private:
  struct Held {
    std::set<std::pair<std::string, std::string>> by_owner; ///< owner, name
    std::unordered_map<std::string, std::string> owners;    ///< by name

    void put(std::string_view name, std::string owner);
    void erase(const std::string& name);
    /// Ends once there are more than `most`.
    void add_names(std::string_view owner_prefix, std::size_t most, Names& out) const;
  };

  void changed(translate::EventType type, const translate::ObjectKey& key, std::string_view object);
  void reach(std::string_view version);                           ///< with mutex_
  void forget(const std::string& name, const std::string& owner); ///< with mutex_
  /// `name` has left `owner` at `revision`; with mutex_.
  void left(const std::string& name, std::string owner, std::int64_t revision);

  const OwnerOf owner_of_;
  std::atomic<bool> asked_ = false, known_ = false;
  Held found_; ///< since it looks from the start; the loop's
  mutable std::mutex mutex_;
  Held held_;
  std::int64_t revision_ = -1; ///< of `held_`
  /// Owners of the last ones that went: who hears of something else that went with them asks.
  std::unordered_map<std::string, std::string> gone_;
  std::deque<std::string> gone_names_; ///< in order
  struct Left {
    std::string owner;
    std::int64_t revision;
  };
  static constexpr std::size_t k_owners = 4; ///< former ones of an object
  std::unordered_map<std::string, std::deque<Left>> left_;
  std::deque<std::string> left_names_; ///< in order
  /// Until when they are written, by what their owner begins with.
  std::unordered_map<std::string, std::chrono::steady_clock::time_point> written_;
  ChangeFollower follower_; // last: its callbacks end first
};

} // namespace zoo::upstream
