// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/cluster_usage.hpp"

#include "daemon/translate/query.hpp"

#include <utility>

namespace zoo::clusters {

ClusterUsage::ClusterUsage(net::Loop& loop, std::string id, std::function<upstream::Caller&()> api,
                           FindPlace place, int rest)
    : id_(std::move(id)), api_(std::move(api)), place_(std::move(place)), rest_(rest),
      forget_(loop), pause_(loop) {}

std::shared_ptr<void> ClusterUsage::read(Done done) {
  auto out = std::make_shared<Done>(std::move(done));
  waiting_.push_back(out);
  if (!busy_) go();
  return out;
}

void ClusterUsage::go() {
  busy_ = false;
  for (;;) {
    while (!waiting_.empty() && waiting_.front().expired())
      waiting_.pop_front();
    if (waiting_.empty()) return;
    const auto begun = Clock::now();
    if (begun < free_at_) {
      busy_ = true;
      return pause_.start(std::chrono::duration_cast<std::chrono::microseconds>(free_at_ - begun),
                          [this] { go(); });
    }
    if (known_ == nullptr) return ask();
    const auto done = waiting_.front().lock();
    waiting_.pop_front();
    (*done)(known_);
    spent(begun);
  }
}

void ClusterUsage::spent(Clock::time_point since) {
  const auto now = Clock::now();
  free_at_ = now + rest_ * (now - since);
}

void ClusterUsage::ask() {
  auto head = upstream::get_head(fmt::format("{}/pods?labelSelector={}", k_usage_api,
                                             translate::percent_encode(usage_selector(id_), "")),
                                 "application/json");
  busy_ = true;
  call_ = std::make_unique<upstream::BufferedCall>(
      api_(), std::move(head), upstream::CallOptions{}, k_answer_bytes,
      [this](Result<upstream::Answer> answer) { answered(std::move(answer)); });
}

void ClusterUsage::answered(Result<upstream::Answer> answer) {
  const auto begun = Clock::now();
  auto usage = [&]() -> Result<std::vector<PodUsage>> {
    if (!answer)
      return fail(Code::unavailable, "the upstream does not say what pods use: {}",
                  answer.error().message());
    if (!answer->ok())
      return fail(Code::unavailable, "the upstream's metrics API answers {}", answer->head.status);
    return read_usage(id_, answer->body, place_);
  }();
  call_.reset();
  spent(begun);
  if (usage) {
    known_ = std::make_shared<const std::vector<PodUsage>>(*std::move(usage));
    // Behind the rest there is time for somebody to be told.
    const auto kept = k_kept + 2 * (free_at_ - Clock::now());
    forget_.start(std::chrono::duration_cast<std::chrono::microseconds>(kept),
                  [this] { known_.reset(); });
    return go();
  }
  busy_ = false;
  for (const auto& each : std::exchange(waiting_, {}))
    if (const auto done = each.lock()) (*done)(fail(usage.error()));
}

} // namespace zoo::clusters
