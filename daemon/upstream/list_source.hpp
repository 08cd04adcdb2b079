// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zoo::upstream {

/// A stretch of upstream's key order (DESIGN 6). Keys are "<namespace>/<name>" on an
/// all-namespaces path and "<name>" elsewhere.
struct KeyRange {
  std::string start;  ///< first key that may be in it; "" = from the beginning
  std::string prefix; ///< keys in it begin with this; "" = all
  bool exact = false; ///< the one key equal to `prefix`

  bool contains(std::string_view key) const {
    return exact ? key == prefix : key.starts_with(prefix);
  }
};

/// What to list. Everything here is in upstream's names and was proven before.
struct ListRequest {
  std::string path;   ///< upstream path without query
  std::string accept; ///< representation: JSON object, Table or PartialObjectMetadataList
  std::vector<std::pair<std::string, std::string>> query;   ///< selectors, decoded
  std::vector<std::pair<std::string, std::string>> headers; ///< impersonation, User-Agent
  KeyRange range;
  bool all_namespaces = false; ///< keys carry the namespace
  std::string rows = "items";  ///< "rows" for a Table
  std::int64_t revision = -1;  ///< exactly at this resourceVersion; -1 = latest, consistent
  std::size_t limit = 0;       ///< most items to deliver; 0 = all
};

/// What is known once a list is over.
struct ListEnd {
  std::string resource_version;
  /// With a limit, and more items after it: the key to go on from (exclusive start, see KeyRange).
  std::optional<std::string> next_start;
};

/// Hears a list. On the loop that started it. May destroy the List inside any callback.
class ListHandler {
public:
  virtual ~ListHandler() = default;
  /// Once, before the first item: the envelope's members before the items (kind, apiVersion,
  /// columnDefinitions), as the bytes that upstream sent: `{"kind":...,` up to the array.
  virtual void on_list_begin(std::string_view head) = 0;
  virtual void on_list_item(std::string_view key, std::string_view item) = 0;
  virtual void on_list_end(ListEnd end, std::string_view tail) = 0;
  /// A Status that upstream answered (in its names), or a failure of the way. `http_status` 0 =
  /// ours.
  virtual void on_list_error(Error error, int http_status, std::string status_body) = 0;
};

/// A list on its way; destroying it cancels.
class List {
public:
  virtual ~List() = default;
  virtual void pause() = 0;
  virtual void resume() = 0;
};

} // namespace zoo::upstream
