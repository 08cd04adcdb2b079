// SPDX-License-Identifier: Apache-2.0
#include "daemon/upstream/watch_source.hpp"

#include "daemon/translate/discovery_json.hpp"
#include "daemon/translate/framer.hpp"
#include "daemon/translate/watch_event.hpp"
#include "daemon/upstream/call.hpp"

#include <algorithm>

namespace zoo::upstream {
namespace {

/// One upstream watch for one subscriber; foreign keys are dropped unparsed beyond their metadata.
class SingleWatch final : public WatchSubscription,
                          private CallHandler,
                          public translate::FrameHandler {
public:
  SingleWatch(Caller& caller, WatchRequest request, WatchHandler& handler)
      : handler_(handler), ranges_(std::move(request.ranges)),
        all_namespaces_(request.all_namespaces), table_(request.table),
        heard_(std::move(request.heard)),
        framer_(translate::Shape::watch, k_largest_object, *this) {
    auto params = std::move(request.params);
    translate::set_param(params, "watch", "true");
    translate::set_param(params, "resourceVersion", request.resource_version);
    if (request.bookmarks) translate::set_param(params, "allowWatchBookmarks", "true");
    if (request.timeout_seconds) {
      translate::set_param(params, "timeoutSeconds", std::to_string(*request.timeout_seconds));
    }
    auto head = std::move(request.head);
    head.target += "?" + translate::serialize_query(params);
    CallOptions options;
    options.long_running = true;
    options.owner = std::move(request.owner);
    call_ = caller.start(std::move(head), std::move(options), *this);
  }

  void pause() override {
    if (call_) call_->pause();
  }
  void resume() override {
    if (call_) call_->resume();
  }

private:
  void on_head(http::ResponseHead head) override {
    status_ = head.status;
    if (heard_) heard_(head);
    if (status_ == 200) handler_.on_watch_begin();
  }

  void on_data(std::string_view bytes) override {
    if (ended_) return;
    if (status_ != 200) {
      if (body_.size() + bytes.size() <= k_max_status) body_.append(bytes);
      return;
    }
    if (auto fed = framer_.feed(bytes); !fed) end({fed.error(), 0, {}});
  }

  void on_end() override {
    if (status_ != 200) return end({{}, status_, std::move(body_)});
    end({});
  }

  void on_error(Error error) override { end({std::move(error), 0, {}}); }

  void on_frame(std::string_view event) override {
    if (!ended_ && mine(event)) handler_.on_watch_event(event);
  }

  bool mine(std::string_view text) {
    if (ranges_.empty()) return true;
    const auto event = translate::parse_event(text);
    if (!event) return true; // the reader of events says what is wrong with it
    if (event->type == translate::EventType::bookmark ||
        event->type == translate::EventType::error) {
      return true;
    }
    auto object = event->object;
    std::optional<translate::JsonTree> tree;
    if (table_) {
      auto parsed = translate::JsonTree::parse(object);
      if (!parsed) return false;
      tree.emplace(*std::move(parsed));
      object = tree->root()["rows"].first()["object"].raw();
    }
    const auto key = translate::object_key(object);
    if (!key) return false;
    const auto text_key = all_namespaces_ ? key->name_space + "/" + key->name : key->name;
    const bool ours = std::any_of(ranges_.begin(), ranges_.end(),
                                  [&](const KeyRange& range) { return range.contains(text_key); });
    if (!ours && tree && tree->root()["columnDefinitions"].is(translate::JsonType::array))
      handler_.on_watch_columns(event->object);
    return ours;
  }

  void end(WatchEnd why) {
    if (ended_) return;
    ended_ = true;
    handler_.on_watch_end(why);
  }

  WatchHandler& handler_;
  std::vector<KeyRange> ranges_;
  bool all_namespaces_;
  bool table_;
  bool ended_ = false;
  int status_ = 0;
  std::string body_;
  HeadListener heard_;
  translate::Framer framer_;
  std::unique_ptr<Call> call_; // last: cancelled first
};

} // namespace

std::unique_ptr<WatchSubscription> subscribe_alone(Caller& caller, WatchRequest request,
                                                   WatchHandler& handler) {
  return std::make_unique<SingleWatch>(caller, std::move(request), handler);
}

} // namespace zoo::upstream
