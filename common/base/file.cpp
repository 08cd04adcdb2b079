// SPDX-License-Identifier: Apache-2.0
#include "common/base/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <random>
#include <utility>

namespace zoo::file {
namespace {

Error io_error(std::string_view what, const std::filesystem::path& path) {
  const int number = errno;
  return Error(number == ENOENT ? Code::not_found : Code::io,
               fmt::format("cannot {} {}: {}", what, path.string(), std::strerror(number)));
}

Result<void> write_all(int fd, std::string_view bytes, const std::filesystem::path& path) {
  while (!bytes.empty()) {
    const auto n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0) {
      if (errno == EINTR) continue;
      return fail(io_error("write", path));
    }
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

} // namespace

Fd::Fd(Fd&& other) noexcept : number_(std::exchange(other.number_, -1)) {}

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    if (number_ >= 0) ::close(number_);
    number_ = std::exchange(other.number_, -1);
  }
  return *this;
}

Fd::~Fd() {
  if (number_ >= 0) ::close(number_);
}

int Fd::release() { return std::exchange(number_, -1); }

Result<std::string> read(const std::filesystem::path& path, std::size_t limit) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return fail(io_error("read", path));
  std::string out;
  char block[16384];
  for (;;) {
    const auto n = ::read(fd.get(), block, sizeof block);
    if (n < 0) {
      if (errno == EINTR) continue;
      return fail(io_error("read", path));
    }
    if (n == 0) return out;
    if (out.size() + static_cast<std::size_t>(n) > limit) {
      return fail(Code::too_large, "{} is larger than {} bytes", path.string(), limit);
    }
    out.append(block, static_cast<std::size_t>(n));
  }
}

Result<Secret> read_secret(const std::filesystem::path& path, std::size_t limit) {
  ZOO_TRY(auto bytes, read(path, limit));
  return Secret(std::move(bytes));
}

Result<void> write(const std::filesystem::path& path, std::string_view bytes, unsigned mode) {
  std::random_device random;
  const auto temporary = std::filesystem::path(path).concat(
      fmt::format(".{:08x}.tmp", static_cast<unsigned>(random())));
  {
    const Fd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                       static_cast<mode_t>(mode)));
    if (!fd) return fail(io_error("create", temporary));
    // A umask takes bits away: what a group is to read it may read from the first byte on.
    Result<void> written;
    if (::fchmod(fd.get(), static_cast<mode_t>(mode)) != 0)
      written = fail(io_error("set the mode of", temporary));
    if (written) written = write_all(fd.get(), bytes, path);
    if (written && ::fsync(fd.get()) != 0) written = fail(io_error("flush", path));
    if (!written) {
      ::unlink(temporary.c_str());
      return written;
    }
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    auto error = io_error("replace", path);
    ::unlink(temporary.c_str());
    return fail(std::move(error));
  }
  const auto parent = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  if (const Fd directory(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)); directory) {
    ::fsync(directory.get());
  }
  return {};
}

Result<void> write_secret(const std::filesystem::path& path, std::string_view bytes) {
  return write(path, bytes, 0600);
}

Result<void> ensure_private_directory(const std::filesystem::path& path) {
  std::error_code ec;
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), ec);
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return fail(io_error("create", path));
  if (::access(path.c_str(), R_OK | W_OK | X_OK) != 0) return fail(io_error("write to", path));
  return {};
}

} // namespace zoo::file
