// SPDX-License-Identifier: Apache-2.0
#include "daemon/gateway/flows/flows.hpp"
#include "daemon/gateway/flows/virtual.hpp"
#include "daemon/translate/status_text.hpp"
#include "daemon/translate/watch_event.hpp"
#include "daemon/upstream/shared_watches.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <random>

namespace zoo::gateway {
namespace {

using translate::EventType;

constexpr std::chrono::seconds k_bookmark{50};
// As for upstream's kinds (upstream/shared_watches.hpp), but each watch asks for itself.
constexpr std::chrono::milliseconds k_room_pause{50}, k_longest_pause{400};
constexpr std::chrono::seconds k_room_wait{5};

/// Follows the board: at each change, what came after the last revision sent. Nothing is queued
/// but what the client's own buffer takes, so that a slow reader costs no memory.
class VirtualWatch final : public Flow {
public:
  VirtualWatch(Exchange& exchange, VirtualTarget target)
      : exchange_(exchange), target_(std::move(target)), bookmarks_(exchange.gateway().loop()),
        end_(exchange.gateway().loop()), room_(exchange.gateway().loop()) {}

  void start() override {
    const auto& options = exchange_.target().list;
    auto selection =
        virtuals::Selection::parse(*target_.kind, options.label_selector, options.field_selector);
    if (!selection) return exchange_.fail(selection.error());
    selection_ = *std::move(selection);
    const bool from_now = options.resource_version.empty() || options.resource_version == "0";
    const bool initial = options.send_initial_events.value_or(from_now);
    if (initial && refuse_future(exchange_, board().read(target_.owner, *target_.kind).revision))
      return;
    subscription_ = exchange_.gateway().shared().board->subscribe(
        target_.owner, *target_.kind, woken(exchange_, [this] { pump(); }));
    http::ResponseHead head{200, {}};
    head.headers.add("content-type", target_.wanted.content_type);
    head.headers.add("cache-control", "no-cache, private");
    exchange_.send_head(std::move(head));

    telling_state_ = initial;
    if (initial) {
      last_ = board().read(target_.owner, *target_.kind).revision;
    } else if (from_now) {
      last_ = board().revision();
    } else {
      last_ = std::stoll(options.resource_version);
    }
    end_.start(duration(options.timeout_seconds.value_or(0)), [this] { end(); });
    if (options.allow_watch_bookmarks) tick();
    pump();
  }

  void on_drained() override { pump(); }
  void leave() override { end(); }

private:
  const virtuals::Board& board() const { return *exchange_.gateway().shared().board; }

  void send(EventType type, const virtuals::Object& object) {
    auto event = translate::make_event(type, render_one(target_, object, !columns_sent_));
    columns_sent_ = true;
    if (telling_state_) return exchange_.send(std::move(event));
    exchange_.send_events(std::move(event));
  }

  /// The objects as they were when the watch began, as far as the client takes them. False: not all
  /// of them yet, or `set` knows that moment no more and the watch has ended.
  bool send_state(const virtuals::Set& set) {
    auto state = set.at(last_);
    if (!state) {
      expire(set.floor);
      return false;
    }
    const auto objects = with_provided(target_, *std::move(state));
    for (auto each = objects.lower_bound(next_); each != objects.end(); ++each) {
      if (exchange_.done()) return false;
      if (!exchange_.writable()) { // on_drained() goes on
        next_ = each->first;
        return false;
      }
      if (selection_.matches(*each->second)) send(EventType::added, *each->second);
    }
    if (exchange_.done()) return false;
    telling_state_ = false;
    if (exchange_.target().list.marks_initial_events()) bookmark(true);
    return !exchange_.done();
  }

  void expire(std::int64_t floor) {
    exchange_.ends(audit::Ending::expired);
    exchange_.send(translate::make_error_event(translate::make_status(
        Code::expired, fmt::format("too old resource version: {} ({})", last_, floor))));
    exchange_.finish();
  }

  bool hidden(const virtuals::Event& event) const {
    const auto& name = (event.after ? event.after : event.before)->name;
    return std::any_of(target_.provided.begin(), target_.provided.end(),
                       [&](const auto& each) { return each->name == name; });
  }

  void pump() {
    const auto reading = board().read(target_.owner, *target_.kind);
    if (telling_state_ && !send_state(*reading.set)) return;
    if (last_ < reading.set->floor) return expire(reading.set->floor);
    for (const auto& event : reading.set->recent) {
      if (event.revision <= last_) continue;
      if (!exchange_.writable()) { // on_drained() goes on
        without_room_.reset();
        return;
      }
      const auto show = shown(event);
      if (show.object != nullptr && !has_room(*show.object)) return; // it asks again
      last_ = event.revision;
      if (show.object != nullptr) send(show.type, *show.object);
      if (exchange_.done()) return;
    }
    last_ = std::max(last_, reading.revision);
  }

