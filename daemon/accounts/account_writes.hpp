// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/accounts/saga.hpp"
#include "daemon/resources/backing.hpp"
#include "daemon/upstream/connections.hpp"

#include <nlohmann/json_fwd.hpp>

namespace zoo::accounts {

/// Writes of Accounts of tenancy.kiosk.sh: zood makes them, as itself, on the Account of
/// config.kiosk.sh behind it, for whoever has the verb on accounts of the tenancy group by
/// upstream's RBAC. Any thread; calls block. Errors are for the user; what upstream judges (schema,
/// policies, versions) is refused in its words.
class AccountWrites {
public:
  /// `connections`: of WriteParts::connect_once.
  AccountWrites(const WriteParts& parts, upstream::Connections& connections)
      : parts_(parts), connections_(connections) {}

  Result<resources::Written> create(const resources::Who& who, nlohmann::json account,
                                    const resources::WriteOptions& options);
  /// The whole wanted Account. Code::invalid if its status is another one.
  Result<resources::Written> update(const resources::Who& who, nlohmann::json account,
                                    const resources::WriteOptions& options);
  Result<resources::Written> remove(const resources::Who& who, const resources::Key& key,
                                    const resources::Preconditions& expected,
                                    const resources::WriteOptions& options);

private:
  Result<void> admit(const resources::Who& who, std::string_view verb, std::string_view other,
                     std::string_view name) const;
  /// `live`: as it is; null for one that is made.
  Result<void> may_give_role(const resources::Who& who, const nlohmann::json& wanted,
                             const nlohmann::json* live) const;

  const WriteParts& parts_;
  upstream::Connections& connections_;
};

} // namespace zoo::accounts
