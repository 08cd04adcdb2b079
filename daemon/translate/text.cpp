// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/text.hpp"

#include "daemon/translate/cel.hpp"
#include "daemon/translate/inside.hpp"
#include "daemon/translate/known_words.hpp"
#include "daemon/translate/text_place.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace zoo::translate {
namespace {

/// Why upstream could not call a webhook tells of ports and certificates in the platform's network:
/// a tenant's Service may lead anywhere (docs/decisions/086).
std::string_view without_causes(std::string_view text) {
  constexpr std::string_view k_post = ": Post \"https://";
  const auto post = text.find(k_post);
  if (post == std::string_view::npos) return text;
  const auto before = text.substr(0, post);
  const bool converts = before.ends_with(" failed") &&
                        before.find("conversion webhook for ") != std::string_view::npos;
  if (!before.ends_with("failed to call webhook") && !converts) return text;
  const auto url = text.substr(post + k_post.size());
  const auto path = url.find('/');
  const bool relayed = path != std::string_view::npos && url.substr(path).starts_with("/w/") &&
                       url.substr(0, path).find(".svc:") == std::string_view::npos;
  if (relayed) return text.substr(0, post + 2); // the relay's address is not the tenant's to know
  const auto end = text.find("\": ", post + k_post.size());
  return end == std::string_view::npos ? text : text.substr(0, end + 3);
}

constexpr std::array<std::string_view, 4> k_causes = {
    "the platform does not tell why (rule webhook-errors); is a pod of the Service Ready, and its "
    "certificate one for SERVICE.NAMESPACE.svc of the caBundle?",
    "the platform does not tell why (rule webhook-errors)", "(rule webhook-errors)", ""};

/// How upstream begins to say that a policy of zood's (packaging/upstream-rbac.yaml) refuses.
constexpr std::string_view k_policy = "ValidatingAdmissionPolicy 'zoo-tenants-";
constexpr std::string_view k_denied = " denied request: ";
constexpr std::string_view k_way_out =
    " (rule platform-policies): leave out what is named, or ask the platform's administrator";

/// Upstream's words where its policy for the pods of tenants could not do its work: an expression,
/// or parameters that are missing (docs/decisions/195). It is nothing that the tenant could mend.
constexpr std::string_view k_inside_policy = "policy 'zoo-pods-inside' with binding '";
constexpr std::array<std::string_view, 3> k_inside_reasons = {
    "the platform could not prepare this pod for the tenant's own API and DNS (rule pods-inside): "
    "try again later, or tell the platform's administrator",
    "the platform could not prepare this pod (rule pods-inside)", "(rule pods-inside)"};

std::string without_inside_policy(std::string_view text, std::size_t most) {
  const auto at = text.find(k_inside_policy);
  if (at == std::string_view::npos) return std::string(text);
  auto out = std::string(text.substr(0, at));
  const auto* reason =
      std::find_if(k_inside_reasons.begin(), k_inside_reasons.end(),
                   [&](std::string_view each) { return out.size() + each.size() <= most; });
  return out += *reason; // the last one is shorter than what was cut
}

/// Such a refusal in the words of zood's own: without the policy's name, with a rule and a way out
/// where it has none and `most` bytes have room for it.
std::string without_policy(std::string_view text, std::size_t most) {
  std::string out(text);
  const auto at = out.find(k_policy);
  const auto denied = out.find(k_denied, at);
  if (at == std::string::npos || denied == std::string::npos) return out;
  out.erase(at, denied + k_denied.size() - at);
  if (out.find("(rule ") == std::string::npos && out.size() + k_way_out.size() <= most)
    out += k_way_out;
  return out;
}

/// Words of one text that are judged; what stands behind them stays as it is.
constexpr std::size_t k_most_judged = 1024;

/// Stands a name behind the prefix? It may be none that Kubernetes takes; a refusal repeats it. A
/// prefix alone is somebody's own word.
bool names(std::string_view text, std::size_t behind) {
  return behind < text.size() && text[behind] != ' ' && text[behind] != '"' && text[behind] != '\'';
}

/// Did the word at `at`, whose name begins at `name`, get its prefix from zood?
bool has_prefix(std::string_view text, std::size_t at, std::size_t name, WordSource* around) {
  const auto place = place_of(text, at, name);
  if (place == Place::own || place == Place::prefixed) return place == Place::prefixed;
  if (around == nullptr) return place == Place::perhaps;
  auto& known = around->words();
  const bool own = known.own(text.substr(at)), prefixed = known.prefixed(text.substr(at));
  return own == prefixed ? place == Place::perhaps : prefixed;
}

/// The same of a refusal by the webhook of quotas: what stands behind are the broker's own words.
std::string without_quota_webhook(std::string_view text) {
  constexpr std::string_view k_asked = "admission webhook \"",
                             k_refused = "\" denied the request: ";
  std::string out(text);
  replace_all(out, fmt::format("{}{}{}", k_asked, k_tenant_quota_webhook, k_refused), "");
  return out;
}

/// `most`: bytes that it may have where a cause is left out.
std::string text_within(const Mapping& mapping, std::string_view text, WordSource* around,
                        std::size_t most) {
  const std::string_view prefix = mapping.prefix();
  if (mapping.identity()) return std::string(text);
  std::string expressions, denial, authorities, refusal;
  if (text.find(k_tenant_quota_webhook) != std::string_view::npos) {
    refusal = without_quota_webhook(text);
    text = refusal;
  }
  if (denied_by_platform(text)) {
    denial = without_inside_policy(without_policy(text, most), most);
    text = denial;
  }
  if (text.find(k_root_ca) != std::string_view::npos) {
    authorities = text;
    replace_all(authorities, k_root_ca, k_upstream_root_ca);
    text = authorities;
  }
  if (text.find(prefix) != std::string_view::npos) {
    expressions = cel_text_out(mapping, text);
    text = expressions;
  }
  const auto whole = text;
  text = without_causes(whole);
  std::string out;
  std::size_t copied = 0, judged = 0;
  for (auto at = text.find(prefix); at != std::string_view::npos && judged < k_most_judged;) {
    const auto name = at + prefix.size();
    const bool word = begins_word(text, at) && names(text, name);
    judged += word ? 1 : 0;
    if (word && has_prefix(text, at, name, around)) {
      out.append(text, copied, at - copied);
      copied = name;
      at = text.find(prefix, name);
    } else {
      at = text.find(prefix, at + 1);
    }
  }
  out.append(text, copied, std::string_view::npos);
  if (text.size() == whole.size()) return out;
  const auto* cause = std::find_if(k_causes.begin(), k_causes.end(), [&](std::string_view each) {
    return out.size() + each.size() <= most;
  });
  return out += *cause; // the last one always has room
}

} // namespace

bool denied_by_platform(std::string_view text) {
  return text.find(k_policy) != std::string_view::npos ||
         text.find(k_inside_policy) != std::string_view::npos;
}

std::string text_out(const Mapping& mapping, std::string_view text, WordSource* around) {
  return text_within(mapping, text, around, std::string::npos);
}

std::string stored_text_out(const Mapping& mapping, std::string_view text, WordSource* around) {
  return text_within(mapping, text, around, text.size());
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  if (from.empty() || from == to) return;
  std::string out;
  std::size_t copied = 0;
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, copied)) {
    out.append(text, copied, at - copied).append(to);
    copied = at + from.size();
  }
  if (copied == 0) return;
  text = std::move(out.append(text, copied, std::string::npos));
}

} // namespace zoo::translate
