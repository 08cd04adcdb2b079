// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace zoo::translate {

/// inward: from the tenant to the upstream. outward: back. prove: not a translation - every
/// position that inward would change must already hold a value that inward could have made.
enum class Direction : std::uint8_t { inward, outward, prove };

/// Kinds whose names are partly the platform's (shared, read-only, verbatim) and partly the
/// tenant's (private, prefixed): DESIGN 2, mode `overlay` of rules/api-resources.json.
enum class Overlay : std::uint8_t {
  storage_class,
  ingress_class,
  runtime_class,
  priority_class,
  volume_attributes_class,
  device_class,
};
inline constexpr std::size_t k_overlay_count = 6;

/// What the platform shares with a tenant, as one immutable value. A new one replaces it when the
/// upstream changes; readers keep the one they began with.
struct SharedNames {
  std::array<std::set<std::string, std::less<>>, k_overlay_count> classes;
  /// Custom API groups of the platform that tenants may use under their own name.
  std::set<std::string, std::less<>> groups;
  /// The domain of the upstream's DNS, without a dot at its end (dns_name.hpp).
  std::string domain = "cluster.local";
};

/// The name mapping of one view (DESIGN 2 and 4): prefix or none. Pure and immutable: any thread.
/// An empty ID is the identity mapping (an account's view, a virtual cluster's view).
///
/// The `*_out` functions answer nullopt for a value that is not the tenant's; a caller must not
/// show such a value.
class Mapping {
public:
  /// `id`: a Tenant ID that was validated, or "". `shared` is never null. `root_ca`: see below.
  Mapping(std::string id, std::shared_ptr<const SharedNames> shared,
          std::shared_ptr<const std::string> root_ca = nullptr);

  const std::string& id() const { return id_; }
  const std::string& prefix() const { return prefix_; } ///< "<id>-", or "" for the identity
  bool identity() const { return id_.empty(); }
  const SharedNames& shared() const { return *shared_; }
  /// The authorities (PEM) that the tenant reads in `ca.crt` of each ConfigMap kube-root-ca.crt:
  /// those by which its pods verify the API server that they are led to. Null: upstream's stay.
  const std::string* root_ca() const { return root_ca_.get(); }

  /// Namespaces, and names of cluster-scoped private objects. Empty stays empty.
  std::string name_in(std::string_view name) const;
  std::optional<std::string_view> name_out(std::string_view name) const;
  bool owns_name(std::string_view upstream_name) const; ///< starts with the prefix and goes on

  /// API group. Built-in groups (a fixed list, see builtin_group) and shared groups stay.
  std::string group_in(std::string_view group) const;
  std::optional<std::string_view> group_out(std::string_view group) const;
  bool custom_group(std::string_view group) const; ///< neither built-in nor shared: gets the prefix

  /// "group/version" or "v1".
  std::string api_version_in(std::string_view api_version) const;
  std::optional<std::string> api_version_out(std::string_view api_version) const;

  /// Overlay kinds: a shared name stays, anything else is prefixed.
  std::string overlay_in(Overlay kind, std::string_view name) const;
  std::optional<std::string_view> overlay_out(Overlay kind, std::string_view name) const;
  bool shared_class(Overlay kind, std::string_view name) const;

  /// CustomResourceDefinition `<plural>.<group>`; the prefix is an infix.
  std::string crd_name_in(std::string_view name) const;
  std::optional<std::string> crd_name_out(std::string_view name) const;

  /// PersistentVolume: `pvc-<uuid>` was provisioned dynamically and keeps its name.
  std::string volume_in(std::string_view name) const;
  std::optional<std::string_view> volume_out(std::string_view name) const;

  /// Signer `domain/path`; `kubernetes.io/*` signers are never forwarded.
  std::string signer_in(std::string_view signer) const;
  std::optional<std::string_view> signer_out(std::string_view signer) const;

  /// RBAC subject of kind User or Group, and namespace of a ServiceAccount subject: stored inert,
  /// `zoo:inert:<id>:<name>` (DESIGN 8).
  std::string inert_in(std::string_view name) const;
  std::optional<std::string_view> inert_out(std::string_view name) const;

private:
  std::string id_;
  std::string prefix_;
  std::string inert_prefix_;
  std::shared_ptr<const SharedNames> shared_;
  std::shared_ptr<const std::string> root_ca_;
};

/// Is `group` one that Kubernetes itself serves ("" and apps, batch, *.k8s.io of its own)? Such a
/// group can never be a tenant's. The list is generated from rules/api-resources.json.
bool builtin_group(std::string_view group);

/// The label on a tenant's namespaces: set inward, hidden outward.
inline constexpr std::string_view k_tenant_label = "tenant.kubezoo.io/id";

} // namespace zoo::translate
