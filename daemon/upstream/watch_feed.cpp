// SPDX-License-Identifier: Apache-2.0
#include "daemon/upstream/watch_feed.hpp"

#include "common/base/log.hpp"
#include "daemon/translate/discovery_json.hpp"
#include "daemon/translate/headers.hpp"
#include "daemon/upstream/upstream.hpp"

#include <algorithm>

namespace zoo::upstream {
namespace {

/// Of kinds that upstream sends no bookmarks of: those it keeps no cache for.
constexpr int k_without_bookmarks = 20;
constexpr unsigned k_most_failures = 8; // ten seconds and more

/// Does this Status say that a resourceVersion is too old?
bool too_old(std::string_view status) {
  const auto tree = translate::JsonTree::parse(status);
  return tree && tree->root()["code"].integer() == 410;
}

} // namespace

Feed::Feed(FeedOwner& owner, Upstream& upstream, net::Loop& loop, WatchKindPtr kind,
           const SharedWatchLimits& limits, std::uint32_t id, std::uint64_t version)
    : owner_(owner), upstream_(upstream), loop_(loop), kind_(std::move(kind)), limits_(limits),
      id_(id), floor_(version), latest_(version), wait_(limits.first_pause), pace_(limits.rest_gap),
      retry_(loop), silence_(loop), rest_(loop) {}

Feed::~Feed() = default;

void Feed::start(bool trusted) {
  verified_ = trusted;
  if (trusted) return connect();
  ListRequest request;
  request.head = get_head(kind_->path, translate::k_partial_list_accept);
  request.all_namespaces = kind_->namespaced;
  request.limit = 1;
  now_ = list_range(upstream_, upstream_.caller(loop_), std::move(request), "#now" + kind_->path,
                    *this);
}

void Feed::on_list_end(const ListEnd& end) {
  if (retired_) return;
  const auto now = version_of(end.resource_version);
  if (!now) {
    return owner_.on_feed_refused(
        *this,
        {Error(Code::unavailable, "the upstream's list has no usable resourceVersion"), 0, {}});
  }
  floor_ = latest_ = std::min(latest_, *now);
  verified_ = true;
  connect();
  owner_.on_feed_ready(*this);
}

void Feed::on_list_error(const Error& error, int http_status, std::string_view body) {
  if (retired_) return;
  if (http_status != 0) return owner_.on_feed_refused(*this, {{}, http_status, std::string(body)});
  owner_.on_feed_refused(*this, {error, 0, {}});
}

void Feed::retire() {
  retired_ = true;
  retry_.cancel();
  silence_.cancel();
  rest_no_more();
  call_.reset();
}

void Feed::pause() {
  paused_ = true;
  if (call_) call_->pause();
}

void Feed::resume() {
  paused_ = false;
  read_on();
}

void Feed::read_on() {
  if (call_ && !paused_ && resting_ != Rest::now) call_->resume();
}

void Feed::attend() {
  wanted_at_ = std::chrono::steady_clock::now();
  rest_no_more();
  read_on();
}

void Feed::connect() {
  translate::Params params;
  translate::set_param(params, "watch", "true");
  translate::set_param(params, "resourceVersion", std::to_string(latest_));
  translate::set_param(params, "allowWatchBookmarks", "true");
  auto head = get_head(kind_->path + "?" + translate::serialize_query(params), kind_->accept);
  CallOptions options;
  options.long_running = true;
  options.owner = kind_->owner;
  status_ = 0;
  body_.clear();
  broken_ = false;
  framer_ = std::make_unique<translate::Framer>(translate::Shape::watch, k_largest_object, *this);
  call_ = upstream_.caller(loop_).start(std::move(head), std::move(options), *this);
  if (paused_) call_->pause();
  listen();
}

void Feed::listen() {
  heard_ = std::chrono::steady_clock::now();
  silence_.start(limits_.silence, [this] { check_silence(); });
}

void Feed::check_silence() {
  const auto silent = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - heard_);
  // The head of a watch comes at once, whatever comes of its kind.
  const auto most = limits_.silence * (bookmarks_ || status_ != 200 ? 1 : k_without_bookmarks);
  if (silent >= most) {
    log::warning("watch", "the upstream watch of {} is silent; it is opened again", kind_->path);
    return lost();
  }
  silence_.start(most - silent, [this] { check_silence(); });
}

void Feed::on_head(http::ResponseHead head) {
  if (retired_) return;
  status_ = head.status;
  if (status_ != 200) return;
  begun_ = true;
  said_.headers = {};
  for (const auto value : head.headers.all("warning"))
    said_.headers.add("warning", value);
  refused_.reset();
  say_stalled(false);
  if (!retired_) owner_.on_feed_ready(*this);
}

