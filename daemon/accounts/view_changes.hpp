// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/accounts/state.hpp"
#include "daemon/resources/backing.hpp"

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// What States show one caller, and what is different for him between them: the pure half of
/// Views. No thread safety but that of what is immutable.
namespace zoo::accounts {

/// What a view is of.
enum class ViewOf : std::uint8_t {
  spaces,     ///< Space of tenancy.kiosk.sh
  namespaces, ///< the same objects as core Namespaces, at the account door
  accounts,   ///< Account of tenancy.kiosk.sh
  quotas,     ///< AccountQuota of tenancy.kiosk.sh
  instances,  ///< TemplateInstance of tenancy.kiosk.sh, whose names here are instance_key()
};

/// For whom differences are made.
struct Viewer {
  ViewOf what;
  authz::User user;
  std::vector<std::string> keys; ///< subject keys of the user
};

/// What of one object a view shows, and which version of it that is.
struct Shown {
  SpacePtr space;
  AccountPtr account;
  QuotaPtr quota = nullptr;
  SpaceInstancePtr instance = nullptr;
  bool operator==(const Shown&) const = default;
  explicit operator bool() const {
    return space != nullptr || account != nullptr || quota != nullptr || instance != nullptr;
  }
  const std::string& name() const {
    return space ? space->name : account ? account->name : quota ? quota->name : instance->name;
  }
  const std::string& uid() const {
    return space ? space->uid : account ? account->uid : quota ? quota->uid : instance->uid;
  }
  std::int64_t revision() const {
    return space     ? space->revision
           : account ? account->revision
           : quota   ? quota->revision
                     : instance->revision;
  }
};
/// Nothing of it: there is no such object, or he may not see it.
Shown shown(const State& state, ViewOf what, const authz::User& user, std::string_view name);

/// Names of what the caller may perhaps see, sorted; nothing: it may be any.
std::optional<std::vector<std::string>> candidates(const State& state, ViewOf what,
                                                   const authz::User& user);

using Differences = std::vector<std::pair<resources::Change::Type, Shown>>;

/// Adds what is different of one object.
void compare(const Viewer& viewer, const State& before, const State& now, std::string_view name,
             Differences& out);
/// The same of all that he may see in either State. `looked` is raised by their number.
Differences compare_all(const Viewer& viewer, const State& before, const State& now,
                        std::size_t* looked = nullptr);

/// Calls `each` with the name of every object of the kind behind `after`, in order, while it says
/// true.
void visit_all(const State& state, ViewOf what, std::string_view after,
               const std::function<bool(const std::string& name)>& each);

/// Names of objects that a publication may have changed for everybody, sorted, each once.
std::vector<std::string> names_touched(const State& before, const State& now,
                                       const Touched& touched, ViewOf what);

/// The States of ten minutes, 2,048 at most and as many as hold 64 MiB that the newest does not
/// share, with what changed from each to the next: from them watches are resumed.
class ViewHistory {
public:
  using Clock = std::chrono::steady_clock;
  struct Remembered {
    StatePtr state;
    std::shared_ptr<const Touched> touched; ///< `everything`, if all is to be compared
    Clock::time_point at;
    std::size_t replaced = 0; ///< bytes of the State before that this one does not share, roughly
  };
  using Part = std::vector<Remembered>; ///< the oldest first; never empty

  explicit ViewHistory(std::size_t most = std::size_t{64} << 20) : most_(most) {}
  bool empty() const { return remembered_.empty(); }
  std::size_t bytes() const { return bytes_; } ///< of what was replaced, at most `most`
  /// A State that is not as the one before.
  void remember(const StatePtr& state, Touched touched, Clock::time_point now);
  /// A State that is as the one before, for all that is shown, and is not remembered.
  void passed_over(const Touched& touched) { passed_over_ += touched.rights.replaced_bytes; }
  /// The States from the one on that somebody knew who had heard everything up to `revision`. Of
  /// several of one revision the first begins: what was late on its stream came behind it.
  /// Code::expired: that is longer ago than what is remembered.
  Result<Part> since(std::int64_t revision) const;

  /// What has become of everything that was another thing in any State than in the one before. The
  /// two ends alone do not say it. A client resumes from the resourceVersion of the last object
  /// that it was told of, and a grant tells of objects that are older than what was told before: so
  /// it may know more than the first State has. What it knows already may be repeated.
  /// Code::expired if this would take too long.
  static Result<Differences> replay(const Viewer& viewer, const Part& part);

private:
  void forget_first();
  const std::size_t most_;
  std::size_t bytes_ = 0;
  std::size_t passed_over_ = 0;       ///< bytes that were replaced since the newest
  std::deque<Remembered> remembered_; ///< the oldest first
};

} // namespace zoo::accounts
