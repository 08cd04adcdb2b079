// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/sync/calls.hpp"

#include "common/kube/json_reads.hpp"
#include "daemon/clusters/record.hpp"

#include <algorithm>

namespace zoo::clusters::sync {
namespace {

constexpr std::size_t k_longest_reason = 900; ///< an Event's message has 1,024 bytes
constexpr std::chrono::milliseconds k_refused_first{1'000}, k_refused_most{300'000};

} // namespace

Result<std::string> store_uid(upstream::ControlApi& api) {
  ZOO_TRY(const auto space, api.get("/api/v1/namespaces/kube-system"));
  auto uid = kube::text_at(space, "/metadata/uid");
  if (uid.empty()) return fail(Code::unavailable, "namespace kube-system has no UID");
  return uid;
}

Result<void> remove_of(upstream::ControlApi& api, const std::string& path, std::string_view uid,
                       std::int64_t grace) {
  if (uid.empty()) return fail(Code::internal, "{} was read without a UID and stays", path);
  nlohmann::json options = {
      {"apiVersion", "v1"}, {"kind", "DeleteOptions"}, {"preconditions", {{"uid", uid}}}};
  if (grace >= 0) options["gracePeriodSeconds"] = grace;
  auto done = api.remove(path, options);
  if (!done && done.error().code() == Code::conflict) return {};
  return done;
}

nlohmann::json not_synced_event(const nlohmann::json& about, std::string_view what,
                                const std::string& why) {
  const auto now = now_text();
  return {{"apiVersion", "v1"},
          {"kind", "Event"},
          {"metadata",
           {{"generateName", "zoo-synced-"}, {"namespace", kube::text_at(about, "/namespace")}}},
          {"involvedObject", about},
          {"type", "Warning"},
          {"reason", "NotSynced"},
          {"message", fmt::format("the upstream does not take the {}: {}", what,
                                  why.substr(0, k_longest_reason))},
          {"source", {{"component", "zood"}}},
          {"firstTimestamp", now},
          {"lastTimestamp", now},
          {"count", 1}};
}

std::chrono::milliseconds refused_pause(unsigned attempts) {
  return std::min<std::chrono::milliseconds>(k_refused_first * (1L << std::min(attempts, 9U)),
                                             k_refused_most);
}

} // namespace zoo::clusters::sync
