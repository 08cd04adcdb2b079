// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/api/tenant.hpp"
#include "common/base/result.hpp"
#include "common/kube/age.hpp"
#include "daemon/admin/negotiate.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

/// Tenants as meta.k8s.io Table and PartialObjectMetadata
/// (k8s.io/apimachinery/pkg/apis/meta/v1/types.go). Pure.
namespace zoo::admin {

/// What each row carries beside its cells: parameter includeObject.
enum class RowObject { none, metadata, object };
Result<RowObject> row_object(std::string_view parameter); ///< "" = Metadata

nlohmann::json partial_metadata(const api::Tenant& tenant, std::string_view version);

/// `now`: Unix seconds, for the ages. Without `columns` the definitions are left out, as upstream
/// does after the first event of a watch.
nlohmann::json table_of(std::span<const api::Tenant> tenants, std::string_view version,
                        RowObject with, std::int64_t now, bool columns);
/// A Table that carries a bookmark: one row, no cells, a nameless object.
nlohmann::json table_bookmark(const nlohmann::json& object, std::string_view version, bool columns);

using kube::human_duration;
using kube::unix_seconds;

} // namespace zoo::admin
