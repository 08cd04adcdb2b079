// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/ordered_chunks.hpp"

#include <memory>
#include <string_view>

namespace zoo::accounts {

struct NameOfPointer {
  template <typename Pointer>
  std::string_view operator()(const Pointer& value) const {
    return value->name;
  }
};

/// Values in the order of their names, each of which has a member `name`. Values are immutable.
template <typename Value>
class OrderedTable : public OrderedChunks<std::shared_ptr<const Value>, NameOfPointer> {
public:
  using Pointer = std::shared_ptr<const Value>;

  /// Null: there is none.
  Pointer find(std::string_view name) const {
    const auto* found = OrderedChunks<Pointer, NameOfPointer>::find(name);
    return found == nullptr ? nullptr : *found;
  }
};

} // namespace zoo::accounts
