// SPDX-License-Identifier: Apache-2.0
#include "common/base/text.hpp"
#include "common/crypto/digest.hpp"
#include "daemon/translate/webhook_relay.hpp"

#include <fmt/format.h>

/// Paths alone: until reviews and stored forms are translated, no webhook is called through the
/// relay.
namespace zoo::translate {
namespace {

std::string mac_of(const Relay& relay, std::string_view path) {
  const auto inner = crypto::sha256(std::string(relay.key.view()).append(path));
  const auto outer =
      crypto::sha256(std::string(relay.key.view()).append(crypto::view(inner)).append("outer"));
  return crypto::base64url_encode(crypto::view(outer));
}

constexpr std::string_view k_kinds[] = {"validating", "mutating", "conversion"};

} // namespace

std::string relay_path(const Relay& relay, const HookName& name) {
  const auto path =
      fmt::format("/w/{}/{}/{}/{}", name.id, k_kinds[static_cast<std::size_t>(name.hook)],
                  name.object, name.webhook.empty() ? "-" : name.webhook);
  return path + "/" + mac_of(relay, path);
}

std::optional<HookName> parse_relay_path(const Relay& relay, std::string_view path) {
  const auto slash = path.rfind('/');
  if (slash == std::string_view::npos ||
      !crypto::equal_constant_time(path.substr(slash + 1), mac_of(relay, path.substr(0, slash))))
    return std::nullopt;
  const auto parts = text::split(path.substr(0, slash), '/');
  if (parts.size() != 6 || parts[1] != "w") return std::nullopt;
  HookName out;
  out.id = parts[2];
  for (std::size_t i = 0; i < std::size(k_kinds); ++i) {
    if (parts[3] == k_kinds[i]) out.hook = static_cast<Hook>(i);
  }
  out.object = parts[4];
  out.webhook = parts[5] == "-" ? "" : parts[5];
  return out;
}

Result<HookTarget> hook_target(const Mapping&, const HookName&, std::string_view) {
  return fail(Code::not_found, "webhooks are called directly");
}

Result<std::optional<std::string>> restate(const Mapping&, Hook, const Relay*, std::string_view) {
  return std::optional<std::string>();
}

Result<OutwardReview> review_out(const Mapping&, const HookName&, std::string) {
  return fail(Code::bad_request, "webhooks are called directly");
}

Result<std::string> review_in(const Mapping&, const HookName&, std::string_view, std::string_view) {
  return fail(Code::invalid, "webhooks are called directly");
}

} // namespace zoo::translate
