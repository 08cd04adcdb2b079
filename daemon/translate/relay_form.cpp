// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/relay_form.hpp"

#include "common/base/json_text.hpp"
#include "common/base/text.hpp"
#include "common/crypto/digest.hpp"
#include "daemon/translate/actions.hpp"
#include "daemon/translate/validity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace zoo::translate {
namespace {

constexpr std::string_view k_any_annotation = "zoo.kubezoo.io/webhook-";
constexpr std::string_view k_https = "https://";
constexpr std::int64_t k_longest_call = 30; ///< seconds, which upstream gives a webhook
constexpr std::array<std::string_view, 3> k_kinds = {
    "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration", "CustomResourceDefinition"};

JsonValue* at(JsonValue& object, std::initializer_list<std::string_view> path) {
  auto* out = &object;
  for (const auto name : path) {
    out = out->find(name);
    if (out == nullptr) return nullptr;
  }
  return out;
}

bool given(const JsonValue* value) { return value != nullptr && !value->is(JsonType::null); }

JsonValue number(std::string text) {
  JsonValue out;
  out.type = JsonType::number;
  out.text = std::move(text);
  return out;
}

bool is_port(std::string_view text) {
  constexpr std::size_t k_digits = 5;
  return !text.empty() && text.size() <= k_digits &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; }) &&
         (text.size() == 1 || text.front() != '0');
}

/// validation.IsDNS1123Subdomain of k8s.io/apimachinery, but for its length.
bool dns_subdomain(std::string_view text) {
  const auto parts = text::split(text, '.');
  return std::all_of(parts.begin(), parts.end(), dns_label);
}

/// ValidateWebhookService of k8s.io/apiserver pkg/util/webhook/validation.go: upstream sees no
/// Service of a webhook that it calls through the relay.
std::string fault_of(const JsonValue& service, bool whole) {
  const auto text = [&service](std::string_view name) {
    const auto* value = service.find(name);
    return value == nullptr ? std::string() : value->unquoted();
  };
  const auto name = text("name"), path = text("path");
  if (whole && name.empty()) return "name: Required value";
  constexpr std::size_t k_label = 63;
  if (!name.empty() && (!dns_label(name) || name.size() > k_label))
    return fmt::format("name: Invalid value: {}: no Service can be called so", json_quote(name));
  if (whole && text("namespace").empty()) return "namespace: Required value";
  if (const auto* port = service.find("port"); given(port)) {
    const auto tree = JsonTree::parse(port->text);
    const auto number = tree ? tree->root().integer() : std::nullopt;
    if (!number || *number < 1 || *number > 65535)
      return fmt::format("port: Invalid value: {}: port is not valid: must be between 1 and 65535, "
                         "inclusive",
                         port->written());
  }
  if (const auto* value = service.find("path"); given(value) && !value->is(JsonType::string))
    return "path: Invalid value: must be a string";
  if (path.empty() || path == "/") return {};
  const auto wrong = [&path](std::string_view why) {
    return fmt::format("path: Invalid value: {}: {}", json_quote(path), why);
  };
  if (!path.starts_with('/')) return wrong("must start with a '/'");
  auto steps = std::string_view(path).substr(1);
  if (steps.size() > 1 && steps.ends_with('/')) steps.remove_suffix(1);
  std::size_t index = 0;
  for (const auto step : text::split(steps, '/')) {
    if (step.empty() || step == "/")
      return wrong(fmt::format("segment[{}] may not be empty", index));
    if (!dns_subdomain(step))
      return wrong(fmt::format(
          "segment[{}]: a lowercase RFC 1123 subdomain must consist of lower case alphanumeric "
          "characters, '-' or '.', and must start and end with an alphanumeric character",
          index));
    ++index;
  }
  return {};
}

} // namespace

std::optional<Hook> hook_of(const Root& root) {
  if (root.group != "admissionregistration.k8s.io" && root.group != "apiextensions.k8s.io")
    return std::nullopt;
  const auto found = std::find(k_kinds.begin(), k_kinds.end(), root.kind);
  if (found == k_kinds.end()) return std::nullopt;
  return static_cast<Hook>(found - k_kinds.begin());
}

std::string_view member_of(Held held) {
  constexpr std::array<std::string_view, 5> k_members = {"name", "namespace", "path", "port",
                                                         "caBundle"};
  return k_members[static_cast<std::size_t>(held)];
}

