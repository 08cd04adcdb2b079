// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/gateway/exchange.hpp"
#include "daemon/translate/headers.hpp"
#include "daemon/translate/watch_event.hpp"
#include "daemon/virtuals/board.hpp"
#include "daemon/virtuals/engine.hpp"

#include <functional>
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

/// Of a kind that stands beside upstream's (translate::Treatment::mixed, docs/decisions/080); null
/// for other kinds, and for versions that zood does not keep.
std::shared_ptr<const VirtualTarget> beside_target(const Exchange& exchange,
                                                   const Rendering& rendering);

/// The tenant's own objects of a mixed kind in a watch, in step with upstream's events: both count
/// by upstream's revisions. Lives in the watch; loop thread.
class BesideEvents {
public:
  /// `on_change` comes on the loop when pump() may have more to tell.
  BesideEvents(Exchange& exchange, std::shared_ptr<const VirtualTarget> target,
               std::function<void()> on_change);
  Result<void> start(); ///< Code::bad_request for selectors that the kind has not
  /// May what is read now stand for a revision that upstream has told?
  bool settled() const;
  /// all_by() of what is here.
  bool knows(std::int64_t revision) const;
  /// The objects as they were, as ADDED; what comes after is pump()'s. Code::expired.
  Result<void> state(std::int64_t revision, std::string& out);
  void from(std::int64_t revision) { last_ = revision; }
  /// Events after the last told one, up to a step's size. False: there are more. Code::expired: too
  /// long ago.
  Result<bool> pump(std::string& out);

private:
  void send(translate::EventType type, const virtuals::Object& object, std::string& out);

  Exchange& exchange_;
  std::shared_ptr<const VirtualTarget> target_;
  std::function<void()> on_change_;
  virtuals::Selection selection_;
  std::int64_t last_ = 0;
  bool columns_sent_ = false;
  virtuals::Board::Subscription subscription_; // last: nothing comes once it is gone
};

/// For Board::subscribe(): `next` on the loop of `exchange` while that is open, once for all
/// changes that come before it. Any thread.
std::function<void()> woken(Exchange& exchange, std::function<void()> next);

/// Calls `then` once what the tenant keeps beside upstream's is settled, or after some seconds.
void when_settled(Exchange& exchange, const VirtualTarget& target, net::Timer& timer,
                  std::function<void()> then);

/// Is nothing in `set` newer than `revision`, and is it known as it was then?
bool all_by(const virtuals::Set& set, std::int64_t revision);

std::unique_ptr<Flow> virtual_read(Exchange& exchange, VirtualTarget target);
std::unique_ptr<Flow> virtual_watch(Exchange& exchange, VirtualTarget target);
Result<std::unique_ptr<Flow>> virtual_write(Exchange& exchange, VirtualTarget target);

} // namespace zoo::gateway
