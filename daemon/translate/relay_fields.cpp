// SPDX-License-Identifier: Apache-2.0
#include "common/base/json_text.hpp"
#include "daemon/translate/relay_form.hpp"

#include <array>
#include <utility>

namespace zoo::translate {
namespace {

using Path = std::vector<std::string>;

constexpr std::string_view k_config = "f:clientConfig";
constexpr std::string_view k_url = "f:url", k_ca = "f:caBundle", k_service = "f:service";

Path above_config(Hook hook, const std::string& webhook) {
  if (hook == Hook::conversion) return {"f:spec", "f:conversion", "f:webhook"};
  return {"f:webhooks", "k:{\"name\":" + json_quote(webhook) + '}'};
}

JsonValue* look(JsonValue& set, const Path& path) {
  auto* out = &set;
  for (const auto& step : path) {
    out = out->find(step);
    if (out == nullptr) return nullptr;
  }
  return out;
}

JsonValue& make(JsonValue& set, const Path& path) {
  auto* out = &set;
  for (const auto& step : path)
    out = &out->child(step);
  return *out;
}

/// Owns it nothing but, perhaps, that it is there?
bool bare(const JsonValue& set) {
  return set.members.empty() || (set.members.size() == 1 && set.members[0].first == ".");
}

/// Takes the ownership of an annotation away, and what is empty then.
bool take_annotation(JsonValue& set, const std::string& key) {
  auto* annotations = look(set, {"f:metadata", "f:annotations"});
  if (annotations == nullptr || !annotations->erase("f:" + key)) return false;
  auto& metadata = *set.find("f:metadata");
  if (bare(*annotations)) metadata.erase("f:annotations");
  if (metadata.members.empty()) set.erase("f:metadata");
  return true;
}

/// What is looked for in each entry of a webhook.
struct Sought {
  Path above;                                  ///< what clientConfig stands in
  std::array<std::string, k_held.size()> keys; ///< of the annotations
  bool relayed;
};

std::vector<Sought> sought(Hook hook, const std::vector<HeldFields>& held) {
  std::vector<Sought> out;
  for (const auto& each : held) {
    Sought one{above_config(hook, each.webhook), {}, each.relayed};
    for (const auto member : k_held)
      one.keys[static_cast<std::size_t>(member)] = held_annotation(member, each.webhook);
    out.push_back(std::move(one));
  }
  return out;
}

void fields_in(const Sought& held, JsonValue& set) {
  auto* owner = look(set, held.above);
  auto* config = owner == nullptr ? nullptr : owner->find(k_config);
  if (config == nullptr) return;
  std::vector<Held> owned;
  bool names = false;
  if (auto* service = config->find(k_service)) {
    for (const auto each : k_held)
      if (service->erase("f:" + std::string(member_of(each)))) owned.push_back(each);
    names = !owned.empty() && owned.front() == Held::name;
    config->erase(k_service);
  }
  if (config->erase(k_ca)) owned.push_back(Held::authority);
  if (names) { // who says where it is
    config->set(k_url, JsonValue::object());
    config->set(k_ca, JsonValue::object());
  } else if (bare(*config)) {
    owner->erase(k_config);
  }
  for (const auto each : owned)
    make(set, {"f:metadata", "f:annotations"})
        .set("f:" + held.keys[static_cast<std::size_t>(each)], JsonValue::object());
}

void fields_out(const Sought& held, bool applied, JsonValue& set) {
  std::vector<Held> owned;
  for (const auto each : k_held)
    if (take_annotation(set, held.keys[static_cast<std::size_t>(each)])) owned.push_back(each);
  auto* owner = look(set, held.above);
  auto* config = owner == nullptr ? nullptr : owner->find(k_config);
  if (config != nullptr && held.relayed) {
    config->erase(k_url);
    config->erase(k_ca);
    if (bare(*config) && owned.empty()) owner->erase(k_config);
  }
  if (owned.empty()) return;
  auto path = held.above;
  path.emplace_back(k_config);
  auto& own = make(set, path);
  for (const auto each : owned) {
    if (each == Held::authority) {
      own.set(k_ca, JsonValue::object());
      continue;
    }
    auto& members = own.child(k_service);
    // Who applies owns leaves alone; who created it otherwise, that it is there.
    if (each == Held::name && !applied) members.set(".", JsonValue::object());
    members.set("f:" + std::string(member_of(each)), JsonValue::object());
  }
}

template <typename Change>
void each_entry(JsonValue& object, Change change) {
  auto* metadata = object.find("metadata");
  auto* entries = metadata == nullptr ? nullptr : metadata->find("managedFields");
  if (entries == nullptr) return;
  for (auto& entry : entries->elements) {
    const auto* operation = entry.find("operation");
    const bool applied = operation != nullptr && operation->unquoted() == "Apply";
    if (auto* set = entry.find("fieldsV1"); set != nullptr && set->is(JsonType::object))
      change(*set, applied);
  }
}

} // namespace

void relay_fields_in(Hook hook, const std::vector<HeldFields>& held, JsonValue& object) {
  const auto all = sought(hook, held);
  each_entry(object, [&](JsonValue& set, bool) {
    if (set.members.empty()) return;
    for (const auto& each : all)
      fields_in(each, set);
  });
}

void relay_fields_out(Hook hook, const std::vector<HeldFields>& held, JsonValue& object) {
  const auto all = sought(hook, held);
  each_entry(object, [&](JsonValue& set, bool applied) {
    for (const auto& each : all)
      fields_out(each, applied, set);
  });
}

} // namespace zoo::translate
