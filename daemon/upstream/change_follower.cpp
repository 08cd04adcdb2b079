// SPDX-License-Identifier: Apache-2.0
#include "daemon/upstream/change_follower.hpp"

#include "common/base/log.hpp"

#include <algorithm>
#include <utility>

namespace zoo::upstream {
namespace {

constexpr std::chrono::milliseconds k_first_pause{100};
constexpr std::chrono::milliseconds k_longest_pause{10'000};
constexpr int k_gone = 410; // apimachinery StatusReasonExpired, StatusReasonGone

http::RequestHead head_for(const std::string& path, const std::string& accept) {
  http::RequestHead head;
  head.method = "GET";
  head.target = path;
  head.headers.add("Accept", accept);
  return head;
}

} // namespace

ChangeFollower::ChangeFollower(Upstream& upstream, net::Loop& loop, Caller& caller,
                               std::string path, std::string field_selector, Hears hears)
    : upstream_(upstream), loop_(loop), caller_(caller), path_(std::move(path)),
      field_selector_(std::move(field_selector)), hears_(std::move(hears)), timer_(loop),
      pause_(k_first_pause) {}

ChangeFollower::~ChangeFollower() = default;

void ChangeFollower::start() {
  loop_.post([this] { begin(); });
}

/// Of the list nothing is wanted but its resourceVersion.
void ChangeFollower::begin() {
  watch_.reset();
  ListRequest request;
  request.head =
      head_for(path_, "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1");
  request.range = {"", "", false};
  request.limit = 1;
  list_ = list_range(upstream_, caller_, std::move(request), "#one " + path_, *this);
}

void ChangeFollower::on_list_end(const ListEnd& end) {
  version_ = end.resource_version;
  forgotten_ = false;
  if (std::exchange(began_, true)) hears_.missed();
  watch();
}

void ChangeFollower::on_list_error(const Error& error, int http_status, std::string_view) {
  log::warning("upstream", "cannot list {} ({}): {}", path_, http_status, error.text());
  again(&ChangeFollower::begin);
}

void ChangeFollower::watch() {
  WatchRequest request;
  request.head = head_for(path_, "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1");
  if (!field_selector_.empty()) request.params = {{"fieldSelector", field_selector_}};
  request.resource_version = version_;
  request.bookmarks = true; // else the version of a kind that rests is soon too old
  watch_ = subscribe_alone(caller_, std::move(request), *this);
}

void ChangeFollower::on_watch_begin() { follows_ = true; }

void ChangeFollower::on_watch_event(std::string_view text) {
  const auto event = translate::parse_event(text);
  if (!event) return;
  if (event->type ==
      translate::EventType::error) { // whatever it is; upstream ends the stream after it
    forgotten_ = true;
    return;
  }
  pause_ = k_first_pause;
  const auto key = translate::object_key(event->object);
  if (key && !key->resource_version.empty()) version_ = key->resource_version;
  if (event->type == translate::EventType::modified || event->type == translate::EventType::deleted)
    hears_.changed(event->type, event->object);
}

void ChangeFollower::on_watch_end(const WatchEnd& end) {
  const bool refused = end.error || end.http_status != 0;
  if (refused || forgotten_) follows_ = false;
  if (forgotten_ || end.http_status == k_gone) return again(&ChangeFollower::begin);
  again(&ChangeFollower::watch);
}

void ChangeFollower::again(void (ChangeFollower::*what)()) {
  timer_.start(pause_, [this, what] { (this->*what)(); });
  pause_ = std::min(pause_ * 2, k_longest_pause);
}

} // namespace zoo::upstream
