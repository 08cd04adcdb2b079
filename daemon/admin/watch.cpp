// SPDX-License-Identifier: Apache-2.0
#include "daemon/admin/watch.hpp"

#include "common/kube/status.hpp"
#include "daemon/admin/request.hpp"
#include "daemon/admin/workers.hpp"

#include <nlohmann/json.hpp>

#include <deque>

namespace zoo::admin {

using nlohmann::json;

struct WatchFeed::Queue {
  std::mutex mutex;
  std::deque<tenants::TenantChange> changes;
  std::function<void()> wake;
  bool overflow = false;

  void push(const tenants::TenantChange& change) {
    const std::lock_guard lock(mutex);
    if (overflow) return;
    if (changes.size() >= k_queue_limit) {
      overflow = true;
      changes.clear();
    } else {
      changes.push_back(change);
    }
    if (wake && (overflow || changes.size() == 1)) wake();
  }
};

WatchFeed::WatchFeed(WatchPlan plan, Workers& workers)
    : plan_(std::move(plan)), workers_(workers), queue_(std::make_shared<Queue>()) {}

WatchFeed::~WatchFeed() {
  attach(nullptr);
  if (!subscription_) return;
  std::shared_ptr<tenants::Subscription> ended = std::move(subscription_);
  workers_.put_away([ended]() mutable { ended.reset(); });
}

Result<void> WatchFeed::open(tenants::TenantService& service) {
  auto queue = queue_;
  auto subscription = service.watch(
      plan_.revision, [queue](const tenants::TenantChange& change) { queue->push(change); });
  if (!subscription) return fail(std::move(subscription).error());
  subscription_ = *std::move(subscription);
  return {};
}

void WatchFeed::attach(std::function<void()> wake) {
  const std::lock_guard lock(queue_->mutex);
  queue_->wake = std::move(wake);
}

std::optional<tenants::TenantChange> WatchFeed::take() {
  const std::lock_guard lock(queue_->mutex);
  if (queue_->changes.empty()) return {};
  std::optional<tenants::TenantChange> out(std::move(queue_->changes.front()));
  queue_->changes.pop_front();
  return out;
}

bool WatchFeed::overflowed() const {
  const std::lock_guard lock(queue_->mutex);
  return queue_->overflow;
}

WatchEncoder::WatchEncoder(const WatchPlan& plan)
    : plan_(plan), complete_(plan.emit_initial), revision_(plan.revision) {
  if (plan.selectors.empty()) return;
  // A watch from an older revision: who has not changed since then is as he was then.
  for (const auto& tenant : plan.initial)
    if (tenant.resource_version <= plan.revision)
      matched_[tenant.id] = plan.selectors.matches(tenant);
}

std::string WatchEncoder::line(const char* type, const api::Tenant& tenant, std::int64_t now) {
  json object;
  switch (plan_.representation.shape) {
  case Shape::object:
    object = api::to_json(tenant);
    break;
  case Shape::metadata:
    object = partial_metadata(tenant, plan_.representation.version);
    break;
  case Shape::table:
    object = table_of({&tenant, 1}, plan_.representation.version, plan_.row, now, columns_);
    columns_ = false;
    break;
  }
  return dump({{"type", type}, {"object", std::move(object)}}) + "\n";
}

std::string WatchEncoder::initial(const api::Tenant& tenant, std::int64_t now) {
  if (!plan_.selectors.matches(tenant)) return {};
  if (!plan_.selectors.empty()) matched_[tenant.id] = true;
  return line("ADDED", tenant, now);
}

WatchEncoder::Seen WatchEncoder::seen(const tenants::TenantChange& change) const {
  if (change.type == tenants::TenantChange::Type::added) return Seen::no;
  if (plan_.selectors.empty()) return Seen::yes;
  if (const auto at = matched_.find(change.tenant.id); at != matched_.end())
    return at->second ? Seen::yes : Seen::no;
  return complete_ ? Seen::no : Seen::unknown;
}

std::string WatchEncoder::change(const tenants::TenantChange& change, std::int64_t now) {
  const auto& tenant = change.tenant;
  if (tenant.resource_version <= plan_.revision) return {}; // stands in the list already
  revision_ = std::max(revision_, tenant.resource_version);
  const auto only = plan_.selectors.only_id();
  if (!only.empty() && only != tenant.id) return {};

  const bool deleted = change.type == tenants::TenantChange::Type::deleted;
  const bool matches = plan_.selectors.matches(tenant);
  const auto before = seen(change);
  if (!plan_.selectors.empty()) matched_[tenant.id] = matches && !deleted;
  if (deleted)
    return before == Seen::yes || (before == Seen::unknown && matches)
               ? line("DELETED", tenant, now)
               : std::string();
  if (matches) return line(before == Seen::no ? "ADDED" : "MODIFIED", tenant, now);
  // Whether a watcher from an older revision knew it cannot be told: DELETED of an unknown object
  // harms nobody, a stale one would.
  return before == Seen::no ? std::string() : line("DELETED", tenant, now);
}

std::string WatchEncoder::bookmark(bool initial_end) {
  json metadata{{"resourceVersion", std::to_string(revision_)}, {"creationTimestamp", nullptr}};
  if (initial_end) metadata["annotations"] = {{"k8s.io/initial-events-end", "true"}};
  json object{{"kind", api::k_tenant_kind},
              {"apiVersion", api::k_tenant_api_version},
              {"metadata", std::move(metadata)}};
  const auto& representation = plan_.representation;
  if (representation.shape != Shape::object &&
      !(representation.shape == Shape::table && plan_.row == RowObject::object)) {
    object["kind"] = "PartialObjectMetadata";
    object["apiVersion"] = "meta.k8s.io/" + representation.version;
  }
  if (representation.shape == Shape::table) {
    object = table_bookmark(object, representation.version, columns_);
    columns_ = false;
  }
  return dump({{"type", "BOOKMARK"}, {"object", std::move(object)}}) + "\n";
}

std::string WatchEncoder::error(const Error& error) {
  auto status = kube::status_json(error);
  while (!status.empty() && status.back() == '\n')
    status.pop_back();
  return "{\"type\":\"ERROR\",\"object\":" + status + "}\n";
}

} // namespace zoo::admin
