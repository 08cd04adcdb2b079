// SPDX-License-Identifier: Apache-2.0
#include "daemon/tenants/identity.hpp"

#include "common/api/tenant.hpp"
#include "common/crypto/certificate.hpp"

#include <charconv>

namespace zoo::tenants {
namespace {

constexpr std::string_view k_system = "system:";

tl::unexpected<Error> refused(std::string_view why) {
  return fail(Code::unauthorized, "the client certificate is not a tenant's: {}", why);
}

} // namespace

std::string uri_of(const Holder& holder) {
  return holder.epoch == 0 ? fmt::format("{}{}", k_uid_uri_prefix, holder.uid)
                           : fmt::format("{}{}:{}", k_uid_uri_prefix, holder.uid, holder.epoch);
}

Result<void> check_subject(std::string_view user, const std::vector<std::string>& groups) {
  if (user.empty()) return fail(Code::invalid, "a user's name must not be empty");
  // A name like system:serviceaccount:... would be somebody else to the tenant's RBAC.
  if (user.starts_with(k_system) || user.starts_with("zoo:")) {
    return fail(Code::invalid, "a user's name must not begin with system: or zoo:, as '{}' does",
                user);
  }
  if (groups.size() > k_most_groups)
    return fail(Code::invalid, "{} groups are more than the {} that a certificate may carry",
                groups.size(), k_most_groups);
  for (const auto& group : groups) {
    if (group.empty()) return fail(Code::invalid, "a group's name must not be empty");
    if (group.starts_with(k_system) || group.starts_with("zoo:")) {
      return fail(Code::invalid, "a group's name must not begin with system: or zoo:, as '{}' does",
                  group);
    }
  }
  return {};
}

Result<Identity> identity_of(const crypto::Certificate& certificate) {
  Identity out;
  auto units = certificate.organizational_units();
  if (!units) return refused(units.error().message());
  if (units->size() != 1) {
    return refused(fmt::format("its subject has {} OU fields, not one", units->size()));
  }
  if (!api::validate_id(units->front())) return refused("its OU is not a tenant's ID");
  out.tenant = std::move(units->front());

  auto user = certificate.common_name();
  if (!user) return refused(user.error().message());
  auto groups = certificate.organizations();
  if (!groups) return refused(groups.error().message());
  auto others = *groups;
  std::erase(others, k_tenant_admin_group);
  if (auto good = check_subject(*user, others); !good) return refused(good.error().message());
  out.user = *std::move(user);
  out.groups = *std::move(groups);

  auto uris = certificate.uri_sans();
  if (!uris) return refused(uris.error().message());
  if (uris->size() != 1 || !uris->front().starts_with(k_uid_uri_prefix) ||
      uris->front().size() == k_uid_uri_prefix.size()) {
    return refused(fmt::format("it does not carry exactly one URI {}<uid>", k_uid_uri_prefix));
  }
  out.uid = uris->front().substr(k_uid_uri_prefix.size());
  if (const auto colon = out.uid.find(':'); colon != std::string::npos) {
    const auto* last = out.uid.data() + out.uid.size();
    const auto [end, error] = std::from_chars(out.uid.data() + colon + 1, last, out.epoch);
    if (error != std::errc() || end != last || colon == 0 || out.epoch <= 0) {
      return refused("the epoch in its URI is none");
    }
    out.uid.resize(colon);
  }
  out.serial = certificate.serial();
  out.expires = std::chrono::system_clock::to_time_t(certificate.not_after());
  return out;
}

} // namespace zoo::tenants