  struct Shown {
    EventType type = EventType::added;
    const virtuals::Object* object = nullptr; ///< null: nothing is
  };
  Shown shown(const virtuals::Event& event) const {
    if (hidden(event)) return {};
    const bool was = event.before && selection_.matches(*event.before);
    const bool is = event.after && selection_.matches(*event.after);
    if (is) return {was ? EventType::modified : EventType::added, event.after.get()};
    // What stops to match is shown as it was, at the revision of the change.
    if (was) return {EventType::deleted, event.last ? event.last.get() : event.left.get()};
    return {};
  }

  /// May its tenant hold an event of this object now? A change comes to all of its watches in one
  /// turn, before any socket had a chance. After some seconds the event is tried as it is.
  bool has_room(const virtuals::Object& object) {
    constexpr std::size_t k_around = 2048; // the event's own members, a Table's columns
    const auto shape = target_.shape();
    const bool whole = shape == virtuals::Shape::object || shape == virtuals::Shape::table_object;
    const auto bytes = (whole ? object.json : object.metadata).size() + k_around;
    const auto now = std::chrono::steady_clock::now();
    if (exchange_.take_room(bytes) || (without_room_ && now - *without_room_ >= k_room_wait)) {
      without_room_.reset();
      return true;
    }
    pause_ = without_room_ ? std::min(2 * pause_, k_longest_pause) : k_room_pause;
    if (!without_room_) without_room_ = now;
    room_.start(pause_, [this] {
      if (!exchange_.done()) pump();
    });
    return false;
  }

  void bookmark(bool initial_events_end) {
    if (target_.table()) {
      // One row, of an object that has a version and nothing else; whatever the client wants of
      // objects, for it carries the annotation.
      auto target = target_;
      if (target.shape() == virtuals::Shape::table_none)
        target.wanted.include = translate::IncludeObject::metadata;
      const auto row = virtuals::make_mark(*target_.kind, last_, initial_events_end);
      exchange_.send(
          translate::make_event(EventType::bookmark, render_one(target, *row, !columns_sent_)));
      columns_sent_ = true;
      return;
    }
    const bool partial = target_.shape() == virtuals::Shape::partial;
    exchange_.send(
        translate::make_bookmark(partial ? "meta.k8s.io/v1" : target_.kind->api_version(),
                                 partial ? "PartialObjectMetadata" : target_.kind->kind,
                                 std::to_string(last_), initial_events_end));
  }

  static std::chrono::seconds duration(std::int64_t wanted) {
    constexpr upstream::SharedWatchLimits k_limits; // as for upstream's kinds
    const auto shortest = k_limits.shortest.count();
    if (wanted > 0) return std::chrono::seconds(std::min(wanted, k_limits.longest.count()));
    thread_local std::minstd_rand random{std::random_device{}()};
    return std::chrono::seconds(
        std::uniform_int_distribution<std::int64_t>(shortest, 2 * shortest)(random));
  }

  /// An end is no failure: the client goes on from its last resourceVersion, told once more.
  void end() {
    if (exchange_.done()) return;
    pump();
    if (exchange_.done()) return;
    const bool marks = exchange_.target().list.allow_watch_bookmarks;
    if (marks && exchange_.writable() && !telling_state_ && !without_room_) bookmark(false);
    exchange_.finish();
  }

  void tick() {
    bookmarks_.start(k_bookmark, [this] {
      if (exchange_.done()) return;
      pump();
      if (exchange_.done()) return;
      if (exchange_.writable() && !telling_state_) bookmark(false);
      tick();
    });
  }

  Exchange& exchange_;
  VirtualTarget target_;
  virtuals::Selection selection_;
  std::int64_t last_ = 0;
  bool telling_state_ = false; ///< of the moment `last_`
  std::string next_;           ///< the first name that is still to be told
  bool columns_sent_ = false;
  std::optional<std::chrono::steady_clock::time_point>
      without_room_;                   ///< its next event, since when
  std::chrono::milliseconds pause_{0}; ///< until it asks again
  net::Timer bookmarks_, end_, room_;
  virtuals::Board::Subscription subscription_; // last: nothing comes once it is gone
};

} // namespace

std::function<void()> woken(Exchange& exchange, std::function<void()> next) {
  return [loop = &exchange.gateway().loop(), waits = std::make_shared<std::atomic<bool>>(false),
          next = while_open(exchange, std::move(next))] {
    if (waits->exchange(true)) return; // one wake-up waits already
    loop->post([waits, next]() mutable {
      waits->store(false);
      next();
    });
  };
}

std::unique_ptr<Flow> virtual_watch(Exchange& exchange, VirtualTarget target) {
  return std::make_unique<VirtualWatch>(exchange, std::move(target));
}

} // namespace zoo::gateway
