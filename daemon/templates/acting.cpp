// SPDX-License-Identifier: Apache-2.0
#include "daemon/templates/acting.hpp"

namespace zoo::templates {

Acting::Lease::~Lease() {
  const std::lock_guard lock(from_.mutex_);
  from_.idle_.push_back(std::move(api_));
}

Acting::Lease Acting::take(const std::string& group) {
  std::unique_ptr<upstream::ActingApi> api;
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      api = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (!api) api = connect_();
  api->act_as(k_user, group);
  return {*this, std::move(api)};
}

} // namespace zoo::templates
