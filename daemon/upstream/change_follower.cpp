// SPDX-License-Identifier: Apache-2.0
#include "daemon/upstream/change_follower.hpp"

#include "common/base/log.hpp"
#include "daemon/translate/headers.hpp"
#include "daemon/upstream/call.hpp"

#include <algorithm>
#include <utility>

namespace zoo::upstream {
namespace {

constexpr std::chrono::milliseconds k_first_change_pause{100};
constexpr std::chrono::milliseconds k_longest_change_pause{10'000};
constexpr int k_gone = 410;
constexpr std::string_view k_whole = "application/json";

} // namespace

ChangeFollower::ChangeFollower(Upstream& upstream, net::Loop& loop, Caller& caller,
                               std::string path, Selection selection, Hears hears,
                               std::chrono::milliseconds silence)
    : upstream_(upstream), loop_(loop), caller_(caller), path_(std::move(path)),
      selection_(std::move(selection)), hears_(std::move(hears)), silence_(silence), timer_(loop),
      silence_timer_(loop), pause_(k_first_change_pause) {}

ChangeFollower::~ChangeFollower() = default;

void ChangeFollower::start() {
  loop_.post([this] { begin(); });
}

void ChangeFollower::reread() {
  watch_.reset();
  list_.reset();
  silence_timer_.cancel();
  set(false, false);
  timer_.start({}, [this] { begin(); });
}

void ChangeFollower::set(bool follows, bool open) {
  const bool before = hears();
  follows_ = follows;
  open_ = open;
  if (hears_.hearing && hears() != before) hears_.hearing(!before);
}

/// Unless somebody asks what is there, nothing is wanted of the list but its resourceVersion.
void ChangeFollower::begin() {
  watch_.reset();
  if (hears_.looks) hears_.looks();
  ListRequest request;
  request.head = get_head(path_, hears_.whole ? k_whole : translate::k_partial_list_accept);
  request.range = {"", "", false};
  request.limit = hears_.found ? 0 : 1;
  list_ = list_range(upstream_, caller_, std::move(request),
                     (hears_.found ? "#all " : "#one ") + path_, *this);
}

void ChangeFollower::on_list_item(std::string_view name, std::string_view object) {
  if (hears_.found) hears_.found(name, object);
}

void ChangeFollower::on_list_end(const ListEnd& end) {
  version_ = end.resource_version;
  listed_ = true;
  forgotten_ = false;
  watch();
}

void ChangeFollower::on_list_error(const Error& error, int http_status, std::string_view) {
  log::warning("upstream", "cannot list {} ({}): {}", path_, http_status, error.text());
  again(&ChangeFollower::begin);
}

void ChangeFollower::watch() {
  WatchRequest request;
  request.head = get_head(path_, hears_.whole ? k_whole : translate::k_partial_accept);
  if (!selection_.fields.empty()) request.params.emplace_back("fieldSelector", selection_.fields);
  if (!selection_.labels.empty()) request.params.emplace_back("labelSelector", selection_.labels);
  request.resource_version = version_;
  request.bookmarks = true; // else the version of a kind that rests is soon too old
  watch_ = subscribe_alone(caller_, std::move(request), *this);
  heard();
}

/// A way that has died without a word looks like a kind that rests.
void ChangeFollower::heard() {
  silence_timer_.start(silence_, [this] {
    log::warning("upstream", "the watch of {} has said nothing for {} s: it is opened anew", path_,
                 std::chrono::duration_cast<std::chrono::seconds>(silence_).count());
    set(false, open_);
    watch();
  });
}

void ChangeFollower::on_watch_begin() {
  list_.reset(); // and what it holds of its connection
  heard();
  if (std::exchange(listed_, false)) {
    hears_.began();
    if (hears_.passed) hears_.passed(version_);
  }
  set(true, true);
}

void ChangeFollower::on_watch_event(std::string_view text) {
  const auto event = translate::parse_event(text);
  const bool known = event && event->type != translate::EventType::error;
  const auto key = known ? translate::object_key(event->object)
                         : Result<translate::ObjectKey>(fail(Code::internal, "no object"));
  if (!key) { // an ERROR, which ends the stream; or what cannot be read, and might be anything
    forgotten_ = true;
    return set(false, open_);
  }
  heard();
  pause_ = k_first_change_pause;
  if (!key->resource_version.empty()) version_ = key->resource_version;
  if (event->type != translate::EventType::bookmark)
    return hears_.changed(event->type, *key, event->object);
  if (hears_.passed) hears_.passed(version_);
}

void ChangeFollower::on_watch_end(const WatchEnd& end) {
  silence_timer_.cancel();
  const auto status = end.http_status;
  const bool refused = status != 0 && !passing(status);
  if (refused && status != k_gone)
    log::warning("upstream", "the watch of {} is refused ({}): {}", path_, status, end.body);
  set(follows_ && !forgotten_ && status == 0 && !end.error, false);
  again(forgotten_ || refused ? &ChangeFollower::begin : &ChangeFollower::watch);
}

void ChangeFollower::again(void (ChangeFollower::*what)()) {
  timer_.start(pause_, [this, what] { (this->*what)(); });
  pause_ = std::min(pause_ * 2, k_longest_change_pause);
}

} // namespace zoo::upstream
