// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/upstream_pods.hpp"

#include "common/kube/json_reads.hpp"
#include "daemon/clusters/egress.hpp"
#include "daemon/translate/query.hpp"

#include <utility>

namespace zoo::clusters {
namespace {

/// Pods that have ended keep the address that they had, and those with their host's network have
/// that one's.
constexpr const char* k_selector =
    ",status.phase!=Succeeded,status.phase!=Failed,spec.hostNetwork=false";

} // namespace

std::shared_ptr<void> UpstreamPods::find(const std::string& address, Done done) {
  const auto found = known_.find(address);
  const auto kept = found != known_.end() && found->second.is_pod ? k_kept : k_none_kept;
  if (found != known_.end() && Clock::now() - found->second.read_at < kept) {
    done(found->second.is_pod);
    return nullptr;
  }
  tidy();
  const auto out = std::make_shared<Done>(std::move(done));
  waiting_.push_back({address, out});
  if (call_ == nullptr) next();
  return out;
}

void UpstreamPods::tidy() {
  if (waiting_.size() < 2 * k_egress_connections) return;
  std::erase_if(waiting_, [](const Waiting& each) { return each.done.expired(); });
}

void UpstreamPods::next() {
  while (!waiting_.empty() && waiting_.front().done.expired())
    waiting_.pop_front();
  if (waiting_.empty()) return;
  const auto address = waiting_.front().address;
  auto head =
      upstream::get_head("/api/v1/pods?limit=1&fieldSelector=" +
                             translate::percent_encode("status.podIP=" + address + k_selector, ""),
                         "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1");
  call_ = std::make_unique<upstream::BufferedCall>(
      api_(), std::move(head), upstream::CallOptions{}, k_answer_bytes,
      [this, address](Result<upstream::Answer> answer) { answered(address, std::move(answer)); });
}

void UpstreamPods::answered(const std::string& address, Result<upstream::Answer> answer) {
  Result<bool> is_pod =
      fail(Code::unavailable, "the upstream does not say whose address {} is", address);
  if (answer && answer->ok()) {
    const auto list = nlohmann::json::parse(answer->body, nullptr, false);
    if (list.is_object()) is_pod = !kube::list_at(list, "/items").empty();
  }
  if (is_pod) {
    const auto now = Clock::now();
    if (known_.size() >= k_most)
      std::erase_if(known_, [&](const auto& each) { return now - each.second.read_at >= k_kept; });
    if (known_.size() < k_most) known_[address] = {*is_pod, now};
  }
  call_.reset();
  // All that ask for this address; who is told may ask again.
  std::vector<std::shared_ptr<Done>> told;
  std::erase_if(waiting_, [&](const Waiting& each) {
    if (each.address != address) return false;
    if (auto done = each.done.lock()) told.push_back(std::move(done));
    return true;
  });
  next();
  for (const auto& each : told) {
    const auto done = *each;
    done(is_pod);
  }
}

} // namespace zoo::clusters
