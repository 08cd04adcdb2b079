// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/upstream/control_api.hpp"

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace zoo::templates {

/// The user that objects of templates are made as. What he may do in a namespace is given to the
/// group of one instance, by a RoleBinding there.
inline constexpr const char* k_user = "zoo:templates";

/// Connections to the upstream as k_user, lent to one thread at a time and used again. There are as
/// many as threads that had one at the same time. Any thread.
class Acting {
public:
  using Connect = std::function<std::unique_ptr<upstream::ActingApi>()>;
  explicit Acting(Connect connect) : connect_(std::move(connect)) {}

  /// A connection for as long as this lives, as a member of one group.
  class Lease {
  public:
    Lease(Acting& from, std::unique_ptr<upstream::ActingApi> api)
        : from_(from), api_(std::move(api)) {}
    Lease(const Lease&) = delete;
    ~Lease();
    upstream::ControlApi& operator*() const { return *api_; }

  private:
    Acting& from_;
    std::unique_ptr<upstream::ActingApi> api_;
  };
  /// `tenant`: not empty: as the user of that tenant, and a member of the tenants' group, too.
  Lease take(const std::string& group, const std::string& tenant = {});

private:
  Connect connect_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<upstream::ActingApi>> idle_;
};

} // namespace zoo::templates
