// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "common/base/secret.hpp"

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace zoo::file {

/// An open descriptor, closed on destruction.
class Fd {
public:
  Fd() = default;
  explicit Fd(int number) : number_(number) {}
  Fd(Fd&& other) noexcept;
  Fd& operator=(Fd&& other) noexcept;
  ~Fd();
  int get() const { return number_; }
  int release();
  explicit operator bool() const { return number_ >= 0; }

private:
  int number_ = -1;
};

/// Reads a whole regular file of at most `limit` bytes. Code::not_found, too_large or io.
Result<std::string> read(const std::filesystem::path& path, std::size_t limit = 16u << 20);
Result<Secret> read_secret(const std::filesystem::path& path, std::size_t limit = 1u << 20);

/// Replaces a file as one step: O_EXCL temporary beside it with `mode` from its first byte,
/// fsync, rename, fsync of the directory. What was there stays whole on any failure (Code::io).
Result<void> write(const std::filesystem::path& path, std::string_view bytes, unsigned mode);

/// write() with mode 0600.
Result<void> write_secret(const std::filesystem::path& path, std::string_view bytes);

/// Makes a directory (and its parents) with mode 0700 if it is not there. Code::io if it cannot
/// be made or cannot be written to.
Result<void> ensure_private_directory(const std::filesystem::path& path);

} // namespace zoo::file
