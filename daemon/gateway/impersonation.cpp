// SPDX-License-Identifier: Apache-2.0
#include "daemon/gateway/impersonation.hpp"

#include "common/base/json_text.hpp"
#include "common/base/text.hpp"

#include <algorithm>

namespace zoo::gateway {
namespace {

constexpr std::string_view k_prefix = "impersonate-";
constexpr std::string_view k_extra = "impersonate-extra-";
constexpr std::string_view k_authentication = "authentication.k8s.io";

int hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/// Percent-decoded; as it is if that cannot be done, as Kubernetes does.
std::string extra_key(const std::string& encoded) {
  std::string out;
  for (std::size_t i = 0; i < encoded.size(); ++i) {
    if (encoded[i] != '%') {
      out += encoded[i];
      continue;
    }
    if (i + 2 >= encoded.size() || hex(encoded[i + 1]) < 0 || hex(encoded[i + 2]) < 0)
      return encoded;
    out += static_cast<char>(hex(encoded[i + 1]) * 16 + hex(encoded[i + 2]));
    i += 2;
  }
  return out;
}

bool readable(std::string_view text) {
  return is_utf8(text) && std::none_of(text.begin(), text.end(), [](char c) {
           return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
         });
}

authz::Attributes asks(std::string_view group, std::string_view resource, std::string_view name) {
  authz::Attributes out;
  out.verb = "impersonate";
  out.group = group;
  out.version = "v1";
  out.resource = resource;
  out.name = name;
  return out;
}

} // namespace

Result<std::optional<Impersonation>> read_impersonation(const http::Headers& headers) {
  Impersonation out;
  bool any = false;
  bool groups_given = false;
  std::vector<authz::Attributes> groups, extras, uids;
  for (const auto& header : headers) {
    if (!text::iequals(header.name.substr(0, k_prefix.size()), k_prefix)) continue;
    const auto name = text::lower(header.name);
    any = true;
    if (!readable(header.value)) {
      return fail(Code::bad_request, "the header {} is not readable text", header.name);
    }
    if (name == "impersonate-user") {
      if (out.as.user.empty()) out.as.user = header.value;
    } else if (name == "impersonate-group") {
      groups_given = true;
      out.as.groups.emplace_back(header.value);
      groups.push_back(asks("", "groups", header.value));
    } else if (name == "impersonate-uid") {
      if (header.value.empty() || !out.as.uid.empty()) continue;
      out.as.uid = header.value;
      uids.push_back(asks(k_authentication, "uids", header.value));
    } else if (name.starts_with(k_extra)) {
      const auto key = extra_key(name.substr(k_extra.size()));
      if (!readable(key)) return fail(Code::bad_request, "an extra's name is not readable text");
      auto attributes = asks(k_authentication, "userextras", header.value);
      attributes.subresource = key;
      extras.push_back(std::move(attributes));
      auto& extra = out.as.extra;
      auto at = std::find_if(extra.begin(), extra.end(),
                             [&](const auto& each) { return each.first == key; });
      if (at == extra.end()) at = extra.insert(extra.end(), {key, {}});
      at->second.emplace_back(header.value);
    } else {
      // One that this version does not know would ask for more than is checked here.
      return fail(Code::bad_request, "the header {} is not known", header.name);
    }
  }
  if (!any) return std::nullopt;
  if (out.as.user.empty()) {
    if (groups.empty() && extras.empty() && uids.empty()) return std::nullopt;
    return fail(Code::bad_request,
                "requested groups, extras or a UID without impersonating a user");
  }
  auto& as = out.as;
  if (const auto account = authz::service_account(as.user)) {
    auto attributes = asks("", "serviceaccounts", account.name);
    attributes.name_space = account.name_space;
    out.required.push_back(std::move(attributes));
    if (!groups_given) {
      as.groups = {std::string(authz::k_service_accounts),
                   std::string(authz::k_service_accounts) + ":" + std::string(account.name_space)};
    }
  } else {
    out.required.push_back(asks("", "users", as.user));
  }
  for (auto* part : {&groups, &extras, &uids})
    out.required.insert(out.required.end(), part->begin(), part->end());

  const bool unauthenticated = text::contains(as.groups, authz::k_unauthenticated);
  if (as.user == authz::k_anonymous) {
    if (!unauthenticated) as.groups.emplace_back(authz::k_unauthenticated);
  } else if (!unauthenticated && !text::contains(as.groups, authz::k_authenticated)) {
    as.groups.emplace_back(authz::k_authenticated);
  }
  return out;
}

} // namespace zoo::gateway
