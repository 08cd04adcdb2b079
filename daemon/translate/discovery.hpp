// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/translate/mapping.hpp"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace zoo::translate {

struct CatalogSubresource {
  std::string name, kind, group, version; ///< group and version of the kind
  std::vector<std::string> verbs;
};

struct CatalogResource {
  std::string name, singular, kind;
  std::string kind_group, kind_version; ///< of responseKind; both "" = as the resource's
  bool namespaced = false;
  std::vector<std::string> verbs, short_names, categories;
  std::vector<CatalogSubresource> subresources;
  bool has_verb(std::string_view verb) const;
};

struct CatalogVersion {
  std::string version, freshness;
  std::vector<CatalogResource> resources;
};

/// In upstream's names; versions in the order of preference.
struct CatalogGroup {
  std::string name;
  std::vector<CatalogVersion> versions;
};

/// What upstream serves, parsed once from its two aggregated discovery documents and shared by all
/// tenants: immutable, any thread. Everything asked per tenant costs what that tenant can see, plus
/// the built-in groups: custom groups are indexed by name, so that a prefix is a range.
class Catalog {
public:
  Catalog() = default;
  /// `api_json`, `apis_json`: APIGroupDiscoveryList (v2) of /api and /apis. Code::internal if one
  /// of them is something else.
  static Result<Catalog> parse(std::string_view api_json, std::string_view apis_json);

  /// In upstream's names; null if not served. O(log n).
  const CatalogGroup* find_group(std::string_view group) const;
  const CatalogResource* find(std::string_view group, std::string_view version,
                              std::string_view resource) const;
  std::string preferred_version(std::string_view group) const; ///< "" if not served

  /// The same by a tenant's group, and only what that tenant may see.
  const CatalogResource* find_visible(const Mapping& mapping, std::string_view group,
                                      std::string_view version, std::string_view resource) const;

  /// All groups, core first, in upstream's order.
  const std::vector<CatalogGroup>& groups() const { return groups_; }
  /// Custom groups of this prefix ("foofoo-"), in the order of their names.
  std::vector<const CatalogGroup*> groups_with_prefix(std::string_view prefix) const;

  // The documents of one tenant, in its names. nullopt: nothing there that it may see (404).
  std::string api_versions(std::string_view server_address) const; ///< /api
  std::string group_list(const Mapping& mapping) const;            ///< /apis
  std::optional<std::string> group(const Mapping& mapping, std::string_view group) const;
  /// /apis/<g>/<v>; "" and v1 for /api/v1
  std::optional<std::string> resource_list(const Mapping& mapping, std::string_view group,
                                           std::string_view version) const;
  /// APIGroupDiscoveryList v2 for /api (`core`) or /apis.
  std::string aggregated(const Mapping& mapping, bool core) const;

private:
  /// A group as a tenant sees it.
  struct Seen {
    const CatalogGroup* group;
    std::string name;
  };
  std::vector<Seen> seen(const Mapping& mapping) const;
  std::optional<Seen> seen_group(const Mapping& mapping, std::string_view tenant_group) const;
  std::vector<CatalogGroup> groups_;
  std::map<std::string, std::size_t, std::less<>> index_; ///< name -> groups_
  std::vector<std::size_t> builtin_;                      ///< built-in ones but the core
};

/// A resource as a tenant may use it: hidden kinds give nullopt, read-only kinds keep get, list and
/// watch, nodes/proxy goes.
std::optional<CatalogResource> visible_resource(const Mapping& mapping,
                                                std::string_view upstream_group,
                                                const CatalogResource& resource);

/// /openapi/v3: the index with what the tenant may see; the URL of an own group's document has the
/// tenant's name, its hash stays. Code::internal if it is no such index.
Result<std::string> openapi_index_out(const Mapping& mapping, const Catalog& catalog,
                                      std::string_view document);

/// /openapi/v3/apis/<g>/<v> of an own custom group (`tenant_group`): paths, reversed group in
/// schema names and $ref, group-version-kinds, tags and operation IDs renamed structurally; texts
/// stay. Documents of built-in groups pass unchanged. Code::internal if it is not JSON.
Result<std::string> openapi_document_out(const Mapping& mapping, std::string_view tenant_group,
                                         std::string_view document);

} // namespace zoo::translate
