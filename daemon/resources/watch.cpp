// SPDX-License-Identifier: Apache-2.0
#include "daemon/resources/watch.hpp"

#include "common/kube/status.hpp"
#include "daemon/resources/request.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <deque>

namespace zoo::resources {

using nlohmann::json;

struct WatchFeed::Queue {
  std::mutex mutex;
  std::deque<Change> changes;
  std::function<void()> wake;
  bool overflow = false;

  void push(const Change& change) {
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

WatchFeed::WatchFeed(WatchPlan plan, Later later)
    : plan_(std::move(plan)), later_(std::move(later)), queue_(std::make_shared<Queue>()) {}

WatchFeed::~WatchFeed() { close(); }

void WatchFeed::close() {
  attach(nullptr);
  if (!subscription_) return;
  std::shared_ptr<Subscription> ended = std::move(subscription_);
  later_([ended]() mutable { ended.reset(); });
}

Result<void> WatchFeed::open() {
  auto queue = queue_;
  auto subscription = plan_.kind->backing->watch(
      plan_.caller, plan_.revision, [queue](const Change& change) { queue->push(change); });
  if (!subscription) return fail(std::move(subscription).error());
  subscription_ = *std::move(subscription);
  return {};
}

void WatchFeed::attach(std::function<void()> wake) {
  const std::lock_guard lock(queue_->mutex);
  queue_->wake = std::move(wake);
}

std::optional<Change> WatchFeed::take() {
  const std::lock_guard lock(queue_->mutex);
  if (queue_->changes.empty()) return {};
  std::optional<Change> out(std::move(queue_->changes.front()));
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
  for (const auto& object : plan.initial)
    if (version_of(*object) <= plan.revision)
      matched_[key_of(*object)] = plan.selectors.matches(*object);
}

std::string WatchEncoder::line(const char* type, const json& object, std::int64_t now) {
  json shown;
  switch (plan_.representation.shape) {
  case Shape::object:
    shown = object;
    break;
  case Shape::metadata:
    shown = partial_metadata(object, plan_.representation.version);
    break;
  case Shape::table:
    shown = table_of(*plan_.kind, object, plan_.representation.version, plan_.row, now, columns_);
    columns_ = false;
    break;
  }
  return dump({{"type", type}, {"object", std::move(shown)}}) + "\n";
}

std::string WatchEncoder::initial(const json& object, std::int64_t now) {
  if (!plan_.selectors.matches(object)) return {};
  if (!plan_.selectors.empty()) matched_[key_of(object)] = true;
  return line("ADDED", object, now);
}

WatchEncoder::Seen WatchEncoder::seen(const Change& change, const Key& key) const {
  if (change.type == Change::Type::added) return Seen::no;
  if (plan_.selectors.empty()) return Seen::yes;
  if (const auto at = matched_.find(key); at != matched_.end())
    return at->second ? Seen::yes : Seen::no;
  return complete_ ? Seen::no : Seen::unknown;
}

std::string WatchEncoder::told(const Change& change, const Key& key, std::int64_t now) {
  const auto& object = *change.object;
  const bool deleted = change.type == Change::Type::deleted;
  const bool matches = plan_.selectors.matches(object);
  const auto before = seen(change, key);
  if (!plan_.selectors.empty()) matched_[key] = matches && !deleted;
  if (deleted)
    return before == Seen::yes || (before == Seen::unknown && matches)
               ? line("DELETED", object, now)
               : std::string();
  if (matches) return line(before == Seen::no ? "ADDED" : "MODIFIED", object, now);
  // Whether a watcher from an older revision knew it cannot be told: DELETED of an unknown object
  // harms nobody, a stale one would.
  return before == Seen::no ? std::string() : line("DELETED", object, now);
}

std::string WatchEncoder::change(const Change& change, std::int64_t now) {
  if (change.revision < plan_.revision) return {}; // stands in the list already
  revision_ = std::max(revision_, change.revision);
  if (change.type == Change::Type::passed) return {};
  const auto key = key_of(*change.object);
  const auto only = plan_.selectors.only_name();
  if (!only.empty() && only != key.name) return {};
  if (!plan_.space.empty() && plan_.space != key.space) return {};
  auto out = told(change, key, now);
  if (!out.empty() && plan_.bookmarks && version_of(*change.object) != change.revision)
    out += bookmark(false);
  return out;
}

std::string WatchEncoder::bookmark(bool initial_end) {
  json metadata{{"resourceVersion", std::to_string(revision_)}, {"creationTimestamp", nullptr}};
  if (initial_end) metadata["annotations"] = {{"k8s.io/initial-events-end", "true"}};
  json object{{"kind", plan_.kind->kind},
              {"apiVersion", plan_.kind->api_version()},
              {"metadata", std::move(metadata)}};
  const auto& representation = plan_.representation;
  if (representation.shape != Shape::object &&
      !(representation.shape == Shape::table && plan_.row == RowObject::object)) {
    object["kind"] = "PartialObjectMetadata";
    object["apiVersion"] = "meta.k8s.io/" + representation.version;
  }
  if (representation.shape == Shape::table) {
    object = table_bookmark(*plan_.kind, object, representation.version, columns_);
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

} // namespace zoo::resources
