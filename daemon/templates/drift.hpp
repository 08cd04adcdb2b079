// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/templates/deployer.hpp"
#include "daemon/translate/watch_event.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zoo::net {
class Loop;
}
namespace zoo::upstream {
class ChangeFollower;
class Upstream;
} // namespace zoo::upstream

namespace zoo::templates {

/// Kinds that are watched at most: docs/limits.md.
inline constexpr std::size_t k_most_kinds = 64;

/// Hears when somebody else changes what an instance has made: one watch of each kind that was
/// applied, of objects with k_instance_label in all namespaces. Destroyed when the loop has
/// stopped.
class Drift {
public:
  /// `drifted`: an object that carries the mark of an instance (mark_of() its name) is not as it
  /// was applied, or is gone. `missed`: what happened to objects of some kind meanwhile was not
  /// heard; these instances have some. Both on the loop; must not block.
  struct Hears {
    std::function<void(const std::string& name_space, const std::string& mark)> drifted;
    std::function<void(const std::set<std::pair<std::string, std::string>>& instances)> missed;
  };
  Drift(upstream::Upstream& upstream, net::Loop& loop, Hears hears);
  ~Drift();

  /// What was applied for an instance, all of it, is as it should be, and is listened for from here
  /// on. Any thread.
  void applied(const std::string& name_space, const std::string& mark,
               const std::vector<Applied>& objects);
  /// The instance's objects are nobody's matter any more. Any thread.
  void forget(const std::string& name_space, const std::string& mark);
  std::size_t kinds() const;
  std::size_t unheard() const; ///< kinds above k_most_kinds

private:
  void follow(const std::string& path);
  void began(const std::string& path);
  void heard(const std::string& path, const translate::ObjectKey& key, bool deleted,
             std::string_view object);
  void forget_locked(const std::string& instance, const std::string& mark);

  upstream::Upstream& upstream_;
  net::Loop& loop_;
  const Hears hears_;
  mutable std::mutex mutex_;
  struct Object {
    std::string digest, mark; ///< as it was applied, and for which instance
  };
  std::map<std::string, Object, std::less<>> objects_; ///< by "path of the kind namespace/name"
  std::map<std::string, std::vector<std::string>, std::less<>> of_instance_; ///< keys of objects_
  /// By the path of the kind; null until it is made on the loop.
  std::map<std::string, std::unique_ptr<upstream::ChangeFollower>, std::less<>> followers_;
  std::set<std::string, std::less<>> unheard_; ///< paths of kinds above k_most_kinds
};

} // namespace zoo::templates
