// SPDX-License-Identifier: Apache-2.0
#include "daemon/keeper/cgroups.hpp"

#include "common/base/file.hpp"
#include "common/base/log.hpp"
#include "common/base/text.hpp"
#include "daemon/keeper/system_text.hpp"
#include "daemon/keeper/users.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <system_error>
#include <vector>

namespace zoo::keeper {
namespace {

namespace fs = std::filesystem;

constexpr const char* k_keepers_own = "keeper";
constexpr std::array k_controllers = {"memory", "cpu", "pids", "io"};
constexpr unsigned k_most_processors = 2; ///< of a control plane, at a time
constexpr unsigned k_processor_period = 100'000;
constexpr unsigned k_most_tasks = 512; ///< threads included
constexpr unsigned k_tries_told = 50;  ///< to remove a cgroup, after which the log says why

/// In one write(2), as the files of cgroups want it; 0, or an error number.
int put(const fs::path& path, std::string_view text) {
  const FilesAsRoot all_rights; // of a keeper that is root the cgroup is root's
  const file::Fd out(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!out) return errno;
  return ::write(out.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0
                                                                                           : errno;
}

std::string text_of_file(const fs::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

} // namespace

std::string cgroup_path(std::string_view text) {
  for (const auto line : text::split(text, '\n'))
    if (line.starts_with("0::/")) return std::string(line.substr(3));
  return {};
}

std::string cgroup_mount(std::string_view text) {
  // 35 24 0:30 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw (proc(5))
  for (const auto line : text::split(text, '\n')) {
    if (line.find(" - cgroup2 ") == line.npos) continue;
    const auto words = text::split(line, ' ');
    if (words.size() > 4) return std::string(words[4]);
  }
  return {};
}

Result<fs::path> own_cgroup() {
  const auto mount = cgroup_mount(text_of_file("/proc/self/mountinfo"));
  const auto path = cgroup_path(text_of_file("/proc/self/cgroup"));
  if (mount.empty() || path.empty())
    return fail(Code::not_found, "this machine has no cgroups of version 2");
  return fs::path(mount + path);
}

void take_back_controllers(const fs::path& root) {
  for (const auto* controller : k_controllers)
    put(root / "cgroup.subtree_control", fmt::format("-{}", controller));
}

Cgroups::Cgroups(fs::path own) : root_(std::move(own)) {
  // systemd from version 254 on starts it there itself (DelegateSubgroup=).
  if (root_.filename() == k_keepers_own) root_ = root_.parent_path();
  std::error_code error;
  const FilesAsRoot all_rights;
  fs::create_directory(root_ / k_keepers_own, error);
  const int failed = error
                         ? error.value()
                         : put(root_ / k_keepers_own / "cgroup.procs", std::to_string(::getpid()));
  if (failed == 0) {
    soft_.clear();
    return;
  }
  soft_ = fmt::format("the keeper of control planes cannot write to its cgroup {}: {}",
                      root_.string(), reason(failed));
  root_.clear();
}

void Cgroups::hand_on() {
  if (root_.empty()) return;
  std::vector<std::string> missing;
  for (const auto* controller : k_controllers) {
    const int failed = put(root_ / "cgroup.subtree_control", fmt::format("+{}", controller));
    // Without the last one, shares of disks, everything that has a bound is bounded.
    if (failed != 0 && controller != k_controllers.back())
      missing.push_back(fmt::format("{} ({})", controller, reason(failed)));
  }
  if (missing.empty()) return;
  soft_ = fmt::format("the cgroup {} hands on no controller {}", root_.string(),
                      fmt::join(missing, ", "));
  log::warning("keeper", "bounds of control planes are soft: {}", soft_);
}

void Cgroups::make(const std::string& id) {
  if (root_.empty()) return;
  left_.erase(id);
  std::error_code ignored; // what is missing is told by whoever writes there
  const FilesAsRoot all_rights;
  fs::create_directory(root_ / id, ignored);
}

void Cgroups::limit(const std::string& id, const Limits& limits) {
  if (root_.empty()) return;
  make(id);
  const auto group = root_ / id;
  std::vector<std::pair<const char*, std::string>> wanted = {
      {"cpu.max", fmt::format("{} {}", k_most_processors * k_processor_period, k_processor_period)},
      {"pids.max", std::to_string(k_most_tasks)}};
  if (limits.memory != 0) {
    // First it is made to give back what it can: at the end one of its programs is killed.
    wanted.emplace_back("memory.high", std::to_string(limits.memory / 100 * 80));
    wanted.emplace_back("memory.max", std::to_string(limits.memory));
  }
  if (limits.weight != 0) wanted.emplace_back("cpu.weight", std::to_string(limits.weight));
  for (const auto& [name, value] : wanted)
    if (const int failed = put(group / name, value); failed != 0 && soft_.empty()) {
      soft_ = fmt::format("cannot write {}: {}", (group / name).string(), reason(failed));
      log::warning("keeper", "bounds of control planes are soft: {}", soft_);
    }
  if (limits.weight != 0)
    put(group / "io.weight", fmt::format("default {}", limits.weight)); // where disks have weights
}

void Cgroups::enter(const std::string& id, pid_t pid) const {
  if (root_.empty()) return;
  const int failed = put(root_ / id / "cgroup.procs", std::to_string(pid));
  if (failed != 0 && failed != ESRCH)
    log::warning("keeper", "{}: process {} is not in its cgroup: {}", id, pid, reason(failed));
}

/// A process is in its cgroup until it is dead, some time after it was killed.
bool Cgroups::take_away(const std::string& id, unsigned tries) const {
  const auto group = root_ / id;
  const FilesAsRoot all_rights;
  put(group / "cgroup.kill", "1");
  if (::rmdir(group.c_str()) == 0 || errno == ENOENT) return true;
  if (tries == k_tries_told)
    log::warning("keeper", "{}: its cgroup is left, which is tried again: {}", id, reason(errno));
  return false;
}

void Cgroups::remove(const std::string& id) {
  if (root_.empty()) return;
  if (!take_away(id, 0)) left_.emplace(id, 1);
}

bool Cgroups::clear() {
  for (auto each = left_.begin(); each != left_.end();)
    each = take_away(each->first, each->second++) ? left_.erase(each) : std::next(each);
  return !left_.empty();
}

std::vector<std::string> Cgroups::present() const {
  std::vector<std::string> out;
  if (root_.empty()) return out;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(root_, error)) {
    auto id = entry.path().filename().string();
    if (is_id(id) && id != k_keepers_own && entry.is_directory(error)) out.push_back(std::move(id));
  }
  return out;
}

} // namespace zoo::keeper
