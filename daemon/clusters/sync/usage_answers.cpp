// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/sync/usage_answers.hpp"

#include "common/base/log.hpp"
#include "common/kube/client.hpp"
#include "daemon/clusters/look_pace.hpp"
#include "daemon/tenants/footprint.hpp"

#include <algorithm>
#include <ctime>
#include <utility>

namespace zoo::clusters::sync {
namespace {

constexpr const char* k_node_list = "/api/v1/nodes";
constexpr const char* k_node_metadata =
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
/// Nodes in an answer, and bytes of their labels all together; further ones are left out
/// (docs/limits.md).
constexpr std::size_t k_most_nodes = 20'000;
constexpr std::size_t k_most_labels = std::size_t{4} << 20;

/// Of a question to the cluster's API server: its own words only where it has answered.
Error node_error(const Error& error, const std::string& name) {
  if (error.code() == Code::not_found)
    return {Code::not_found, fmt::format("nodemetrics.metrics.k8s.io \"{}\" not found", name)};
  if (error.code() == Code::bad_request) return error;
  return {Code::unavailable, "the API server of the cluster does not say which Nodes it has"};
}

} // namespace

UsageAnswers::~UsageAnswers() {
  for (const auto& each : waiting_)
    each.done(fail(Code::unavailable, "nothing of this virtual cluster is kept upstream any more"));
}

bool UsageAnswers::ask(UsageRequest request, Done done) {
  Clock::duration rest{};
  {
    const std::scoped_lock lock(mutex_);
    if (waiting_.size() >= k_most) return false;
    waiting_.push_back({std::move(request), std::move(done)});
    rest = std::max(Clock::duration::zero(), free_at_ - Clock::now());
  }
  room_.queue.add(room_.id, "q/", Lane::then, rest);
  return true;
}

WorkNext UsageAnswers::work() {
  const auto after = [](Clock::duration time) {
    return WorkNext{std::chrono::ceil<std::chrono::milliseconds>(time)};
  };
  std::optional<Question> question;
  {
    const std::scoped_lock lock(mutex_);
    if (!waiting_.empty()) {
      // One that came while the last one was answered has woken this at once.
      if (const auto rest = free_at_ - Clock::now(); rest > Clock::duration::zero())
        return after(rest);
      question = std::move(waiting_.front());
      waiting_.pop_front();
    }
  }
  if (!question) { // it is time to forget what upstream has said
    if (const auto left = known_until_ - Clock::now(); left > Clock::duration::zero())
      return after(left);
    known_.reset();
    return {};
  }
  const auto before = thread_time();
  question->done(answer(question->request));
  const auto rest = k_rest * (thread_time() - before);
  const std::scoped_lock lock(mutex_);
  free_at_ = Clock::now() + rest;
  return after(waiting_.empty() ? std::max<Clock::duration>(rest, k_kept) : rest);
}

Result<std::string> UsageAnswers::answer(const UsageRequest& request) {
  std::vector<NodeLabels> nodes;
  if (request.of_nodes()) {
    ZOO_TRY(nodes, this->nodes(request));
  }
  const auto& used = usage();
  if (!used) return fail(used.error());
  if (request.of_nodes()) return nodes_usage(request, nodes, *used, std::time(nullptr));
  return pods_usage(request, *used);
}

Result<std::vector<NodeLabels>> UsageAnswers::nodes(const UsageRequest& request) {
  const auto lease = room_.own.take();
  std::vector<NodeLabels> out;
  if (request.what == UsageRequest::What::node) {
    const auto node = (*lease).get(k_node_list + kube::path({request.name}), k_node_metadata);
    if (!node) return fail(node_error(node.error(), request.name));
    out.push_back(node_labels(*node));
    return out;
  }
  kube::Query selectors;
  if (!request.label_selector.empty())
    selectors.emplace_back("labelSelector", request.label_selector);
  if (!request.field_selector.empty())
    selectors.emplace_back("fieldSelector", request.field_selector);
  std::size_t bytes = 0;
  const auto read = tenants::range_objects(*lease, k_node_list, {}, 0, k_most_nodes, true,
                                           selectors, [&](const nlohmann::json& node) {
                                             out.push_back(node_labels(node));
                                             bytes += out.back().labels.size();
                                             if (bytes > k_most_labels) out.back().labels = "{}";
                                           });
  if (!read) return fail(node_error(read.error(), {}));
  return out;
}

const Result<std::vector<PodUsage>>& UsageAnswers::usage() {
  if (!known_ || Clock::now() >= known_until_) {
    known_.reset(); // both at once would be twice the memory
    known_ = read();
    known_until_ = Clock::now() + k_kept;
    if (!*known_) log::debug("clusters", "{}: usage of pods: {}", room_.id, known_->error().text());
  }
  return *known_;
}

/// As zood, since pods of all namespaces are listed at once, which the cluster's user may not. What
/// is asked for are pods with the cluster's mark; those in its namespaces are believed.
Result<std::vector<PodUsage>> UsageAnswers::read() {
  const auto lease = room_.upstream.take();
  const auto path = kube::with_query(fmt::format("{}/pods", k_usage_api),
                                     {{"labelSelector", usage_selector(room_.id)}});
  const auto said = (*lease).request("GET", path, {}, {}, "application/json");
  if (!said) {
    log::debug("clusters", "{}: usage of pods: {}", room_.id, said.error().text());
    return fail(Code::unavailable, "the upstream does not say what pods use");
  }
  if (said->status == 200 && said->body.size() > k_answer_bytes)
    return fail(Code::unavailable, "the upstream's answer about the usage of pods is too large");
  if (said->status != 200)
    return fail(Code::unavailable, "the upstream's metrics API answers {}", said->status);
  return read_usage(room_.id, said->body,
                    [this](const std::string& pod) { return table_.place(pod); });
}

} // namespace zoo::clusters::sync