std::string held_annotation(Held held, std::string_view webhook) {
  constexpr std::size_t k_digits = 32;
  auto out =
      fmt::format("{}{}.", k_any_annotation, held == Held::authority ? "ca" : member_of(held));
  if (webhook.empty()) return out + "conversion";
  return out + crypto::hex_encode(crypto::view(crypto::sha256(webhook))).substr(0, k_digits);
}

std::vector<HookPlace> hook_places(Hook hook, JsonValue& object) {
  std::vector<HookPlace> out;
  const auto add = [&out](JsonValue* owner, std::string webhook, std::string where) {
    if (owner == nullptr || !owner->is(JsonType::object)) return;
    auto* config = owner->find("clientConfig");
    if (config != nullptr && !config->is(JsonType::object)) config = nullptr;
    out.push_back({std::move(webhook), std::move(where), owner, config});
  };
  if (hook == Hook::conversion) {
    add(at(object, {"spec", "conversion", "webhook"}), "", "spec.conversion.webhook");
    return out;
  }
  auto* hooks = object.find("webhooks");
  if (hooks == nullptr) return out;
  std::size_t index = 0;
  for (auto& each : hooks->elements) {
    const auto* name = each.find("name");
    add(&each, name == nullptr ? "" : name->unquoted(), fmt::format("webhooks[{}]", index++));
  }
  return out;
}

HookName hook_name(const Mapping& mapping, Hook hook, const JsonValue& object,
                   const std::string& webhook) {
  HookName out{mapping.id(), hook, "", webhook};
  const auto* metadata = object.find("metadata");
  if (const auto* name = metadata == nullptr ? nullptr : metadata->find("name"))
    out.object = name->unquoted();
  return out;
}

std::string hook_fault(const Mapping& mapping, const HookName& name) {
  const bool definition = name.hook == Hook::conversion;
  const auto own = definition ? mapping.crd_name_out(name.object).value_or("")
                              : std::string(mapping.name_out(name.object).value_or(""));
  return fmt::format("{}.{} {} is invalid", k_kinds[static_cast<std::size_t>(name.hook)],
                     definition ? "apiextensions.k8s.io" : "admissionregistration.k8s.io",
                     json_quote(own));
}

Result<void> check_hook_count(Hook hook, std::size_t count) {
  if (count <= k_most_hooks) return {};
  return fail(Code::forbidden, "{}s is forbidden: a configuration has at most {} webhooks",
              text::lower(k_kinds[static_cast<std::size_t>(hook)]), k_most_hooks);
}

bool may_be_relayed(std::string_view object) {
  return object.find(k_any_annotation) != std::string_view::npos;
}

bool calls_relay(const HookName& name, const JsonValue& config) {
  const auto* node = config.find("url");
  const auto url = node == nullptr ? std::string() : node->unquoted();
  if (!url.starts_with(k_https)) return false;
  const auto path = url.find('/', k_https.size());
  return path != std::string::npos &&
         std::string_view(url).substr(path).starts_with(signed_relay_path(name) + '/');
}

Result<void> relay_config(const Relay& relay, const HookName& name, const HookPlace& place,
                          bool whole, JsonValue& annotations) {
  auto& config = *place.config;
  const auto* service = config.find("service");
  if (given(config.find("url")) || (given(service) && !service->is(JsonType::object))) return {};
  const bool serves = given(service);
  std::string authority;
  if (const auto* bundle = config.find("caBundle"); given(bundle)) {
    authority = bundle->unquoted();
    if (!bundle->is(JsonType::string) || !crypto::base64_decode(authority))
      return fail(Code::bad_request,
                  "{}.clientConfig.caBundle must be authorities in PEM, as base64", place.at);
  }
  if (serves) {
    if (const auto fault = fault_of(*service, whole); !fault.empty())
      return fail(Code::invalid, "{}.clientConfig.service.{}", place.at, fault);
    for (const auto held : k_held) {
      const auto* value = held == Held::authority ? nullptr : service->find(member_of(held));
      if (!given(value)) continue;
      annotations.set(held_annotation(held, name.webhook),
                      JsonValue::string(held == Held::port ? value->text : value->unquoted()));
    }
    // apiserver's default, which is its writer's, as everything is of who does not apply.
    if (whole && !given(service->find("port")))
      annotations.set(held_annotation(Held::port, name.webhook), JsonValue::string("443"));
    config.erase("service");
    config.set("url", JsonValue::string(relay.base + relay_path(relay, name)));
    config.set("caBundle", JsonValue::string(crypto::base64_encode(relay.ca_pem)));
  } else {
    config.erase("caBundle");
  }
  if (!authority.empty())
    annotations.set(held_annotation(Held::authority, name.webhook), JsonValue::string(authority));
  return {};
}

