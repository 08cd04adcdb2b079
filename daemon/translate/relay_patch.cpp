// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/relay_patch.hpp"

#include "daemon/translate/hidden_members.hpp"
#include "daemon/translate/json_patch.hpp"
#include "daemon/translate/patch.hpp"
#include "daemon/translate/relay_form.hpp"
#include "daemon/translate/rewrite.hpp"

#include <algorithm>

namespace zoo::translate {
namespace {

constexpr std::string_view k_directive = "$patch", k_retain = "$retainKeys";

Result<JsonValue> rewritten(const Root& root, const Mapping& mapping, Direction direction,
                            const Relay* relay, std::string_view text) {
  RewriteContext context{mapping, direction, {}};
  context.relay = relay;
  std::string out;
  ZOO_TRY_VOID(rewrite(root, context, text, out));
  return JsonValue::parse(out);
}

bool directs(const JsonValue& object, std::string_view what) {
  const auto* directive = object.find(k_directive);
  return directive != nullptr && directive->unquoted() == what;
}

/// What comes of `held` by this merge or strategic patch of it: an object of objects and scalars.
JsonValue merged(JsonValue held, const JsonValue& patch) {
  if (!held.is(JsonType::object) || directs(patch, "replace")) held = JsonValue::object();
  if (const auto* retained = patch.find(k_retain)) {
    std::erase_if(held.members, [retained](const auto& member) {
      return std::none_of(retained->elements.begin(), retained->elements.end(),
                          [&](const auto& each) { return each.unquoted() == member.first; });
    });
  }
  MemberEdits edits(held);
  for (const auto& [name, value] : patch.members) {
    if (name == k_directive || name == k_retain) continue;
    auto* there = edits.find(name);
    if (value.is(JsonType::null)) {
      if (there != nullptr) edits.erase(there);
      continue;
    }
    auto is =
        value.is(JsonType::object) ? merged(there == nullptr ? JsonValue() : *there, value) : value;
    if (there == nullptr) {
      edits.add(name, std::move(is));
    } else {
      *there = std::move(is);
    }
  }
  edits.apply();
  return held;
}

bool replaces_list(Hook hook, BodyFormat format, const JsonValue& patch) {
  const auto* hooks = hook == Hook::conversion ? nullptr : patch.find("webhooks");
  if (hooks == nullptr) return false;
  return format == BodyFormat::merge_patch ||
         std::any_of(hooks->elements.begin(), hooks->elements.end(),
                     [](const auto& each) { return directs(each, "replace"); });
}

const HookPlace* find(const std::vector<HookPlace>& places, const std::string& webhook) {
  const auto found = std::find_if(places.begin(), places.end(),
                                  [&](const auto& each) { return each.webhook == webhook; });
  return found == places.end() ? nullptr : &*found;
}

/// Each clientConfig of the patch as a whole one.
void complete(Hook hook, bool whole_list, JsonValue& patch, JsonValue& shown) {
  const auto there = hook_places(hook, shown);
  for (const auto& place : hook_places(hook, patch)) {
    if (place.config == nullptr || whole_list) continue;
    const auto* known = directs(*place.owner, "replace") ? nullptr : find(there, place.webhook);
    *place.config =
        merged(known == nullptr || known->config == nullptr ? JsonValue::object() : *known->config,
               *place.config);
  }
}

const JsonValue k_null;

/// What a whole clientConfig does not name is taken away.
void null_missing(JsonValue& config) {
  for (const auto* name : {"url", "service", "caBundle"})
    if (config.find(name) == nullptr) config.set(name, k_null);
}

void forget(std::string_view webhook, JsonValue& annotations) {
  for (const auto held : k_held)
    annotations.set(held_annotation(held, webhook), k_null);
}

/// The members of metadata.annotations, which a patch may mean to take away as a whole.
JsonValue& annotations_of(JsonValue& patch, const JsonValue& shown) {
  auto& metadata = patch.child("metadata");
  const auto* given = metadata.find("annotations");
  const bool none = given != nullptr && given->is(JsonType::null);
  auto& out = metadata.child("annotations");
  const auto* own = shown.find("metadata");
  own = own == nullptr || !none ? nullptr : own->find("annotations");
  if (own != nullptr) // and `out` is empty
    for (const auto& [key, value] : own->members)
      out.members.push_back({key, k_null});
  return out;
}

Result<std::string> json_patch_in(const Root& root, const Mapping& mapping, const Relay& relay,
                                  Hook hook, std::string_view body, std::string_view stored) {
  ZOO_TRY(const auto patch, JsonTree::parse(body));
  ZOO_TRY(const auto shown, rewritten(root, mapping, Direction::outward, nullptr, stored));
  auto patched = shown;
  ZOO_TRY_VOID(apply_json_patch(patched, patch.root()));
  ZOO_TRY(const auto was, rewritten(root, mapping, Direction::inward, &relay, shown.written()));
  ZOO_TRY(const auto is, rewritten(root, mapping, Direction::inward, &relay, patched.written()));
  ZOO_TRY(const auto before, JsonValue::parse(stored));
  ZOO_TRY(const auto restated, restate(mapping, hook, &relay, stored));
  auto after = before;
  if (restated) {
    ZOO_TRY(after, JsonValue::parse(*restated));
  }
  merge_changes(after, was, is);
  return json_patch_between(before, after);
}

Result<std::string> merge_in(const Root& root, const Mapping& mapping, const Relay& relay,
                             Hook hook, BodyFormat format, std::string_view body,
                             std::string_view stored) {
  ZOO_TRY(auto given, JsonValue::parse(body));
  if (!given.is(JsonType::object)) return fail(Code::bad_request, "the patch is not a JSON object");
  ZOO_TRY(auto shown, rewritten(root, mapping, Direction::outward, nullptr, stored));
  ZOO_TRY(auto before, JsonValue::parse(stored));
  ZOO_TRY_VOID(check_hook_count(hook, hook_places(hook, given).size()));
  const bool whole_list = replaces_list(hook, format, given);
  complete(hook, whole_list, given, shown);
  ZOO_TRY(const auto direct, patch_in(root, mapping, format, given.written(), {}));
  ZOO_TRY(auto patch, JsonValue::parse(direct));

  auto held = JsonValue::object();
  if (whole_list) {
    for (const auto& place : hook_places(hook, before))
      forget(place.webhook, held);
  }
  for (const auto& place : hook_places(hook, patch)) {
    const bool deleted = directs(*place.owner, "delete");
    if (place.config == nullptr && !deleted) continue;
    forget(place.webhook, held);
    if (place.config == nullptr) continue;
    const auto name = hook_name(mapping, hook, before, place.webhook);
    if (auto done = relay_config(relay, name, place, true, held); !done) {
      if (done.error().code() != Code::invalid) return fail(done.error());
      return fail(Code::invalid, "{}: {}", hook_fault(mapping, name), done.error().message());
    }
    null_missing(*place.config);
  }
  if (!held.members.empty()) {
    auto& annotations = annotations_of(patch, shown);
    for (auto& [key, value] : held.members)
      annotations.set(key, std::move(value));
  }
  return patch_with_hidden(root, mapping, format, body, patch.written(), stored);
}

} // namespace

bool needs_stored(const Root& root, BodyFormat format) {
  return format != BodyFormat::apply_patch && hook_of(root).has_value();
}

Result<std::string> relayed_patch_in(const Root& root, const Mapping& mapping, const Relay& relay,
                                     BodyFormat format, std::string_view body,
                                     std::string_view stored) {
  const auto hook = hook_of(root);
  if (!hook) return fail(Code::internal, "{} names no webhooks", root.kind);
  ZOO_TRY(const auto tree, JsonTree::parse(stored));
  const auto version = tree.root()["metadata"]["resourceVersion"].string();
  ZOO_TRY(const auto made, format == BodyFormat::json_patch
                               ? json_patch_in(root, mapping, relay, *hook, body, stored)
                               : merge_in(root, mapping, relay, *hook, format, body, stored));
  return with_resource_version(format, made, version);
}

} // namespace zoo::translate
