// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/api/tenant.hpp"
#include "common/base/result.hpp"
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

/// "5m", "3d4h", "2y": k8s.io/apimachinery/pkg/util/duration HumanDuration.
std::string human_duration(std::int64_t seconds);
/// Unix seconds of "2026-01-31T09:00:00Z"; -1 if it is not such a time.
std::int64_t unix_seconds(std::string_view rfc3339);

} // namespace zoo::admin
