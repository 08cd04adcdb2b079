// SPDX-License-Identifier: Apache-2.0
#include "common/base/json_text.hpp"
#include "daemon/gateway/flows/steps.hpp"
#include "daemon/gateway/flows/virtual.hpp"
#include "daemon/gateway/scope.hpp"
#include "daemon/translate/discovery_json.hpp"
#include "daemon/translate/status_text.hpp"
#include "daemon/translate/watch_event.hpp"

#include <chrono>

namespace zoo::gateway {
namespace {

using translate::EventType;

constexpr std::chrono::milliseconds k_beside_pause{5};
constexpr std::size_t k_step = 16 * 1024; ///< of events at once
constexpr int k_beside_looks = 600;

const virtuals::Board& board_of(const Exchange& exchange) {
  return *exchange.gateway().shared().board;
}

/// What somebody who wants to change the platform's object may do instead.
std::string_view way_out(const translate::Target& target) {
  if (target.is("", "nodes"))
    return "it serves the pods of all tenants (rule nodes): ask the platform for the label or "
           "taint, or select "
           "by a label that nodes have";
  if (target.is("networking.k8s.io", "ipaddresses"))
    return "it belongs to a Service (rule platform-kinds): delete that";
  return "it is the platform's and serves all tenants (rule platform-kinds): ask the platform for "
         "the "
         "change";
}

/// Does upstream have an object of that name that the tenant sees? If not, the write is of the
/// tenant's own.
class BesideWrite final : public Steps {
public:
  BesideWrite(Exchange& exchange, Rendering rendering)
      : Steps(exchange), rendering_(std::move(rendering)) {}

  void start() override {
    const auto& target = exchange_.target();
    name_ = target.name;
    if (target.verb == "create" && target.subresource.empty()) {
      if (const auto key = translate::object_key(exchange_.body())) name_ = key->name;
    }
    const auto own = beside_target(exchange_, rendering_);
    const bool kept =
        own && board_of(exchange_).read(own->owner, *own->kind).set->objects.contains(name_);
    if (own == nullptr) return refuse_version();
    if (name_.empty() || kept) return keep();
    auto read = target;
    read.verb = "get";
    read.name = name_;
    read.subresource.clear();
    auto path = translate::upstream_path(read, false, exchange_.view().viewer());
    if (!path) return exchange_.fail(path.error());
    ask(Outgoing::get(Reason::cluster_read, *std::move(path)),
        [this](const upstream::Answer& answer) {
          if (answer.head.status == 404) return keep();
          if (!answer.ok()) return refuse(answer);
          if (rendering_.shown && !rendering_.shown(answer.body)) return keep();
          refuse_platforms();
        });
  }

private:
  void keep() {
    exchange_.later([this] {
      VirtualTarget target = *beside_target(exchange_, rendering_);
      auto flow = virtual_write(exchange_, std::move(target));
      if (!flow) return exchange_.fail(flow.error());
      exchange_.run(*std::move(flow));
    });
  }

  void refuse_version() { exchange_.fail(translate::not_allowed().value()); }

  void refuse_platforms() {
    const auto& target = exchange_.target();
    const auto resource = translate::qualified_resource(target.group, target.resource);
    if (target.verb == "create") {
      return exchange_.fail(Error(
          Code::already_exists, fmt::format("{} {} already exists", resource, json_quote(name_))));
    }
    exchange_.fail(Error(Code::forbidden, fmt::format("{} {} is forbidden: {}", resource,
                                                      json_quote(name_), way_out(target))));
  }

