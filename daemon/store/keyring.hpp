// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "common/base/secret.hpp"
#include "daemon/store/store.hpp"

#include <filesystem>
#include <memory>
#include <string_view>

namespace zoo::store {

/// Named keys of 32 bytes: continue tokens, sealed private keys, session tickets. Kept in the store
/// (so that replicas agree), sealed with the master key <directory>/master.key (0600), which is
/// made on first use and without which they cannot be read. Any thread; outlived by the store.
class Keyring {
public:
  /// Code::io if the master key cannot be read or made; Code::invalid if it is not 32 bytes in
  /// base64, may be read by others than its owner, or is missing while the store holds keys that
  /// were sealed with it.
  static Result<Keyring> open(Store& store, const std::filesystem::path& directory);

  Keyring(Keyring&&) noexcept;
  Keyring& operator=(Keyring&&) noexcept;
  ~Keyring();

  /// The key of that purpose, made on first use; the same one for every asker. A purpose is 1..64
  /// of [a-z0-9-]. Code::invalid if the stored key was sealed with another master key.
  Result<Secret> key(std::string_view purpose);

private:
  class Impl;
  explicit Keyring(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

} // namespace zoo::store