Result<void> relay_in(const Mapping& mapping, const Relay& relay, Hook hook, bool whole,
                      JsonValue& object) {
  auto annotations = JsonValue::object();
  std::vector<HeldFields> fields;
  const auto places = hook_places(hook, object);
  ZOO_TRY_VOID(check_hook_count(hook, places.size()));
  for (const auto& place : places) {
    if (place.config == nullptr) continue;
    const auto name = hook_name(mapping, hook, object, place.webhook);
    if (given(place.config->find("service")) && name.object.empty())
      return fail(Code::invalid,
                  "{}: {}: a webhook is called by the name of its object, which generateName does "
                  "not tell (rule webhook-names): set metadata.name",
                  hook_fault(mapping, name), place.at);
    if (auto done = relay_config(relay, name, place, whole, annotations); !done) {
      if (done.error().code() != Code::invalid) return done;
      return fail(Code::invalid, "{}: {}", hook_fault(mapping, name), done.error().message());
    }
    if (place.config->members.empty()) place.owner->erase("clientConfig");
    fields.push_back({place.webhook, true});
  }
  std::size_t bytes = 0;
  for (const auto& [key, value] : annotations.members)
    bytes += key.size() + value.text.size();
  if (bytes > k_most_held)
    return fail(Code::invalid,
                "{}: the Services and authorities of its webhooks have {} bytes, and {} are taken "
                "together: give fewer authorities in caBundle, or fewer webhooks an object",
                hook_fault(mapping, hook_name(mapping, hook, object, "")), bytes, k_most_held);
  if (annotations.members.empty()) return {};
  auto& there = object.child("metadata").child("annotations");
  for (auto& [key, value] : annotations.members)
    there.set(key, std::move(value));
  relay_fields_in(hook, fields, object);
  return {};
}

namespace {

/// What the annotations keep of a webhook's Service; no members: nothing.
JsonValue held_service(const JsonValue& annotations, std::string_view webhook) {
  auto out = JsonValue::object();
  for (const auto held : k_held) {
    const auto* value = annotations.find(held_annotation(held, webhook));
    if (value == nullptr || held == Held::authority) continue;
    const bool port = held == Held::port && is_port(value->unquoted());
    out.set(member_of(held), port ? number(value->unquoted()) : *value);
  }
  return out;
}

} // namespace

void relay_out(const Mapping& mapping, Hook hook, JsonValue& object, bool shown) {
  auto* annotations = at(object, {"metadata", "annotations"});
  if (annotations == nullptr) return;
  std::vector<HeldFields> fields;
  for (const auto& place : hook_places(hook, object)) {
    if (place.config == nullptr) continue;
    auto& config = *place.config;
    auto service = held_service(*annotations, place.webhook);
    const auto* authority = annotations->find(held_annotation(Held::authority, place.webhook));
    const bool relayed = !service.members.empty() &&
                         calls_relay(hook_name(mapping, hook, object, place.webhook), config);
    if (relayed) {
      if (shown && service.find("port") == nullptr) service.set("port", number("443"));
      config.erase("url");
      config.erase("caBundle");
      config.set("service", std::move(service));
    } else if (!given(config.find("service")) || authority == nullptr) {
      continue; // a URL of the tenant's, or as its tenant wrote it
    } // else it was applied since the object was stated as direct
    fields.push_back({place.webhook, relayed});
    if (authority != nullptr) config.set("caBundle", *authority);
  }
  relay_fields_out(hook, fields, object);
  if (!shown)
    std::erase_if(annotations->members,
                  [](const auto& each) { return each.first.starts_with(k_any_annotation); });
}

