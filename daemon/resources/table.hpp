// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/resources/kind.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>
#include <string_view>

/// Objects as meta.k8s.io Table and PartialObjectMetadata
/// (k8s.io/apimachinery/pkg/apis/meta/v1/types.go). Pure.
namespace zoo::resources {

/// What each row carries beside its cells: parameter includeObject.
enum class RowObject { none, metadata, object };
Result<RowObject> row_object(std::string_view parameter); ///< "" = Metadata

nlohmann::json partial_metadata(const nlohmann::json& object, std::string_view version);

/// `now`: Unix seconds, for the ages. Without `columns` the definitions are left out, as upstream
/// does after the first event of a watch.
nlohmann::json table_of(const Kind& kind, const nlohmann::json& object, std::string_view version,
                        RowObject with, std::int64_t now, bool columns);
/// A Table that carries a bookmark: one row, no cells, a nameless object.
nlohmann::json table_bookmark(const Kind& kind, const nlohmann::json& object,
                              std::string_view version, bool columns);

/// The Table of a list, made as JSON text row by row: the tree of a long one would take ten times
/// its bytes. One thread at a time; the kind outlives it.
class TableText {
public:
  TableText(const Kind& kind, std::string_view version, RowObject with, std::int64_t now);
  void add(const nlohmann::json& object);
  /// The whole, a line feed behind it. `metadata`: the list's.
  std::string finish(const nlohmann::json& metadata) const;

private:
  const Kind& kind_;
  std::string version_, rows_;
  RowObject with_;
  std::int64_t now_;
};

} // namespace zoo::resources
