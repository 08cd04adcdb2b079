// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/sync/pod_events.hpp"

#include "common/base/log.hpp"
#include "common/kube/client.hpp"
#include "common/kube/json_reads.hpp"
#include "daemon/clusters/record.hpp"
#include "daemon/clusters/sync/words.hpp"

#include <utility>

namespace zoo::clusters::sync {
namespace {

using nlohmann::json;

constexpr std::chrono::minutes k_minute{1};

std::string events_in(std::string_view space) {
  return kube::path({"api", "v1", "namespaces", space, "events"});
}

} // namespace

std::optional<json> shown_event(const json& event, std::string_view pod_uid) {
  // The cluster's scheduler has chosen the node, and said so.
  if (kube::text_at(event, "/reason") == "Scheduled") return std::nullopt;
  const auto space = kube::text_at(event, "/metadata/namespace");
  const auto name = kube::text_at(event, "/metadata/name");
  if (space.empty() || name.empty()) return std::nullopt;
  json out = {{"apiVersion", "v1"},
              {"kind", "Event"},
              {"metadata", {{"name", name}, {"namespace", space}}}};
  for (const char* key :
       {"involvedObject", "reason", "message", "type", "count", "firstTimestamp", "lastTimestamp",
        "eventTime", "action", "reportingComponent", "reportingInstance", "series", "source"})
    if (const auto found = event.find(key); found != event.end() && !found->is_null())
      out[key] = *found;
  if (!out.contains("involvedObject") || !out["involvedObject"].is_object()) return std::nullopt;
  out["involvedObject"]["uid"] = pod_uid;
  out["involvedObject"].erase("resourceVersion");
  return out;
}

bool EventPace::take(Clock::time_point now) {
  if (taken_ == 0 || now - since_ >= k_minute) {
    since_ = now;
    taken_ = 0;
  }
  if (taken_ >= k_a_minute) return false;
  ++taken_;
  return true;
}

void PodEvents::hear(std::string_view event) {
  {
    const std::scoped_lock lock(mutex_);
    if (waiting_.size() >= k_most || bytes_ + event.size() > k_most_bytes) {
      ++left_out_;
      return;
    }
    waiting_.emplace_back(event);
    bytes_ += event.size();
  }
  room_.queue.add(room_.id, "e/", Lane::then);
}

Result<WorkNext> PodEvents::work() {
  for (const WorkTime time; !time.over();) {
    std::string next;
    std::size_t left_out = 0;
    {
      const std::scoped_lock lock(mutex_);
      const auto now = EventPace::Clock::now();
      if (left_out_ != 0 && now - told_ >= k_minute) {
        left_out = std::exchange(left_out_, 0);
        told_ = now;
      }
      if (left_out == 0 && waiting_.empty())
        return left_out_ == 0 ? WorkNext{} : WorkNext{k_minute};
      if (left_out == 0) {
        next = std::move(waiting_.front());
        waiting_.pop_front();
        bytes_ -= next.size();
        if (!pace_.take(now)) {
          ++left_out_;
          continue;
        }
      }
    }
    if (left_out != 0)
      ZOO_TRY_VOID(tell_left_out(left_out));
    else
      ZOO_TRY_VOID(show(next));
  }
  return WorkNext{std::chrono::milliseconds(0)};
}

Result<void> PodEvents::show(const std::string& text) {
  const auto raw = kube::parse_foreign(text);
  if (!raw.is_object()) return {};
  const auto event = object_out(room_.mapping(), "", "Event", text);
  if (!event) return {};
  const auto space = kube::text_at(*event, "/metadata/namespace");
  const auto facts = pods_.look(space + "/" + kube::text_at(*event, "/involvedObject/name"));
  if (!facts || !facts->here || !facts->there || facts->there->owner != facts->here->uid ||
      facts->there->uid != kube::text_at(raw, "/involvedObject/uid"))
    return {}; // of an earlier pod, or of one that is not the cluster's
  auto shown = shown_event(*event, facts->here->uid);
  if (!shown) return {};
  (*shown)["message"] = words_out(room_.mapping(), kube::text_at(*shown, "/message"));
  const auto lease = room_.own.take();
  const auto made = (*lease).create(events_in(space), *shown);
  if (made) return {};
  if (made.error().code() != Code::already_exists) {
    log::debug("clusters", "{}: an event is not taken: {}", room_.id, made.error().text());
    return is_refusal(made.error()) || is_gone(made.error()) ? Result<void>() : fail(made.error());
  }
  const auto path = events_in(space) + kube::path({kube::text_at(*shown, "/metadata/name")});
  const auto there = (*lease).get(path);
  if (!there) return is_gone(there.error()) ? Result<void>() : fail(there.error());
  if (kube::text_at(*there, "/involvedObject/uid") != facts->here->uid)
    return {}; // somebody else's
  json change = {{"metadata", {{"uid", kube::text_at(*there, "/metadata/uid")}}}};
  for (const char* key : {"count", "lastTimestamp", "message", "series"})
    if (shown->contains(key)) change[key] = (*shown)[key];
  const auto changed = (*lease).merge_patch(path, change);
  if (!changed && !is_gone(changed.error())) return fail(changed.error());
  return {};
}

Result<void> PodEvents::tell_left_out(std::size_t count) {
  const auto now = now_text();
  const json event = {
      {"apiVersion", "v1"},
      {"kind", "Event"},
      {"metadata", {{"generateName", "zoo-events-"}, {"namespace", "default"}}},
      {"involvedObject",
       {{"apiVersion", "v1"},
        {"kind", "Namespace"},
        {"namespace", "default"},
        {"name", "default"}}},
      {"type", "Normal"},
      {"reason", "EventsLeftOut"},
      {"message", fmt::format("{} events of pods were not shown, since there are more than {} a "
                              "minute",
                              count, EventPace::k_a_minute)},
      {"source", {{"component", "zood"}}},
      {"firstTimestamp", now},
      {"lastTimestamp", now},
      {"count", 1}};
  const auto lease = room_.own.take();
  return (*lease).create(events_in("default"), event).map([](const auto&) {});
}

} // namespace zoo::clusters::sync
