// SPDX-License-Identifier: Apache-2.0
#include "daemon/gateway/flows/ceilings.hpp"

#include "common/base/log.hpp"
#include "daemon/gateway/flows/standing.hpp"
#include "daemon/gateway/scope.hpp"
#include "daemon/translate/discovery_json.hpp"
#include "daemon/translate/status_text.hpp"
#include "daemon/upstream/upstream.hpp"

#include <algorithm>
#include <array>
#include <set>

namespace zoo::gateway {
namespace {

using api::Counted;
using translate::NameRule;

constexpr std::string_view k_admission = "admissionregistration.k8s.io";
constexpr std::string_view k_definitions_group = "apiextensions.k8s.io";
constexpr std::array<std::string_view, 4> k_four{"default", "kube-system", "kube-public",
                                                 "kube-node-lease"};

bool is_event(std::string_view group, std::string_view resource) {
  return resource == "events" && (group.empty() || group == "events.k8s.io");
}

/// What is answered here and stored nowhere, or kept elsewhere with ceilings of its own.
bool is_stored(const Exchange& exchange) {
  const auto& target = exchange.target();
  if (target.group == "authorization.k8s.io" || target.group == "authentication.k8s.io")
    return false;
  const auto* facts = exchange.resource().facts;
  return facts == nullptr || facts->treatment == translate::Treatment::served;
}

/// The ceiling that counts objects of a kind of a built-in group, besides those of all kinds.
std::optional<Counted> counted_as(std::string_view group, std::string_view resource) {
  if (group.empty() && resource == "namespaces") return Counted::namespaces;
  if (group == k_definitions_group && resource == "customresourcedefinitions")
    return Counted::definitions;
  if (group != k_admission) return std::nullopt;
  if (resource.find("webhook") != std::string_view::npos) return Counted::webhooks;
  return Counted::policies;
}

std::string kind_key(std::string_view upstream_group, std::string_view resource) {
  return fmt::format("{}/{}/", upstream_group, resource);
}

/// Of the object that the request is about, as a list of its kind would have it; "" if upstream
/// makes its name up.
std::string object_path(const Exchange& exchange, const std::string& name) {
  if (name.empty()) return {};
  const auto& target = exchange.target();
  const auto& mapping = exchange.mapping();
  if (target.is(translate::k_rbac_group, "clusterrolebindings")) {
    return fmt::format("{}{}/{}{}", kind_key(translate::k_rbac_group, "rolebindings"),
                       mapping.name_in("kube-system"), translate::k_binding_prefix, name);
  }
  const auto kind = kind_key(mapping.group_in(target.group), target.resource);
  if (exchange.resource().namespaced)
    return fmt::format("{}{}/{}", kind, mapping.name_in(target.name_space), name);
  return kind + translate::object_name_in(mapping, exchange.resource().facts, name);
}

/// As Go reads it, where a member occurs twice.
std::string name_in_body(Exchange& exchange) {
  const auto tree = translate::JsonTree::parse(
      exchange.head().method == "POST" ? std::string_view(exchange.body()) : std::string_view());
  return tree ? tree->root()["metadata"]["name"].string() : std::string();
}

std::uint64_t node_ports(std::string_view service) {
  const auto tree = translate::JsonTree::parse(service);
  if (!tree) return 0;
  const auto spec = tree->root()["spec"];
  const auto type = spec["type"].string();
  if (type != "NodePort" && type != "LoadBalancer") return 0;
  const auto allocates = spec["allocateLoadBalancerNodePorts"];
  const bool unsaid = !allocates || allocates.is(translate::JsonType::null);
  const bool all = type == "NodePort" || unsaid || allocates.boolean();
  std::uint64_t out = 0;
  for (auto port = spec["ports"].first(); port; port = port.next()) {
    if (all || port["nodePort"].integer().value_or(0) != 0) ++out;
  }
  return out;
}

std::uint64_t load_balancers(std::string_view service) {
  const auto tree = translate::JsonTree::parse(service);
  return tree && tree->root()["spec"]["type"].string() == "LoadBalancer" ? 1 : 0;
}

} // namespace

std::vector<Charge> service_charges(Exchange& exchange, std::string_view object) {
  const auto& target = exchange.target();
  const auto& quota = exchange.view().quota;
  std::vector<Charge> out;
  if (!target.is("", "services") || !target.subresource.empty()) return out;
  if (!quota.contains(Counted::node_ports) && !quota.contains(Counted::load_balancers)) return out;
  const auto key =
      object_path(exchange, target.name.empty() ? name_in_body(exchange) : target.name);
  out.push_back({Counted::load_balancers, key, load_balancers(object), false});
  out.push_back({Counted::node_ports, key, node_ports(object), false});
  return out;
}

std::vector<Charge> charges_of(Exchange& exchange) {
  std::vector<Charge> out;
  const auto& target = exchange.target();
  const auto& quota = exchange.view().quota;
  const bool creates = target.verb == "create";
  const bool changes = target.verb == "update" || target.verb == "patch";
  if (!exchange.view().holds(Fence::ceilings) || quota.empty() || (!creates && !changes) ||
      !is_stored(exchange) || is_event(target.group, target.resource)) {
    return out;
  }
  const bool whole = target.subresource.empty();
  if (!whole && target.subresource != "status") return out;
  const bool bytes = quota.contains(Counted::bytes);
  const auto special = counted_as(target.group, target.resource);
  const bool counts =
      whole && ((special && quota.contains(*special)) || quota.contains(Counted::objects));
  if (counts || bytes) {
    const auto name = creates ? name_in_body(exchange) : target.name;
    const auto key = object_path(exchange, name);
    const bool standing = special == Counted::namespaces &&
                          std::find(k_four.begin(), k_four.end(), name) != k_four.end();
    // An apply patch can make an object, and so can an update of some kinds (AllowCreateOnUpdate in
    // k8s.io/kubernetes pkg/registry); of one that is there it costs nothing.
    const auto format =
        translate::choose_body(target.verb, exchange.head().headers.get("content-type"));
    const bool makes = creates || target.verb == "update" ||
                       (format && *format == translate::BodyFormat::apply_patch);
    if (whole && makes) {
      if (special && !standing) out.push_back({*special, key, 1, false});
      out.push_back({Counted::objects, key, 1, false});
    }
    if (bytes) {
      out.push_back({Counted::bytes, key, exchange.body().size(), target.verb != "create"});
    }
  }
  if (whole && target.verb != "patch") { // of a patch its result says it (flows/guarded_patch.cpp)
    for (auto& charge : service_charges(exchange, exchange.body()))
      out.push_back(std::move(charge));
  }
  return out;
}

// ---- RoomFinder ----

RoomFinder::RoomFinder(Exchange& exchange, std::vector<Charge> charges, std::function<void()> then)
    : exchange_(exchange), ledger_(exchange.gateway().shared().ledger),
      charges_(std::move(charges)), then_(std::move(then)), since_(Ledger::Clock::now()),
      needs_turn_(exchange.gateway().shared().turns != nullptr &&
                  std::any_of(charges_.begin(), charges_.end(), [&](const Charge& charge) {
                    return Ledger::needs_turn(charge) &&
                           exchange.view().quota.contains(charge.what);
                  })) {}

RoomFinder::~RoomFinder() {
  if (counting_) ledger_.abandon_count(exchange_.view().uid, *counting_);
}

void RoomFinder::start() { ask(); }

std::function<void()> RoomFinder::waker() {
  return [this, loop = &exchange_.gateway().loop(), alive = std::weak_ptr<void>(alive_)] {
    loop->post([this, alive] {
      if (!alive.expired() && !exchange_.done()) ask();
    });
  };
}

bool RoomFinder::take_turn() {
  if (!needs_turn_ || turn_) return true;
  auto answer = exchange_.gateway().shared().turns->take(exchange_.view().uid, since_, waker());
  if (answer.error) exchange_.fail(*std::move(answer.error));
  if (!answer.turn) return false;
  turn_ = std::move(answer.turn);
  generation_ = answer.generation;
  return true;
}

void RoomFinder::ask() {
  if (!take_turn()) return;
  auto answer = ledger_.reserve(exchange_.view().uid, exchange_.view().quota, charges_,
                                Ledger::Clock::now(), since_, generation_);
  if (answer.hold) {
    answer.hold->keep_turn(std::move(turn_));
    exchange_.hold(*std::move(answer.hold));
    return then_();
  }
  if (answer.full) return refuse(*answer.full);
  if (ledger_.begin_count(exchange_.view().uid, *answer.count, Ledger::Clock::now(), waker())) {
    count(*answer.count);
  }
}

void RoomFinder::refuse(const Ledger::Full& full) {
  const auto& target = exchange_.target();
  const auto what = api::counted_name(full.what);
  const auto name = target.name.empty() ? name_in_body(exchange_) : target.name;
  exchange_.send_status(
      403, translate::forbidden_status(
               target.group, target.resource, name,
               fmt::format("exceeded quota: tenant, requested: {0}={1}, used: {0}={2}, limited: "
                           "{0}={3}",
                           what, full.requested, full.used, full.limit)));
}

void RoomFinder::count(Counted what) {
  counting_ = what;
  auto strangers = exchange_.upstream().unlabelled_namespaces();
  if (!strangers) return exchange_.fail(strangers.error());
  strangers_ = *std::move(strangers);
  sources_.clear();
  found_.clear();
  at_ = 0;
  find_sources(*exchange_.resource().catalog);
  next();
}

void RoomFinder::add_source(std::string path, bool namespaced, bool whole_object,
                            std::string kind) {
  Source source;
  source.plan.path = std::move(path);
  source.plan.ranges = {{exchange_.mapping().prefix(), {}, false}};
  source.plan.all_namespaces = namespaced;
  source.plan.rendering.wanted.upstream_accept =
      whole_object ? translate::Constant("application/json")
                   : translate::Constant(translate::k_partial_list_accept);
  source.kind = std::move(kind);
  sources_.push_back(std::move(source));
}

void RoomFinder::find_sources(const translate::Catalog& catalog) {
  const auto& mapping = exchange_.mapping();
  switch (*counting_) {
  case Counted::namespaces:
    add_source("/api/v1/namespaces", false, false, kind_key("", "namespaces"));
    sources_.back().counts = [this, &mapping](std::string_view item) {
      const auto tree = translate::JsonTree::parse(item);
      if (!tree) return false;
      const auto name = tree->root()["metadata"]["name"].string();
      const auto own = mapping.name_out(name).value_or("");
      return !strangers_->contains(name) &&
             std::find(k_four.begin(), k_four.end(), own) == k_four.end();
    };
    return;
  case Counted::definitions:
    add_source("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", false, false,
               kind_key(k_definitions_group, "customresourcedefinitions"));
    sources_.back().plan.ranges = definition_ranges(exchange_, false);
    return;
  case Counted::webhooks:
  case Counted::policies:
    if (const auto* group = catalog.find_group(k_admission)) {
      std::set<std::string> seen;
      for (const auto& version : group->versions) {
        for (const auto& resource : version.resources) {
          if (counted_as(k_admission, resource.name) != *counting_) continue;
          if (!seen.insert(resource.name).second) continue;
          add_source(fmt::format("/apis/{}/{}/{}", k_admission, version.version, resource.name),
                     false, false, kind_key(k_admission, resource.name));
        }
      }
    }
    return;
  case Counted::node_ports:
  case Counted::load_balancers:
    add_source("/api/v1/services", true, true, kind_key("", "services"));
    sources_.back().amount = *counting_ == Counted::node_ports ? node_ports : load_balancers;
    return;
  case Counted::objects:
  case Counted::bytes:
    return add_objects(catalog);
  }
}

/// Every kind that the tenant may create objects of, but for Events and for what is not told apart
/// by its key (PersistentVolumes).
void RoomFinder::add_objects(const translate::Catalog& catalog) {
  const auto viewer = exchange_.view().viewer();
  const auto& mapping = viewer.mapping;
  const bool bytes = *counting_ == Counted::bytes;
  const auto add_group = [&](const translate::CatalogGroup& group, bool own) {
    std::set<std::string> seen;
    for (const auto& version : group.versions) {
      for (const auto& each : version.resources) {
        const auto visible = translate::visible_resource(viewer, group.name, each);
        if (!visible || !visible->has_verb("list") || !visible->has_verb("create") ||
            is_event(group.name, each.name) || !seen.insert(each.name).second) {
          continue;
        }
        const auto* facts = own ? nullptr : translate::find_facts(group.name, each.name);
        const auto rule = facts == nullptr ? NameRule::verbatim : facts->names;
        const bool kept = facts != nullptr && facts->treatment == translate::Treatment::kept;
        const bool by_key = each.namespaced || own || rule == NameRule::prefixed ||
                            rule == NameRule::overlay || rule == NameRule::cluster_role ||
                            rule == NameRule::signer_bundle || rule == NameRule::crd;
        if (kept || !by_key) continue;
        const auto root = group.name.empty() ? "/api" : "/apis/" + group.name;
        add_source(fmt::format("{}/{}/{}", root, version.version, each.name), each.namespaced,
                   bytes, kind_key(group.name, each.name));
        auto& source = sources_.back();
        if (bytes) source.amount = [](std::string_view item) { return item.size(); };
        if (own && !each.namespaced) source.plan.ranges = {{"", {}, false}};
        if (rule == NameRule::crd) source.plan.ranges = definition_ranges(exchange_, false);
      }
    }
  };
  for (const auto* group : catalog.builtin_groups())
    add_group(*group, false);
  for (const auto& name : mapping.shared().groups) {
    if (const auto* group = catalog.find_group(name)) add_group(*group, false);
  }
  for (const auto* group : catalog.groups_with_prefix(mapping.prefix()))
    add_group(*group, true);
}

void RoomFinder::next() {
  if (at_ == sources_.size()) {
    const auto what = *counting_;
    counting_.reset();
    ledger_.finish_count(exchange_.view().uid, what, found_);
    found_.clear();
    return ask();
  }
  const auto& plan = sources_[at_].plan;
  auto request = list_request(exchange_, plan);
  request.heard = nullptr; // it is no part of what was asked
  request.patience = std::make_shared<upstream::ListPatience>(exchange_.gateway().loop());
  request.max_object = upstream::k_largest_object;
  request.range = plan.ranges.front();
  begun_ = false;
  retired_ = std::move(list_);
  list_ = upstream::list_range(
      exchange_.upstream(), exchange_.upstream().caller(exchange_.gateway().loop()),
      std::move(request), exchange_.mapping().id() + plan.path + "#count", *this);
}

void RoomFinder::on_list_item(std::string_view key, std::string_view item) {
  const auto& source = sources_[at_];
  if (source.plan.all_namespaces && strangers_->contains(key.substr(0, key.find('/')))) return;
  const auto definitions = kind_key(k_definitions_group, "customresourcedefinitions");
  if (source.kind == definitions && !owns_definition(exchange_.mapping(), key)) return;
  if (source.counts && !source.counts(item)) return;
  const auto amount = source.amount ? source.amount(item) : 1;
  if (amount > 0) found_.emplace(source.kind + std::string(key), amount);
}

void RoomFinder::on_list_end(const upstream::ListEnd&) {
  if (exchange_.done()) return;
  exchange_.later([this, alive = std::weak_ptr<void>(alive_)] {
    if (alive.expired()) return;
    ++at_;
    next();
  });
}

void RoomFinder::on_list_error(const Error& error, int http_status, std::string_view) {
  if (exchange_.done()) return;
  // A group of an extension server that is away, or a kind that has just gone: nothing can be
  // written there now, and the others are to be counted.
  // Not so behind a first page: what was to come is there.
  if (!begun_ && (http_status == 404 || (http_status == 503 && sources_.size() > 4))) {
    return on_list_end({});
  }
  log::warning("gateway", "what tenant {} stores could not be counted at {}: {} {}",
               exchange_.mapping().id(), sources_[at_].plan.path, http_status, error.text());
  exchange_.fail(Error(Code::unavailable, "what this tenant stores could not be counted, and so "
                                          "not held against its quota; try again"));
}

namespace {

class WithinCeilings final : public Flow {
public:
  WithinCeilings(Exchange& exchange, std::vector<Charge> charges, std::unique_ptr<Flow> flow)
      : exchange_(exchange), flow_(std::move(flow)), room_(exchange, std::move(charges), [this] {
          exchange_.later([this] { exchange_.run(std::move(flow_)); });
        }) {}
  void start() override { room_.start(); }

private:
  Exchange& exchange_;
  std::unique_ptr<Flow> flow_;
  RoomFinder room_;
};

} // namespace

std::unique_ptr<Flow> within_ceilings(Exchange& exchange, std::vector<Charge> charges,
                                      std::unique_ptr<Flow> flow) {
  return std::make_unique<WithinCeilings>(exchange, std::move(charges), std::move(flow));
}

} // namespace zoo::gateway
