// SPDX-License-Identifier: Apache-2.0
#include "daemon/resources/last_applied.hpp"

#include "common/kube/json_reads.hpp"

#include <algorithm>
#include <cstddef>

namespace zoo::resources {
namespace {

using nlohmann::json;

constexpr const char* k_last_applied = "kubectl.kubernetes.io/last-applied-configuration";
constexpr std::size_t k_deepest = 200; ///< levels of objects and lists

} // namespace

void scrub_last_applied(json& annotations, const std::function<Scrubbed(json& applied)>& scrub) {
  if (!annotations.is_object()) return;
  const auto at = annotations.find(k_last_applied);
  if (at == annotations.end() || !at->is_string()) return;
  const auto& words = at->get_ref<const std::string&>();
  std::size_t depth = 0, deepest = 0;
  for (const char c : words) {
    if (c == '{' || c == '[') deepest = std::max(deepest, ++depth);
    if ((c == '}' || c == ']') && depth > 0) --depth;
  }
  auto applied =
      deepest > k_deepest ? json(json::value_t::discarded) : json::parse(words, nullptr, false);
  switch (applied.is_discarded() ? Scrubbed::lost : scrub(applied)) {
  case Scrubbed::no:
    break;
  case Scrubbed::yes:
    *at = kube::text_of(applied) + "\n";
    break;
  case Scrubbed::lost:
    annotations.erase(at);
    break;
  }
}

} // namespace zoo::resources
