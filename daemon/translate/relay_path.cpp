// SPDX-License-Identifier: Apache-2.0
#include "common/base/text.hpp"
#include "common/crypto/digest.hpp"
#include "daemon/translate/query.hpp"
#include "daemon/translate/relay_form.hpp"

#include <algorithm>
#include <array>

namespace zoo::translate {
namespace {

constexpr std::string_view k_no_webhook = "-"; // of a conversion; no webhook can be called so

std::string code_of(const Relay& relay, std::string_view signed_part) {
  return crypto::base64url_encode(crypto::view(crypto::hmac_sha256(relay.key.view(), signed_part)));
}

} // namespace

std::string_view word_of(Hook hook) {
  constexpr std::array<std::string_view, k_hooks.size()> k_words = {"validating", "mutating",
                                                                    "conversion"};
  return k_words[static_cast<std::size_t>(hook)];
}

std::string_view collection_of(Hook hook) {
  constexpr std::array<std::string_view, k_hooks.size()> k_collections = {
      "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
      "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
      "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"};
  return k_collections[static_cast<std::size_t>(hook)];
}

std::string signed_relay_path(const HookName& name) {
  std::string out = "/w/" + percent_encode(name.id, "");
  out += '/';
  out += word_of(name.hook);
  out += '/' + percent_encode(name.object, "") + '/';
  out +=
      name.hook == Hook::conversion ? std::string(k_no_webhook) : percent_encode(name.webhook, "");
  return out;
}

std::string relay_path(const Relay& relay, const HookName& name) {
  auto out = signed_relay_path(name);
  const auto code = code_of(relay, out);
  out += '/';
  return out + code;
}

std::optional<HookName> parse_relay_path(const Relay& relay, std::string_view path) {
  constexpr std::size_t k_longest = 2048; // two names of 253 bytes, percent-encoded, and the rest
  if (path.size() > k_longest || !path.starts_with("/w/")) return std::nullopt;
  const auto parts = text::split(path.substr(1), '/');
  if (parts.size() != 6) return std::nullopt;
  const auto hook = std::find_if(k_hooks.begin(), k_hooks.end(),
                                 [&](Hook each) { return word_of(each) == parts[2]; });
  if (hook == k_hooks.end()) return std::nullopt;
  HookName out;
  out.hook = *hook;
  const auto id = percent_decode(parts[1], false), object = percent_decode(parts[3], false),
             webhook = percent_decode(parts[4], false);
  if (!id || !object || !webhook) return std::nullopt;
  out.id = *id;
  out.object = *object;
  if (out.hook != Hook::conversion) out.webhook = *webhook;
  // One spelling of each name has a code.
  if (!crypto::equal_constant_time(relay_path(relay, out), path)) return std::nullopt;
  return out;
}

} // namespace zoo::translate
