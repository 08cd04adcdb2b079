// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace zoo::authz {

/// How many bytes of roles and bindings each namespace may have kept: who may make them in one
/// namespace shall not take the room of all others. Pure; no thread safety.
class NamespaceBudget {
public:
  explicit NamespaceBudget(std::size_t most) : most_(most) {}

  /// An object of a namespace has come. True: there is room, and it counts. False: it is left out,
  /// and is counted as that. "" is no namespace and has no budget: always true.
  bool take(const std::string& name_space, std::size_t bytes);
  /// An object that take() was told of goes; `kept` is what it answered.
  void give_back(const std::string& name_space, std::size_t bytes, bool kept);

  /// Namespaces of which something is left out.
  struct Crowded {
    std::size_t count = 0;
    std::vector<std::string> some; ///< ten of them at most, sorted
  };
  Crowded crowded() const;
  /// Has a namespace of which something is left out a quarter of its budget to spare, and has it
  /// got room since the last looks_again()?
  bool may_have_room() const;
  /// What was left out is read again.
  void looks_again();
  std::size_t most() const { return most_; }

private:
  struct Use {
    std::size_t bytes = 0, left_out = 0;
    bool freed = false; ///< something went since looks_again()
  };
  const std::size_t most_;
  std::unordered_map<std::string, Use> uses_;
  std::set<std::string> crowded_; ///< with left_out != 0
};

} // namespace zoo::authz
