// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/clusters/pki.hpp"

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace zoo::clusters {

/// Writes the files of clusters' certificates (pki.hpp), and tells whoever uses them each time that
/// some were written. It does so also where a later step failed: the next attempt finds these files
/// in order, writes none of them, and would tell nobody. Any thread: one writes at a time.
class PkiKeeper {
public:
  struct Change {
    bool own = false;           ///< zood's certificate, or the authority: connections use them
    bool administrator = false; ///< what spec.kubeconfig holds
  };
  using Told = std::function<void(const std::string& id, Change)>;
  /// What the files are to be, asked while nobody else writes any: of a record as it is then.
  using Wish = std::function<Result<PkiWish>()>;
  enum class How {
    due,   ///< what was seen to be good is looked at every ten seconds
    now,   ///< it is looked at
    leaves ///< all but authorities are made anew
  };

  /// `directory_of` a cluster's ID. `told` is called by the thread that wrote, while others may
  /// write: of a change, and of each keep() that went well.
  PkiKeeper(std::function<std::filesystem::path(const std::string& id)> directory_of, Told told)
      : directory_of_(std::move(directory_of)), told_(std::move(told)) {}

  /// Code::io, or what `wish` says.
  Result<void> keep(const std::string& id, const Wish& wish, How how);
  void forget(const std::string& id); ///< the cluster is gone

private:
  Result<void> write(const std::string& id, const Wish& wish, How how,
                     std::vector<std::string>& written);

  struct Seen {
    PkiWish wish;
    std::chrono::steady_clock::time_point when;
  };
  const std::function<std::filesystem::path(const std::string& id)> directory_of_;
  const Told told_;
  std::mutex mutex_;
  std::map<std::string, Seen> seen_; ///< by ID: what was good then
};

} // namespace zoo::clusters
