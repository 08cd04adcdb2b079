// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/translate/framer.hpp"
#include "daemon/translate/viewer.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
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
  /// A group and what it was parsed from; what upstream says of several, in its order.
  struct Read {
    CatalogGroup group;
    std::string text;
  };
  using Document = std::vector<std::shared_ptr<const Read>>;
  class Reader;
  /// The same with what a Reader made of a document; nullopt: that one is as it was (304).
  Catalog renewed(std::optional<Document> api, std::optional<Document> apis) const;

  /// In upstream's names; null if not served. O(log n).
  const CatalogGroup* find_group(std::string_view group) const;
  const CatalogResource* find(std::string_view group, std::string_view version,
                              std::string_view resource) const;
  std::string preferred_version(std::string_view group) const; ///< "" if not served

  /// The same by a tenant's group, and only what that tenant may see.
  const CatalogResource* find_visible(const Viewer& viewer, std::string_view group,
                                      std::string_view version, std::string_view resource) const;

  /// The built-in groups, core first, in upstream's order.
  const std::vector<const CatalogGroup*>& builtin_groups() const { return builtin_; }
  /// Custom groups of this prefix ("foofoo-"), in the order of their names.
  std::vector<const CatalogGroup*> groups_with_prefix(std::string_view prefix) const;

  // The documents of one tenant, in its names. nullopt: nothing there that it may see (404).
  std::string api_versions(std::string_view server_address) const; ///< /api
  std::string group_list(const Viewer& viewer) const;              ///< /apis
  std::optional<std::string> group(const Viewer& viewer, std::string_view group) const;
  /// /apis/<g>/<v>; "" and v1 for /api/v1
  std::optional<std::string> resource_list(const Viewer& viewer, std::string_view group,
                                           std::string_view version) const;
  /// APIGroupDiscoveryList v2 for /api (`core`) or /apis.
  std::string aggregated(const Viewer& viewer, bool core) const;

private:
  struct Named {
    const Read* read;
    std::size_t place; ///< in its document
  };
  const Named* named(std::string_view group) const;

  /// A group as a tenant sees it.
  struct Seen {
    const CatalogGroup* group;
    std::string name;
  };
  std::vector<Seen> seen(const Viewer& viewer) const;
  std::optional<Seen> seen_group(const Viewer& viewer, std::string_view tenant_group) const;
  Document api_, apis_;
  std::vector<Named> by_name_; ///< of both; of two of one name the first one alone
  std::vector<const CatalogGroup*> builtin_;
};

/// Reads one of the two documents in chunks of any size. A group whose text is what `before` has
/// read of it is shared with that and not parsed again: among ten thousand groups a new one costs a
/// pass over the document. One a document; not thread-safe.
class Catalog::Reader final : FrameHandler {
public:
  enum class Of : std::uint8_t { api, apis };
  /// `before` outlives it.
  Reader(const Catalog& before, Of document)
      : catalog_(before), before_(document == Of::api ? before.api_ : before.apis_),
        framer_(Shape::list, k_limit, *this) {}
  Reader(const Reader&) = delete; // framer_ calls it

  /// Code::internal: it is no APIGroupDiscoveryList (v2); Code::too_large: of more than 64 MiB.
  /// Nothing may be fed afterwards.
  Result<void> feed(std::string_view chunk);
  Result<Document> finish();

private:
  static constexpr std::size_t k_limit = std::size_t{64} << 20;
  void on_frame_head(std::string_view head) override { around_ = head; }
  void on_frame(std::string_view value) override;
  void on_frame_tail(std::string_view tail) override { around_ += tail; }

  const Catalog& catalog_;
  const Document& before_;
  Framer framer_;
  std::size_t at_ = 0;   ///< of before_: upstream's order mostly stays
  std::size_t size_ = 0; ///< bytes so far
  Document out_;
  std::string around_; ///< what stands around the items
  bool broken_ = false;
};

/// A resource as a tenant may use it: hidden kinds give nullopt, read-only kinds keep get, list and
/// watch, nodes/proxy goes.
std::optional<CatalogResource> visible_resource(const Viewer& viewer,
                                                std::string_view upstream_group,
                                                const CatalogResource& resource);

/// /openapi/v3/apis/<g>/<v> of an own custom group (`tenant_group`): paths, reversed group in
/// schema names and $ref, group-version-kinds, tags and operation IDs renamed structurally; texts
/// stay. Documents of built-in groups pass unchanged. Code::internal if it is not JSON.
Result<std::string> openapi_document_out(const Mapping& mapping, std::string_view tenant_group,
                                         std::string_view document);

} // namespace zoo::translate
