// SPDX-License-Identifier: Apache-2.0
#include "daemon/tenants/identity.hpp"

#include "common/api/tenant.hpp"
#include "common/crypto/certificate.hpp"

namespace zoo::tenants {
namespace {

constexpr std::string_view k_system = "system:";

tl::unexpected<Error> refused(std::string_view why) {
  return fail(Code::unauthorized, "the client certificate is not a tenant's: {}", why);
}

} // namespace

Result<void> check_subject(std::string_view user, const std::vector<std::string>& groups) {
  if (user.empty()) return fail(Code::invalid, "a user's name must not be empty");
  // A name like system:serviceaccount:... would be somebody else to the tenant's RBAC.
  if (user.starts_with(k_system) || user.starts_with("zoo:")) {
    return fail(Code::invalid, "a user's name must not begin with system: or zoo:, as '{}' does",
                user);
  }
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
  out.serial = certificate.serial();
  return out;
}

} // namespace zoo::tenants
