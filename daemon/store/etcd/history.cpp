// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/etcd/history.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <utility>

namespace zoo::store::etcd {

History::History(Gateway& gateway, const Layout& layout, std::int64_t base, std::int64_t from)
    : gateway_(gateway), layout_(layout), watchers_(std::make_shared<Watchers>()), base_(base),
      first_(from), position_(from) {}

Result<std::unique_ptr<History>> History::start(Gateway& gateway, const Layout& layout,
                                                std::int64_t base, std::int64_t from) {
  std::unique_ptr<History> out(new History(gateway, layout, base, from));
  ZOO_TRY(out->stream_,
          Stream::start(gateway, layout, {}, from,
                        {[raw = out.get()](std::vector<Change> changes, std::int64_t position) {
                           raw->take(std::move(changes), position);
                         },
                         [raw = out.get()](const SessionChange& change) {
                           const std::lock_guard lock(raw->session_mutex_);
                           if (raw->session_) raw->session_(change);
                         }}));
  return out;
}

History::~History() = default;

void History::on_session(std::function<void(const SessionChange&)> told) {
  const std::lock_guard lock(session_mutex_);
  session_ = std::move(told);
}

void History::set_base(std::int64_t base) {
  const std::lock_guard lock(mutex_);
  base_ = base;
  kept_.clear(); // they were told with another base
  bytes_ = 0;
  first_ = position_;
}

void History::take(std::vector<Change> changes, std::int64_t position) {
  const std::lock_guard lock(mutex_);
  for (auto& each : changes) {
    each.record.revision += base_;
    each.record.created_revision += base_;
    auto change = std::make_shared<const Change>(std::move(each));
    bytes_ += change->record.value.size() + change->record.key.size();
    watchers_->publish(change);
    kept_.push_back(std::move(change));
  }
  position_ = std::max(position_, position);
  while (!kept_.empty() && (kept_.size() > k_kept || bytes_ > k_kept_bytes)) {
    // All changes of one revision go together.
    const auto revision = kept_.front()->record.revision;
    while (!kept_.empty() && kept_.front()->record.revision == revision) {
      bytes_ -= kept_.front()->record.value.size() + kept_.front()->record.key.size();
      kept_.pop_front();
    }
    first_ = revision - base_;
  }
}

Result<Subscription> History::watch(std::string_view kind, std::int64_t from,
                                    std::function<void(const Change&)> on_change) {
  std::unique_lock lock(mutex_);
  if (from > position_) { // the stream is not there yet, or nobody is
    lock.unlock();
    ZOO_TRY_VOID(check_kept(gateway_, layout_, from));
    lock.lock();
  }
  if (from < first_) {
    lock.unlock();
    return watch_old(kind, from, std::move(on_change));
  }
  const auto after = from + base_;
  std::deque<std::shared_ptr<const Change>> backlog;
  for (const auto& change : kept_) {
    if (change->record.kind == kind && change->record.revision > after) backlog.push_back(change);
  }
  return watchers_->add(std::string(kind), std::move(backlog), std::move(on_change), after);
}

Result<Subscription> History::watch_old(std::string_view kind, std::int64_t from,
                                        std::function<void(const Change&)> on_change) {
  ZOO_TRY_VOID(check_kept(gateway_, layout_, from));
  if (old_->fetch_add(1) >= k_most_of_old) {
    --*old_;
    return fail(Code::too_many_requests,
                "{} watches run that begin far in the past: list, and watch from there",
                k_most_of_old);
  }
  auto counted = std::shared_ptr<void>(nullptr, [old = old_](void*) { --*old; });
  std::string channel;
  std::int64_t base = 0;
  {
    const std::lock_guard lock(mutex_);
    channel = fmt::format("{}\n{}", kind, ++channels_); // no kind has a control character
    base = base_;
  }
  auto told = std::make_shared<Subscription>(watchers_->add(channel, {}, std::move(on_change)));
  ZOO_TRY(auto stream,
          Stream::start(
              gateway_, layout_, kind, from,
              {[watchers = watchers_, channel, base](std::vector<Change> changes, std::int64_t) {
                 for (auto& each : changes) {
                   each.record.revision += base;
                   each.record.created_revision += base;
                   watchers->publish(std::make_shared<const Change>(std::move(each)), channel);
                 }
               },
               {}}));
  return Subscription(
      [told, counted, stream = std::shared_ptr<Stream>(std::move(stream))]() mutable {
        told->reset();
        stream.reset();
        counted.reset();
      });
}

} // namespace zoo::store::etcd
