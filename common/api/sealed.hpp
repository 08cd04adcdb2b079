// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

/// For what each sealed text in zood's store is: what it proves (crypto::Sealer's `associated`),
/// and where it stands. zood seals and opens them; whoever verifies a backup opens them, too.
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
