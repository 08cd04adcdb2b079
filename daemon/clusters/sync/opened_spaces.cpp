// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/sync/opened_spaces.hpp"

namespace zoo::clusters::sync {

bool OpenedSpaces::is_open(const std::string& space) const {
  const std::scoped_lock lock(mutex_);
  return open_.contains(space);
}

bool OpenedSpaces::counted() const {
  const std::scoped_lock lock(mutex_);
  return there_.has_value();
}

/// Those that came while upstream was read are perhaps not among what it said.
void OpenedSpaces::count(std::set<std::string> there) {
  const std::scoped_lock lock(mutex_);
  there.insert(open_.begin(), open_.end());
  for (const auto& [space, fresh] : begun_)
    there.insert(space);
  there_ = std::move(there);
}

bool OpenedSpaces::begin(const std::string& space) {
  const std::scoped_lock lock(mutex_);
  if (!there_ || (!there_->contains(space) && there_->size() >= k_most)) return false;
  begun_.emplace(space, there_->insert(space).second);
  return true;
}

void OpenedSpaces::end(const std::string& space, bool ready) {
  const std::scoped_lock lock(mutex_);
  const auto begun = begun_.extract(space); // empty: another worker was through with it before
  if (ready) open_.insert(space);
  if (!ready && begun && begun.mapped() && there_ && !open_.contains(space)) there_->erase(space);
}

void OpenedSpaces::lose(const std::string& space) {
  const std::scoped_lock lock(mutex_);
  open_.erase(space);
}

void OpenedSpaces::remove(const std::string& space) {
  const std::scoped_lock lock(mutex_);
  open_.erase(space);
  if (there_) there_->erase(space);
}

void OpenedSpaces::lose_all() {
  const std::scoped_lock lock(mutex_);
  open_.clear();
}

} // namespace zoo::clusters::sync
