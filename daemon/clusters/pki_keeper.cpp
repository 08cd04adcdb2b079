// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/pki_keeper.hpp"

#include <algorithm>

namespace zoo::clusters {
namespace {

constexpr std::chrono::seconds k_good{
    10}; ///< a cluster that comes up is looked at ten times as often

PkiKeeper::Change change_of(const std::vector<std::string>& written) {
  PkiKeeper::Change out;
  for (const auto& each : written) {
    out.own = out.own || each == "zood" || each == "ca";
    out.administrator = out.administrator || each == "ca" || each.starts_with("admin-");
  }
  return out;
}

} // namespace

Result<void> PkiKeeper::keep(const std::string& id, const Wish& wish, How how) {
  std::vector<std::string> written;
  auto done = write(id, wish, how, written);
  const auto change = change_of(written);
  if (done || change.own || change.administrator) told_(id, change);
  return done;
}

Result<void> PkiKeeper::write(const std::string& id, const Wish& wish, How how,
                              std::vector<std::string>& written) {
  const std::scoped_lock lock(mutex_);
  ZOO_TRY(const auto wanted, wish());
  const auto now = std::chrono::steady_clock::now();
  const auto seen = seen_.find(id);
  if (how == How::due && seen != seen_.end() && seen->second.wish == wanted &&
      now - seen->second.when <= k_good)
    return {};
  if (seen != seen_.end()) seen_.erase(seen);
  const auto directory = directory_of_(id);
  if (how == How::leaves) ZOO_TRY_VOID(drop_leaves(directory, wanted));
  ZOO_TRY_VOID(ensure_pki(directory, wanted, std::chrono::system_clock::now(), written));
  seen_.emplace(id, Seen{wanted, now});
  return {};
}

void PkiKeeper::forget(const std::string& id) {
  const std::scoped_lock lock(mutex_);
  seen_.erase(id);
}

} // namespace zoo::clusters
