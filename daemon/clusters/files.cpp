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

} // namespace

Result<void> write_for_programs(const fs::path& path, std::string_view bytes) {
  return file::write(path, bytes, belongs_to_programs(path.parent_path()) ? 0640 : 0600);
}

Result<void> open_for_programs(const fs::path& socket) {
  if (!belongs_to_programs(socket.parent_path())) return {};
  std::error_code error;
  fs::permissions(socket, static_cast<fs::perms>(0660), error);
  if (!error) return {};
  return fail(Code::io, "cannot let programs use {}: {}", socket.string(), error.message());
}

} // namespace zoo::clusters
