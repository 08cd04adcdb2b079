// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/sync/own_watch.hpp"

#include "common/kube/json_reads.hpp"
#include "daemon/reconcile/runner.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>

namespace zoo::clusters::sync {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds k_first_pause{100}, k_longest_pause{10'000};

} // namespace

Result<void> hear_once(kube::ClusterAccess access, const OwnWatch& watch, milliseconds patrol,
                       const std::stop_token& calls, const std::stop_token& stop) {
  kube::KubeClientOptions options;
  options.stop = calls;
  kube::KubeClient client(std::move(access), std::move(options));
  ZOO_TRY(auto version,
          client.list(watch.path, watch.selectors, [&](const json& object) -> Result<void> {
            watch.found(object);
            return {};
          }));
  watch.listed();
  const auto end = Clock::now() + reconcile::jittered(patrol);
  while (!stop.stop_requested() && Clock::now() < end) {
    const auto left = std::chrono::ceil<std::chrono::seconds>(end - Clock::now());
    auto query = watch.selectors;
    query.insert(query.end(), {{"resourceVersion", version},
                               {"allowWatchBookmarks", "true"},
                               {"timeoutSeconds", std::to_string(left.count())}});
    const auto heard = client.watch(watch.path, query, [&](const json& event) -> Result<bool> {
      const auto& object = event["object"];
      version = kube::text_at(object, "/metadata/resourceVersion");
      const auto type = kube::text_at(event, "/type");
      if (type == "BOOKMARK") return true;
      if (type == "DELETED")
        watch.gone(object);
      else
        watch.found(object);
      return true;
    });
    if (!heard && heard.error().code() == Code::expired) return {};
    if (!heard) return fail(heard.error());
  }
  return {};
}

void keep_hearing(const std::stop_token& stop, const std::function<Result<void>()>& hear,
                  const std::function<void(const Error& error)>& failed) {
  auto pause = k_first_pause;
  while (!stop.stop_requested()) {
    const auto began = Clock::now();
    const auto over = hear();
    if (stop.stop_requested()) return;
    if (over) {
      pause = k_first_pause;
      continue;
    }
    failed(over.error());
    if (Clock::now() - began > k_longest_pause) pause = k_first_pause;
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any().wait_for(lock, stop, reconcile::jittered(pause),
                                           [] { return false; });
    pause = std::min(pause * 2, k_longest_pause);
  }
}

} // namespace zoo::clusters::sync
