// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/resources/owners.hpp"

#include <nlohmann/json_fwd.hpp>

#include <array>
#include <string>
#include <string_view>

/// The kinds that zood keeps itself, a tenant at a time (docs/decisions/050): what upstream would
/// apply to the whole cluster, or would have to be told about every tenant. Constant; any thread.
namespace zoo::virtuals {

struct Kind {
  std::string_view group, version, resource, kind;
  bool read_only = false; ///< computed alone: get, list, watch
  /// A PUT may leave metadata.resourceVersion out (the strategy's AllowUnconditionalUpdate).
  bool unconditional = true;
  bool has_status = true;
  std::string_view columns; ///< columnDefinitions of a Table, as JSON
  /// Stands beside objects of upstream's that the tenant sees too: its resourceVersions are
  /// upstream's numbers, so that lists and watches of both are one (docs/decisions/080).
  bool beside = false;
  bool counts = true;             ///< has metadata.generation
  bool status_on_create = false;  ///< a create may bring it
  std::string_view immutable{};   ///< members of spec that stay, separated by spaces; "*": all
  std::string_view extra_field{}; ///< a field selector beside metadata.name

  std::string api_version() const;
  std::string title() const; ///< "flowschemas.flowcontrol.apiserver.k8s.io"
};

/// Lists of these kinds whose elements have owners of their own.
inline constexpr std::array k_lists{
    resources::ListRule{"status", "conditions", "type"},
    resources::ListRule{"status", "addresses", "type"}, // of a Node
    resources::ListRule{"spec", "podCIDRs", ""},
    resources::ListRule{"spec", "drivers", "name"}, // of a CSINode
};

/// Null: not a virtual kind.
const Kind* find_kind(std::string_view group, std::string_view resource);

/// The cells of one row as upstream's printers write them (pkg/printers/internalversion, and
/// kube-aggregator's REST storage); the cell of the age is null.
nlohmann::json cells_of(const Kind& kind, const nlohmann::json& object);

} // namespace zoo::virtuals
