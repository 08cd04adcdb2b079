// SPDX-License-Identifier: Apache-2.0
#include "daemon/upstream/watch_subscriber.hpp"

#include "daemon/translate/headers.hpp"
#include "daemon/translate/status_text.hpp"
#include "daemon/upstream/upstream.hpp"
#include "daemon/upstream/watch_hub.hpp"

#include <algorithm>

namespace zoo::upstream {
namespace {

constexpr std::chrono::seconds k_late{10}; ///< that upstream may be with the end of a watch
constexpr int k_waits_for_room = 6;        ///< times room_wait, where its tenant's others go on

/// The bucket of all keys in these ranges; "" if there is no one bucket.
std::string bucket_of_all(const std::vector<KeyRange>& ranges) {
  std::string out;
  for (const auto& range : ranges) {
    const auto bucket = bucket_of(range.prefix);
    if (bucket.size() < k_bucket && !range.exact) return {};
    if (!out.empty() && out != bucket) return {};
    out = bucket;
  }
  return out;
}

} // namespace

Subscriber::Subscriber(Branch& branch, Listeners& listeners, std::uint64_t id, WatchRequest request,
                       std::optional<WatchFilter> filter, std::string key_prefix,
                       std::uint64_t version, WatchHandler& handler)
    : branch_(branch), listeners_(listeners), id_(id), handler_(handler),
      filter_(std::move(filter)), version_(version), key_prefix_(std::move(key_prefix)),
      bookmarks_(request.bookmarks), owner_(branch.owner(request.owner)),
      request_(std::make_unique<WatchRequest>(std::move(request))) {
  if (request_->shows) shows_ = std::make_unique<const Shows>(std::move(request_->shows));
  const bool whole =
      key_prefix_.empty() && std::any_of(request_->ranges.begin(), request_->ranges.end(),
                                         [](const KeyRange& range) { return range.contains(""); });
  if (!whole) {
    ranges_ = request_->ranges;
    if (ranges_.empty() && !key_prefix_.empty()) ranges_.emplace_back();
    for (auto& range : ranges_)
      range.prefix.insert(0, key_prefix_);
  }
  bucket_ = bucket_of_all(ranges_);
  branch_.add(*this);
  listeners_.add(*this);
}

Subscriber::~Subscriber() {
  forget();
  branch_.set_deadline(*this, deadline_, {});
  if (known_) {
    auto& home = branch_.shared_.home_of(*listeners_.kind());
    home.loop->post(
        [home = home.home.get(), kind = listeners_.kind(), id = id_] { home->leave(*kind, id); });
  }
  branch_.remove(*this);
  listeners_.remove(*this);
  branch_.forget_if_idle(listeners_);
}

void Subscriber::start() {
  const auto& wanted = request_->timeout_seconds;
  const auto& limits = branch_.shared_.limits;
  const std::chrono::milliseconds time =
      wanted.value_or(0) > 0
          ? std::chrono::seconds(std::min<std::int64_t>(*wanted, limits.longest.count()))
          : limits.shortest + branch_.random_below(limits.shortest);
  set_deadline(Clock::now() + time);
  if (!filter_) return post_alone();
  if (!filter_->keeps_keys()) return join();
  if (!request_->keys) return next_keys();
  if (request_->keys->size() > limits.keys) return post_alone();
  for (auto& key : *request_->keys)
    filter_->remember(key_prefix_ + key);
  request_->keys.reset();
  if (!count_keys()) {
    forget(); // the room is others' at once
    return post_alone();
  }
  join();
}

void Subscriber::post_alone() {
  branch_.loop_.post([branch = &branch_, id = id_] {
    auto* subscriber = branch->find(id);
    if (subscriber == nullptr) return;
    subscriber->list_.reset();
    subscriber->go_alone();
  });
}

/// What matched when the watch begins; as metadata, and as whoever may read it.
void Subscriber::next_keys() {
  const auto& ranges = request_->ranges;
  if (range_at_ != 0 && range_at_ >= ranges.size()) return join();
  ListRequest request;
  request.head = request_->head;
  request.head.headers.set("Accept", list_accept(translate::k_partial_accept));
  request.params = request_->params;
  translate::set_param(request.params, "pretty", "false");
  if (!ranges.empty()) request.range = ranges[range_at_];
  request.all_namespaces = request_->all_namespaces;
  request.revision = static_cast<std::int64_t>(version_);
  ++range_at_;
  retired_list_ = std::move(list_);
  auto hint = "#keys" + request.head.target + request.range.prefix;
  auto& upstream = branch_.shared_.upstream;
  list_ = list_range(upstream, upstream.caller(branch_.loop_), std::move(request), std::move(hint),
                     *this);
}

void Subscriber::on_list_item(std::string_view key, std::string_view) {
  if (too_many_keys_ || (shows_ && !(*shows_)(key))) return;
  filter_->remember(key_prefix_ + std::string(key));
  if (count_keys()) return;
  too_many_keys_ = true; // the room is others' at once
  forget();
  list_->pause();
  post_alone();
}

void Subscriber::on_list_end(const ListEnd&) {
  if (too_many_keys_) return;
  branch_.loop_.post([branch = &branch_, id = id_] {
    if (auto* subscriber = branch->find(id)) subscriber->next_keys();
  });
}

void Subscriber::on_list_error(const Error&, int, std::string_view) {
  if (too_many_keys_) return;
  // Compacted, perhaps: upstream may still remember what has happened since.
  go_alone();
}

void Subscriber::join() {
  retired_list_.reset();
  list_.reset();
  auto& shared = branch_.shared_;
  Joining joining{id_, branch_.index_, bucket_, version_, request_->trusted_version};
  auto& home = shared.home_of(*listeners_.kind());
  known_ = true;
  home.loop->post([home = home.home.get(), kind = listeners_.kind(), joining = std::move(joining)] {
    home->join(kind, joining);
  });
}

void Subscriber::joined(std::uint32_t feed, const http::ResponseHead& head) {
  if (request_ && request_->heard) request_->heard(head);
  request_.reset();
  feed_ = feed;
  handler_.on_watch_begin();
}

void Subscriber::move(std::uint32_t feed, std::uint64_t stood) {
  feed_ = feed;
  version_ = std::max(version_, stood);
}

void Subscriber::go_alone() {
  if (ended_ || alone_ || !request_) return;
  known_ = false;
  forget();
  auto& shared = branch_.shared_;
  place_ = shared.upstream.watches().take_place(request_->owner);
  if (!place_) {
    const Error error(Code::too_many_requests,
                      "too many watches that cannot share an upstream one; try again later");
    return refuse({{}, 429, translate::make_status(error.code(), error.message())});
  }
  const auto request = std::exchange(request_, nullptr);
  alone_ = subscribe_alone(shared.upstream.caller(branch_.loop_), std::move(*request), handler_);
  if (paused_) alone_->pause();
  set_deadline(deadline_ + k_late); // upstream sees to it, while it is there
}

void Subscriber::refuse(const WatchEnd& end) {
  known_ = false;
  if (!ended_) finish(end);
}

void Subscriber::pause() {
  paused_ = true;
  without_room_ = {};
  if (alone_) alone_->pause();
}

void Subscriber::resume() {
  paused_ = false;
  if (alone_) alone_->resume();
  if (queue_.empty() && !ending_) return;
  branch_.loop_.post([branch = &branch_, id = id_] {
    if (auto* subscriber = branch->find(id)) subscriber->drain();
  });
}

void Subscriber::offer(const EventPtr& event, EventView& view) {
  if (ended_ || ending_ || event->version <= version_) return;
  const std::string_view key = event->key;
  const bool mine =
      ranges_.empty() || std::any_of(ranges_.begin(), ranges_.end(),
                                     [&](const KeyRange& range) { return range.contains(key); });
  if (!mine || (shows_ && !(*shows_)(key))) return;
  const auto type = filter_->apply(view);
  if (filter_->keeps_keys() && !count_keys()) return finish({}); // and joins no more
  if (!type) return;
  const bool next = !paused_ && queue_.empty();
  if (next && handler_.take_room(event->text.size())) return give(*type, *event);
  keep(event, *type);
  if (next && !ended_) stand_in_line();
}

/// For later. A watch that ends for want of it goes on from what it has read.
void Subscriber::keep(const EventPtr& event, translate::EventType type) {
  const auto& limits = branch_.shared_.limits;
  const auto bytes = owner_->wait(event, id_);
  queue_.push_back({event, type});
  if (queue_.size() > limits.queue_events || bytes > limits.queue_bytes) return give_up();
  // One that keeps little need not end for one that keeps much.
  while (owner_->waiting() > limits.owner_bytes)
    branch_.find(owner_->largest())->give_up();
}

void Subscriber::give(translate::EventType type, const SharedEvent& event) {
  if (type == event.type) return handler_.on_watch_event(event.text);
  auto text = translate::make_event(type, event.object());
  text.pop_back(); // the newline
  handler_.on_watch_event(text);
}

void Subscriber::drain() {
  while (!ended_ && !paused_ && !queue_.empty()) {
    if (!handler_.take_room(queue_.front().event->text.size())) return stand_in_line();
    if (without_room_ != Clock::time_point()) owner_->moved = Clock::now();
    without_room_ = {};
    const auto next = std::move(queue_.front());
    queue_.pop_front();
    owner_->waited(next.event, id_);
    give(next.type, *next.event);
  }
  if (!ended_ && ending_ && !paused_ && queue_.empty()) finish({});
}

void Subscriber::stand_in_line() {
  const auto now = Clock::now();
  if (without_room_ == Clock::time_point()) without_room_ = now;
  const auto wait = branch_.shared_.limits.room_wait;
  // While others find room its turn comes; but a large one's may not.
  const bool stuck = now - std::max(without_room_, owner_->moved) >= wait;
  if (stuck || now - without_room_ >= k_waits_for_room * wait) return give_up();
  if (!std::exchange(in_line_, true)) branch_.wait_for_room(*this);
}

bool Subscriber::try_room() {
  in_line_ = false;
  drain();
  return !in_line_;
}

std::optional<std::string> Subscriber::position() const {
  const auto position = listeners_.position_of(feed_);
  const bool now = bookmarks_ && !ended_ && !ending_ && feed_ != 0 && !paused_ && queue_.empty();
  if (!now) return std::nullopt;
  return std::to_string(std::max(position, version_)); // the feed may not have come that far
}

void Subscriber::bookmark() {
  if (listeners_.position_of(feed_) < version_) return; // the client has that one already
  if (const auto at = position()) handler_.on_watch_bookmark(*at);
}

void Subscriber::stalled(bool stalled) {
  if (!ended_) handler_.on_watch_stalled(stalled);
}

void Subscriber::end() {
  ending_ = true;
  drain();
}

void Subscriber::expire() {
  if (ended_ || ending_) return;
  ending_ = expiring_ = true;
  set_deadline(Clock::now() + branch_.random_below(branch_.shared_.limits.spread));
}

void Subscriber::time_is_up() {
  deadline_ = {};
  if (ended_) return;
  if (alone_) return finish({}); // upstream has not ended it
  if (expiring_) {
    auto text = translate::make_error_event(translate::make_status(
        Code::expired, "The resourceVersion for the provided watch is too old."));
    text.pop_back();
    handler_.on_watch_event(text);
  } else {
    bookmark();
  }
  finish({});
}

void Subscriber::give_up() {
  WatchEnd end;
  end.unread = true;
  finish(end);
}

void Subscriber::finish(const WatchEnd& end) {
  ended_ = true;
  forget();
  set_deadline({});
  handler_.on_watch_end(end);
}

void Subscriber::forget() {
  for (const auto& each : queue_)
    owner_->waited(each.event, id_);
  queue_.clear();
  if (!filter_) return;
  filter_->forget_keys();
  count_keys();
}

bool Subscriber::count_keys() {
  const auto& limits = branch_.shared_.limits;
  owner_->count_keys(std::exchange(keys_, filter_->key_bytes()), filter_->key_bytes());
  return filter_->keys() <= limits.keys && owner_->keys() <= limits.owner_bytes;
}

void Subscriber::set_deadline(Clock::time_point when) {
  branch_.set_deadline(*this, deadline_, when);
  deadline_ = when;
}

} // namespace zoo::upstream
