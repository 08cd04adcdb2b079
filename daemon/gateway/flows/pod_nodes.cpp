// SPDX-License-Identifier: Apache-2.0
#include "daemon/gateway/flows/pod_nodes.hpp"

#include "daemon/gateway/flows/flows.hpp"
#include "daemon/translate/discovery_json.hpp"
#include "daemon/translate/watch_event.hpp"
#include "daemon/upstream/upstream.hpp"

namespace zoo::gateway {
namespace {

constexpr std::string_view k_pods = "/api/v1/pods";
constexpr int k_expired = 410;

ListPlan plan_of(const Exchange& exchange) {
  ListPlan plan(Actor::zood(Reason::own_keys));
  plan.path = k_pods;
  plan.ranges = {{exchange.mapping().prefix(), {}, false}};
  plan.all_namespaces = true;
  plan.rendering.wanted.upstream_accept = "application/json";
  return plan;
}

} // namespace

PodNodes::PodNodes(Exchange& exchange, Hears hears)
    : exchange_(exchange), hears_(std::move(hears)) {}

PodNodes::~PodNodes() { exchange_.hold_part(held_, 0); }

void PodNodes::start(std::int64_t revision) { read(revision); }

void PodNodes::read(std::int64_t revision) {
  at_revision_ = revision > 0;
  const auto plan = plan_of(exchange_);
  auto request = list_request(exchange_, plan);
  request.heard = upstream::of_refusals(std::move(request.heard));
  request.max_object = upstream::k_largest_object;
  request.range = plan.ranges.front();
  request.revision = at_revision_ ? revision : -1;
  retired_list_ = std::move(list_);
  list_ = read_range(exchange_, plan, std::move(request), "#nodes", *this);
}

/// A namespace under the prefix without the tenant's label is not the tenant's.
bool PodNodes::others(std::string_view pod) const {
  const auto strangers = exchange_.upstream().unlabelled_namespaces();
  return !strangers || (*strangers)->contains(pod.substr(0, pod.find('/')));
}

/// False: its tenant holds too much.
bool PodNodes::put(std::string_view pod, std::string node) {
  std::string key(pod);
  const auto known = pods_.find(key);
  if (known != pods_.end() && known->second == node) return true;
  take(key);
  if (node.empty()) return true;
  const auto bytes = k_pod + key.size() + node.size();
  if (!exchange_.buffer(bytes)) return false;
  held_ += bytes;
  ++nodes_[node];
  pods_.emplace(std::move(key), std::move(node));
  return true;
}

void PodNodes::take(const std::string& pod) {
  const auto known = pods_.find(pod);
  if (known == pods_.end()) return;
  const auto bytes = k_pod + pod.size() + known->second.size();
  exchange_.hold_part(bytes, 0);
  held_ -= bytes;
  const auto node = nodes_.find(known->second);
  if (--node->second == 0) nodes_.erase(node);
  pods_.erase(known);
}

void PodNodes::on_list_item(std::string_view key, std::string_view item) {
  if (ended_ || exchange_.done() || others(key)) return;
  const auto tree = translate::JsonTree::parse(item);
  if (!tree) return;
  if (put(key, tree->root()["spec"]["nodeName"].string())) return;
  ended_ = true;
  hears_.ended(held_too_much());
}

void PodNodes::on_list_end(const upstream::ListEnd& end) {
  if (ended_ || exchange_.done()) return;
  version_ = end.resource_version;
  exchange_.later([this] {
    list_.reset();
    retired_list_.reset();
    follow();
    hears_.ready();
  });
}

void PodNodes::on_list_error(const Error& error, int http_status, std::string_view) {
  if (ended_ || exchange_.done()) return;
  if (http_status == k_expired && at_revision_)
    return exchange_.later([this] {
      for (auto pods = std::move(pods_); const auto& pod : pods)
        exchange_.hold_part(k_pod + pod.first.size() + pod.second.size(), 0);
      pods_.clear();
      nodes_.clear();
      held_ = 0;
      read(-1);
    });
  ended_ = true;
  hears_.ended(error);
}

void PodNodes::follow() {
  const auto plan = plan_of(exchange_);
  upstream::WatchRequest request;
  request.head = list_request(exchange_, plan).head;
  request.resource_version = version_;
  request.bookmarks = true;
  request.ranges = plan.ranges;
  request.all_namespaces = true;
  request.kind = "Pod";
  request.api_version = "v1";
  request.owner = exchange_.mapping().id();
  request.trusted_version = true;
  retired_watch_ = std::move(watch_);
  watch_ = upstream::subscribe(exchange_.upstream(), exchange_.gateway().loop(), std::move(request),
                               *this);
}

void PodNodes::on_watch_event(std::string_view text) {
  if (ended_ || exchange_.done()) return;
  const auto event = translate::parse_event(text);
  if (!event) return;
  using enum translate::EventType;
  if (event->type == error) {
    ended_ = true;
    return hears_.ended(Error(Code::expired, "the pods' watch was ended; list again"));
  }
  const auto tree = translate::JsonTree::parse(event->object);
  if (!tree) return;
  const auto root = tree->root();
  if (auto version = root["metadata"]["resourceVersion"].string(); !version.empty())
    version_ = std::move(version);
  if (event->type == bookmark) return;
  const auto pod = root["metadata"]["namespace"].string() + '/' + root["metadata"]["name"].string();
  const auto known = pods_.find(pod);
  const auto before = known == pods_.end() ? std::string() : known->second;
  if (event->type == deleted || others(pod)) {
    take(pod);
  } else if (!put(pod, root["spec"]["nodeName"].string())) {
    ended_ = true;
    return hears_.ended(held_too_much());
  }
  const auto after = pods_.find(pod);
  if ((after == pods_.end() ? std::string() : after->second) != before) hears_.changed();
}

void PodNodes::on_watch_end(const upstream::WatchEnd& end) {
  if (ended_ || exchange_.done()) return;
  if (!end.error && end.http_status == 0 && !end.unread) // in its time
    return exchange_.later([this] { follow(); });
  ended_ = true;
  hears_.ended(end.error ? *end.error
                         : Error(Code::expired, "the pods' watch was ended; list again"));
}

} // namespace zoo::gateway
