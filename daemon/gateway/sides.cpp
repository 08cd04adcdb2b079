// SPDX-License-Identifier: Apache-2.0
#include "daemon/gateway/sides.hpp"

#include "daemon/access/local_api.hpp"
#include "daemon/gateway/exchange.hpp"
#include "daemon/gateway/own_spaces.hpp"
#include "daemon/translate/watch_event.hpp"
#include "daemon/upstream/list_source.hpp"

#include <utility>

namespace zoo::gateway {
namespace {

std::uint64_t answers_of(const Exchange& exchange) {
  const auto& local = *exchange.view().local_api;
  const auto& who = exchange.route().principal();
  auto asked = exchange.target();
  asked.verb = "list";
  const std::uint64_t lists = local.serves(who, asked, {}) ? 1 : 0;
  asked.verb = "watch";
  return lists + (local.serves(who, asked, {}) ? 2 : 0);
}

} // namespace

Result<std::optional<Side>> side_of(const Exchange& exchange) {
  const auto& target = exchange.target();
  const auto& view = exchange.view();
  if (view.local_api == nullptr || view.rights == nullptr || !view.local_api->divides(target))
    return std::optional<Side>();
  auto rights = view.rights->rights();
  if (!rights) return std::optional<Side>();
  Side side{seen_key_of(exchange), answers_of(exchange), *std::move(rights), true, false};
  const auto& options = target.list;
  const auto from = upstream::revision_of(options.resource_version);
  if (target.verb == "watch" && !options.begins_with_state() && from && *from != 0) {
    side.begins_anywhere = false;
    if (!exchange.gateway().shared().seen_spaces->same_since(side.key, side.answers, *from))
      return fail(Code::expired, "{}", k_spaces_changed);
  }
  return std::optional<Side>(std::move(side));
}

bool side_changed(Exchange& exchange) {
  auto& side = exchange.side();
  if (!side || side->over) return side.has_value();
  auto rights = exchange.view().rights->rights();
  if (!rights || *rights == side->rights) return false;
  side->rights = *std::move(rights);
  side->over = answers_of(exchange) != side->answers;
  return side->over;
}

void side_listed(Exchange& exchange, std::int64_t revision) {
  auto& side = exchange.side();
  if (!side) return;
  const bool changed = side_changed(exchange);
  const auto answers = changed ? answers_of(exchange) : side->answers;
  exchange.gateway().shared().seen_spaces->listed(side->key, answers, revision, changed);
}

bool side_tells(Exchange& exchange, std::string_view event) {
  if (!exchange.side()) return true;
  if (side_changed(exchange)) return false;
  const auto parsed = translate::parse_event(event);
  if (!parsed || parsed->type == translate::EventType::error) return true;
  const auto key = translate::object_key(parsed->object);
  const auto revision =
      key ? upstream::revision_of(key->resource_version) : Result<std::int64_t>(0);
  if (!revision || *revision == 0) return true;
  const auto& side = *exchange.side();
  // The state that a watch begins with is complete at this bookmark, and not before.
  if (parsed->type == translate::EventType::bookmark && side.begins_anywhere) {
    side_listed(exchange, *revision);
  } else {
    exchange.gateway().shared().seen_spaces->told(side.key, side.answers, *revision);
  }
  return true;
}

} // namespace zoo::gateway
