// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/api/terms.hpp"
#include "common/base/result.hpp"

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace zoo::accounts {

/// What a Tenant says of quotas and templates.
struct TenantTerms {
  std::string account;                      ///< spec.account; "": none
  std::string hard;                         ///< spec.quota.hard in upstream's names, JSON; "": none
  std::vector<api::TemplateWish> templates; ///< spec.templates
};

/// The Tenants, for the quotas and templates in their namespaces. Filled by the composition root;
/// any thread; never blocks.
class TenantSource {
public:
  virtual ~TenantSource() = default;
  /// Nothing: there is no such tenant.
  virtual std::optional<TenantTerms> terms(std::string_view id) const = 0;
  /// IDs of those whose spec.account that is.
  virtual std::vector<std::string> of_account(std::string_view account) const = 0;
  /// IDs of those that have a quota, an account or a template of their own.
  virtual std::vector<std::string> concerned() const = 0;
  /// An object of a template, in the words of this tenant, as it is to be stored upstream; proven.
  /// Code::invalid or Code::forbidden with the field if it reaches out of the tenant.
  virtual Result<nlohmann::json> inward(std::string_view id,
                                        const nlohmann::json& object) const = 0;
};

} // namespace zoo::accounts
