// SPDX-License-Identifier: Apache-2.0
#include "daemon/upstream/name_follower.hpp"

#include "common/base/log.hpp"
#include "daemon/translate/headers.hpp"
#include "daemon/translate/watch_event.hpp"
#include "daemon/upstream/call.hpp"

#include <algorithm>

namespace zoo::upstream {
namespace {

constexpr std::chrono::milliseconds k_first_name_pause{100};
constexpr std::chrono::milliseconds k_longest_name_pause{10'000};

} // namespace

NameFollower::NameFollower(Upstream& upstream, net::Loop& loop, Caller& caller, std::string path,
                           std::string label_selector, Chosen chosen, bool forgets,
                           std::chrono::milliseconds silence)
    : upstream_(upstream), loop_(loop), caller_(caller), path_(std::move(path)),
      label_selector_(std::move(label_selector)), chosen_(chosen), forgets_(forgets),
      silence_(silence), timer_(loop), silence_timer_(loop) {}

NameFollower::~NameFollower() = default;

void NameFollower::start() {
  loop_.post([this] { begin(); });
}

void NameFollower::begin() {
  names_.clear();
  watch_.reset();
  silence_timer_.cancel();
  ListRequest request;
  request.head = get_head(path_, translate::k_partial_list_accept);
  if (!label_selector_.empty()) request.params = {{"labelSelector", label_selector_}};
  request.range = {"", "", false};
  list_ = list_range(upstream_, caller_, std::move(request), "#" + path_, *this);
}

void NameFollower::on_list_item(std::string_view key, std::string_view item) {
  if (chosen_ == nullptr || chosen_(key, item)) names_.put(std::string(key));
}

void NameFollower::on_list_end(const ListEnd& end) {
  publish();
  WatchRequest request;
  request.head = get_head(path_, translate::k_partial_accept);
  if (!label_selector_.empty()) request.params = {{"labelSelector", label_selector_}};
  request.resource_version = end.resource_version;
  request.bookmarks = true;
  watch_ = subscribe_alone(caller_, std::move(request), *this);
  heard();
}

/// A way that has died without a word looks like a kind that rests.
void NameFollower::heard() {
  silence_timer_.start(silence_, [this] {
    log::warning("upstream", "the watch of {} has said nothing for {} s: it is opened anew", path_,
                 std::chrono::duration_cast<std::chrono::seconds>(silence_).count());
    again();
  });
}

void NameFollower::on_list_error(const Error& error, int http_status, std::string_view) {
  log::warning("upstream", "cannot list {} ({}): {}", path_, http_status, error.text());
  again();
}

void NameFollower::on_watch_event(std::string_view text) {
  heard();
  pause_ = k_first_name_pause; // a list alone says little of the watch behind it
  const auto event = translate::parse_event(text);
  if (!event || event->type == translate::EventType::bookmark ||
      event->type == translate::EventType::error) {
    return; // after an ERROR upstream ends the stream
  }
  const auto key = translate::object_key(event->object);
  if (!key) return;
  const bool there = event->type != translate::EventType::deleted &&
                     (chosen_ == nullptr || chosen_(key->name, event->object));
  if (there == names_.contains(key->name)) return;
  if (there)
    names_.put(key->name);
  else
    names_.remove(key->name);
  publish();
}

void NameFollower::on_watch_end(const WatchEnd&) { again(); }

void NameFollower::again() {
  silence_timer_.cancel();
  if (forgets_) published_.store(nullptr);
  timer_.start(pause_, [this] { begin(); });
  pause_ = std::min(pause_ * 2, k_longest_name_pause);
}

void NameFollower::publish() { published_.store(std::make_shared<const Names>(names_)); }

} // namespace zoo::upstream
