// SPDX-License-Identifier: Apache-2.0
#include "cli/kubeconfig_file.hpp"

#include "common/base/file.hpp"
#include "common/base/text.hpp"
#include "common/kube/kubeconfig.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace zoo::cli {
namespace {

namespace fs = std::filesystem;

Error io_error(std::string_view what, const fs::path& path) {
  return Error(Code::io,
               fmt::format("cannot {} {}: {}", what, path.string(), std::strerror(errno)));
}

/// Where writing really happens: links are followed, also one to a file that is not there yet.
fs::path target_of(const fs::path& file) {
  std::error_code ec;
  auto target = fs::weakly_canonical(file, ec);
  if (ec) return file;
  if (fs::is_symlink(fs::symlink_status(file, ec)) && !fs::exists(file, ec)) {
    auto link = fs::read_symlink(file, ec);
    if (!ec) target = link.is_absolute() ? link : file.parent_path() / link;
  }
  return target;
}

Result<void> write_through(const fs::path& path, std::string_view text) {
  const file::Fd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
  if (!fd) return fail(io_error("open", path));
  while (!text.empty()) {
    const auto n = ::write(fd.get(), text.data(), text.size());
    if (n < 0) {
      if (errno == EINTR) continue;
      return fail(io_error("write", path));
    }
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

/// kubectl's lock: k8s.io/client-go/tools/clientcmd/config.go makes <file>.lock with O_EXCL.
class Lock {
public:
  static Result<Lock> take(const fs::path& file) {
    auto path = fs::path(file).concat(".lock");
    const file::Fd fd(::open(path.c_str(), O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (fd) return Lock(std::move(path));
    if (errno == EEXIST) {
      return fail(Code::conflict,
                  "another program changes {} now: {} exists. Try again; if no kubectl runs, "
                  "remove that file",
                  file.string(), path.string());
    }
    return fail(io_error("create", path));
  }
  Lock(Lock&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
  Lock& operator=(Lock&&) = delete;
  ~Lock() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }

private:
  explicit Lock(fs::path path) : path_(std::move(path)) {}
  fs::path path_;
};

} // namespace

Result<void> write_kubeconfig_file(const fs::path& file, std::string_view text) {
  struct stat facts{};
  const bool exists = ::stat(file.c_str(), &facts) == 0;
  if (exists && S_ISDIR(facts.st_mode)) {
    return fail(Code::io, "{} is a directory: name the file to write", file.string());
  }
  if (exists && !S_ISREG(facts.st_mode)) return write_through(file, text);
  const auto target = target_of(file);
  ZOO_TRY_VOID(file::write_secret(target, text));
  // Under sudo the file must stay its user's.
  if (exists && (facts.st_uid != ::geteuid() || facts.st_gid != ::getegid()) &&
      ::chown(target.c_str(), facts.st_uid, facts.st_gid) != 0 && ::geteuid() == 0) {
    return fail(io_error("give back to its owner", target));
  }
  return {};
}

Result<fs::path> default_kubeconfig_file(const Context& context) {
  if (const auto list = context.env("KUBECONFIG")) {
    fs::path last;
    for (const auto name : text::split(*list, ':')) {
      if (name.empty()) continue;
      last = fs::path(name);
      std::error_code ec;
      if (fs::exists(last, ec)) return last;
    }
    if (!last.empty()) return last;
  }
  const auto home = context.env("HOME");
  if (!home) {
    return fail(Code::usage, "there is neither KUBECONFIG nor HOME in the environment: say where "
                             "to write with -o FILE");
  }
  return fs::path(*home) / ".kube" / "config";
}

Result<void> merge_into_file(const fs::path& file, std::string_view added) {
  const auto target = target_of(file);
  if (target.has_parent_path()) ZOO_TRY_VOID(file::ensure_private_directory(target.parent_path()));
  ZOO_TRY(const auto lock, Lock::take(target));
  std::string existing;
  if (auto bytes = file::read(target)) {
    existing = *std::move(bytes);
  } else if (bytes.error().code() != Code::not_found) {
    return fail(std::move(bytes).error());
  }
  auto merged = kube::merge_kubeconfig(existing, added);
  if (!merged)
    return fail(std::move(merged).error().context("while merging into {}", file.string()));
  return write_kubeconfig_file(target, *merged);
}

} // namespace zoo::cli
