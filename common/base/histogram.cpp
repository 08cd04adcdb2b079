// SPDX-License-Identifier: Apache-2.0
#include "common/base/histogram.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

namespace zoo {

void Histogram::add(std::chrono::microseconds took) {
  const auto each = took.count();
  const auto end = std::lower_bound(k_ends.begin(), k_ends.end(), each);
  buckets_[static_cast<std::size_t>(end - k_ends.begin())].fetch_add(1, std::memory_order_relaxed);
  micros_.fetch_add(static_cast<std::uint64_t>(std::max<std::int64_t>(each, 0)),
                    std::memory_order_relaxed);
}

void Histogram::write(MetricText& out, MetricText::Labels labels) const {
  std::array<double, k_ends.size() + 1> below{};
  double all = 0;
  for (std::size_t i = 0; i < buckets_.size(); ++i)
    below[i] = all += static_cast<double>(buckets_[i].load(std::memory_order_relaxed));
  if (all == 0) return;
  std::vector<MetricText::Label> with_end(labels.begin(), labels.end());
  with_end.emplace_back("le", std::string_view());
  for (std::size_t i = 0; i < below.size(); ++i) {
    const auto end = i < k_ends.size() ? fmt::to_string(static_cast<double>(k_ends[i]) / 1e6)
                                       : std::string("+Inf");
    with_end.back().second = end;
    out.sample(below[i], with_end, "_bucket");
  }
  out.sample(static_cast<double>(micros_.load(std::memory_order_relaxed)) / 1e6, labels, "_sum");
  out.sample(all, labels, "_count");
}

} // namespace zoo
