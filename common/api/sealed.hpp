// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

/// The sealed texts in zood's store: which records hold them, and what each one is sealed for
/// (crypto::Sealer's `associated`), so that none can stand in for another. zood seals and opens
/// them; the check of a backup (common/backup/verify.hpp) opens them as well.
namespace zoo::api::sealed {

/// Records whose value is a key in base64, sealed by the master key; their key is its purpose.
inline constexpr std::string_view k_keyring_kind = "keyring";
inline std::string keyring(std::string_view purpose) { return fmt::format("zood key {}", purpose); }

/// Records of tenants' kept credentials: JSON, whose "key" is sealed by the key of k_credentials.
inline constexpr std::string_view k_credential_kind = "credential";
inline constexpr std::string_view k_credentials = "tenant-credentials";
inline std::string credential(std::string_view tenant) {
  return fmt::format("tenant-credential/{}", tenant);
}

} // namespace zoo::api::sealed
