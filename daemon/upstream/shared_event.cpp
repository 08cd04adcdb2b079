// SPDX-License-Identifier: Apache-2.0
#include "daemon/upstream/shared_event.hpp"

#include <charconv>

namespace zoo::upstream {

std::optional<std::uint64_t> version_of(std::string_view resource_version) {
  std::uint64_t out = 0;
  const auto* const last = resource_version.data() + resource_version.size();
  const auto [end, error] = std::from_chars(resource_version.data(), last, out);
  if (error != std::errc() || end != last) return std::nullopt;
  return out;
}

Result<translate::Event> split_event(std::string_view text) {
  using enum translate::EventType;
  struct Shape {
    std::string_view begin;
    translate::EventType type;
  };
  // metav1.WatchEvent has these two members, and Go writes them in this order.
  static constexpr Shape k_shapes[] = {{R"({"type":"MODIFIED","object":{)", modified},
                                       {R"({"type":"ADDED","object":{)", added},
                                       {R"({"type":"DELETED","object":{)", deleted}};
  for (const auto& shape : k_shapes) {
    if (!text.starts_with(shape.begin) || !text.ends_with("}}")) continue;
    const auto at = shape.begin.size() - 1;
    return translate::Event{shape.type, text.substr(at, text.size() - 1 - at)};
  }
  return translate::parse_event(text);
}

Result<EventPtr> make_shared_event(std::string_view text, const translate::Event& event,
                                   bool namespaced) {
  ZOO_TRY(auto key, translate::object_key(event.object));
  const auto version = version_of(key.resource_version);
  if (!version) {
    return fail(Code::internal, "the upstream sent an object whose resourceVersion is no number");
  }
  auto out = std::make_shared<SharedEvent>();
  out->type = event.type;
  out->text = text;
  out->key = namespaced ? key.name_space + "/" + key.name : std::move(key.name);
  out->version = *version;
  out->object_begin = static_cast<std::size_t>(event.object.data() - text.data());
  out->object_size = event.object.size();
  return out;
}

EventPtr make_shared_event(translate::EventType type, std::string_view object, std::string key,
                           std::uint64_t version) {
  auto out = std::make_shared<SharedEvent>();
  out->type = type;
  translate::append_event(out->text, type, object);
  out->text.pop_back(); // the newline
  out->key = std::move(key);
  out->version = version;
  out->object_begin = out->text.size() - 1 - object.size();
  out->object_size = object.size();
  return out;
}

} // namespace zoo::upstream
