// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"

#include <nlohmann/json_fwd.hpp>

#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace zoo::templates {

/// Where the objects of a kind are.
struct KindPath {
  std::string api_version, resource;
  bool namespaced = false;
  std::string collection() const; ///< in all namespaces
  std::string collection(std::string_view name_space) const;
  std::string object(std::string_view name_space, std::string_view name) const;
};

/// Which kinds a cluster serves, read from its discovery when they are asked for and kept. Any
/// thread.
class Kinds {
public:
  using Clock = std::chrono::steady_clock;
  /// Reads what is at a path; an answer of 404 is Code::not_found.
  using Get = std::function<Result<nlohmann::json>(const std::string& path)>;
  /// Code::not_found: the cluster serves no such kind (it is asked again after k_again), or serves
  /// it without PATCH. Blocks as long as `get` does.
  Result<KindPath> find(const Get& get, const std::string& api_version, const std::string& kind);

private:
  struct Group {
    Clock::time_point read;
    std::map<std::string, KindPath, std::less<>> kinds;
  };
  std::mutex mutex_;
  std::map<std::string, Group, std::less<>> groups_;
};

} // namespace zoo::templates
