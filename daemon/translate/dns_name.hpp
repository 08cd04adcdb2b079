// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/translate/mapping.hpp"

#include <optional>
#include <string>
#include <string_view>

/// DNS names of Services within objects (Rule DNS of the specification): `SERVICE.NAMESPACE.svc`,
/// with more labels in front (`db-0.db`), with the domain of the upstream's DNS behind or not, with
/// a dot at the end or not. All other names are nobody's here and stay as they are. Pure, any
/// thread.
namespace zoo::translate {

/// The namespace gets the prefix: `web.shop.svc.cluster.local` ->
/// `web.foofoo-shop.svc.cluster.local`.
std::string service_name_in(const Mapping& mapping, std::string_view name);
/// The inverse; nullopt: it names a Service of somebody else's.
std::optional<std::string> service_name_out(const Mapping& mapping, std::string_view name);

} // namespace zoo::translate
