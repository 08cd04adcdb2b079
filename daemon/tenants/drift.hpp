// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/translate/watch_event.hpp"

#include <span>
#include <string_view>

/// What upstream's changes say of tenants' rooms. Pure.
namespace zoo::tenants {

/// A kind that a tenant's room is made of.
struct RoomKind {
  std::string_view path; ///< of its list, in all namespaces
  std::string_view name; ///< the only one of each namespace that is part of a room; "": see below
};
/// Namespaces, what stands in each of them, by its name, and certificate requests, which somebody
/// may have approved.
std::span<const RoomKind> room_kinds();

/// The ID, by the prefix of a name or namespace, of the tenant whose room such a change may have
/// spoiled; "": nobody's. A view of `key`.
std::string_view spoiled(const RoomKind& kind, translate::EventType type,
                         const translate::ObjectKey& key);

} // namespace zoo::tenants
