// SPDX-License-Identifier: Apache-2.0
#include "daemon/access/passage.hpp"

#include "common/base/json_text.hpp"
#include "daemon/http/field_lines.hpp"
#include "daemon/http/message.hpp"
#include "daemon/translate/query.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace zoo::access {
namespace {

constexpr std::string_view k_tenants_group = "zoo:tenants";
constexpr std::string_view k_anywhere_group = "zoo:tenants-anywhere"; // upstream_rbac.cpp

constexpr std::string_view k_relay_group = "zoo:relay"; // which has no rights

const std::string k_extra_field = "Impersonate-Extra-";
constexpr std::string_view k_impersonator = "zoo-impersonator";

/// Names of header fields have no case: capitals are told by their numbers, as is all else that
/// cannot stand there.
std::string extra_name(std::string_view key) {
  std::string out;
  for (const char c : key) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
                       c == '_' || c == '~';
    if (plain) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    }
  }
  return out;
}

bool control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

std::shared_ptr<const http::FieldLines> lines_of(const http::Headers& headers) {
  auto lines = http::FieldLines::make(headers);
  if (!lines) throw std::logic_error("a principal that cannot be written into header fields");
  return std::make_shared<const http::FieldLines>(*std::move(lines));
}

} // namespace

std::shared_ptr<const http::FieldLines> as_tenant_user(std::string_view upstream_user,
                                                       const Principal& principal, bool anywhere) {
  http::Headers out;
  out.add("Impersonate-User", upstream_user);
  out.add("Impersonate-Group", k_tenants_group);
  if (anywhere) out.add("Impersonate-Group", k_anywhere_group);
  // A stranger's bytes are encoded.
  out.add("Impersonate-Extra-Zoo-User", translate::percent_encode(principal.user, ""));
  for (const auto& group : principal.groups)
    out.add("Impersonate-Extra-Zoo-Group", translate::percent_encode(group, ""));
  return lines_of(out);
}

std::shared_ptr<const http::FieldLines> as_relay(std::string_view upstream_user) {
  http::Headers out;
  out.add("Impersonate-User", upstream_user);
  out.add("Impersonate-Group", k_relay_group);
  return lines_of(out);
}

std::shared_ptr<const http::FieldLines> as_caller(const Principal& principal) {
  http::Headers out;
  out.add("Impersonate-User", principal.user);
  if (!principal.uid.empty()) out.add("Impersonate-Uid", principal.uid);
  for (const auto& group : principal.groups)
    out.add("Impersonate-Group", group);
  for (const auto& [key, values] : principal.extra) {
    const auto name = k_extra_field + extra_name(key);
    for (const auto& value : values)
      out.add(name, value);
  }
  if (!principal.impersonator.empty())
    out.add(k_extra_field + std::string(k_impersonator), principal.impersonator);
  return lines_of(out);
}

Result<void> check_caller(const Principal& principal) {
  const auto check = [](std::string_view what, std::string_view value) -> Result<void> {
    const bool blank = value.empty() || value.front() == ' ' || value.back() == ' ';
    if (!blank && is_utf8(value) && std::none_of(value.begin(), value.end(), control)) return {};
    return fail(
        Code::unauthorized,
        "Unauthorized: the {} cannot be handed on to the upstream: it is empty, begins or ends "
        "with a blank, or has characters that are no text",
        what);
  };
  ZOO_TRY_VOID(check("name of the user", principal.user));
  if (!principal.uid.empty()) ZOO_TRY_VOID(check("UID of the user", principal.uid));
  for (const auto& group : principal.groups)
    ZOO_TRY_VOID(check("name of a group", group));
  for (const auto& [key, values] : principal.extra) {
    ZOO_TRY_VOID(check("name of an extra", key));
    for (const auto& value : values)
      if (!value.empty()) ZOO_TRY_VOID(check("value of an extra", value));
  }
  if (!principal.impersonator.empty())
    return check("name of the impersonator", principal.impersonator);
  return {};
}

std::shared_ptr<const http::FieldLines> passage_of(const View& view, const Principal& principal,
                                                   Actor actor) {
  if (const auto reason = actor.reason(); reason && view.allows(*reason)) return nullptr;
  if (view.answers.passage == Passage::caller)
    return principal.upstream_fields ? principal.upstream_fields : as_caller(principal);
  const bool anywhere = actor.is_client_anywhere();
  if (principal.upstream_fields && !anywhere) return principal.upstream_fields;
  return as_tenant_user(view.upstream_user, principal, anywhere);
}

} // namespace zoo::access
