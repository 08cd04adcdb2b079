// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/cluster_nodes.hpp"

#include "common/base/text.hpp"
#include "common/kube/json_reads.hpp"
#include "daemon/clusters/egress_rules.hpp"
#include "daemon/net/address.hpp"
#include "daemon/translate/query.hpp"

#include <algorithm>
#include <utility>

namespace zoo::clusters {
namespace {

constexpr std::size_t k_nodes_a_page = 50;

/// One text for one address.
std::string plain(const std::string& address) {
  const auto ip = net::canonical_ip(address);
  return ip.empty() ? text::lower(address) : ip;
}

} // namespace

void ClusterNodes::find(const std::string& address, Done done, Read read) {
  auto wanted = plain(address);
  if (known_ && Clock::now() - read_at_ < k_kept) {
    if (const auto found = names_.find(wanted); found != names_.end()) return done(found->second);
  }
  if (waiting_.size() >= k_most_waiting)
    return done(fail(Code::unavailable, "too many ask for the cluster's Nodes at the same time"));
  waiting_.push_back({std::move(wanted), std::move(done), read == Read::later && begun_});
  if (!std::exchange(busy_, true)) begin();
}

void ClusterNodes::begin() {
  const auto now = Clock::now();
  spent_ = {};
  pages_ = 0;
  page_size_ = k_nodes_a_page;
  if (now >= not_before_) return read("");
  const auto rest = std::chrono::duration_cast<std::chrono::microseconds>(not_before_ - now);
  pause_.start(rest, [this] { read(""); });
}

void ClusterNodes::read(const std::string& next) {
  begun_ = true;
  page_at_ = next;
  auto target = fmt::format("/api/v1/nodes?limit={}", page_size_);
  if (!next.empty()) target += "&continue=" + translate::percent_encode(next, "");
  call_ = std::make_unique<upstream::BufferedCall>(
      api_, upstream::get_head(std::move(target), "application/json"), upstream::CallOptions{},
      k_page_bytes, [this](Result<upstream::Answer> answer) { page(std::move(answer)); });
}

void ClusterNodes::page(Result<upstream::Answer> answer) {
  if (!answer && answer.error().code() == Code::too_large && page_size_ > 1) {
    page_size_ /= 2; // one Node alone is below what etcd takes of an object
    return read(std::string(page_at_));
  }
  if (!answer) return finish(fail(answer.error()));
  if (!answer->ok())
    return finish(fail(Code::unavailable, "its API server answers {} when asked for its Nodes",
                       answer->head.status));
  const auto begun = Clock::now();
  const auto list = kube::parse_foreign(answer->body);
  if (!list.is_object())
    return finish(fail(Code::unavailable, "what its API server says of its Nodes is no list"));
  for (const auto& node : kube::list_at(list, "/items")) {
    const auto name = kube::text_at(node, "/metadata/name");
    for (const auto& each : kube::list_at(node, "/status/addresses")) {
      const auto address = kube::text_at(each, "/address");
      if (address.empty() || name.empty()) continue;
      // That of zood itself is known whatever else there is.
      auto known = plain(address);
      if (next_names_.size() < k_most || known == k_inside_name)
        next_names_.emplace(std::move(known), name);
    }
  }
  const auto next = kube::text_at(list, "/metadata/continue");
  const auto spent = Clock::now() - begun;
  spent_ += spent;
  if (!next.empty() && ++pages_ < k_most_pages) {
    const auto rest = std::chrono::duration_cast<std::chrono::microseconds>(rest_ * spent);
    return rest.count() == 0 ? read(next) : pause_.start(rest, [this, next] { read(next); });
  }
  finish({}, next.empty());
}

void ClusterNodes::finish(const Result<void>& read, bool whole) {
  call_.reset();
  busy_ = begun_ = false;
  not_before_ = Clock::now() + rest_ * spent_;
  auto names = std::exchange(next_names_, {});
  if (read) {
    names_ = std::move(names);
    read_at_ = Clock::now();
    known_ = true;
    whole_ = whole;
  }
  auto waiting = std::exchange(waiting_, {});
  const auto again = std::stable_partition(waiting.begin(), waiting.end(), [&](const auto& each) {
    return !read || !each.once_more || names_.contains(each.address);
  });
  for (auto each = again; each != waiting.end(); ++each)
    waiting_.push_back({std::move(each->address), std::move(each->done)});
  waiting.erase(again, waiting.end());
  if (!waiting_.empty()) {
    busy_ = true;
    begin();
  }
  for (auto& each : waiting) {
    const auto found = names_.find(each.address);
    if (!read) {
      each.done(fail(read.error()));
    } else if (found != names_.end()) {
      each.done(found->second);
    } else if (whole_) {
      each.done(std::string());
    } else {
      each.done(fail(Code::unavailable,
                     "the virtual cluster has more Nodes than zood reads: whether {} is one of "
                     "them is not known",
                     each.address));
    }
  }
}

} // namespace zoo::clusters
