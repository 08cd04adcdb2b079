// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/sync/own_watch.hpp"

#include "common/base/log.hpp"
#include "common/kube/json_reads.hpp"
#include "daemon/reconcile/runner.hpp"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>

namespace zoo::clusters::sync {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds k_first_pause{100}, k_longest_pause{10'000};
/// What ends sooner, without an error, is not begun again at once either.
constexpr milliseconds k_short{1'000};
/// A page of a list: JSON takes about sixteen times its bytes in memory.
constexpr std::size_t k_page = 50, k_largest_page = 8u << 20;
constexpr milliseconds k_turn_look{200}; ///< how soon who waits for his turn hears of a stop
/// An API server sends a bookmark a minute.
constexpr milliseconds k_silence{150'000};

void rest(const std::stop_token& stop, milliseconds time) {
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable_any().wait_for(lock, stop, reconcile::jittered(time),
                                         [] { return false; });
}

/// A turn at lists; none when it was to stop before.
class Turn {
public:
  Turn(ListTurns& turns, const std::stop_token& stop) : turns_(turns) {
    while (!stop.stop_requested() && !has_)
      has_ = turns_.try_acquire_for(k_turn_look);
  }
  ~Turn() {
    if (has_) turns_.release();
  }
  Turn(const Turn&) = delete;
  explicit operator bool() const { return has_; }

private:
  ListTurns& turns_;
  bool has_ = false;
};

} // namespace

Result<void> hear_once(kube::ClusterAccess access, const OwnWatch& watch, milliseconds patrol,
                       const std::stop_token& calls, const std::stop_token& stop) {
  kube::KubeClientOptions options;
  options.stop = calls;
  options.silence = k_silence;
  options.page = k_page;
  options.max_answer = k_largest_page;
  kube::KubeClient client(std::move(access), std::move(options));
  // One bad object never fails a list.
  const auto tell = [&watch](const std::function<void(const json&)>& whom, const json& object) {
    if (!object.is_object()) return;
    try {
      whom(object);
    } catch (const std::exception& error) {
      log::debug("clusters", "an object of {} is passed over: {}", watch.path, error.what());
    }
  };
  std::string version;
  {
    const Turn turn(watch.turns, calls);
    if (!turn) return {};
    ZOO_TRY(version,
            client.list(watch.path, watch.selectors, [&](const json& object) -> Result<void> {
              tell(watch.found, object);
              return {};
            }));
  }
  watch.listed();
  const auto end = Clock::now() + reconcile::jittered(patrol);
  while (!stop.stop_requested() && Clock::now() < end) {
    const auto begun = Clock::now();
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
      tell(type == "DELETED" ? watch.gone : watch.found, object);
      return true;
    });
    if (!heard && heard.error().code() == Code::expired) return {};
    if (!heard) return fail(heard.error());
    if (Clock::now() - begun < k_short) rest(stop, k_short);
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
    const auto lasted = Clock::now() - began;
    if (over && lasted >= k_short) {
      pause = k_first_pause;
      continue;
    }
    if (!over) failed(over.error());
    if (lasted > k_longest_pause) pause = k_first_pause;
    rest(stop, pause);
    pause = std::min(pause * 2, k_longest_pause);
  }
}

} // namespace zoo::clusters::sync
