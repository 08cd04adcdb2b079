// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/access/view.hpp"

#include <memory>
#include <string_view>

namespace zoo::http {
class FieldLines;
}

namespace zoo::access {

/// The header fields by which zood, whose credential every connection upstream carries, makes one
/// request as somebody else (user impersonation, KEP-1513). Pure; throws std::logic_error rather
/// than that a request went without them.
///
/// For Passage::tenant_user: the tenant's user in the group zoo:tenants, with `anywhere` also in
/// zoo:tenants-anywhere; the user and groups inside the tenant stand percent-encoded in extras, for
/// upstream's audit log.
std::shared_ptr<const http::FieldLines>
as_tenant_user(std::string_view upstream_user, const Principal& principal, bool anywhere = false);
/// For the relay of webhooks: the tenant's user, whose rights end at its namespaces, but not in the
/// group zoo:tenants: by that upstream tells the tenant's own requests, about which its webhooks
/// are asked, from the way to those webhooks (translate/admission_fence).
std::shared_ptr<const http::FieldLines> as_relay(std::string_view upstream_user);
/// For Passage::caller: his own user, UID, groups and extras. Who he was before he impersonated
/// somebody stands in the extra zoo-impersonator.
std::shared_ptr<const http::FieldLines> as_caller(const Principal& principal);
/// Can as_caller() say who he is, so that upstream reads just that? Header fields lose blanks at
/// their ends, and an empty group. Code::unauthorized, with what cannot be said.
Result<void> check_caller(const Principal& principal);

/// The fields for a request of `actor` through `view`; null: it goes as zood itself. A reason that
/// the view does not allow makes it go as the client.
std::shared_ptr<const http::FieldLines> passage_of(const View& view, const Principal& principal,
                                                   Actor actor);

} // namespace zoo::access
