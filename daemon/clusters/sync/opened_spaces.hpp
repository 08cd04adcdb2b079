// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>

namespace zoo::clusters::sync {

/// Which namespaces one cluster has upstream, by their names in the cluster, and which of these
/// were made ready for what is to be put there. Any thread.
class OpenedSpaces {
public:
  static constexpr std::size_t k_most = 1'000; ///< upstream; docs/limits.md

  bool is_open(const std::string& space) const;
  /// Were those that upstream has counted since the cluster is followed?
  bool counted() const;
  /// A look at all has found these.
  void count(std::set<std::string> there);
  /// One is to be made ready; end() is called next, whatever becomes of it. False: it would be one
  /// too many. Only once they are counted().
  bool begin(const std::string& space);
  /// `ready`: it is as it has to be. Else one that was not there is counted no more.
  void end(const std::string& space, bool ready);
  void lose(const std::string& space);   ///< it is not as it was: it is made ready once more
  void remove(const std::string& space); ///< it goes upstream
  void lose_all();

private:
  mutable std::mutex mutex_;
  std::set<std::string> open_;                 ///< made ready, or found in order
  std::map<std::string, bool> begun_;          ///< are being made ready; true: were not there
  std::optional<std::set<std::string>> there_; ///< all that upstream has; none: not known
};

} // namespace zoo::clusters::sync
