// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/upstream/control_api.hpp"

#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// Pieces of calls that all of the syncer's work shares. Blocking where an API is given.
namespace zoo::clusters::sync {

/// When a key of the queue is to be looked at again; nothing: when it is added again.
struct WorkNext {
  std::optional<std::chrono::milliseconds> after;
  bool failed = false;
};

/// How long one piece of work may go on with further calls to a cluster's API server, which may
/// draw each of them out. What does more than a few of them asks between two; when it is over, the
/// piece gives its worker back, and goes on where it was in its next turn (docs/limits.md). A
/// value.
class WorkTime {
public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds k_most{10};
  explicit WorkTime(Clock::time_point began = Clock::now()) : end_(began + k_most) {}
  bool over(Clock::time_point now = Clock::now()) const { return now >= end_; }

private:
  Clock::time_point end_;
};

/// The parts of a key "namespace/name".
struct ObjectName {
  std::string space, name;
  explicit ObjectName(std::string_view text)
      : space(text.substr(0, text.find('/'))), name(text.substr(text.find('/') + 1)) {}
};

/// Does the error say that the object is gone, or that another object has its name by now? The
/// caller does nothing about it: the watch tells of that change, and the key is looked at again.
inline bool is_gone(const Error& error) {
  return error.code() == Code::not_found || error.code() == Code::conflict ||
         error.code() == Code::invalid;
}

/// The upstream does not want such an object: it is of no use to send it again as it is.
inline bool is_refusal(const Error& error) {
  return error.code() == Code::forbidden || error.code() == Code::invalid ||
         error.code() == Code::bad_request;
}

/// By which a store is known again: the UID of its namespace kube-system.
Result<std::string> store_uid(upstream::ControlApi& api);

/// Deletes the object of this UID. One that is nobody's any more, or another one by now, is as good
/// as deleted. `grace`: -1 is the object's own.
Result<void> remove_of(upstream::ControlApi& api, const std::string& path, std::string_view uid,
                       std::int64_t grace = -1);

/// The event by which the cluster hears that the upstream does not take an object of its. `about`:
/// a reference to it, with its namespace. `why`: in the cluster's words; a long one is cut.
nlohmann::json not_synced_event(const nlohmann::json& about, std::string_view what,
                                const std::string& why);

/// When to try again what was refused so many times: a second, doubling to five minutes.
std::chrono::milliseconds refused_pause(unsigned attempts);

} // namespace zoo::clusters::sync
