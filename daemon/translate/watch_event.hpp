// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/translate/mapping.hpp"
#include "daemon/translate/status_text.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace zoo::translate {

struct Root;

enum class EventType : std::uint8_t { added, modified, deleted, bookmark, error };

/// One watch event `{"type":"ADDED","object":{...}}`; views into the text it was read from.
struct Event {
  EventType type = EventType::added;
  std::string_view object; ///< the JSON of the object
};
/// Code::internal for what is no watch event of a type that Kubernetes has.
Result<Event> parse_event(std::string_view text);

/// Where an object belongs in upstream's key order.
struct ObjectKey {
  std::string name_space, name, resource_version;
  bool initial_events_end = false; ///< annotation k8s.io/initial-events-end=true (bookmarks)
  /// "<namespace>/<name>", or "<name>" without namespace.
  std::string text() const { return name_space.empty() ? name : name_space + "/" + name; }
};
/// Reads them from an object's `metadata`, and stops there: members before it are skipped over,
/// members behind it not even looked at. Code::internal if there is no metadata object.
Result<ObjectKey> object_key(std::string_view object);

/// The name of an object that `text` begins with, of which it may lack the end, or
/// "<namespace>/<name>": what its metadata says first. False if that is not within `text`, or is
/// escaped.
bool leading_key(std::string_view text, bool with_namespace, std::string& out);

/// What a row of a Table holds (meta.k8s.io/v1 TableRow): views into it.
struct TableRow {
  std::string_view cells, object;
};
/// Code::internal for what is no row with both.
Result<TableRow> split_row(std::string_view row);
/// leading_key() of a row's object.
bool leading_row_key(std::string_view row, bool with_namespace, std::string& out);

/// `{"type":"ADDED","object":...}` and a newline.
std::string make_event(EventType type, std::string_view object_json);
void append_event(std::string& out, EventType type, std::string_view object_json);
/// The end of a watch that failed: type ERROR with this Status.
std::string make_error_event(std::string_view status_json);
/// The object of a bookmark: one that has a resourceVersion and nothing else.
std::string bookmark_object(std::string_view api_version, std::string_view kind,
                            std::string_view resource_version, bool initial_events_end);
/// A BOOKMARK as upstream writes it for a kind, in the tenant's apiVersion.
std::string make_bookmark(std::string_view api_version, std::string_view kind,
                          std::string_view resource_version, bool initial_events_end);

/// One upstream event outward, appended to `out` with a newline: objects by the kind's rules, an
/// ERROR's Status by status_out(). Not for Tables (table.hpp). Code::internal if it is no event.
Result<void> event_out(const Root& root, const Mapping& mapping, const StatusContext& context,
                       std::string_view text, std::string& out);

} // namespace zoo::translate
