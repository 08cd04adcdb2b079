// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <string_view>

namespace zoo::translate {

/// Keys of one map, to see one that comes twice. Few are compared one by one, as most maps have
/// few.
class KeySet {
public:
  /// False if it is there already. `lasting`: the view is good as long as this is.
  bool add(std::string_view key, bool lasting) {
    if (!many_.empty()) return many_.emplace(key).second;
    if (std::find(few_.begin(), few_.begin() + count_, key) != few_.begin() + count_) return false;
    if (lasting && count_ < static_cast<std::ptrdiff_t>(few_.size())) {
      few_[static_cast<std::size_t>(count_++)] = key;
      return true;
    }
    many_.insert(few_.begin(), few_.begin() + count_);
    return many_.emplace(key).second;
  }

private:
  std::array<std::string_view, 16> few_;
  std::ptrdiff_t count_ = 0;
  std::set<std::string, std::less<>> many_; ///< all of them, once they are more or must be copied
};

} // namespace zoo::translate
