// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/admin/negotiate.hpp"
#include "daemon/admin/request.hpp"
#include "daemon/admin/table.hpp"
#include "daemon/tenants/service.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace zoo::admin {

class Workers;
struct WatchPlan;

/// /apis/tenant.kubezoo.io/v1alpha1/tenants: turns requests into calls of the TenantService and
/// its answers into Kubernetes' forms. Blocking; worker threads; holds no state.
class TenantApi {
public:
  TenantApi(tenants::TenantService& service, Workers& workers, std::function<std::int64_t()> now)
      : service_(service), workers_(workers), now_(std::move(now)) {}

  Answer list(const Request& request);
  Answer watch(const Request& request); ///< GET ?watch=true
  /// `with_kubeconfig`: add annotation kubezoo.io/tenant.kubeconfig.base64 (never to a Table).
  Answer get(const Request& request, const std::string& id, bool with_kubeconfig);
  Answer create(const Request& request);
  Answer update(const Request& request, const std::string& id);
  Answer patch(const Request& request, const std::string& id);
  Answer remove(const Request& request, const std::string& id);
  Answer kubeconfig(const Request& request, const std::string& id);   ///< POST {id}/kubeconfig
  Answer certificates(const Request& request, const std::string& id); ///< GET {id}/certificates
  Answer rotate(const Request& request, const std::string& id);       ///< POST {id}/rotate
  Answer revoke(const Request& request, const std::string& id);       ///< POST {id}/revoke

private:
  struct Input {
    api::Tenant tenant;
    std::vector<std::string> warnings;
  };
  struct WriteOptions {
    bool dry_run = false;
    Representation representation;
    RowObject row = RowObject::metadata;
  };
  static Result<WriteOptions> write_options(const Request& request);
  /// `stored`: as of judge_fields().
  static Result<Input> accept_object(const Request& request, nlohmann::json object,
                                     const std::vector<std::string>& duplicates,
                                     const std::vector<std::string>& stored = {});
  Result<std::vector<api::Tenant>> all(std::int64_t& revision, std::string_view only_id);
  Result<WatchPlan> plan_watch(const Request& request);
  Result<Answer> try_list(const Request& request);
  Result<Answer> try_create(const Request& request);
  Result<Answer> try_update(const Request& request, const std::string& id);
  Result<Answer> try_patch(const Request& request, const std::string& id);
  Result<Answer> try_apply(const Request& request, const std::string& id,
                           const WriteOptions& options);
  Result<Answer> try_remove(const Request& request, const std::string& id);
  Result<Answer> try_kubeconfig(const Request& request, const std::string& id);
  Result<Answer> try_certificates(const Request& request, const std::string& id);
  Result<Answer> try_rotate(const Request& request, const std::string& id);
  Result<Answer> try_revoke(const Request& request, const std::string& id);
  Answer show(int status, const api::Tenant& tenant, const WriteOptions& options,
              std::vector<std::string> warnings = {}) const;

  tenants::TenantService& service_;
  Workers& workers_;
  std::function<std::int64_t()> now_;
};

/// An answer in the wanted text form (JSON or YAML).
Answer render(int status, const nlohmann::json& body, const Representation& representation);
/// The Status of a failure that concerns this tenant ("" = the collection).
Answer tenant_failure(const Error& error, std::string_view id);

} // namespace zoo::admin
