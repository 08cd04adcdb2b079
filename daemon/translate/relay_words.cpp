// SPDX-License-Identifier: Apache-2.0
// Whom a review names, and what of an answer's words is handed on.
#include "common/base/text.hpp"
#include "daemon/translate/actions.hpp"
#include "daemon/translate/query.hpp"
#include "daemon/translate/relay_review.hpp"

#include <algorithm>
#include <vector>

namespace zoo::translate {
namespace {

constexpr std::string_view k_accounts = "system:serviceaccount:";
constexpr std::string_view k_account_groups = "system:serviceaccounts:";
constexpr std::string_view k_tenant_user = "zoo:";

JsonValue list_of(const std::vector<std::string>& words) {
  JsonValue out;
  out.type = JsonType::array;
  for (const auto& each : words)
    out.elements.push_back(JsonValue::string(each));
  return out;
}

std::vector<std::string> words_at(const JsonValue* list) {
  std::vector<std::string> out;
  if (list == nullptr) return out;
  for (const auto& each : list->elements)
    out.push_back(each.unquoted());
  return out;
}

/// The tenant's caller, whom zood names in extras (access/passage.cpp).
JsonValue caller_of(const JsonValue& user) {
  const auto told = [&user](std::string_view key) {
    std::vector<std::string> out;
    for (const auto& each : words_at(within(user, "extra", key)))
      out.push_back(percent_decode(each, false).value_or(""));
    return out;
  };
  const auto names = told(k_requester_extra);
  auto groups = told(k_requester_group_extra);
  const bool known = std::any_of(groups.begin(), groups.end(), [](const auto& group) {
    return group == "system:authenticated" || group == "system:unauthenticated";
  });
  if (!known) groups.emplace_back("system:authenticated");
  auto out = JsonValue::object();
  out.set("username", JsonValue::string(names.empty() ? "" : names.front()));
  out.set("groups", list_of(groups));
  return out;
}

/// A ServiceAccount of the tenant's, which upstream knows itself.
JsonValue account_of(const Mapping& mapping, std::string_view space, std::string_view account,
                     const JsonValue& user) {
  const auto own = std::string(mapping.name_out(space).value_or(""));
  const auto group = std::string(k_account_groups) + std::string(space);
  auto groups = words_at(user.find("groups"));
  std::replace(groups.begin(), groups.end(), group, std::string(k_account_groups) + own);
  auto out = JsonValue::object();
  out.set("username",
          JsonValue::string(std::string(k_accounts) + own + ":" + std::string(account)));
  if (const auto* uid = user.find("uid")) out.set("uid", *uid);
  out.set("groups", list_of(groups));
  auto extra = JsonValue::object();
  for (const auto* key :
       {"authentication.kubernetes.io/pod-name", "authentication.kubernetes.io/pod-uid"})
    if (const auto* value = within(user, "extra", key)) extra.set(key, *value);
  if (!extra.members.empty()) out.set("extra", std::move(extra));
  return out;
}

} // namespace

Result<JsonValue> review_user_out(const Mapping& mapping, const JsonValue& user) {
  const auto name = text_of(user.find("username"));
  if (name == std::string(k_tenant_user) + mapping.id()) return caller_of(user);
  constexpr std::size_t k_id = 6;
  const auto rest = std::string_view(name).substr(std::min(name.size(), k_tenant_user.size()));
  if (name.starts_with(k_tenant_user) && rest.size() == k_id)
    return fail(Code::forbidden, "the review is about a request of another tenant's");
  if (name.starts_with(k_accounts)) {
    const auto parts = text::split(std::string_view(name).substr(k_accounts.size()), ':');
    if (parts.size() == 2 && mapping.owns_name(parts[0]))
      return account_of(mapping, parts[0], parts[1], user);
  }
  // Controllers, nodes and users of the platform: who they are, and which of Kubernetes' own groups
  // they are in.
  auto groups = words_at(user.find("groups"));
  std::erase_if(groups, [](const auto& group) { return !group.starts_with("system:"); });
  auto out = JsonValue::object();
  out.set("username", JsonValue::string(name));
  out.set("groups", list_of(groups));
  return out;
}

/// A Status whose words are the tenant's: of its members those that upstream shows.
JsonValue review_status_in(const Mapping& mapping, const JsonValue& status) {
  constexpr std::size_t k_causes = 32, k_short = 1024;
  const auto text = [](const JsonValue& from, std::string_view member, std::size_t most,
                       JsonValue& to) {
    const auto* value = from.find(member);
    if (value != nullptr && value->is(JsonType::string))
      to.set(member, JsonValue::string(cut_text(value->unquoted(), most)));
  };
  const auto number = [](const JsonValue& from, std::string_view member, std::int64_t most,
                         JsonValue& to) {
    const auto* value = from.find(member);
    if (value == nullptr || !value->is(JsonType::number)) return;
    const auto tree = JsonTree::parse(value->text);
    const auto is = tree ? tree->root().integer() : std::nullopt;
    if (is && *is >= 0 && *is <= most) to.set(member, *value);
  };
  auto out = JsonValue::object();
  text(status, "status", k_short, out);
  text(status, "message", k_longest_review_text, out);
  text(status, "reason", k_short, out);
  number(status, "code", 599, out);
  const auto* details = status.find("details");
  if (details == nullptr || !details->is(JsonType::object)) return out;
  auto& shown = out.child("details");
  text(*details, "name", k_short, shown);
  text(*details, "kind", k_short, shown);
  if (const auto* group = details->find("group"); group != nullptr && !group->unquoted().empty())
    shown.set("group", JsonValue::string(mapping.group_in(cut_text(group->unquoted(), k_short))));
  number(*details, "retryAfterSeconds", 3600, shown);
  const auto* causes = details->find("causes");
  if (causes == nullptr) return out;
  JsonValue list;
  list.type = JsonType::array;
  for (const auto& cause : causes->elements) {
    if (list.elements.size() == k_causes) break;
    auto made = JsonValue::object();
    for (const auto* member : {"reason", "message", "field"})
      text(cause, member, k_short, made);
    list.elements.push_back(std::move(made));
  }
  shown.set("causes", std::move(list));
  return out;
}

JsonValue review_warnings_in(const JsonValue& list) {
  constexpr std::size_t k_warnings = 32, k_longest_warning = 4096;
  JsonValue out;
  out.type = JsonType::array;
  for (const auto& each : list.elements) {
    if (out.elements.size() == k_warnings) break;
    if (each.is(JsonType::string))
      out.elements.push_back(JsonValue::string(cut_text(each.unquoted(), k_longest_warning)));
  }
  return out;
}

JsonValue review_annotations_in(const JsonValue& map) {
  constexpr std::size_t k_annotations = 16, k_longest_key = 253, k_longest_value = 1024;
  auto out = JsonValue::object();
  for (const auto& [key, value] : map.members) {
    if (out.members.size() == k_annotations) break;
    if (value.is(JsonType::string) && key.size() <= k_longest_key)
      out.set(key, JsonValue::string(cut_text(value.unquoted(), k_longest_value)));
  }
  return out;
}

std::string cut_text(std::string text, std::size_t bytes) {
  if (text.size() <= bytes) return text;
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xC0U) == 0x80U)
    --bytes;
  text.resize(bytes);
  return text;
}

} // namespace zoo::translate