  Rendering rendering_;
  std::string name_;
};

} // namespace

std::shared_ptr<const VirtualTarget> beside_target(const Exchange& exchange,
                                                   const Rendering& rendering) {
  const auto& target = exchange.target();
  const auto* facts = exchange.resource().facts;
  if (facts == nullptr || facts->treatment != translate::Treatment::mixed ||
      !exchange.view().serves(Local::kept_kinds) || exchange.gateway().shared().board == nullptr)
    return nullptr;
  const auto* kind = virtuals::find_kind(target.group, target.resource);
  if (kind == nullptr || kind->version != target.version) return nullptr;
  auto out = std::make_shared<VirtualTarget>();
  out->kind = kind;
  out->owner = {exchange.mapping().id(), exchange.view().uid};
  out->wanted = rendering.wanted;
  if (rendering.strips) out->wanted.representation = translate::Representation::partial;
  return out;
}

Result<std::unique_ptr<Flow>> beside_get(Exchange& exchange, const Rendering& rendering) {
  auto target = beside_target(exchange, rendering);
  if (!target) return nullptr;
  const auto set = board_of(exchange).read(target->owner, *target->kind).set;
  if (!set->objects.contains(exchange.target().name)) return nullptr;
  return virtual_read(exchange, *target);
}

std::unique_ptr<Flow> beside_write(Exchange& exchange, Rendering rendering) {
  return std::make_unique<BesideWrite>(exchange, std::move(rendering));
}

void when_settled(Exchange& exchange, const VirtualTarget& target, net::Timer& timer,
                  std::function<void()> then) {
  auto look = std::make_shared<std::function<void(int)>>();
  *look = [&exchange, &target, &timer, then = std::move(then),
           weak = std::weak_ptr(look)](int looks) {
    if (exchange.done()) return;
    if (board_of(exchange).read(target.owner, *target.kind).settled || looks == 0) return then();
    timer.start(k_beside_pause, [self = weak.lock(), looks] { (*self)(looks - 1); });
  };
  (*look)(k_beside_looks);
}

bool all_by(const virtuals::Set& set, std::int64_t revision) {
  return revision >= (set.recent.empty() ? set.floor : set.recent.back().revision);
}

BesideEvents::BesideEvents(Exchange& exchange, std::shared_ptr<const VirtualTarget> target,
                           std::function<void()> on_change)
    : exchange_(exchange), target_(std::move(target)), on_change_(std::move(on_change)) {}

Result<void> BesideEvents::start() {
  const auto& options = exchange_.target().list;
  ZOO_TRY(selection_, virtuals::Selection::parse(*target_->kind, options.label_selector,
                                                 options.field_selector));
  subscription_ = exchange_.gateway().shared().board->subscribe(
      target_->owner, *target_->kind, woken(exchange_, [this] { on_change_(); }));
  return {};
}

bool BesideEvents::settled() const {
  return board_of(exchange_).read(target_->owner, *target_->kind).settled;
}

bool BesideEvents::knows(std::int64_t revision) const {
  return all_by(*board_of(exchange_).read(target_->owner, *target_->kind).set, revision);
}

void BesideEvents::send(EventType type, const virtuals::Object& object, std::string& out) {
  translate::append_event(out, type, render_one(*target_, object, !columns_sent_));
  columns_sent_ = true;
}

Result<void> BesideEvents::state(std::int64_t revision, std::string& out) {
  const auto reading = board_of(exchange_).read(target_->owner, *target_->kind);
  const auto state = reading.set->at(revision);
  if (!state)
    return fail(Code::expired, "too old resource version: {} ({})", revision, reading.set->floor);
  for (const auto& [name, object] : *state)
    if (selection_.matches(*object)) send(EventType::added, *object, out);
  last_ = revision;
  return {};
}

Result<bool> BesideEvents::pump(std::string& out) {
  const auto reading = board_of(exchange_).read(target_->owner, *target_->kind);
  if (last_ < reading.set->floor)
    return fail(Code::expired, "too old resource version: {} ({})", last_, reading.set->floor);
  for (const auto& event : reading.set->recent) {
    if (event.revision <= last_) continue;
    if (out.size() >= k_step) return false;
    last_ = event.revision;
    const bool was = event.before && selection_.matches(*event.before);
    const bool is = event.after && selection_.matches(*event.after);
    if (is) {
      send(was ? EventType::modified : EventType::added, *event.after, out);
    } else if (was) {
      // What stops to match is shown as it was, at the revision of the change.
      send(EventType::deleted, event.last ? *event.last : *event.left, out);
    }
  }
  return true;
}

} // namespace zoo::gateway
