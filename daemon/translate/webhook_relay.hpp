// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "common/base/secret.hpp"
#include "daemon/translate/json.hpp"
#include "daemon/translate/mapping.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// A tenant's webhooks, as upstream calls them through zood's relay. Upstream stores the relay's
/// URL and authority in `clientConfig`; the tenant's own `service` and `caBundle` stand in an
/// annotation that the tenant does not see. Pure: any thread.
namespace zoo::translate {

/// Which object names a webhook.
enum class Hook : std::uint8_t {
  validating, ///< ValidatingWebhookConfiguration
  mutating,   ///< MutatingWebhookConfiguration
  conversion, ///< CustomResourceDefinition, spec.conversion.webhook
};
inline constexpr std::array k_hooks = {Hook::validating, Hook::mutating, Hook::conversion};
/// "validating", "mutating" or "conversion": in the relay's paths and in metrics.
std::string_view word_of(Hook hook);
/// Where upstream serves these objects: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions".
std::string_view collection_of(Hook hook);

/// One webhook of one tenant, as the path of the relay's door says it:
/// "/w/ID/validating|mutating|conversion/NAME/WEBHOOK/MAC". WEBHOOK is "-" for a conversion.
struct HookName {
  std::string id; ///< the tenant's
  Hook hook = Hook::validating;
  std::string object;  ///< the configuration's or definition's upstream name
  std::string webhook; ///< `webhooks[].name`; "" for a conversion
};

/// How upstream reaches the relay. Immutable, shared; part of a View.
struct Relay {
  std::string base;   ///< "https://192.0.2.1:7444", without a slash at the end
  std::string ca_pem; ///< that upstream verifies the relay by
  Secret key;         ///< of the MACs in the paths; 32 bytes
};

/// The path with its MAC (HMAC-SHA256 of what stands before it, as base64url without padding).
std::string relay_path(const Relay& relay, const HookName& name);
/// Whom a request at the relay's door is for; nullopt: no such path, or a MAC that is not ours.
std::optional<HookName> parse_relay_path(const Relay& relay, std::string_view path);

/// Where a webhook really is.
struct HookTarget {
  std::string name_space; ///< of the Service, upstream's name, proven to be the tenant's
  std::string server;     ///< what the certificate must be for: "hook.shop.svc", the tenant's name
  std::string service;
  std::string path = "/";     ///< with its query
  std::uint16_t port = 443;   ///< of the Service
  std::string ca_pem;         ///< the tenant's caBundle; empty: nothing verifies
  std::uint32_t seconds = 10; ///< `timeoutSeconds`
};
/// Out of the stored object. Code::not_found: it has no such webhook any more.
Result<HookTarget> hook_target(const Mapping& mapping, const HookName& name,
                               std::string_view stored_object);

/// The stored object, in upstream's names, in the form that `relay` asks for: called through it, or
/// directly (null). Who owns which field goes with it. nullopt: it has that form. Upstream gives
/// the fields that an update changes to whoever writes it: the text, written a second time with the
/// new resourceVersion, gives them back. Code::invalid: it has no such form.
Result<std::optional<std::string>> restate(const Mapping& mapping, Hook hook, const Relay* relay,
                                           std::string_view stored_object);

/// A review on its way to the tenant.
struct OutwardReview {
  std::string body; ///< AdmissionReview or ConversionReview in the tenant's names
  std::string uid;  ///< which the answer must carry
  /// Not empty: the object is one that zood keeps, and the tenant is not asked. Upstream is
  /// answered this.
  std::string answer;
};
/// `body`: what upstream sent. Code::bad_request: no such review; Code::forbidden: it shows what is
/// not the tenant's.
Result<OutwardReview> review_out(const Mapping& mapping, const HookName& name, std::string body);
/// The tenant's answer, in upstream's names and proven to stay inside the tenant. `asked`: what
/// upstream sent. Code::invalid, in one sentence: an answer that upstream would not take, or that
/// reaches out of the tenant.
Result<std::string> review_in(const Mapping& mapping, const HookName& name, std::string_view asked,
                              std::string_view answer);

} // namespace zoo::translate
