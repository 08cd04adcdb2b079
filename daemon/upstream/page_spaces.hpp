// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace zoo::upstream {

/// For the pages behind the first one of a list that is read namespace by namespace: which
/// namespaces there were at its resourceVersion. It cannot be asked for again, for the kind's
/// version need not be one of namespaces (docs/decisions/138-namespace-by-namespace.md). Owned by
/// its Upstream; any thread.
class PageSpaces {
public:
  /// In key order, each with a slash.
  using Spaces = std::shared_ptr<const std::vector<std::string>>;

  /// Null: nobody began `list`, or so many have since that it is forgotten.
  Spaces find(const std::string& list) const;
  void keep(const std::string& list, Spaces spaces);

private:
  static constexpr std::size_t k_lists = 256;
  mutable std::mutex mutex_;
  std::deque<std::pair<std::string, Spaces>> lists_; ///< the one that was kept last stands last
};

} // namespace zoo::upstream