void Feed::on_data(std::string_view bytes) {
  if (retired_ || broken_) return;
  if (status_ != 200) {
    if (body_.size() + bytes.size() <= k_max_status) body_.append(bytes);
    return;
  }
  const auto before = std::exchange(heard_, std::chrono::steady_clock::now());
  wanted_ = false;
  turn_bytes_ += bytes.size();
  if (auto fed = framer_->feed(bytes); !fed && !broken_ && !retired_) {
    log::warning("watch", "the upstream watch of {}: {}", kind_->path, fed.error().text());
    // What cannot be read would come again from here: who follows lists, and begins behind it.
    if (fed.error().code() == Code::too_large) return owner_.on_feed_expired(*this);
    lost();
  }
  if (retired_) return;
  owner_.on_feed_pause(*this);
  if (!retired_ && !broken_) may_rest(heard_ - before);
}

void Feed::may_rest(std::chrono::steady_clock::duration since_last) {
  if (wanted_) wanted_at_ = heard_;
  // Smoothed, since events that came in a rest are read at once.
  using Seconds = std::chrono::duration<double>;
  pace_ += (std::min<Seconds>(since_last, 4 * limits_.longest_rest) - pace_) / 8;
  if (resting_ == Rest::now) return; // its end is on its way
  if (!rest_wanted() || pace_ > limits_.rest_gap) return rest_no_more();
  if (resting_ != Rest::none || paused_) return;
  resting_ = Rest::due; // once all that is there has been read
  turn_bytes_ = 0;
  rest_.start({}, [this] { rest(); });
}

/// Whoever has waited long for an event can wait a little longer.
std::optional<std::chrono::milliseconds> Feed::rest_wanted() const {
  const std::chrono::duration<double, std::milli> unheard = heard_ - wanted_at_;
  const auto rest = unheard * limits_.rest_part;
  if (rest < limits_.shortest_rest) return std::nullopt;
  if (rest >= limits_.longest_rest) return limits_.longest_rest;
  return std::chrono::duration_cast<std::chrono::milliseconds>(rest);
}

void Feed::rest() {
  resting_ = Rest::none;
  auto length = rest_wanted();
  if (!length || !call_ || paused_) return;
  // What comes meanwhile shall have room in the socket's buffer; what came in the last rest says
  // how much that is.
  const auto last = std::max(std::exchange(last_rest_, {}), limits_.shortest_rest);
  if (turn_bytes_ != 0) {
    const auto room = static_cast<std::int64_t>(limits_.rest_bytes);
    length = std::min<std::chrono::milliseconds>(
        *length, last * room / static_cast<std::int64_t>(turn_bytes_));
  }
  if (*length < limits_.shortest_rest) return;
  last_rest_ = *length;
  resting_ = Rest::now;
  call_->pause();
  rest_.start(*length, [this] {
    resting_ = Rest::none;
    read_on();
  });
}

void Feed::rest_no_more() {
  resting_ = Rest::none;
  last_rest_ = {};
  rest_.cancel();
}

void Feed::on_frame(std::string_view text) {
  if (retired_ || broken_) return;
  const auto event = split_event(text);
  if (!event || event->type == translate::EventType::error) {
    gone_ = event && too_old(event->object);
    if (!gone_) {
      // What fails at one place again and again is passed by as what upstream has forgotten.
      gone_ = ++failures_ == k_most_failures;
      log::warning("watch", "the upstream watch of {} failed{}", kind_->path,
                   gone_ ? " at one place too often: it is passed by" : "");
    }
    return lost();
  }
  failures_ = 0;
  wait_ = limits_.first_pause;
  if (event->type == translate::EventType::bookmark) {
    const auto key = translate::object_key(event->object);
    const auto version = key ? version_of(key->resource_version) : std::nullopt;
    if (version) latest_ = std::max(latest_, *version);
    bookmarks_ = true;
    return;
  }
  auto shared = make_shared_event(text, *event, kind_->namespaced);
  if (!shared) {
    log::warning("watch", "the upstream watch of {}: {}", kind_->path, shared.error().text());
    owner_.on_feed_refused(*this, {shared.error(), 0, {}});
    return;
  }
  latest_ = std::max(latest_, (*shared)->version);
  upstream_.tally().event();
  remember(*shared);
  wanted_ |= owner_.on_feed_event(*this, *shared);
}

void Feed::on_end() {
  if (retired_) return;
  if (status_ == 200) return lost();
  if (status_ == 410) {
    // Who waits for it is taken over the gap with it.
    begun_ = true;
    owner_.on_feed_ready(*this);
    gone_ = true;
    return retired_ ? void() : lost();
  }
  if (begun_ && (passing(status_) || patient())) return lost();
  owner_.on_feed_refused(*this, {{}, status_, std::move(body_)});
}

