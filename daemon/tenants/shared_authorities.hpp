// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "common/crypto/aead.hpp"
#include "daemon/store/store.hpp"

#include <filesystem>
#include <string_view>
#include <vector>

namespace zoo::tenants {

/// The authorities of zoods that have one store: those of the first one, kept in the store with
/// their keys sealed, and as files in each one's <directory>/pki (Pki reads these).
class SharedAuthorities {
public:
  static constexpr std::string_view k_kind = "pki";    ///< of the records
  static constexpr std::string_view k_purpose = "pki"; ///< of the Keyring's key

  /// `tenants`: the tenants' authority, too; false where the configuration names one. All outlive
  /// it.
  SharedAuthorities(store::Store& store, const crypto::Sealer& sealer,
                    std::filesystem::path directory, bool tenants)
      : store_(store), sealer_(sealer), folder_(std::move(directory) / "pki"), tenants_(tenants) {}

  /// Before Pki::open(): writes the files of what the store holds. Code::conflict: there are others
  /// in their place; Code::invalid: the store's cannot be opened; errors of store and files.
  Result<void> take();
  /// After Pki::open(): lets the store hold what lies there, unless it holds some already. False:
  /// another zood was first, and the files are its now: open Pki again.
  Result<bool> give();

private:
  struct Authority {
    std::string_view record, certificate, key; ///< names: of the record, and of the files
  };
  std::vector<Authority> authorities() const;
  Result<void> take_one(const Authority& authority, bool replace);
  Result<bool> give_one(const Authority& authority);

  store::Store& store_;
  const crypto::Sealer& sealer_;
  const std::filesystem::path folder_;
  const bool tenants_;
};

} // namespace zoo::tenants
