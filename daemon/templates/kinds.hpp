// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"

#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace zoo::upstream {
class ControlApi;
}

namespace zoo::templates {

/// Where the objects of a kind are.
struct KindPath {
  std::string api_version, resource;
  bool namespaced = false;
  std::string collection() const; ///< in all namespaces
  std::string collection(std::string_view name_space) const;
  std::string object(std::string_view name_space, std::string_view name) const;
};

/// Which kinds upstream serves, read from its discovery when they are asked for and kept. Any
/// thread.
class Kinds {
public:
  using Clock = std::chrono::steady_clock;
  /// Code::not_found: upstream serves no such kind (it is asked again after k_again), or serves it
  /// without PATCH. Blocks.
  Result<KindPath> find(upstream::ControlApi& api, const std::string& api_version,
                        const std::string& kind);

private:
  struct Group {
    Clock::time_point read;
    std::map<std::string, KindPath, std::less<>> kinds;
  };
  std::mutex mutex_;
  std::map<std::string, Group, std::less<>> groups_;
};

} // namespace zoo::templates