/// An upstream that is just starting may not know its roles and custom kinds yet.
bool Feed::patient() {
  const auto now = std::chrono::steady_clock::now();
  if (!refused_) refused_ = now;
  return now - *refused_ < limits_.patience;
}

void Feed::on_error(Error error) {
  if (retired_) return;
  // Whoever has used up its share would wait for itself: its watches end, and are told why when
  // they come again.
  if (begun_ && error.code() != Code::too_many_requests) return lost();
  owner_.on_feed_refused(*this, {std::move(error), 0, {}});
}

void Feed::lost() {
  broken_ = true;
  call_.reset();
  silence_.cancel();
  rest_no_more();
  say_stalled(true);
  if (!retired_) again();
}

void Feed::again() {
  retry_.start(wait_, [this] {
    if (gone_) return cross();
    connect();
  });
  wait_ = std::min(wait_ * 2, limits_.longest_pause);
}

void Feed::cross() {
  auto prefixes = owner_.on_feed_gap(*this);
  if (prefixes.empty()) return owner_.on_feed_expired(*this); // nobody misses anything
  log::debug("watch", "the upstream does not remember {} of {}: reading what changed", latest_,
             kind_->path);
  old_bridge_.reset();
  bridge_ = std::make_unique<Bridge>(
      upstream_, loop_, kind_, std::move(prefixes), latest_, limits_.bridge_bytes,
      [this](Result<Bridge::Crossed> result) { crossed(std::move(result)); });
}

void Feed::crossed(Result<Bridge::Crossed> result) {
  old_bridge_ = std::move(bridge_); // it is calling
  if (retired_) return;
  if (result || result.error().code() == Code::expired) upstream_.tally().gap(result.has_value());
  if (!result && result.error().code() == Code::expired) {
    log::info("watch", "watches of {} end: {}", kind_->path, result.error().text());
    return owner_.on_feed_expired(*this);
  }
  if (!result) {
    // While upstream is away there is nothing to do but to wait.
    const bool refuses = result.error().code() != Code::unavailable &&
                         result.error().code() != Code::timeout &&
                         result.error().code() != Code::too_many_requests;
    if (!refuses) refused_.reset();
    if (!refuses || patient()) return again();
    log::warning("watch", "watches of {} end, what they missed cannot be read: {}", kind_->path,
                 result.error().text());
    return owner_.on_feed_expired(*this);
  }
  refused_.reset();
  for (const auto& event : result->events)
    owner_.on_feed_event(*this, event);
  // Their order is none that somebody could resume in.
  window_.clear();
  window_bytes_ = 0;
  floor_ = latest_ = result->version;
  gone_ = false;
  failures_ = 0;
  connect();
  owner_.on_feed_ready(*this);
  if (!retired_) owner_.on_feed_pause(*this);
}

void Feed::say_stalled(bool stalled) {
  if (std::exchange(stalled_, stalled) != stalled) owner_.on_feed_stalled(*this, stalled);
}

void Feed::remember(EventPtr event) {
  window_bytes_ += event->text.size();
  window_.push_back(std::move(event));
  while (window_.size() > limits_.window_events || window_bytes_ > most_bytes()) {
    floor_ = window_.front()->version;
    window_bytes_ -= window_.front()->text.size();
    window_.pop_front();
  }
}

std::size_t Feed::most_bytes() const {
  return kind_->owner.empty() ? limits_.window_bytes : limits_.owned_window_bytes;
}

std::vector<EventPtr> Feed::since(std::uint64_t version, std::string_view bucket) const {
  std::vector<EventPtr> out;
  auto at = std::upper_bound(
      window_.begin(), window_.end(), version,
      [](std::uint64_t value, const EventPtr& event) { return value < event->version; });
  for (; at != window_.end(); ++at) {
    if (bucket.empty() || bucket_of((*at)->key) == bucket) out.push_back(*at);
  }
  return out;
}

void Feed::extend(const Feed& older) {
  auto at = std::upper_bound(
      older.window_.begin(), older.window_.end(), floor_,
      [](std::uint64_t value, const EventPtr& event) { return value < event->version; });
  while (at != older.window_.begin()) {
    const auto& event = *std::prev(at);
    if (window_.size() >= limits_.window_events ||
        window_bytes_ + event->text.size() > most_bytes()) {
      floor_ = event->version;
      return;
    }
    --at;
    window_bytes_ += event->text.size();
    window_.push_front(event);
  }
  floor_ = std::min(floor_, older.floor_);
}

} // namespace zoo::upstream
