// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace zoo::crypto {
class Certificate;
}

namespace zoo::tenants {

/// Group of a tenant's administrator: the super-user of its own room.
inline constexpr std::string_view k_tenant_admin_group = "zoo:cluster-admins";
/// Organization of zood's administrators' certificates, by an authority of their own.
inline constexpr std::string_view k_administrators_group = "zoo:administrators";
inline constexpr std::string_view k_uid_uri_prefix = "urn:zoo:tenant:";

/// Whom a certificate is made for: what its OU and its URI say.
struct Holder {
  std::string_view id, uid;
  std::int64_t epoch = 0; ///< status.credentials.epoch of the Tenant
};
/// "urn:zoo:tenant:<uid>", and ":<epoch>" behind it where there is one.
std::string uri_of(const Holder& holder);

/// Who a tenant's certificate says its holder is. `tenant` and `uid` are still to be looked up in
/// the TenantDirectory: an ID that came back is another tenant.
struct Identity {
  std::string tenant, uid;
  std::int64_t epoch = 0; ///< status.credentials.epoch when it was made
  std::string user;
  std::vector<std::string> groups;
  std::string serial;       ///< lower-case hex, as revocations name it
  std::int64_t expires = 0; ///< Unix seconds
};

/// Reads the subject: exactly one OU (the ID), one CN (the user), O = groups, and exactly one URI
/// `urn:zoo:tenant:<uid>[:<epoch>]`. Code::unauthorized, with the reason, for anything else:
/// control characters, `system:` users and groups, a malformed ID. The signature is not checked
/// here, the TLS layer did; nor is the directory asked. Pure, any thread.
Result<Identity> identity_of(const crypto::Certificate& certificate);

inline constexpr std::size_t k_most_groups = 64; ///< of a certificate

/// May a certificate carry these names? Code::invalid, with the rule.
Result<void> check_subject(std::string_view user, const std::vector<std::string>& groups);

} // namespace zoo::tenants
