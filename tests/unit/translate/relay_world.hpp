// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/translate/rewrite.hpp"
#include "daemon/translate/webhook_relay.hpp"
#include "tests/unit/translate/target_mapping.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

/// The relay of these tests, and a configuration of the tenant abc123.
namespace zoo::translate::test {

using Json = nlohmann::json;

inline constexpr std::string_view k_admission_group = "admissionregistration.k8s.io";

inline const Relay& relay() {
  static const Relay one{"https://192.0.2.1:7444", "-----BEGIN CERTIFICATE-----\nzood\n",
                         Secret::copy_of("0123456789abcdef0123456789abcdef")};
  return one;
}

inline Result<std::string> sent(Direction direction, std::string_view group, std::string_view kind,
                                std::string_view text, const Relay* through) {
  const auto names = tenant();
  RewriteContext context{names, direction, {}};
  context.relay = through;
  std::string out;
  ZOO_TRY_VOID(rewrite(root_of(group, kind), context, text, out));
  return out;
}

/// With a Service and an authority, as cert-manager's chart has it and its cainjector completes it.
inline const std::string k_configuration =
    R"({"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingWebhookConfiguration",)"
    R"("metadata":{"name":"guard"},"webhooks":[{"name":"a.guard.test","clientConfig":{"service":)"
    R"({"name":"hook","namespace":"shop","path":"/validate"},"caBundle":"Q0E="},)"
    R"("rules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],)"
    R"("resources":["pods"],"scope":"Namespaced"}],"sideEffects":"None",)"
    R"("admissionReviewVersions":["v1"]}]})";

inline HookName guard() { return {"abc123", Hook::validating, "abc123-guard", "a.guard.test"}; }

inline std::string stored_guard() {
  return sent(Direction::inward, k_admission_group, "ValidatingWebhookConfiguration",
              k_configuration, &relay())
      .value_or("refused");
}

} // namespace zoo::translate::test
