// SPDX-License-Identifier: Apache-2.0
#include "daemon/gateway/scope.hpp"

#include "common/base/json_text.hpp"
#include "daemon/gateway/exchange.hpp"
#include "daemon/translate/discovery_json.hpp"
#include "daemon/translate/hidden_names.hpp"
#include "daemon/translate/proof.hpp"
#include "daemon/translate/selector.hpp"
#include "daemon/translate/watch_event.hpp"
#include "daemon/upstream/owner_index.hpp"
#include "daemon/upstream/upstream.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

namespace zoo::gateway {
namespace {

using translate::NameRule;

bool is_read(const translate::Target& target) {
  return target.verb == "get" || target.verb == "list" || target.verb == "watch";
}

NameRule rule_of(const Exchange& exchange) {
  const auto* facts = exchange.resource().facts;
  return facts == nullptr ? NameRule::verbatim : facts->names;
}

upstream::KeyRange whole(std::string prefix) { return {std::move(prefix), {}, false}; }

using Names = std::set<std::string, std::less<>>;

void add_singles(std::vector<upstream::KeyRange>& ranges, const Names& names) {
  for (const auto& name : names)
    ranges.push_back({name, {}, true});
}

/// Is a list one of an earlier moment? Of what zood follows is only known how it is now.
bool of_then(const translate::ListOptions& options) {
  return !options.continue_token.empty() || options.match == translate::VersionMatch::exact;
}

constexpr std::size_t k_most_names = 256;       ///< read one after the other, for one request
constexpr std::size_t k_worth_of_objects = 100; ///< by_name_is_less()

/// Is it less work to read these one after the other by their names, and to make some other
/// requests for that, than all that there are? `worth`: how many are read in the time that one by
/// its name takes.
bool by_name_is_less(std::size_t names, std::size_t other_requests, std::size_t worth,
                     const upstream::OwnerIndex& index) {
  return names <= k_most_names && (names + other_requests) * worth < index.size();
}

/// Of one that upstream finds by its name itself, or that is asked for at an earlier moment, or
/// where upstream takes no position, nothing is gained.
bool may_list_by_name(const Exchange& exchange) {
  const auto& target = exchange.target();
  const bool lists =
      target.verb == "list" || (target.verb == "watch" && target.list.begins_with_state());
  return lists && !of_then(target.list) && target.list.field_selector.empty() &&
         exchange.upstream().range_reads();
}

/// Those of provisioned volumes whose claims are in the tenant's namespaces; nullopt: everybody's
/// volumes are read. The tenant's own stand under its prefix.
std::optional<Names> provisioned_volumes(const Exchange& exchange) {
  if (!may_list_by_name(exchange)) return std::nullopt;
  auto& index = exchange.upstream().volumes();
  const auto& mapping = exchange.mapping();
  auto names = index.names_of(mapping.prefix());
  if (!names) return std::nullopt; // the first one to ask begins it
  // What was bound a moment ago the claims know (own_names()), and the index perhaps not yet.
  if (const auto& claimed = exchange.own_names()) names->insert(claimed->begin(), claimed->end());
  std::erase_if(*names, [&](const auto& name) {
    return mapping.owns_name(name) || !mapping.volume_out(name);
  });
  constexpr std::size_t k_range_and_claims = 2;
  if (!by_name_is_less(names->size(), k_range_and_claims, k_worth_of_objects, index))
    return std::nullopt;
  return names;
}

std::vector<upstream::KeyRange> volume_ranges(const Exchange& exchange) {
  const auto names = exchange.own_names() == nullptr ? std::nullopt : provisioned_volumes(exchange);
  if (!names) return {whole("")};
  std::vector<upstream::KeyRange> ranges{whole(exchange.mapping().prefix())};
  add_singles(ranges, *names);
  return ranges;
}

/// Those of the tenant's addresses or attachments that are upstream's, of which none says by its
/// name whose it is. Nobody writes an address again: whoever lists, and follows from there, would
/// miss for good what the index hears of a moment too late. So they are read as they were when it
/// heard last; what comes behind that the watch tells. nullopt: everybody's are read.
std::optional<upstream::OwnerIndex::Moment> moment_of(const Exchange& exchange,
                                                      std::size_t other_requests) {
  const auto rule = rule_of(exchange);
  const bool addresses = rule == NameRule::service_address;
  if ((!addresses && rule != NameRule::attachment) || !may_list_by_name(exchange))
    return std::nullopt;
  auto& upstream = exchange.upstream();
  auto& index = addresses ? upstream.addresses() : upstream.attachments();
  std::vector<std::string> owners{exchange.mapping().prefix()}; // namespaces, or volumes
  if (!addresses) {
    auto volumes = upstream.volumes().names_of(exchange.mapping().prefix());
    if (!volumes) return std::nullopt;
    if (const auto& claimed = exchange.own_names())
      volumes->insert(claimed->begin(), claimed->end());
    for (const auto& volume : *volumes)
      owners.push_back(volume + '/');
  }
  auto out = index.moment_of(owners, k_most_names);
  if (!out) return std::nullopt;
  const auto& asked = exchange.target().list.resource_version;
  const auto newer = asked.empty() ? Result<std::int64_t>(0) : upstream::revision_of(asked);
  if (!newer || *newer > out->revision) return std::nullopt;
  if (!by_name_is_less(out->names.size(), other_requests, k_worth_of_objects, index))
    return std::nullopt;
  return out;
}

/// Does it hold all that was looked up before? Of attachments that is nothing.
bool holds(const upstream::OwnerIndex::Moment& moment, const Exchange& exchange) {
  if (rule_of(exchange) != NameRule::service_address) return true;
  const auto& said = exchange.own_names();
  return said != nullptr &&
         std::includes(moment.names.begin(), moment.names.end(), said->begin(), said->end());
}

/// The ranges of a kind of which upstream's objects and the tenant's own are shown.
Reach mixed_reach(const Exchange& exchange) {
  Reach reach(Actor::zood(Reason::own_keys));
  reach.ranges = {whole("")};
  const auto moment = moment_of(exchange, 0); // the others are made
  if (!moment || !holds(*moment, exchange)) return reach;
  reach.watched = std::exchange(reach.ranges, {});
  reach.revision = moment->revision;
  add_singles(reach.ranges, moment->names);
  // Of none there is a resourceVersion still: with a name that is no address.
  if (reach.ranges.empty()) add_singles(reach.ranges, {exchange.mapping().id()});
  return reach;
}

/// The ranges of a cluster-scoped kind that is built in.
Reach cluster_reach(const Exchange& exchange) {
  const auto& mapping = exchange.mapping();
  Reach reach(Actor::zood(Reason::own_keys));
  const auto* facts = exchange.resource().facts;
  if (facts != nullptr && facts->treatment == translate::Treatment::mixed)
    return mixed_reach(exchange);
  switch (rule_of(exchange)) {
  case NameRule::verbatim: // shared, read-only
    reach.straight = true;
    reach.actor = Actor::zood(Reason::cluster_read);
    return reach;
  case NameRule::prefixed:
  case NameRule::cluster_role: // the system roles are zood's own: system_roles.hpp
  case NameRule::signer_bundle:
    reach.ranges = {whole(mapping.prefix())};
    return reach;
  case NameRule::overlay: {
    reach.ranges = {whole(mapping.prefix())};
    if (!is_read(exchange.target())) return reach;
    const auto overlay = exchange.resource().facts->overlay;
    add_singles(reach.ranges, mapping.shared().classes[static_cast<std::size_t>(*overlay)]);
    return reach;
  }
  case NameRule::cluster_role_binding:
    reach.ranges = {whole(std::string(translate::k_binding_prefix))};
    return reach;
  case NameRule::crd:
    reach.ranges = definition_ranges(exchange, is_read(exchange.target()));
    reach.watched = {whole("")};
    return reach;
  case NameRule::volume:
    reach.ranges = volume_ranges(exchange);
    reach.watched = {whole("")};
    return reach;
  case NameRule::service_address:
  case NameRule::attachment:
    break; // of mixed kinds, above
  }
  return reach;
}

using Strangers = std::shared_ptr<const upstream::Upstream::Names>;

/// By its prefix and by its label: a namespace under the prefix that is not the tenant's may be
/// there (DESIGN 2).
bool namespace_is_ours(const translate::Mapping& mapping, const Strangers& strangers,
                       std::string_view name) {
  return mapping.owns_name(name) && strangers != nullptr && !strangers->contains(name);
}

/// One of the tenant's claims may be bound to a volume of the platform's whose name no tenant can
/// say: it has none here.
bool volume_is_ours(const translate::Mapping& mapping, const Strangers& strangers,
                    std::string_view object) {
  const auto tree = translate::JsonTree::parse(object);
  if (!tree || !mapping.volume_out(tree->root()["metadata"]["name"].string())) return false;
  if (const auto claim = tree->root()["spec"]["claimRef"]["namespace"]) {
    return namespace_is_ours(mapping, strangers, claim.string());
  }
  return mapping.owns_name(tree->root()["metadata"]["name"].string());
}

/// By the volume that is attached, which says whose claim it is for. A claim says only which volume
/// it would have, be it somebody else's: `claimed` counts while nothing has been heard of that one.
bool attached_is_ours(const translate::Mapping& mapping, const upstream::Upstream& upstream,
                      const std::shared_ptr<const Names>& claimed, const std::string& volume) {
  if (!mapping.volume_out(volume)) return false;
  const auto space = upstream.volumes().owner_of(volume);
  if (space && !space->empty()) {
    return namespace_is_ours(mapping, upstream.unlabelled_namespaces().value_or(nullptr), *space);
  }
  if (mapping.owns_name(volume)) return true;
  return !space && claimed != nullptr && claimed->contains(volume);
}

bool address_is_ours(const translate::Mapping& mapping, const Strangers& strangers,
                     std::string_view object) {
  const auto tree = translate::JsonTree::parse(object);
  return tree && namespace_is_ours(mapping, strangers,
                                   tree->root()["spec"]["parentRef"]["namespace"].string());
}

bool is_signing_request(const translate::Target& target) {
  return target.is("certificates.k8s.io", "certificatesigningrequests");
}

/// The tenant's own definitions and `seen` of the platform's, each by its name; empty: asking by
/// label is less work, or all of the tenant's own are not known now.
std::vector<upstream::KeyRange> definitions_by_name(const Exchange& exchange, Names seen) {
  constexpr std::size_t k_worth = 500; // upstream looks at their labels only
  if (!may_list_by_name(exchange)) return {};
  auto& index = exchange.upstream().definitions();
  auto names = index.names_of(exchange.mapping().id());
  if (!names) return {};
  names->merge(seen);
  // Of none there is a resourceVersion still: with a name that no definition has, for want of a
  // dot.
  if (names->empty()) names->insert(exchange.mapping().id());
  if (!by_name_is_less(names->size(), 0, k_worth, index)) return {};
  std::vector<upstream::KeyRange> ranges;
  add_singles(ranges, *names);
  return ranges;
}

} // namespace

Result<void> check_namespace_is_ours(const Exchange& exchange) {
  const auto& name = exchange.target().name_space;
  ZOO_TRY(const auto strangers, exchange.upstream().unlabelled_namespaces());
  if (!strangers->contains(exchange.mapping().name_in(name))) return {};
  return fail(Code::not_found, "namespaces {} not found", json_quote(name));
}

bool owns_definition(const translate::Mapping& mapping, std::string_view name) {
  const auto dot = name.find('.');
  return dot != std::string_view::npos && mapping.owns_name(name.substr(dot + 1));
}

std::vector<upstream::KeyRange> definition_ranges(const Exchange& exchange, bool shown) {
  constexpr std::size_t k_held = 64;   // they and the tenant's own are merged, held whole
  constexpr std::int64_t k_page = 500; // who asks for smaller ones than kubectl means it
  const auto& mapping = exchange.mapping();
  const auto& options = exchange.target().list;
  const auto unlabelled = exchange.upstream().unlabelled_definitions();
  if (of_then(options) || unlabelled == nullptr) return {whole("")};
  Names seen;
  bool own_unlabelled = false;
  unlabelled->visit("", [&](const std::string& name) {
    own_unlabelled = owns_definition(mapping, name);
    if (shown && mapping.crd_name_out(name)) seen.insert(name);
    return !own_unlabelled;
  });
  if (own_unlabelled) return {whole("")};
  if (shown) {
    if (auto ranges = definitions_by_name(exchange, seen); !ranges.empty()) return ranges;
  }
  const auto label = std::string(translate::k_tenant_label);
  const upstream::KeyRange own{"", {}, false, label + "=" + mapping.id()};
  if (seen.empty()) return {own};
  if (seen.size() > k_held || (options.limit != 0 && options.limit < k_page)) return {whole("")};
  return {own, {"", {}, false, "!" + label}};
}

bool lists_volumes_by_name(const Exchange& exchange) {
  return rule_of(exchange) == NameRule::volume && !exchange.resource().namespaced &&
         provisioned_volumes(exchange).has_value();
}

bool lists_addresses_by_name(const Exchange& exchange) {
  return rule_of(exchange) == NameRule::service_address && moment_of(exchange, 1).has_value();
}

Ready knows_own_addresses(const Exchange& exchange) {
  const auto moment = moment_of(exchange, 0);
  const auto& said = exchange.own_names();
  return !moment || (said != nullptr && moment->names == *said) ? Ready::yes : Ready::soon;
}

Ready knows_volumes(const Exchange& exchange) {
  auto& volumes = exchange.upstream().volumes();
  if (volumes.hears()) return Ready::yes;
  return volumes.known() ? Ready::soon : Ready::no;
}

Result<Reach> reach_of(const Exchange& exchange) {
  const auto& target = exchange.target();
  const auto& mapping = exchange.mapping();
  const bool own_group = exchange.resource().own_group;
  Reach reach(Actor::client());
  if (const auto& own = exchange.own_spaces()) {
    reach.actor = Actor::zood(Reason::own_rights);
    reach.ranges = {whole("")};
    reach.all_namespaces = true;
    if (own->spaces->size() <= k_most_own_spaces) reach.spaces = own->spaces;
    return reach;
  }
  if (!exchange.view().shows_own_keys() || !translate::k_proves) {
    reach.straight = true;
    return reach;
  }
  if (exchange.resource().namespaced && !target.name_space.empty()) {
    const auto* hidden = translate::hidden_names(target.group, target.resource);
    if (hidden != nullptr && !hidden->selectable() && target.verb == "deletecollection") {
      // Zood's own among them stay, and it is zood that reads them.
      ZOO_TRY_VOID(check_namespace_is_ours(exchange));
      reach.actor = Actor::zood(Reason::own_keys);
      reach.ranges = {whole("")};
      return reach;
    }
    if (target.verb == "watch" && !own_group) // what filter_of() asks
      ZOO_TRY_VOID(exchange.upstream().unlabelled_namespaces());
    reach.straight = true;
    return reach;
  }
  if (own_group) { // the group is the tenant's, and so is everything in it
    reach.straight = true;
    reach.actor = Actor::zood(Reason::own_group);
    return reach;
  }
  const auto rule = rule_of(exchange);
  const bool by_namespace =
      rule == NameRule::volume || rule == NameRule::service_address || rule == NameRule::attachment;
  if (exchange.resource().namespaced || by_namespace) {
    ZOO_TRY_VOID(exchange.upstream().unlabelled_namespaces());
    if (by_namespace) return cluster_reach(exchange);
    reach.actor = Actor::zood(Reason::own_keys);
    reach.ranges = {whole(mapping.prefix())};
    reach.all_namespaces = true;
    return reach;
  }
  return cluster_reach(exchange);
}

Actor actor_of(const Exchange& exchange) {
  const auto& target = exchange.target();
  if (exchange.resource().namespaced || !translate::k_proves) return Actor::client();
  if (exchange.view().answers.passage == access::Passage::caller) return Actor::client();
  if (exchange.resource().own_group) return Actor::zood(Reason::own_group);
  // RBAC knows no prefixes, so that reads of cluster-scoped objects are fenced by zood's proof.
  if (is_read(target)) return Actor::zood(Reason::cluster_read);
  // Stored inert: upstream's escalation check would ask for rights that nobody has.
  if (rule_of(exchange) == NameRule::cluster_role || is_admission_policy(target))
    return Actor::zood(Reason::inert);
  // Upstream's admission asks for rights over the signer, which the tenant's user has not
  // (flows/approval.cpp asks for the tenant's own).
  if (is_signing_request(target) && !target.subresource.empty())
    return Actor::zood(Reason::signing);
  return Actor::client();
}

bool is_admission_policy(const translate::Target& target) {
  return target.group == "admissionregistration.k8s.io" &&
         target.resource.find("admissionpolic") != std::string::npos;
}

bool is_definition(const translate::Target& target) {
  return target.is("apiextensions.k8s.io", "customresourcedefinitions");
}

bool names_nodes(const translate::Target& target) {
  return target.is("", "nodes") || target.is("storage.k8s.io", "csinodes");
}

ObjectFilter filter_of(const Exchange& exchange, const KeyFilter& by_key) {
  const auto& target = exchange.target();
  const auto& mapping = exchange.mapping();
  if (exchange.own_spaces()) {
    return [by_key](std::string_view object) {
      const auto key = translate::object_key(object);
      return key && by_key(key->name_space + "/" + key->name);
    };
  }
  if (!exchange.view().shows_own_keys() || !translate::k_proves) return nullptr;
  if (target.is("", "namespaces")) {
    return [&mapping](std::string_view object) {
      const auto tree = translate::JsonTree::parse(object);
      return tree &&
             tree->root()["metadata"]["labels"][translate::k_tenant_label].string() == mapping.id();
    };
  }
  if (names_nodes(target) && exchange.gateway().shared().nodes != Nodes::all) {
    return [nodes = exchange.own_names()](std::string_view object) { // null: none is shown
      const auto key = translate::object_key(object);
      return key && nodes != nullptr && nodes->contains(key->name);
    };
  }
  if (rule_of(exchange) == NameRule::volume && !exchange.resource().namespaced) {
    return [&mapping, &upstream = exchange.upstream()](std::string_view object) {
      return volume_is_ours(mapping, upstream.unlabelled_namespaces().value_or(nullptr), object);
    };
  }
  if (rule_of(exchange) == NameRule::service_address) {
    return [&mapping, &upstream = exchange.upstream()](std::string_view object) {
      return address_is_ours(mapping, upstream.unlabelled_namespaces().value_or(nullptr), object);
    };
  }
  if (rule_of(exchange) == NameRule::attachment) {
    return [&mapping, &upstream = exchange.upstream(),
            claimed = exchange.own_names()](std::string_view object) {
      const auto tree = translate::JsonTree::parse(object);
      return tree &&
             attached_is_ours(mapping, upstream, claimed,
                              tree->root()["spec"]["source"]["persistentVolumeName"].string());
    };
  }
  if (rule_of(exchange) == NameRule::crd) {
    return [&mapping](std::string_view object) {
      const auto key = translate::object_key(object);
      return key && mapping.crd_name_out(key->name).has_value();
    };
  }
  if (!by_key) return nullptr;
  return [by_key](std::string_view object) {
    const auto key = translate::object_key(object);
    return key && by_key(key->name_space + "/" + key->name);
  };
}

ObjectFilter decided_filter_of(const Exchange& exchange) {
  if (!exchange.view().shows_own_keys() || exchange.target().verb != "watch" ||
      rule_of(exchange) != NameRule::attachment) {
    return nullptr;
  }
  return [&mapping = exchange.mapping(), &upstream = exchange.upstream(),
          claimed = exchange.own_names()](std::string_view object) {
    const auto tree = translate::JsonTree::parse(object);
    if (!tree) return true;
    const auto root = tree->root();
    const auto volume = root["spec"]["source"]["persistentVolumeName"].string();
    if (!mapping.volume_out(volume) || mapping.owns_name(volume)) return true;
    if (claimed != nullptr && claimed->contains(volume)) return true;
    auto& volumes = upstream.volumes();
    if (volumes.owner_of(volume)) return true;
    const auto version = upstream::revision_of(root["metadata"]["resourceVersion"].string());
    return !version || volumes.reached() >= *version;
  };
}

LeftFilter left_filter_of(const Exchange& exchange) {
  const auto rule = rule_of(exchange);
  const bool attachments = rule == NameRule::attachment;
  if (!exchange.view().shows_own_keys() || exchange.target().verb != "watch" ||
      exchange.resource().namespaced || (rule != NameRule::volume && !attachments)) {
    return nullptr;
  }
  exchange.upstream().volumes().hears(); // from now on, if nobody asked before
  return [&mapping = exchange.mapping(), &upstream = exchange.upstream(),
          attachments](std::string_view object, std::int64_t since) {
    const auto tree = translate::JsonTree::parse(object);
    if (!tree) return false;
    const auto root = tree->root();
    const auto volume =
        (attachments ? root["spec"]["source"]["persistentVolumeName"] : root["metadata"]["name"])
            .string();
    if (!mapping.volume_out(volume)) return false;
    return upstream.volumes().owned_behind(volume, since, [&](std::string_view space) {
      return space.empty() ? mapping.owns_name(volume) : mapping.owns_name(space);
    });
  };
}

KeyFilter key_filter_of(const Exchange& exchange) {
  const auto& target = exchange.target();
  if (exchange.own_spaces())
    return [own = *exchange.own_spaces()](std::string_view key) { return own.contain(key); };
  if (!exchange.view().shows_own_keys() || !translate::k_proves || !exchange.resource().namespaced)
    return nullptr;
  const auto* hidden = translate::hidden_names(target.group, target.resource);
  // What reads show stays when all is deleted.
  if (hidden != nullptr && hidden->shown && target.verb != "deletecollection") hidden = nullptr;
  // A watch of one namespace may come from everybody's (DESIGN 7).
  const bool everywhere =
      (target.name_space.empty() || target.verb == "watch" || target.verb == "deletecollection") &&
      !exchange.resource().own_group;
  // Of one namespace upstream is asked for all others (own_field_selector()).
  if (!everywhere && (hidden == nullptr || hidden->selectable())) return nullptr;
  // A namespace under the prefix without the tenant's label is not the tenant's.
  // Asked anew each time, since a watch lives long; while it is not known nothing is shown.
  return [hidden, everywhere, &upstream = exchange.upstream()](std::string_view key) {
    const auto slash = key.find('/');
    if (slash == std::string_view::npos) return false;
    if (hidden != nullptr && hidden->hides(key.substr(slash + 1))) return false;
    if (!everywhere) return true;
    const auto strangers = upstream.unlabelled_namespaces();
    return strangers && !(*strangers)->contains(key.substr(0, slash));
  };
}

std::string own_field_selector(const Exchange& exchange) {
  const auto& target = exchange.target();
  const bool straight = target.verb == "list" || target.verb == "deletecollection";
  if (!straight || target.name_space.empty() || !exchange.resource().namespaced ||
      !exchange.view().shows_own_keys() || !translate::k_proves)
    return "";
  const auto* hidden = translate::hidden_names(target.group, target.resource);
  if (hidden == nullptr || !hidden->selectable()) return "";
  return translate::serialize_field_selector({{"metadata.name", false, std::string(hidden->name)}});
}

bool needs_whole_object(const Exchange& exchange) {
  if (!exchange.view().shows_own_keys()) return false;
  const auto rule = rule_of(exchange);
  return rule == NameRule::volume || rule == NameRule::service_address ||
         rule == NameRule::attachment || is_signing_request(exchange.target());
}

} // namespace zoo::gateway
