// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/file.hpp"
#include "common/base/result.hpp"
#include "daemon/keeper/plan.hpp"

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace zoo::keeper {

/// A user of the system and its group, by their numbers.
struct User {
  uid_t uid = 0;
  gid_t gid = 0;
  bool operator==(const User&) const = default;
};

/// Below the first are accounts of the system; what is above the last is no number for some
/// programs.
inline constexpr std::uint32_t k_lowest_uid = 65'536, k_highest_uid = 2'147'483'646;

/// The user of the control plane with that number. Code::invalid: it would not be within the
/// bounds, or there is no number. Pure.
Result<User> numbered_user(std::uint32_t base, std::uint32_t number);

/// How a program calls the directory in which it works. The way there from above is closed to a
/// user of a control plane's own.
inline constexpr std::string_view k_here = "/proc/self/cwd";
/// `text` with k_here in place of that directory wherever it is named. Pure.
std::string from_here(std::string text, const std::filesystem::path& directory);

/// Which users control planes run as (docs/decisions/345-a-user-for-each-control-plane.md). A
/// keeper that is root gives each one of its own, or that of zood's directory, whose rights it
/// takes itself wherever it opens files; any other one has no choice. One thread.
class Users {
public:
  Users() = default;
  /// `directory`: DIR/clusters, which is made if it is not there. `base`: clusters.uid_base. From
  /// then on the calling thread opens files with the rights of zood's user. Code::io.
  static Result<Users> open(const std::filesystem::path& directory, std::uint32_t base);

  bool choice() const { return static_cast<bool>(directory_); } ///< the keeper is root
  const User& owner() const { return owner_; }                  ///< zood's
  std::uint32_t base() const { return base_; }
  /// Why control planes have no users of their own although they are to; "": they have.
  std::string trouble() const;

  /// Whose the control plane is to be that starts now. Code::invalid.
  Result<User> user_of(const Plan& plan) const;
  /// Code::conflict: the directory of another control plane than that one is the user's, too.
  Result<void> owns_no_other(const User& user, const std::string& own_id) const;
  /// Before a component of that plan begins as `to`: all of the plan's directory is zood's, and
  /// that user's group may read it, but for what its components write, of which `component`'s
  /// becomes `to`'s. Nothing of another user of the system's, and nothing behind a link, is touched
  /// (Code::io).
  Result<void> hand_over(const Plan& plan, const Component& component, const User& to) const;
  /// All of it is zood's again, which can remove it then. Once nothing of it runs. Code::io.
  Result<void> give_back(const std::string& id) const;

private:
  User owner_;
  std::uint32_t base_ = 0;
  std::filesystem::path path_;
  file::Fd directory_; ///< that of zood's user, whatever its name leads to later
};

/// As long as it is there, the calling thread of a keeper that is root has all rights on files.
class FilesAsRoot {
public:
  FilesAsRoot();
  ~FilesAsRoot();
  FilesAsRoot(const FilesAsRoot&) = delete;

private:
  uid_t uid_;
  gid_t gid_;
};

/// Makes the calling process that user's, with no other group and no way to become another one.
/// May be called between fork(2) and execve(2). False: it is not, and must not go on.
bool become_user(const User& user) noexcept;

} // namespace zoo::keeper
