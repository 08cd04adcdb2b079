// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/cluster_nodes.hpp"

#include "common/base/text.hpp"
#include "common/kube/json_reads.hpp"
#include "daemon/net/address.hpp"
#include "daemon/translate/query.hpp"

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

void ClusterNodes::find(const std::string& address, Done done) {
  auto wanted = plain(address);
  if (known_ && Clock::now() - read_at_ < k_kept) {
    if (const auto found = names_.find(wanted); found != names_.end()) return done(found->second);
  }
  waiting_.push_back({std::move(wanted), std::move(done)});
  if (!std::exchange(busy_, true)) begin();
}

void ClusterNodes::begin() {
  const auto now = Clock::now();
  spent_ = {};
  pages_ = 0;
  if (now >= not_before_) return read("");
  const auto rest = std::chrono::duration_cast<std::chrono::microseconds>(not_before_ - now);
  pause_.start(rest, [this] { read(""); });
}

void ClusterNodes::read(const std::string& next) {
  auto target = fmt::format("/api/v1/nodes?limit={}", k_nodes_a_page);
  if (!next.empty()) target += "&continue=" + translate::percent_encode(next, "");
  call_ = std::make_unique<upstream::BufferedCall>(
      api_, upstream::get_head(std::move(target), "application/json"), upstream::CallOptions{},
      k_page_bytes, [this](Result<upstream::Answer> answer) { page(std::move(answer)); });
}

void ClusterNodes::page(Result<upstream::Answer> answer) {
  if (!answer) return finish(fail(answer.error()));
  if (!answer->ok())
    return finish(fail(Code::unavailable, "its API server answers {} when asked for its Nodes",
                       answer->head.status));
  const auto begun = Clock::now();
  const auto list = kube::parse_foreign(answer->body);
  for (const auto& node : kube::list_at(list, "/items")) {
    const auto name = kube::text_at(node, "/metadata/name");
    for (const auto& each : kube::list_at(node, "/status/addresses")) {
      const auto address = kube::text_at(each, "/address");
      if (!address.empty() && !name.empty() && next_names_.size() < k_most)
        next_names_.emplace(plain(address), name);
    }
  }
  const auto next = kube::text_at(list, "/metadata/continue");
  const auto spent = Clock::now() - begun;
  spent_ += spent;
  if (!next.empty() && next_names_.size() < k_most && ++pages_ < k_most_pages) {
    const auto rest = std::chrono::duration_cast<std::chrono::microseconds>(rest_ * spent);
    return rest.count() == 0 ? read(next) : pause_.start(rest, [this, next] { read(next); });
  }
  finish({});
}

void ClusterNodes::finish(const Result<void>& read) {
  call_.reset();
  busy_ = false;
  not_before_ = Clock::now() + rest_ * spent_;
  auto names = std::exchange(next_names_, {});
  if (read) {
    names_ = std::move(names);
    read_at_ = Clock::now();
    known_ = true;
  }
  for (auto& each : std::exchange(waiting_, {})) {
    if (!read) {
      each.done(fail(read.error()));
      continue;
    }
    const auto found = names_.find(each.address);
    each.done(found == names_.end() ? std::string() : found->second);
  }
}

} // namespace zoo::clusters
