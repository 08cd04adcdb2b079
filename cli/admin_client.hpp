// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/door.hpp"
#include "common/api/audit_lines.hpp"
#include "common/base/result.hpp"
#include "common/base/secret.hpp"
#include "common/http_client/client.hpp"

#include <nlohmann/json_fwd.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace zoo::cli {

/// What carries requests: http_client::Client, or a script in tests. One thread.
class Transport {
public:
  virtual ~Transport() = default;
  virtual Result<http_client::Response> perform(const http_client::Request& request) = 0;
  virtual Result<http_client::Response>
  stream(const http_client::Request& request,
         const std::function<bool(std::string_view bytes)>& on_data) = 0;
};

/// What POST tenants/{name}/kubeconfig takes.
struct KubeconfigWish {
  std::string user; ///< empty and no groups: the tenant's administrator
  std::vector<std::string> groups;
  std::optional<std::chrono::seconds> ttl;
  std::string server;
};

/// zood's admin API as zooctl uses it (DESIGN 11). Objects are the server's JSON, untouched. Every
/// call is bounded by the request timeout. Errors: of the door, with what to do next
/// (unavailable, forbidden, timeout), or the server's Status by its reason. One thread.
class AdminClient {
public:
  using Steady = std::function<std::chrono::steady_clock::time_point()>;

  AdminClient(Door door, std::unique_ptr<Transport> transport, std::chrono::milliseconds timeout,
              Steady steady);
  ~AdminClient();

  /// A TenantList of all pages. `selector`: a label selector; empty: all.
  Result<nlohmann::json> tenants(std::string_view selector = {});
  /// A 404 asks for the list and names the ID that was probably meant.
  Result<nlohmann::json> tenant(std::string_view id);
  Result<nlohmann::json> create(const nlohmann::json& tenant, bool dry_run);
  /// Server-side apply as field manager zooctl: creates it or merges into it.
  Result<nlohmann::json> apply(const nlohmann::json& tenant, bool dry_run);
  /// A merge patch of one that is there.
  Result<nlohmann::json> patch(std::string_view id, const nlohmann::json& patch, bool dry_run);
  /// `uid`: only that Tenant, not a later one of the same ID.
  Result<void> remove(std::string_view id, std::string_view uid, bool dry_run);
  Result<std::string> kubeconfig(std::string_view id, const KubeconfigWish& wish);
  /// The kubeconfig of the tenant's administrator that zood keeps; "": it has none to show.
  Result<std::string> kept_kubeconfig(std::string_view id);
  /// Sets spec.suspended; in force when it returns.
  Result<nlohmann::json> suspend(std::string_view id, bool suspended, bool dry_run);
  Result<nlohmann::json> rotate(std::string_view id, bool revoke_old, bool dry_run);
  /// These certificates, or with none named every credential made until now.
  Result<nlohmann::json> revoke(std::string_view id, const std::vector<std::string>& serials,
                                bool dry_run);
  Result<nlohmann::json> certificates(std::string_view id);

  /// Calls `each` with the Tenant's state now and after every change (nothing: it is gone) until
  /// it says true, which is returned; false: the deadline came first. Lists, then watches from
  /// there; a stream that ends is taken up again. `lost` hears of failures that are tried again.
  Result<bool> follow(std::string_view id, std::chrono::steady_clock::time_point deadline,
                      const std::function<Result<bool>(const nlohmann::json* tenant)>& each,
                      const std::function<void(const Error&)>& lost,
                      const std::function<void(std::chrono::milliseconds)>& pause);

  Result<nlohmann::ordered_json> status();
  Result<nlohmann::json> doctor();
  /// What upstream knows of the aggregated door: api::aggregated::to_json(), and `trouble`.
  Result<nlohmann::json> aggregated();
  Result<nlohmann::json> switch_aggregated(bool on); ///< the same, afterwards
  /// Removes from upstream what accounts need there; answers kiosk::to_json() of the Removal.
  Result<nlohmann::json> uninstall_accounts(bool force, bool dry_run);
  /// The quotas of an account, or of all for "" (accounts::quota_state()).
  Result<nlohmann::json> quotas(std::string_view owner);
  /// Would these objects fit (accounts::quota_explanation()); `owner` "": whose `space` is.
  Result<nlohmann::json> explain_quota(std::string_view owner, std::string_view space,
                                       const nlohmann::json& objects);
  Result<void> recount_quota(std::string_view owner);
  /// zood's state as backup::text_of() writes it: it holds zood's keys.
  Result<Secret> backup();
  /// Moves zood's records: `wish` and answer as admin::StoreSource::migrate() has them.
  Result<nlohmann::json> migrate_store(const nlohmann::json& wish);
  /// Where zood keeps its records, and which zoods do: admin::StoreSource::state().
  Result<nlohmann::json> store();
  Result<Secret> invitation();        ///< for `zood --join`: it holds zood's master key
  Result<void> acknowledge_restore(); ///< doctor says no more that the state was restored
  /// {"items", "more"}, and `journal` if the lines are there (cli/journal.hpp) and none is here.
  Result<nlohmann::json> audit(const api::AuditQuery& wanted);

  /// One request of zood's API.
  struct Call {
    std::string method = "GET";
    std::string path = {};
    std::string content_type = "application/json";
    std::string body = {};
    std::size_t max_body = 0; ///< of the answer; 0: as http_client has it
    std::string purpose = {}; ///< "asking for the list of tenants"
  };
  /// The body of its answer. Errors: the server's Status as it is.
  Result<std::string> answer_of(const Call& call);
  /// follow() of an object of any kind: `collection` is the path of those among which it is.
  Result<bool> follow(const std::string& collection, std::string_view name,
                      std::chrono::steady_clock::time_point deadline,
                      const std::function<Result<bool>(const nlohmann::json* object)>& each,
                      const std::function<void(const Error&)>& lost,
                      const std::function<void(std::chrono::milliseconds)>& pause);

  /// Does that failure pass by itself? zood restarts, or has much to do: who waits asks again. What
  /// is wrong with the request itself stays so.
  static bool passes(const Error& error);

  const Door& door() const { return door_; }

private:
  Result<std::string> perform(const Call& call);
  Result<nlohmann::json> object_of(const Call& call);
  Result<nlohmann::json> ask(std::string_view id, const Call& call);
  http_client::Request request_of(const Call& call) const;
  Error explain(Error error, const Call& call) const;
  Error wrong_door(const Call& call, const http_client::Response& response) const;
  Error suggest(Error error, std::string_view id);
  struct Follower;

  Door door_;
  std::unique_ptr<Transport> transport_;
  std::chrono::milliseconds timeout_;
  Steady steady_;
};

} // namespace zoo::cli
