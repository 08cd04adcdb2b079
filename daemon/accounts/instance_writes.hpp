// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/accounts/saga.hpp"
#include "daemon/resources/backing.hpp"
#include "daemon/upstream/control_api.hpp"

#include <nlohmann/json_fwd.hpp>

#include <memory>

namespace zoo::accounts {

/// Writes of TemplateInstances of tenancy.kiosk.sh. Each goes upstream as the user himself, to the
/// instance of config.kiosk.sh behind it, so that upstream's RBAC and policies judge it; the door
/// has asked before whether he may do the like in the tenancy group. Any thread; calls block.
/// Errors are for the user.
class InstanceWrites {
public:
  explicit InstanceWrites(const WriteParts& parts) : parts_(parts) {}

  Result<resources::Written> create(const resources::Who& who, nlohmann::json instance,
                                    const resources::WriteOptions& options);
  /// The whole wanted instance; its status is left out.
  Result<resources::Written> update(const resources::Who& who, nlohmann::json instance,
                                    const resources::WriteOptions& options);
  Result<resources::Written> apply(const resources::Who& who, const resources::Key& key,
                                   nlohmann::json config, const resources::WriteOptions& options);
  Result<resources::Written> remove(const resources::Who& who, const resources::Key& key,
                                    const resources::Preconditions& expected,
                                    const resources::WriteOptions& options);

private:
  std::unique_ptr<upstream::ActingApi> connect(const resources::Who& who) const;
  Result<resources::Written> written(const resources::Key& key, const nlohmann::json& stored,
                                     const resources::WriteOptions& options,
                                     bool gone = false) const;

  const WriteParts& parts_;
};

} // namespace zoo::accounts
