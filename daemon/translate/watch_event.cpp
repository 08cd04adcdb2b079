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

/// Calls `visit(quoted key, value)` for each member of the object until it answers false. False if
/// the text is no object.
template <class Visit>
bool each_member(std::string_view text, const Visit& visit) {
  const char* const end = text.data() + text.size();
  const char* p = skip_space(text.data(), end);
  if (p == end || *p != '{') return false;
  p = skip_space(p + 1, end);
  if (p != end && *p == '}') return true;
  for (;;) {
    p = skip_space(p, end);
    const char* const key_end = skip_string(p, end);
    if (key_end == nullptr) return false;
    const char* value = skip_space(key_end, end);
    if (value == end || *value != ':') return false;
    value = skip_space(value + 1, end);
    const char* const value_end = skip_value(value, end);
    if (value_end == nullptr) return false;
    if (!visit(between(p, key_end), between(value, value_end))) return true;
    p = skip_space(value_end, end);
    if (p == end) return false;
    if (*p != ',') return *p == '}';
    ++p;
  }
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

std::string make_bookmark(std::string_view api_version, std::string_view kind,
                          std::string_view resource_version, bool initial_events_end) {
  auto object =
      fmt::format("{{\"kind\":{},\"apiVersion\":{},\"metadata\":{{\"resourceVersion\":{}",
                  json_quote(kind), json_quote(api_version), json_quote(resource_version));
  if (initial_events_end) object += ",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}";
  object += "}}";
  return make_event(EventType::bookmark, object);
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
