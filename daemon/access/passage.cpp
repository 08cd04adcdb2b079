// SPDX-License-Identifier: Apache-2.0
#include "daemon/access/passage.hpp"

#include "daemon/http/field_lines.hpp"
#include "daemon/http/message.hpp"
#include "daemon/translate/query.hpp"

#include <stdexcept>

namespace zoo::access {
namespace {

constexpr std::string_view k_tenants_group = "zoo:tenants";
constexpr std::string_view k_anywhere_group = "zoo:tenants-anywhere"; // upstream_rbac.cpp

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

std::shared_ptr<const http::FieldLines> as_caller(const Principal& principal) {
  http::Headers out;
  out.add("Impersonate-User", principal.user);
  if (!principal.uid.empty()) out.add("Impersonate-Uid", principal.uid);
  for (const auto& group : principal.groups)
    out.add("Impersonate-Group", group);
  for (const auto& [key, values] : principal.extra) {
    const auto name = "Impersonate-Extra-" + translate::percent_encode(key, "");
    for (const auto& value : values)
      out.add(name, value);
  }
  return lines_of(out);
}

std::shared_ptr<const http::FieldLines> passage_of(const View& view, const Principal& principal,
                                                   Actor actor) {
  if (const auto reason = actor.reason(); reason && view.allows(*reason)) return nullptr;
  if (view.answers.passage == Passage::caller) return as_caller(principal);
  const bool anywhere = actor.is_client_anywhere();
  if (principal.upstream_fields && !anywhere) return principal.upstream_fields;
  return as_tenant_user(view.upstream_user, principal, anywhere);
}

} // namespace zoo::access
