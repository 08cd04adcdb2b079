// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/relay/limits.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <unordered_map>

namespace zoo::relay {

/// Counts the calls in progress and the bytes of their reviews, of each tenant and of all, so that
/// one tenant's webhooks that hang leave room for another's. On one loop; outlives its Place.
class Places {
public:
  explicit Places(const Limits& limits) : limits_(limits) {}

  /// A call's, until it goes.
  class Place {
  public:
    Place(Places& from, std::string id) : from_(from), id_(std::move(id)) {}
    ~Place() { from_.give_back(id_, bytes_); }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    /// So many bytes more. Code::too_many_requests, Code::unavailable (all tenants together).
    Result<void> hold(std::size_t bytes);

  private:
    Places& from_;
    const std::string id_;
    std::size_t bytes_ = 0;
  };
  /// Code::too_many_requests for a tenant that has its share; Code::unavailable.
  Result<std::unique_ptr<Place>> take(const std::string& id);
  std::size_t calls() const { return all_.calls; }

private:
  struct Share {
    std::size_t calls = 0, bytes = 0;
  };
  void give_back(const std::string& id, std::size_t bytes);

  const Limits& limits_;
  Share all_;
  std::unordered_map<std::string, Share> of_; ///< tenants that have calls in progress
};

} // namespace zoo::relay
