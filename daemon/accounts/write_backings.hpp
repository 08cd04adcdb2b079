// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/accounts/backings.hpp"
#include "daemon/accounts/writes.hpp"

#include <nlohmann/json_fwd.hpp>

/// Views that can be written, too. The Views and the Writes outlive them.
namespace zoo::accounts {

/// Spaces of tenancy.kiosk.sh.
class SpaceBacking final : public ViewBacking {
public:
  SpaceBacking(Views& views, Writes& writes)
      : ViewBacking(views, ViewOf::spaces, "spaces"), writes_(writes) {}
  Result<void> admit(const resources::Who& caller, resources::Verb verb,
                     const resources::Key& key) override;
  Result<resources::Written> create(const resources::Who& caller, nlohmann::json object,
                                    const resources::WriteOptions& options) override;
  Result<resources::Written> update(const resources::Who& caller, nlohmann::json object,
                                    const resources::WriteOptions& options) override;
  Result<resources::Written> remove(const resources::Who& caller, const resources::Key& key,
                                    const resources::Preconditions& expected,
                                    const resources::WriteOptions& options) override;

private:
  Writes& writes_;
};

/// Accounts of tenancy.kiosk.sh.
class AccountBacking final : public ViewBacking {
public:
  AccountBacking(Views& views, Writes& writes)
      : ViewBacking(views, ViewOf::accounts, "accounts"), writes_(writes) {}
  Result<resources::Written> create(const resources::Who& caller, nlohmann::json object,
                                    const resources::WriteOptions& options) override;
  Result<resources::Written> update(const resources::Who& caller, nlohmann::json object,
                                    const resources::WriteOptions& options) override;
  Result<resources::Written> remove(const resources::Who& caller, const resources::Key& key,
                                    const resources::Preconditions& expected,
                                    const resources::WriteOptions& options) override;

private:
  Writes& writes_;
};

/// Namespaces at the account door: one that is made there is a space.
class NamespaceBacking final : public ViewBacking {
public:
  NamespaceBacking(Views& views, Writes& writes)
      : ViewBacking(views, ViewOf::namespaces, ""), writes_(writes) {}
  Result<void> admit(const resources::Who& caller, resources::Verb verb,
                     const resources::Key& key) override;
  Result<resources::Written> create(const resources::Who& caller, nlohmann::json object,
                                    const resources::WriteOptions& options) override;

private:
  Writes& writes_;
};

} // namespace zoo::accounts
