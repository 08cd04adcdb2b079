// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/translate/json_value.hpp"
#include "daemon/translate/rules.hpp"
#include "daemon/translate/webhook_relay.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The two forms of an object that names webhooks, both in upstream's names: the *direct* one, as
/// its tenant wrote it, and the *relayed* one, whose webhooks have the relay's URL and authority.
/// Each member of the tenant's own Service, and its authority, stand in an annotation of their own,
/// so that a server-side apply that names one of them neither needs another nor takes it from
/// whoever set it (docs/decisions/199). For the .cpp files of this room; pure, any thread.
namespace zoo::translate {

/// What is kept of a clientConfig: the members of its Service, and its caBundle.
enum class Held : std::uint8_t { name, name_space, path, port, authority };
inline constexpr std::array<Held, 5> k_held = {Held::name, Held::name_space, Held::path, Held::port,
                                               Held::authority};
std::string_view member_of(Held held); ///< in the Service, or in clientConfig
/// Its annotation: "zoo.kubezoo.io/webhook-port." and a digest of the webhook's name, for which 63
/// characters have no room; of a conversion ("") the word.
std::string held_annotation(Held held, std::string_view webhook);
/// Bytes of these annotations: upstream takes 256 KiB of annotations an object.
inline constexpr std::size_t k_most_held = std::size_t{192} << 10;

/// Does this kind name webhooks?
std::optional<Hook> hook_of(const Root& root);
/// The path without its MAC.
std::string signed_relay_path(const HookName& name);

/// Webhooks of one object whose form is changed: as many as a tenant may store (guards.cpp).
inline constexpr std::size_t k_most_hooks = 64;
/// Code::forbidden: there are more.
Result<void> check_hook_count(Hook hook, std::size_t count);

/// Where an object, or a patch of one, names a webhook.
struct HookPlace {
  std::string webhook;         ///< its name; "" of a conversion
  std::string at;              ///< for errors: webhooks[0]
  JsonValue* owner = nullptr;  ///< what clientConfig is a member of
  JsonValue* config = nullptr; ///< clientConfig; null: there is no such object
};
std::vector<HookPlace> hook_places(Hook hook, JsonValue& object);
HookName hook_name(const Mapping& mapping, Hook hook, const JsonValue& object,
                   const std::string& webhook);

/// `ValidatingWebhookConfiguration.admissionregistration.k8s.io "x" is invalid`, by its tenant's
/// name.
std::string hook_fault(const Mapping& mapping, const HookName& name);

/// Could it be in the relayed form? Reads its bytes only.
bool may_be_relayed(std::string_view object);
/// Has this clientConfig the relay's URL for this webhook, whatever its MAC?
bool calls_relay(const HookName& name, const JsonValue& config);

/// direct -> relayed, of a whole object, or of one that is applied. Code::invalid for a Service
/// that upstream would refuse, for authorities that are no base64 or too long together, and for an
/// object that has no name yet.
Result<void> relay_in(const Mapping& mapping, const Relay& relay, Hook hook, bool whole,
                      JsonValue& object);
/// relayed -> direct. Webhooks that are direct stay. `shown`: for the rewriter, which takes zood's
/// annotations out, and whose reader expects apiserver's defaults; else it is to be stored.
void relay_out(const Mapping& mapping, Hook hook, JsonValue& object, bool shown);
/// clientConfig as relay_in() writes it, and its annotations into `annotations`. Not `whole`: it is
/// applied, and others may have set what it does not name, or it is as upstream has it.
Result<void> relay_config(const Relay& relay, const HookName& name, const HookPlace& place,
                          bool whole, JsonValue& annotations);

/// Every webhook that calls a relay calls this one, for itself, and has a Service. Code::forbidden.
Result<void> prove_relayed(const Mapping& mapping, const Relay* relay, Hook hook,
                           JsonValue& object);

/// Gives `stored`, of which a patch has taken zood's annotations away, those that `before` had.
/// Was something missing?
bool restore_held(const Mapping& mapping, Hook hook, JsonValue& stored, JsonValue& before);

// managedFields, entry by entry: who owns one of these annotations upstream owns the member of
// clientConfig that it stands for in the tenant's view.
struct HeldFields {
  std::string webhook;
  bool relayed; ///< else it is direct, and its authority alone is kept
};
void relay_fields_in(Hook hook, const std::vector<HeldFields>& held, JsonValue& object);
void relay_fields_out(Hook hook, const std::vector<HeldFields>& held, JsonValue& object);

} // namespace zoo::translate
