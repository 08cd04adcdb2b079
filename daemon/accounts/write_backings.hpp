// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/accounts/backings.hpp"
#include "daemon/accounts/writes.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <utility>

/// Views that can be written, too. The Views and the Writes outlive them.
namespace zoo::accounts {

/// A view whose objects are created, replaced and removed by one part of Writes.
template <typename Part>
class WrittenView : public ViewBacking {
public:
  WrittenView(Views& views, ViewOf what, std::string resource, Part& part)
      : ViewBacking(views, what, std::move(resource)), part_(part) {}
  Result<resources::Written> create(const resources::Who& caller, nlohmann::json object,
                                    const resources::WriteOptions& options) override {
    return part_.create(caller, std::move(object), options);
  }
  Result<resources::Written> update(const resources::Who& caller, nlohmann::json object,
                                    const resources::WriteOptions& options) override {
    return part_.update(caller, std::move(object), options);
  }
  Result<resources::Written> remove(const resources::Who& caller, const resources::Key& key,
                                    const resources::Preconditions& expected,
                                    const resources::WriteOptions& options) override {
    return part_.remove(caller, key, expected, options);
  }

protected:
  Part& part() const { return part_; }

private:
  Part& part_;
};

/// Accounts of tenancy.kiosk.sh.
class AccountBacking final : public WrittenView<AccountWrites> {
public:
  AccountBacking(Views& views, Writes& writes)
      : WrittenView(views, ViewOf::accounts, "accounts", writes.accounts()) {}
};

/// TemplateInstances of tenancy.kiosk.sh.
class InstanceBacking final : public WrittenView<InstanceWrites> {
public:
  InstanceBacking(Views& views, Writes& writes)
      : WrittenView(views, ViewOf::instances, "templateinstances", writes.instances()) {}
  Result<resources::Written> apply(const resources::Who& caller, const resources::Key& key,
                                   nlohmann::json config,
                                   const resources::WriteOptions& options) override {
    return part().apply(caller, key, std::move(config), options);
  }
};

/// Spaces of tenancy.kiosk.sh.
class SpaceBacking final : public WrittenView<SpaceWrites> {
public:
  SpaceBacking(Views& views, Writes& writes)
      : WrittenView(views, ViewOf::spaces, "spaces", writes.spaces()) {}
  Result<void> admit(const resources::Who& caller, resources::Verb verb,
                     const resources::Key& key) override;
  Result<void> admit_apply(const resources::Who& caller, const resources::Key& key) override;
  Result<resources::Written> apply(const resources::Who& caller, const resources::Key& key,
                                   nlohmann::json config,
                                   const resources::WriteOptions& options) override;
};

/// Namespaces at the account door: one that is made or applied there is a space.
class NamespaceBacking final : public ViewBacking {
public:
  NamespaceBacking(Views& views, Writes& writes)
      : ViewBacking(views, ViewOf::namespaces, ""), spaces_(writes.spaces()) {}
  Result<void> admit(const resources::Who& caller, resources::Verb verb,
                     const resources::Key& key) override;
  Result<resources::Written> create(const resources::Who& caller, nlohmann::json object,
                                    const resources::WriteOptions& options) override;
  Result<void> admit_apply(const resources::Who& caller, const resources::Key& key) override;
  Result<resources::Written> apply(const resources::Who& caller, const resources::Key& key,
                                   nlohmann::json config,
                                   const resources::WriteOptions& options) override;

private:
  SpaceWrites& spaces_;
};

} // namespace zoo::accounts
