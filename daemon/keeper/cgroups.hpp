// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/keeper/plan.hpp"

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace zoo::keeper {

/// Bounds that the kernel holds for all processes of a control plane together: a cgroup (v2) of its
/// own below the keeper's, which the service manager has handed to it
/// (docs/decisions/342-bounds-of-a-control-plane.md). Where there is none, or its controllers are
/// not handed on, all of this does nothing but say so. One thread.
class Cgroups {
public:
  /// None: soft() says so.
  Cgroups() = default;
  /// `own`: the directory of the keeper's cgroup, which is the keeper's alone. Goes into a child of
  /// it, since a cgroup that hands controllers on may have no processes itself.
  explicit Cgroups(std::filesystem::path own);

  /// After those that the keeper before has left have been entered: hands controllers on.
  void hand_on();
  void make(const std::string& id); ///< the cgroup of that plan, if there is none
  /// The same, and bounds it.
  void limit(const std::string& id, const Limits& limits);
  /// Before the process has become its program; of one that runs, at any time.
  void enter(const std::string& id, pid_t pid) const;
  /// Ends what is still in it, and removes it: as soon as nothing is in it any more, which a later
  /// clear() finds.
  void remove(const std::string& id);
  /// Tries again what remove() could not do yet. True: something is left.
  bool clear();
  /// Of which plans there are cgroups: those of plans that are gone are a keeper's before this one.
  std::vector<std::string> present() const;

  /// Why bounds are not in force, in one sentence; "": they are.
  const std::string& soft() const { return soft_; }

private:
  bool take_away(const std::string& id, unsigned tries) const; ///< is it gone?

  std::filesystem::path root_;
  std::map<std::string, unsigned> left_; ///< to be removed, and how often that was tried
  std::string soft_ = "the keeper of control planes has no cgroup of its own: it was not started "
                      "by zood-keeper.service";
};

/// The directory of this process's cgroup. Code::not_found: there is no cgroup v2.
Result<std::filesystem::path> own_cgroup();
/// Hands no controllers on below `root` any more: a service manager can start the next keeper only
/// then in it.
void take_back_controllers(const std::filesystem::path& root);

/// The path of a cgroup (v2) in a text such as /proc/self/cgroup; "": it names none.
std::string cgroup_path(std::string_view text);
/// Where cgroup v2 is mounted, of a text such as /proc/self/mountinfo; "": nowhere.
std::string cgroup_mount(std::string_view text);

} // namespace zoo::keeper
