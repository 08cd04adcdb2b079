// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/admin/api_types.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace zoo::admin {

/// The quotas that zood keeps. An owner is the name of an account. Worker threads; filled by the
/// composition root.
class QuotaSource {
public:
  virtual ~QuotaSource() = default;
  /// Of one owner, or of all for "": an array of accounts::quota_state(). Code::not_found.
  virtual Result<nlohmann::json> quotas(const std::string& owner) = 0;
  /// Would these objects fit: accounts::quota_explanation(). `owner` "": whose `space` is.
  virtual Result<nlohmann::json> explain(const std::string& owner, const std::string& space,
                                         const nlohmann::json& objects) = 0;
  virtual Result<void> recount(const std::string& owner) = 0;
};

/// GET /zoo/v1/quotas[?owner=NAME]: {"items": [...]}. POST {"explain": {"owner", "space",
/// "objects"}}, or {"recount": "NAME"}.
Answer quotas_answer(const Request& request, QuotaSource* source);

} // namespace zoo::admin
