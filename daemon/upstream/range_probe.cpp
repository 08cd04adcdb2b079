// SPDX-License-Identifier: Apache-2.0
#include "daemon/upstream/range_probe.hpp"

#include "common/base/log.hpp"
#include "daemon/translate/continue.hpp"
#include "daemon/translate/discovery_json.hpp"
#include "daemon/translate/headers.hpp"
#include "daemon/translate/query.hpp"

#include <algorithm>

namespace zoo::upstream {
namespace {

constexpr std::size_t k_max_page = 1u << 20; ///< bytes of the page, or of the refusal
constexpr std::chrono::milliseconds k_longest_probe_pause{10'000};

} // namespace

bool is_range_page(std::string_view body) {
  const auto tree = translate::JsonTree::parse(body);
  if (!tree) return false;
  const auto items = tree->root()["items"].children();
  const auto metadata = tree->root()["metadata"];
  const auto version = metadata["resourceVersion"].string();
  return items.size() == 1 && items.front()["metadata"]["name"].string() == "kube-public" &&
         !version.empty() && version != "0" && !metadata["continue"].string().empty();
}

RangeProbe::RangeProbe(net::Loop& loop, Caller& caller, std::atomic<bool>& works)
    : loop_(loop), caller_(caller), works_(works), timer_(loop) {}

void RangeProbe::start() {
  loop_.post([this] { ask(); });
}

void RangeProbe::ask() {
  translate::Params params{{"limit", "1"}, {"continue", translate::range_start_token("kube-p")}};
  auto head = get_head("/api/v1/namespaces?" + translate::serialize_query(params),
                       translate::k_partial_list_accept);
  retired_ = std::move(call_);
  call_ = std::make_unique<BufferedCall>(
      caller_, std::move(head), CallOptions{}, k_max_page, [this](Result<Answer> answer) {
        const int status = answer ? answer->head.status : 0;
        const bool refused = status == 400 || status == 410 || status == 422;
        if (status != 200 && !refused) return again();
        works_ = !refused && is_range_page(answer->body);
        if (works_) return log::debug("upstream", "lists begin at a tenant's first key");
        log::warning("upstream",
                     "the upstream does not begin lists at a tenant's first key (it answered {}): "
                     "tenant-wide lists ask each namespace, which costs more",
                     status);
      });
}

void RangeProbe::again() {
  timer_.start(pause_, [this] { ask(); });
  pause_ = std::min(pause_ * 2, k_longest_probe_pause);
}

} // namespace zoo::upstream
