// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/watch_event.hpp"

#include "common/base/json_text.hpp"
#include "daemon/translate/discovery_json.hpp"
#include "daemon/translate/json.hpp"
#include "daemon/translate/rewrite.hpp"

#include <array>

namespace zoo::translate {
namespace {

std::string_view between(const char* from, const char* to) {
  return {from, static_cast<std::size_t>(to - from)};
}

constexpr std::array<std::string_view, 5> k_types = {"ADDED", "MODIFIED", "DELETED", "BOOKMARK",
                                                     "ERROR"};

enum class Seen : std::uint8_t { all, enough, broken };

/// Calls `visit(quoted key, where its value begins)` for each member of the object at `p`, which
/// answers the value's end, or null if that was enough.
template <class Visit>
Seen visit_members(const char* p, const char* end, const Visit& visit) {
  p = skip_space(p, end);
  if (p == end || *p != '{') return Seen::broken;
  p = skip_space(p + 1, end);
  if (p != end && *p == '}') return Seen::all;
  for (;;) {
    p = skip_space(p, end);
    const char* const key_end = skip_string(p, end);
    if (key_end == nullptr) return Seen::broken;
    const char* value = skip_space(key_end, end);
    if (value == end || *value != ':') return Seen::broken;
    value = skip_space(value + 1, end);
    if (value == end) return Seen::broken;
    const char* const value_end = visit(between(p, key_end), value);
    if (value_end == nullptr) return Seen::enough;
    p = skip_space(value_end, end);
    if (p == end) return Seen::broken;
    if (*p != ',') return *p == '}' ? Seen::all : Seen::broken;
    ++p;
  }
}

/// Calls `visit(quoted key, value)` for each member of the object until it answers false. False if
/// the text is no object.
template <class Visit>
bool each_member(std::string_view text, const Visit& visit) {
  const char* const end = text.data() + text.size();
  bool broken = false;
  const auto seen =
      visit_members(text.data(), end, [&](std::string_view key, const char* value) -> const char* {
        const char* const value_end = skip_value(value, end);
        broken = value_end == nullptr;
        return !broken && visit(key, between(value, value_end)) ? value_end : nullptr;
      });
  return seen != Seen::broken && !broken;
}

std::string string_value(std::string_view value) {
  return value.size() >= 2 && value.front() == '"' ? json_unquote(value) : std::string();
}

} // namespace

Result<Event> parse_event(std::string_view text) {
  std::optional<EventType> type;
  Event out;
  const bool whole = each_member(text, [&](std::string_view key, std::string_view value) {
    if (key == "\"type\"") {
      const auto name = string_value(value);
      for (std::size_t i = 0; i < k_types.size(); ++i) {
        if (k_types[i] == name) type = static_cast<EventType>(i);
      }
    } else if (key == "\"object\"") {
      out.object = value;
    }
    return true;
  });
  if (!whole || !type || out.object.empty() || out.object.front() != '{')
    return fail(Code::internal, "the upstream sent something that is no watch event");
  out.type = *type;
  return out;
}

Result<ObjectKey> object_key(std::string_view object) {
  ObjectKey out;
  bool found = false, whole = true;
  each_member(object, [&](std::string_view key, std::string_view metadata) {
    if (key != "\"metadata\"") return true;
    found = true;
    whole = each_member(metadata, [&](std::string_view name, std::string_view value) {
      if (name == "\"name\"") {
        out.name = string_value(value);
      } else if (name == "\"namespace\"") {
        out.name_space = string_value(value);
      } else if (name == "\"resourceVersion\"") {
        out.resource_version = string_value(value);
      } else if (name == "\"annotations\"" && value.front() == '{') {
        each_member(value, [&](std::string_view annotation, std::string_view text) {
          if (annotation == "\"k8s.io/initial-events-end\"")
            out.initial_events_end = text == "\"true\"";
          return true;
        });
      }
      return true;
    });
    return false;
  });
  if (!found || !whole) return fail(Code::internal, "the object has no metadata");
  return out;
}

bool leading_key(std::string_view text, bool with_namespace, std::string& out) {
  const char* const end = text.data() + text.size();
  std::string_view name, name_space;
  const auto complete = [&] { return !name.empty() && name_space.empty() != with_namespace; };
  const auto in_metadata = [&](std::string_view key, const char* value) -> const char* {
    const char* const value_end = skip_value(value, end);
    if (value_end == nullptr) return nullptr;
    if (*value == '"' && key == "\"name\"") name = between(value + 1, value_end - 1);
    if (*value == '"' && with_namespace && key == "\"namespace\"")
      name_space = between(value + 1, value_end - 1);
    return complete() ? nullptr : value_end;
  };
  visit_members(text.data(), end, [&](std::string_view key, const char* value) -> const char* {
    if (key != "\"metadata\"") return skip_value(value, end);
    visit_members(value, end, in_metadata);
    return nullptr;
  });
  if (!complete() || name.find('\\') != name.npos || name_space.find('\\') != name.npos)
    return false;
  out.assign(name_space);
  if (with_namespace) out += '/';
  out += name;
  return true;
}

Result<TableRow> split_row(std::string_view row) {
  TableRow out;
  const bool whole = each_member(row, [&](std::string_view key, std::string_view value) {
    if (key == "\"cells\"") out.cells = value;
    if (key == "\"object\"") out.object = value;
    return true;
  });
  if (!whole || !out.cells.starts_with('['))
    return fail(Code::internal, "the upstream's Table has a row without cells");
  if (!out.object.starts_with('{'))
    return fail(Code::internal, "the upstream's Table has a row without its object");
  return out;
}

bool leading_row_key(std::string_view row, bool with_namespace, std::string& out) {
  const char* const end = row.data() + row.size();
  bool found = false;
  visit_members(row.data(), end, [&](std::string_view key, const char* value) -> const char* {
    if (key != "\"object\"") return skip_value(value, end);
    found = leading_key(between(value, end), with_namespace, out);
    return nullptr;
  });
  return found;
}

void append_event(std::string& out, EventType type, std::string_view object_json) {
  out += "{\"type\":\"";
  out += k_types[static_cast<std::size_t>(type)];
  out += "\",\"object\":";
  out += object_json;
  out += "}\n";
}

std::string make_event(EventType type, std::string_view object_json) {
  std::string out;
  out.reserve(object_json.size() + 40);
  append_event(out, type, object_json);
  return out;
}

std::string make_error_event(std::string_view status_json) {
  return make_event(EventType::error, status_json);
}

std::string bookmark_object(std::string_view api_version, std::string_view kind,
                            std::string_view resource_version, bool initial_events_end) {
  auto object =
      fmt::format("{{\"kind\":{},\"apiVersion\":{},\"metadata\":{{\"resourceVersion\":{}",
                  json_quote(kind), json_quote(api_version), json_quote(resource_version));
  if (initial_events_end) object += ",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}";
  return object + "}}";
}

std::string make_bookmark(std::string_view api_version, std::string_view kind,
                          std::string_view resource_version, bool initial_events_end) {
  return make_event(EventType::bookmark,
                    bookmark_object(api_version, kind, resource_version, initial_events_end));
}

Result<void> event_out(const Root& root, const Mapping& mapping, const StatusContext& context,
                       std::string_view text, std::string& out) {
  ZOO_TRY(const auto event, parse_event(text));
  if (event.type == EventType::error) {
    append_event(out, event.type, status_out(mapping, context, event.object, 500));
    return {};
  }
  const auto before = out.size();
  out += "{\"type\":\"";
  out += k_types[static_cast<std::size_t>(event.type)];
  out += "\",\"object\":";
  RewriteContext rewriting{mapping, Direction::outward, {}};
  if (auto done = rewrite(root, rewriting, event.object, out); !done) {
    out.resize(before);
    return fail(std::move(done).error());
  }
  out += "}\n";
  return {};
}

} // namespace zoo::translate