Result<void> prove_relayed(const Mapping& mapping, const Relay* relay, Hook hook,
                           JsonValue& object) {
  const auto* annotations = at(object, {"metadata", "annotations"});
  for (const auto& place : hook_places(hook, object)) {
    if (place.config == nullptr || annotations == nullptr) continue;
    const auto name = hook_name(mapping, hook, object, place.webhook);
    const auto service = held_service(*annotations, place.webhook);
    // Else it is a URL like any other, and has no effect (docs/decisions/086).
    if (service.members.empty() || !calls_relay(name, *place.config)) continue;
    if (relay == nullptr ||
        place.config->find("url")->unquoted() != relay->base + relay_path(*relay, name))
      return fail(Code::forbidden, "{} would be called through a relay that is not its own",
                  place.at);
    if (const auto fault = fault_of(service, true); !fault.empty())
      return fail(Code::forbidden, "{}.clientConfig.service.{}", place.at, fault);
  }
  return {};
}

bool restore_held(const Mapping& mapping, Hook hook, JsonValue& stored, JsonValue& before) {
  const auto* had = at(before, {"metadata", "annotations"});
  if (had == nullptr) return false;
  bool missing = false;
  auto& annotations = stored.child("metadata").child("annotations");
  for (const auto& place : hook_places(hook, stored)) {
    if (place.config == nullptr ||
        !calls_relay(hook_name(mapping, hook, stored, place.webhook), *place.config) ||
        !held_service(annotations, place.webhook).members.empty())
      continue;
    for (const auto held : k_held) {
      const auto key = held_annotation(held, place.webhook);
      const auto* value = had->find(key);
      if (value == nullptr) continue;
      missing = true;
      annotations.set(key, *value);
    }
  }
  return missing;
}

Result<std::optional<std::string>> restate(const Mapping& mapping, Hook hook, const Relay* relay,
                                           std::string_view stored_object) {
  if (mapping.identity()) return std::nullopt;
  ZOO_TRY(auto object, JsonValue::parse(stored_object));
  auto before = object;
  relay_out(mapping, hook, object, false);
  if (relay != nullptr) ZOO_TRY_VOID(relay_in(mapping, *relay, hook, false, object));
  // Who owns a field says nothing of the form.
  auto after = object;
  for (auto* each : {&before, &after})
    if (auto* metadata = each->find("metadata")) metadata->erase("managedFields");
  if (same_json(before, after)) return std::nullopt;
  return std::optional(object.written());
}

Result<HookTarget> hook_target(const Mapping& mapping, const HookName& name,
                               std::string_view stored_object) {
  ZOO_TRY(auto object, JsonValue::parse(stored_object));
  relay_out(mapping, name.hook, object, true);
  for (const auto& place : hook_places(name.hook, object)) {
    if (place.webhook != name.webhook || place.config == nullptr) continue;
    if (hook_name(mapping, name.hook, object, place.webhook).object != name.object) break;
    const auto* service = place.config->find("service");
    if (!given(service)) break;
    if (const auto fault = fault_of(*service, true); !fault.empty())
      return fail(Code::forbidden, "{}.clientConfig.service.{}", place.at, fault);
    HookTarget out;
    out.service = service->find("name")->unquoted();
    out.name_space = service->find("namespace")->unquoted();
    const auto own = mapping.name_out(out.name_space);
    if (!own || !mapping.owns_name(out.name_space))
      return fail(Code::forbidden, "{} names a Service outside of the tenant", place.at);
    out.server = fmt::format("{}.{}.svc", out.service, *own);
    if (const auto* path = service->find("path"); given(path) && !path->unquoted().empty())
      out.path = path->unquoted();
    const auto integer = [](const JsonValue* value) -> std::int64_t {
      const auto tree = value == nullptr ? JsonTree::parse("null") : JsonTree::parse(value->text);
      return tree ? tree->root().integer().value_or(0) : 0;
    };
    if (const auto port = integer(service->find("port")); port > 0)
      out.port = static_cast<std::uint16_t>(port); // fault_of() has seen to its size
    const auto seconds = integer(place.owner->find("timeoutSeconds"));
    if (seconds > 0 && seconds <= k_longest_call) out.seconds = static_cast<std::uint32_t>(seconds);
    if (const auto* bundle = place.config->find("caBundle"); given(bundle)) {
      ZOO_TRY(out.ca_pem, crypto::base64_decode(bundle->unquoted()));
    }
    return out;
  }
  return fail(Code::not_found, "{} has no webhook of a Service that is called so",
              json_quote(name.object));
}

} // namespace zoo::translate
