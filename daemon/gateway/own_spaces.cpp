// SPDX-License-Identifier: Apache-2.0
#include "daemon/gateway/own_spaces.hpp"

#include "common/base/make_room.hpp"
#include "common/crypto/digest.hpp"
#include "daemon/access/local_api.hpp"
#include "daemon/gateway/exchange.hpp"
#include "daemon/upstream/list_source.hpp"

#include <algorithm>
#include <functional>

namespace zoo::gateway {
namespace {

constexpr std::uint64_t k_whole = 0; ///< Seen::watched of who may read all namespaces

authz::Rights::Reach reach_of_verb(const Exchange& exchange, const authz::Rights& rights,
                                   std::string_view verb) {
  auto wanted = exchange.asked();
  wanted.verb = verb;
  wanted.name_space.clear();
  return rights.namespaces_of(user_of(exchange.route().principal()), std::move(wanted));
}

std::uint64_t hash_of(const authz::Rights::Reach& reach) {
  if (reach.everywhere) return k_whole;
  std::string all;
  for (const auto& space : reach.namespaces)
    all += space + '/';
  return std::hash<std::string>{}(all);
}

/// Nothing: all, or none.
std::optional<OwnSpaces> computed(const Exchange& exchange, authz::RightsPtr rights) {
  auto reach = reach_of_verb(exchange, *rights, exchange.asked().verb);
  if (reach.everywhere || reach.namespaces.empty()) return std::nullopt;
  OwnSpaces out;
  out.watched = exchange.asked().verb == "watch"
                    ? hash_of(reach)
                    : hash_of(reach_of_verb(exchange, *rights, "watch"));
  for (auto& space : reach.namespaces)
    space += '/';
  std::sort(reach.namespaces.begin(), reach.namespaces.end()); // "a-b/" comes before "a/"
  out.spaces = std::make_shared<const std::vector<std::string>>(std::move(reach.namespaces));
  out.rights = std::move(rights);
  return out;
}

} // namespace

std::string seen_key_of(const Exchange& exchange) {
  const auto& who = exchange.route().principal();
  auto groups = who.groups;
  std::sort(groups.begin(), groups.end());
  std::string all = who.user;
  for (const auto& group : groups)
    all += '\0' + group;
  const auto& target = exchange.target();
  all += '\0' + std::string("/") + target.group + '/' + target.resource + '/' +
         target.authorization_name();
  return std::string(crypto::view(crypto::sha256(all)));
}

bool OwnSpaces::contain(std::string_view key) const {
  const auto slash = key.find('/');
  return slash != std::string_view::npos &&
         std::binary_search(spaces->begin(), spaces->end(), key.substr(0, slash + 1));
}

Result<std::optional<OwnSpaces>> own_spaces_of(const Exchange& exchange) {
  const auto& target = exchange.target();
  const bool reads = target.verb == "list" || target.verb == "watch";
  const bool everywhere = exchange.resource().namespaced && target.name_space.empty();
  const auto& known = exchange.view().rights;
  if (known == nullptr || !reads || !everywhere) return std::optional<OwnSpaces>();
  ZOO_TRY(auto rights, known->rights());
  auto out = computed(exchange, std::move(rights));
  const auto& options = target.list;
  const auto from = upstream::revision_of(options.resource_version);
  if (target.verb != "watch" || options.begins_with_state() || !from || *from == 0) return out;
  auto& seen = *exchange.gateway().shared().seen_spaces;
  const bool same = out ? seen.same_since(seen_key_of(exchange), out->watched, *from)
                        : seen.whole_since(seen_key_of(exchange), *from);
  if (!same) return fail(Code::expired, "{}", k_spaces_changed);
  return out;
}

bool own_spaces_changed(const Exchange& exchange, OwnSpaces& before) {
  auto rights = exchange.view().rights->rights();
  if (!rights) return true; // it goes upstream as zood: nobody else would end it
  if (*rights == before.rights) return false;
  const auto now = computed(exchange, *rights);
  if (!now || *now->spaces != *before.spaces) return true;
  before.rights = *std::move(rights);
  return false;
}

void SeenSpaces::listed(const std::string& key, std::uint64_t watched, std::int64_t revision,
                        bool changed) {
  const std::scoped_lock lock(mutex_);
  if (!seen_.contains(key)) {
    make_room(seen_, key, k_most);
    seen_.emplace(key, Seen{watched, changed ? revision + 1 : revision, revision});
    return;
  }
  auto& seen = seen_.at(key);
  const auto handed = std::max(seen.handed, revision);
  if (changed) {
    seen = {watched, handed + 1, handed};
  } else if (seen.watched != watched) {
    seen = {watched, std::max(revision, seen.handed + 1), handed};
  } else {
    seen.handed = handed;
  }
}

bool SeenSpaces::same_since(const std::string& key, std::uint64_t watched, std::int64_t revision) {
  const std::scoped_lock lock(mutex_);
  const auto found = seen_.find(key);
  return found != seen_.end() && found->second.watched == watched &&
         found->second.since <= revision;
}

bool SeenSpaces::whole_since(const std::string& key, std::int64_t revision) {
  const std::scoped_lock lock(mutex_);
  const auto found = seen_.find(key);
  if (found == seen_.end()) return true;
  auto& seen = found->second;
  if (seen.watched == k_whole) return seen.since <= revision;
  const auto handed = std::max(seen.handed, revision);
  seen = {k_whole, handed + 1, handed};
  return false;
}

void SeenSpaces::told(const std::string& key, std::uint64_t watched, std::int64_t revision) {
  const std::scoped_lock lock(mutex_);
  const auto found = seen_.find(key);
  if (found == seen_.end()) return;
  auto& seen = found->second;
  seen.handed = std::max(seen.handed, revision);
  if (seen.watched != watched) seen.since = std::max(seen.since, revision + 1);
}

void own_spaces_listed(const Exchange& exchange, std::int64_t revision) {
  if (!exchange.own_spaces()) return;
  auto now = *exchange.own_spaces();
  bool changed = false;
  if (const auto rights = exchange.view().rights->rights(); rights && *rights != now.rights) {
    const auto fresh = computed(exchange, *rights);
    changed = !fresh || fresh->watched != now.watched || *fresh->spaces != *now.spaces;
    if (fresh) now.watched = fresh->watched;
  }
  exchange.gateway().shared().seen_spaces->listed(seen_key_of(exchange), now.watched, revision,
                                                  changed);
}

} // namespace zoo::gateway
