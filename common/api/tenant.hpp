// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// The Tenant record of tenant.kubezoo.io/v1alpha1, as zooctl, zood and its store speak it
/// (cluster-scoped; a superset of KubeZoo's type). Times are RFC 3339 in UTC with seconds.
namespace zoo::api {

inline constexpr std::string_view k_tenant_group = "tenant.kubezoo.io";
inline constexpr std::string_view k_tenant_api_version = "tenant.kubezoo.io/v1alpha1";
inline constexpr std::string_view k_tenant_kind = "Tenant";
inline constexpr std::string_view k_tenant_resource = "tenants";
/// Carries the tenant's kubeconfig, base64: added on GET of one Tenant for an administrator only.
inline constexpr std::string_view k_kubeconfig_annotation = "kubezoo.io/tenant.kubeconfig.base64";

enum class Phase { none, pending, ready, suspended, deleting, failed };
std::string_view phase_name(Phase phase); ///< "Pending", ...; "" for none

struct Condition {
  std::string type;
  std::string status; ///< "True", "False" or "Unknown"
  std::string reason, message;
  std::string last_transition_time;
  bool operator==(const Condition&) const = default;
};

/// Which requests of a tenant are written to the audit log.
enum class AuditLevel : std::uint8_t {
  none,
  denied, ///< what was refused for want of rights or of a credential
  writes, ///< these, and all that is no read
  all,
};
std::string_view audit_level_name(AuditLevel level);
std::optional<AuditLevel> audit_level(std::string_view name);

/// How upstream calls a tenant's webhooks: through zood's relay where it reaches that, or the
/// tenant's Services by itself.
inline constexpr std::string_view k_webhooks_relay = "relay", k_webhooks_direct = "direct";

/// spec.class of a Tenant that belongs to a virtual cluster.
inline constexpr std::string_view k_cluster_class = "cluster";

struct RevokedCertificate {
  std::string serial; ///< lower-case hex
  std::string expiry; ///< nothing is kept of it beyond
  bool operator==(const RevokedCertificate&) const = default;
};

/// What of a tenant's credentials is refused: status.credentials, written by zood alone.
struct Credentials {
  std::int64_t epoch = 0; ///< certificates that name an earlier one are refused
  std::string not_before; ///< ServiceAccounts' tokens made until then are refused; empty: none
  std::vector<RevokedCertificate> revoked;
  bool operator==(const Credentials&) const = default;
  bool revokes(std::string_view serial) const;
};

/// What zood does inside the pods of a tenant: spec.inside.
struct Inside {
  bool api = true; ///< it is the API server that they find, with a token for it alone
  bool dns = true; ///< they find the tenant's names where they look for names
  bool operator==(const Inside&) const = default;
};

struct Tenant {
  std::string id; ///< metadata.name
  std::string uid;
  std::int64_t resource_version = 0; ///< 0: not stored yet
  std::int64_t generation = 0;
  std::string creation_timestamp, deletion_timestamp; ///< empty: not set
  std::map<std::string, std::string> labels, annotations;

  std::string display_name;
  std::string account;
  bool suspended = false;
  std::optional<AuditLevel> audit; ///< spec.audit.level; none: zood's
  /// spec.webhooks: k_webhooks_relay, k_webhooks_direct, or "", which is the first.
  std::string webhooks;
  Inside inside;
  /// spec.class is "cluster": what a virtual cluster has upstream, under its ID. zood makes and
  /// removes it with the cluster; it has no credentials, and nobody is let in.
  bool of_cluster = false;
  /// JSON objects as text; empty: not set. What they mean: terms.hpp.
  std::string quota_json, flow_json, guards_json;
  std::string templates_json; ///< a JSON list as text

  Phase phase = Phase::none;
  std::vector<Condition> conditions;
  std::string certificate_expiry; ///< status.certificateExpiry
  Credentials credentials;
  std::string waiting_for; ///< status.waitingFor: what the controller waits for, in words
  /// status.hadWebhooks: upstream calls webhooks of the tenant's, or has called them.
  bool had_webhooks = false;
  /// status.heldUntil: of one that goes, until when those may hold something.
  std::string held_until;
  std::int64_t observed_generation = 0;
  /// status.usage: what the tenant has against its ceilings, a JSON object. Computed when a Tenant
  /// is read through the admin API, never stored.
  std::string usage_json;

  /// Fields of metadata, spec and status that this version does not know: JSON objects as text,
  /// kept and written back; empty: none.
  std::string unknown_metadata_json, unknown_spec_json, unknown_status_json;

  /// nullptr: there is none. What is returned lives in this tenant, for which reason none can be
  /// had of a temporary.
  const Condition* condition(std::string_view type) const&;
  const Condition* condition(std::string_view type) const&& = delete;
  /// Adds or changes one; last_transition_time moves to `now` only when the status does.
  void set_condition(std::string_view type, std::string_view status, std::string_view reason,
                     std::string_view message, std::string_view now);
};

/// apiVersion, kind, metadata, spec, status; what is empty is left out, spec and status never.
nlohmann::json to_json(const Tenant& tenant);

/// Strict on types, with the field named ("spec.suspended must be true or false, not a string"):
/// Code::bad_request for another apiVersion or kind, Code::invalid for a field, and for an unknown
/// one beside metadata, spec and status (within them unknown ones are kept). KubeZoo's
/// manifests (`spec: {id: 0}`, `status: {}`) are taken. A metadata.name that is a number is refused
/// with the words to quote it. The ID itself is checked by validate_id(), not here.
Result<Tenant> from_json(const nlohmann::json& object);

/// "a tenant's ID is exactly six characters of a-z and 0-9; 'foo' has three"; reserved IDs are
/// Code::invalid too.
Result<void> validate_id(std::string_view id, std::span<const std::string> reserved = {});

/// "2026-01-31T09:00:00Z".
std::string rfc3339(std::int64_t unix_seconds);

} // namespace zoo::api
