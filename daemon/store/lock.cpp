// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>

namespace zoo::store {
namespace {

std::string holder_of(int fd) {
  char text[32] = {};
  const auto size = ::pread(fd, text, sizeof text - 1, 0);
  long pid = 0;
  if (size <= 0 || std::from_chars(text, text + size, pid).ec != std::errc() || pid <= 0) return {};
  return fmt::format(" (process {})", pid);
}

} // namespace

Result<DirectoryLock> DirectoryLock::acquire(const std::filesystem::path& directory) {
  ZOO_TRY_VOID(file::ensure_private_directory(directory));
  const auto path = directory / "zood.lock";
  file::Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd) return fail(Code::io, "cannot open {}: {}", path.string(), std::strerror(errno));
  while (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno == EWOULDBLOCK) {
      return fail(Code::conflict,
                  "another zood{} already uses the directory {}: stop it, or give this one another "
                  "--dir",
                  holder_of(fd.get()), directory.string());
    }
    return fail(Code::io, "cannot lock {}: {}", path.string(), std::strerror(errno));
  }
  const auto pid = fmt::format("{}\n", ::getpid());
  // A full disk must not keep zood from starting: the number is for people only.
  if (::ftruncate(fd.get(), 0) == 0) (void)!::pwrite(fd.get(), pid.data(), pid.size(), 0);
  return DirectoryLock(std::move(fd));
}

} // namespace zoo::store
