// SPDX-License-Identifier: Apache-2.0
#include "common/backup/passphrase.hpp"

#include "common/base/file.hpp"

namespace zoo::backup {

Result<Secret> read_passphrase(const std::filesystem::path& file) {
  constexpr std::size_t k_shortest = 8, k_longest_file = 64u << 10;
  ZOO_TRY(const auto text, file::read_secret(file, k_longest_file));
  const auto line = text.view().substr(0, text.view().find_first_of("\r\n"));
  if (line.size() < k_shortest) {
    return fail(Code::usage,
                "the passphrase in {} has {} characters, and {} are the fewest that are taken: "
                "`openssl rand -base64 24` makes a good one",
                file.string(), line.size(), k_shortest);
  }
  return Secret::copy_of(line);
}

} // namespace zoo::backup
