// SPDX-License-Identifier: Apache-2.0
#include "daemon/upstream/watch_hub.hpp"

#include "common/base/log.hpp"
#include "daemon/translate/status_text.hpp"
#include "daemon/upstream/watch_branch.hpp"

#include <algorithm>
#include <set>

namespace zoo::upstream {
namespace {

constexpr std::size_t k_most_prefixes = 64; ///< of a bridge; above, all keys are read
constexpr std::chrono::milliseconds k_hold{10};

/// In KiB; what is no event counts as one.
std::size_t weight_of(const std::vector<Said>& batch) {
  std::size_t out = batch.size();
  for (const auto& said : batch)
    out += said.event ? said.event->text.size() / 1024 : 0;
  return out;
}

} // namespace

Hub::Hub(SharedWatches::Impl& shared, Home& home, net::Loop& loop, WatchKindPtr kind)
    : shared_(shared), home_(home), loop_(loop), kind_(std::move(kind)), any_(shared.places.size()),
      said_(shared.places.size()), linger_(loop), bookmark_(loop), hold_(loop) {
  bookmark_.start(shared_.limits.bookmark, [this] { bookmark(); });
}

Hub::~Hub() { shared_.streams -= feeds_.size(); }

void Hub::join(const Joining& joining) {
  records_[joining.id] = {joining.loop, 0, joining.version, joining.bucket};
  if (joining.bucket.empty()) {
    ++any_[joining.loop];
  } else {
    auto& counts = counts_[joining.bucket];
    counts.resize(said_.size());
    ++counts[joining.loop];
  }
  place(joining);
  flush();
}

void Hub::leave(std::uint64_t id) {
  forget(id);
  tidy();
}

void Hub::forget(std::uint64_t id) {
  const auto found = records_.find(id);
  if (found == records_.end()) return;
  const auto& record = found->second;
  if (record.feed != 0) --followers_[record.feed];
  if (record.bucket.empty()) {
    --any_[record.loop];
  } else {
    const auto counts = counts_.find(record.bucket);
    --counts->second[record.loop];
    const bool none = std::all_of(counts->second.begin(), counts->second.end(),
                                  [](std::uint32_t count) { return count == 0; });
    if (none) counts_.erase(counts);
  }
  records_.erase(found);
}

/// The youngest feed that knows everything behind `version`.
Feed* Hub::best(std::uint64_t version) const {
  for (const auto& feed : feeds_) {
    if (!feed->verified()) return feed.get(); // it will be known in a moment
  }
  Feed* out = nullptr;
  for (const auto& feed : feeds_) {
    if (feed->floor() <= version) out = feed.get();
  }
  return out;
}

void Hub::place(const Joining& joining) {
  const auto record = records_.find(joining.id);
  if (record == records_.end()) return; // it has left
  if (record->second.feed != 0) --followers_[record->second.feed];
  record->second.feed = 0;
  auto* feed = best(joining.version);
  if (feed == nullptr) {
    if (feeds_.size() >= shared_.limits.feeds) {
      say(joining.loop, [id = joining.id](Listeners& there) { there.alone(id); });
      return forget(joining.id);
    }
    // Where there is another feed, its beginning shows that this version has been.
    feed = &open(joining.version, joining.trusted || !feeds_.empty());
  }
  record->second.feed = feed->id();
  ++followers_[feed->id()];
  if (feed->verified() && feed->open()) return attach(joining, *feed);
  waiting_[feed->id()].push_back(joining);
}

Feed& Hub::open(std::uint64_t version, bool trusted) {
  auto made = std::make_unique<Feed>(static_cast<FeedOwner&>(*this), shared_.upstream, loop_, kind_,
                                     shared_.limits, ++shared_.last_feed, version);
  auto& feed = *made;
  const auto at =
      std::find_if(feeds_.begin(), feeds_.end(),
                   [&](const std::unique_ptr<Feed>& each) { return each->floor() > version; });
  feeds_.insert(at, std::move(made));
  ++shared_.streams;
  log::debug("watch", "a watch of {} ({}) from {}: {} for {} subscribers", kind_->path,
             kind_->accept, version, feeds_.size(), records_.size());
  feed.start(trusted);
  return feed;
}

void Hub::attach(const Joining& joining, Feed& feed) {
  feed.attend(); // its first state may be newer than what has been read
  Listeners::Joined joined{joining.id,
                           feed.id(),
                           feed.latest(),
                           feed.stalled(),
                           feed.since(joining.version, joining.bucket),
                           feed.said()};
  say(joining.loop, [joined = std::move(joined)](Listeners& there) { there.joined(joined); });
}

void Hub::on_feed_ready(Feed& feed) {
  const auto found = waiting_.find(feed.id());
  if (found != waiting_.end()) {
    const auto waiting = std::move(found->second);
    waiting_.erase(found);
    for (const auto& joining : waiting)
      place(joining);
  }
  flush();
}

bool Hub::on_feed_event(Feed& feed, const EventPtr& event) {
  const auto found = counts_.find(bucket_of(event->key));
  const auto* counts = found == counts_.end() ? nullptr : &found->second;
  bool any = false;
  for (std::size_t loop = 0; loop < said_.size(); ++loop) {
    const bool heard = any_[loop] != 0 || (counts != nullptr && (*counts)[loop] != 0);
    if (heard) said_[loop].push_back({feed.id(), event, nullptr});
    any |= heard;
  }
  return any;
}

void Hub::on_feed_pause(Feed&) {
  merge();
  flush();
}

void Hub::on_feed_stalled(Feed& feed, bool stalled) {
  say_all([feed = feed.id(), stalled](Listeners& there) { there.stalled(feed, stalled); });
  flush();
}

void Hub::on_feed_expired(Feed& feed) {
  // A watch that has not begun is told in the same way: 200, and an ERROR.
  for (const auto& joining : std::exchange(waiting_[feed.id()], {}))
    attach(joining, feed);
  say_all([feed = feed.id()](Listeners& there) { there.expired(feed); });
  drop(feed);
}

void Hub::on_feed_refused(Feed& feed, const WatchEnd& why) {
  // What is refused to zood on the whole kind may still be served where the subscriber asked.
  const bool refused = why.http_status >= 400 && why.http_status < 500 && why.http_status != 429 &&
                       why.http_status != 408;
  for (const auto& joining : waiting_[feed.id()]) {
    say(joining.loop, [id = joining.id, why, refused](Listeners& there) {
      refused ? there.alone(id) : there.ended(id, why);
    });
  }
  say_all([feed = feed.id()](Listeners& there) { there.closed(feed); });
  drop(feed);
}

std::vector<std::string> Hub::on_feed_gap(Feed& feed) {
  std::set<std::uint64_t> waiting; // who is placed anew
  for (const auto& joining : waiting_[feed.id()])
    waiting.insert(joining.id);
  // Who has begun behind latest() knows more than what the gap is measured from: it goes on from
  // where it was, with a stream of its own.
  std::vector<std::uint64_t> ahead;
  std::set<std::string> buckets;
  for (const auto& [id, record] : records_) {
    if (record.feed != feed.id()) continue;
    if (record.version > feed.latest() && !waiting.contains(id)) {
      say(record.loop, [id = id](Listeners& there) { there.over(id); });
      ahead.push_back(id);
    } else {
      buckets.insert(record.bucket);
    }
  }
  for (const auto id : ahead)
    forget(id);
  flush();
  if (buckets.size() > k_most_prefixes || buckets.contains("")) return {""};
  return {buckets.begin(), buckets.end()};
}

void Hub::drop(Feed& feed) {
  std::vector<std::uint64_t> gone;
  for (const auto& [id, record] : records_) {
    if (record.feed == feed.id()) gone.push_back(id);
  }
  for (const auto id : gone)
    forget(id);
  flush();
  remove(feed);
  tidy();
}

void Hub::let_go(Feed& feed) {
  say_all([feed = feed.id()](Listeners& there) { there.closed(feed); });
  flush();
  remove(feed);
}

/// Not destroyed here: this may be one of its callbacks.
void Hub::remove(Feed& feed) {
  feed.retire();
  followers_.erase(feed.id());
  waiting_.erase(feed.id());
  const auto at =
      std::find_if(feeds_.begin(), feeds_.end(),
                   [&](const std::unique_ptr<Feed>& each) { return each.get() == &feed; });
  loop_.post([dead = std::shared_ptr<Feed>(std::move(*at))] {});
  feeds_.erase(at);
  --shared_.streams;
  log::debug("watch", "a watch of {} ends: {} for {} subscribers", kind_->path, feeds_.size(),
             records_.size());
}

/// A feed that has come to where a younger one's window begins is not needed any more.
void Hub::merge() {
  for (std::size_t i = 0; i + 1 < feeds_.size();) {
    auto& older = *feeds_[i];
    auto& younger = *feeds_[i + 1];
    // One that is down may have lost what the other one has seen.
    const bool meets = older.verified() && younger.verified() && older.open() && younger.open() &&
                       !younger.stalled() && older.latest() >= younger.floor();
    if (!meets) {
      ++i;
      continue;
    }
    const auto backlog = younger.since(older.latest(), "");
    say_all([from = older.id(), stood = older.latest(), to = younger.id(),
             position = younger.latest(),
             backlog](Listeners& there) { there.moved(from, stood, to, position, backlog); });
    for (auto& [id, record] : records_) {
      if (record.feed != older.id()) continue;
      record.feed = younger.id();
      record.version = std::max(record.version, older.latest()); // so much it has heard
      ++followers_[younger.id()];
    }
    younger.extend(older);
    remove(older);
  }
}

void Hub::tidy() {
  // The youngest feed without followers waits for new ones, the others do not.
  for (std::size_t i = 0; i + 1 < feeds_.size();) {
    if (followers_[feeds_[i]->id()] == 0) {
      let_go(*feeds_[i]);
    } else {
      ++i;
    }
  }
  if (!records_.empty()) return;
  if (feeds_.empty()) return home_.forget_if_idle(kind_->name());
  if (std::exchange(lingering_, true)) return;
  // Kinds that only one tenant has: it could have any number of them followed, one after the other.
  const auto linger = kind_->owner.empty() ? shared_.limits.linger : std::chrono::milliseconds(0);
  linger_.start(linger, [this] { linger_over(); });
}

void Hub::linger_over() {
  lingering_ = false;
  if (!records_.empty()) return;
  while (!feeds_.empty())
    let_go(*feeds_.back());
  home_.forget_if_idle(kind_->name());
}

void Hub::bookmark() {
  for (const auto& feed : feeds_) {
    if (!feed->open()) continue;
    say_all([feed = feed->id(), version = feed->latest()](Listeners& there) {
      there.bookmark(feed, version);
    });
  }
  flush();
  bookmark_.start(shared_.limits.bookmark, [this] { bookmark(); });
}

void Hub::say(std::size_t loop, std::function<void(Listeners&)> task) {
  said_[loop].push_back({0, nullptr, std::move(task)});
}

void Hub::say_all(const std::function<void(Listeners&)>& task) {
  for (std::size_t loop = 0; loop < said_.size(); ++loop)
    say(loop, task);
}

void Hub::flush() {
  for (std::size_t loop = 0; loop < said_.size(); ++loop) {
    if (said_[loop].empty()) continue;
    auto& there = *shared_.places[loop];
    const auto weight = weight_of(said_[loop]);
    if ((there.waiting += weight) > shared_.limits.backlog) hold_back();
    there.loop->post(
        [&there, weight, name = kind_->name(), batch = std::exchange(said_[loop], {})] {
          there.branch->hear(name, batch);
          there.waiting -= weight;
        });
  }
}

/// A loop does not keep up: upstream waits for it.
void Hub::hold_back() {
  const bool behind =
      std::any_of(shared_.places.begin(), shared_.places.end(),
                  [&](const auto& place) { return place->waiting > shared_.limits.backlog / 2; });
  for (const auto& feed : feeds_)
    behind ? feed->pause() : feed->resume();
  if (behind) hold_.start(k_hold, [this] { hold_back(); });
}

void Home::join(const WatchKindPtr& kind, const Joining& joining) {
  auto& hub = hubs_[kind->name()];
  if (!hub) hub = std::make_unique<Hub>(shared_, *this, loop_, kind);
  hub->join(joining);
}

void Home::leave(const WatchKind& kind, std::uint64_t id) {
  const auto found = hubs_.find(kind.name());
  if (found != hubs_.end()) found->second->leave(id);
}

void Home::forget_if_idle(const std::string& name) {
  loop_.post([this, name] {
    const auto found = hubs_.find(name);
    if (found != hubs_.end() && found->second->idle()) hubs_.erase(found);
  });
}

} // namespace zoo::upstream
