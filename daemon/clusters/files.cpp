// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/files.hpp"

#include "common/base/file.hpp"

#include <system_error>

namespace zoo::clusters {
namespace {

namespace fs = std::filesystem;

bool belongs_to_programs(const fs::path& directory) {
  std::error_code error;
  const auto facts = fs::status(directory, error);
  return !error && (facts.permissions() & fs::perms::set_gid) != fs::perms::none;
}

Result<void> set_mode(const fs::path& path, unsigned mode) {
  std::error_code error;
  fs::permissions(path, static_cast<fs::perms>(mode), error);
  if (!error) return {};
  return fail(Code::io, "cannot let programs use {}: {}", path.string(), error.message());
}

} // namespace

Result<void> write_for_programs(const fs::path& path, std::string_view bytes) {
  if (!belongs_to_programs(path.parent_path())) return file::write(path, bytes, 0600);
  // A unit's UMask= leaves the group nothing at first.
  const auto made = fs::path(path).concat(".made");
  ZOO_TRY_VOID(file::write(made, bytes, 0600));
  ZOO_TRY_VOID(set_mode(made, 0640));
  std::error_code error;
  fs::rename(made, path, error);
  if (!error) return {};
  return fail(Code::io, "cannot replace {}: {}", path.string(), error.message());
}

Result<void> open_for_programs(const fs::path& socket) {
  if (!belongs_to_programs(socket.parent_path())) return {};
  return set_mode(socket, 0660);
}

} // namespace zoo::clusters
