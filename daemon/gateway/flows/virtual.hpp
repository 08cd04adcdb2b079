// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/gateway/exchange.hpp"
#include "daemon/translate/headers.hpp"
#include "daemon/virtuals/board.hpp"
#include "daemon/virtuals/engine.hpp"

#include <memory>
#include <string>
#include <vector>

/// The kinds that zood keeps itself (daemon/virtuals), over the Exchange: reads from the board on
/// the loop, writes by the engine's threads. Loop thread.
namespace zoo::gateway {

/// One request about a virtual kind.
struct VirtualTarget {
  const virtuals::Kind* kind = nullptr;
  virtuals::Owner owner;
  std::vector<virtuals::ObjectPtr> provided; ///< computed, sorted by name
  translate::Negotiated wanted;

  virtuals::Shape shape() const;
  bool table() const { return wanted.representation == translate::Representation::table; }
};

/// The objects at a moment, those that are computed included.
virtuals::Set::Objects with_provided(const VirtualTarget& target, virtuals::Set::Objects objects);

/// One object as an answer or an event carries it; of a Table, the whole Table.
std::string render_one(const VirtualTarget& target, const virtuals::Object& object, bool columns);
/// The answer to a list, or to a deletecollection.
std::string render_list(const VirtualTarget& target,
                        const std::vector<virtuals::ObjectPtr>& objects, const std::string& version,
                        const std::string& continue_token, std::size_t remaining);

std::unique_ptr<Flow> virtual_read(Exchange& exchange, VirtualTarget target);
std::unique_ptr<Flow> virtual_watch(Exchange& exchange, VirtualTarget target);
Result<std::unique_ptr<Flow>> virtual_write(Exchange& exchange, VirtualTarget target);

} // namespace zoo::gateway
