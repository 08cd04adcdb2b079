// SPDX-License-Identifier: Apache-2.0
#include "daemon/keeper/users.hpp"

#include "daemon/keeper/system_text.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <memory>
#include <system_error>
#include <utility>

namespace zoo::keeper {
namespace {

namespace fs = std::filesystem;

constexpr unsigned k_deepest = 64; ///< directories in one another of a cluster's own
constexpr mode_t k_group_writes_socket = 0660, k_group_passes = 02710, k_group_lists = 02750;

/// What is to be done with the files of a control plane.
struct Rule {
  User user;
  User owner;          ///< zood's
  uid_t former = 0;    ///< whose the data was until now; 0: nobody's
  bool shared = false; ///< the group may read it
  mode_t directory_mode() const { return shared ? k_group_lists : 0700; }
  mode_t mode(const struct stat& facts) const {
    if (S_ISDIR(facts.st_mode)) return directory_mode();
    if (S_ISSOCK(facts.st_mode)) return shared ? k_group_writes_socket : 0600;
    const auto own = facts.st_mode & 0700U;
    return shared ? own | (own & 0400U) >> 3U : own;
  }
};

struct CloseDirectory {
  void operator()(DIR* open) const { ::closedir(open); }
};

/// Nothing of an account of the system's, be it put here by another name; and what has a second
/// one only from whom it is: else a program of the cluster would be given what it has linked here.
std::string trouble_of(const struct stat& facts, const Rule& rule) {
  if (facts.st_uid != rule.owner.uid && facts.st_uid != rule.user.uid &&
      facts.st_uid < k_lowest_uid)
    return fmt::format("is of user {}, not of zood's", facts.st_uid);
  const bool of_theirs =
      facts.st_uid == rule.user.uid || (rule.former != 0 && facts.st_uid == rule.former);
  if (!S_ISDIR(facts.st_mode) && facts.st_nlink != 1 && !of_theirs)
    return "has a second name, a hard link";
  return {};
}

/// `place`: opened with O_PATH.
Result<void> apply(int place, const struct stat& facts, mode_t mode, const Rule& rule,
                   const std::string& shown) {
  const auto& to = rule.user;
  if (facts.st_uid == to.uid && facts.st_gid == to.gid && (facts.st_mode & 07777U) == mode)
    return {};
  if (const auto trouble = trouble_of(facts, rule); !trouble.empty())
    return fail(Code::io, "{} {}: it is left alone", shown, trouble);
  // By its own name in /proc: fchmod(2) takes no such descriptor.
  if (::fchownat(place, "", to.uid, to.gid, AT_EMPTY_PATH) != 0 ||
      ::chmod(fmt::format("/proc/self/fd/{}", place).c_str(), mode) != 0)
    return fail(Code::io, "cannot give {} to user {}: {}", shown, to.uid, reason(errno));
  return {};
}

using Each =
    std::function<Result<void>(int place, const struct stat& facts, const std::string& name)>;

/// What is in a directory, links aside. What goes meanwhile is not there.
Result<void> for_each_in(int directory, const std::string& shown, const Each& each) {
  const int listed = ::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, CloseDirectory> open(listed < 0 ? nullptr : ::fdopendir(listed));
  if (!open) return fail(Code::io, "cannot read {}: {}", shown, reason(errno));
  while (const auto* entry = ::readdir(open.get())) {
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    const file::Fd place(::openat(directory, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat facts{};
    if (!place || ::fstat(place.get(), &facts) != 0) continue;
    if (S_ISDIR(facts.st_mode) || S_ISREG(facts.st_mode) || S_ISSOCK(facts.st_mode))
      ZOO_TRY_VOID(each(place.get(), facts, name));
  }
  return {};
}

Result<void> apply_to_all(int place, const struct stat& facts, const Rule& rule,
                          const std::string& shown, unsigned depth) {
  ZOO_TRY_VOID(apply(place, facts, rule.mode(facts), rule, shown));
  if (!S_ISDIR(facts.st_mode)) return {};
  if (depth >= k_deepest) return fail(Code::io, "{} is too deep", shown);
  return for_each_in(place, shown, [&](int inner, const struct stat& inside, const auto& name) {
    return apply_to_all(inner, inside, rule, shown + "/" + name, depth + 1);
  });
}

Result<file::Fd> directory_in(int above, const std::string& name) {
  file::Fd out(::openat(above, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!out && errno != ENOENT)
    return fail(Code::io, "cannot open directory {}: {}", name, reason(errno));
  return out;
}

/// Whose data is in that directory of a cluster's; 0: zood's, or an account's.
uid_t former_of(const struct stat& directory, const User& owner) {
  return directory.st_uid >= k_lowest_uid && directory.st_uid != owner.uid ? directory.st_uid : 0;
}

/// With the rights of that user on files alone.
void open_files_as(const User& user) {
  ::setfsgid(user.gid);
  ::setfsuid(user.uid);
}

} // namespace

Result<User> numbered_user(std::uint32_t base, std::uint32_t number) {
  const auto sum = std::uint64_t{base} + number;
  if (number == 0) return fail(Code::invalid, "it has no number, by which its user is known");
  if (base < k_lowest_uid || sum > k_highest_uid)
    return fail(Code::invalid, "clusters.uid_base: {} and {} is no number of a user from {} to {}",
                base, number, k_lowest_uid, k_highest_uid);
  return User{static_cast<uid_t>(sum), static_cast<gid_t>(sum)};
}

std::string from_here(std::string text, const fs::path& directory) {
  const auto& long_way = directory.native();
  for (auto at = text.find(long_way); at != text.npos && !long_way.empty();) {
    const auto end = at + long_way.size();
    const bool whole = end == text.size() || text[end] == '/';
    if (whole) text.replace(at, long_way.size(), k_here);
    at = text.find(long_way, whole ? at + k_here.size() : end);
  }
  return text;
}

Result<Users> Users::open(const fs::path& directory, std::uint32_t base) {
  Users out;
  out.base_ = base;
  out.path_ = directory;
  out.owner_ = {::geteuid(), ::getegid()};
  if (out.owner_.uid != 0) {
    ZOO_TRY_VOID(file::ensure_private_directory(directory));
    return out;
  }
  struct stat facts{};
  const auto above = directory.parent_path();
  // One that a zood has made which is root itself, in somebody's directory.
  const bool roots = base == 0 && ::lstat(directory.c_str(), &facts) == 0 &&
                     S_ISDIR(facts.st_mode) && facts.st_uid == 0;
  if (!roots && ::stat(above.c_str(), &facts) == 0)
    out.owner_ = {facts.st_uid, facts.st_gid};
  else if (base != 0) // whose it will be is not known
    return fail(Code::io, "there is no {} yet: start zood, which makes it", above.string());
  open_files_as(out.owner_);
  ZOO_TRY_VOID(file::ensure_private_directory(directory));
  out.directory_ = file::Fd(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!out.directory_ || ::fstat(out.directory_.get(), &facts) != 0)
    return fail(Code::io, "cannot open {}: {}", directory.string(), reason(errno));
  if (out.owner_.uid != 0 && facts.st_uid != out.owner_.uid)
    return fail(Code::io, "{} is of user {}, and {} of user {}: one of them must have both",
                directory.string(), facts.st_uid, above.string(), out.owner_.uid);
  return out;
}

std::string Users::trouble() const {
  if (base_ == 0 || choice()) return {};
  return "the keeper of control planes is not root, which alone can start programs as other users";
}

Result<User> Users::user_of(const Plan& plan) const {
  if (!choice() || base_ == 0) return owner_;
  return numbered_user(base_, plan.number);
}

Result<void> Users::owns_no_other(const User& user, const std::string& own_id) const {
  if (user == owner_) return {};
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(path_, error)) {
    const auto id = entry.path().filename().string();
    struct stat facts{};
    if (is_id(id) && id != own_id && ::lstat(entry.path().c_str(), &facts) == 0 &&
        facts.st_gid == user.gid)
      return fail(Code::conflict,
                  "its user, {}, has the directory {} of another control plane: remove that, or "
                  "give it another group",
                  user.uid, entry.path().string());
  }
  return {};
}

Result<void> Users::hand_over(const Plan& plan, const Component& component, const User& to) const {
  if (!choice()) return {};
  const FilesAsRoot all_rights;
  ZOO_TRY(const auto place, directory_in(directory_.get(), plan.id));
  struct stat facts{};
  if (!place || ::fstat(place.get(), &facts) != 0)
    return fail(Code::io, "there is no directory {}", plan.id);
  const bool shared = !(to == owner_);
  const Rule common{{owner_.uid, shared ? to.gid : owner_.gid}, owner_, 0, shared};
  const auto is_in = [](const auto& list, const std::string& name) {
    return std::find(list.begin(), list.end(), name) != list.end();
  };
  // First the directory: what zood makes from now on has the group by itself.
  ZOO_TRY_VOID(apply(place.get(), facts, shared ? k_group_passes : 0700, common, plan.id));
  return for_each_in(
      place.get(), plan.id,
      [&](int inner, const struct stat& inside, const std::string& name) -> Result<void> {
        const auto shown = plan.id + "/" + name;
        if (is_in(component.writes, name))
          return apply_to_all(inner, inside, {to, owner_, former_of(inside, owner_), false}, shown,
                              0);
        const bool of_others =
            std::any_of(plan.components.begin(), plan.components.end(),
                        [&](const auto& other) { return is_in(other.writes, name); });
        if (of_others || name == "keeper" || name == "log") return {};
        return apply_to_all(inner, inside, common, shown, 0);
      });
}

Result<void> Users::give_back(const std::string& id) const {
  if (!choice()) return {};
  const FilesAsRoot all_rights;
  ZOO_TRY(const auto place, directory_in(directory_.get(), id));
  struct stat facts{};
  if (!place || ::fstat(place.get(), &facts) != 0) return {};
  ZOO_TRY_VOID(apply(place.get(), facts, 0700, {owner_, owner_, 0, false}, id));
  return for_each_in(place.get(), id, [&](int inner, const struct stat& inside, const auto& name) {
    return apply_to_all(inner, inside, {owner_, owner_, former_of(inside, owner_), false},
                        id + "/" + name, 0);
  });
}

FilesAsRoot::FilesAsRoot()
    : uid_(static_cast<uid_t>(::setfsuid(0))), gid_(static_cast<gid_t>(::setfsgid(0))) {}

FilesAsRoot::~FilesAsRoot() { open_files_as({uid_, gid_}); }

// The system's calls themselves: those of libc speak to all threads, of which there is one here.
bool become_user(const User& user) noexcept {
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::syscall(SYS_setgroups, 0, nullptr) == 0 &&
         ::syscall(SYS_setresgid, user.gid, user.gid, user.gid) == 0 &&
         ::syscall(SYS_setresuid, user.uid, user.uid, user.uid) == 0 &&
         ::syscall(SYS_getuid) == static_cast<long>(user.uid);
}

} // namespace zoo::keeper
