// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/authz/objects.hpp"

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace zoo::authz {

/// Is this a group that every user has, `system:authenticated` or `system:unauthenticated`?
bool is_everybody(const Subject& subject);

/// Namespaces in which a RoleBinding names everybody. Each change there changes what every user
/// may see, and whoever may write RoleBindings in one namespace can make such changes as often as
/// he likes: that would end everybody's watches over all namespaces each time. So a namespace that
/// does it too often is *restless*: everybody is taken out of its bindings, as Rights know them,
/// until nothing has changed for a while. All other subjects keep what they have. Pure, time comes
/// from the caller; no thread safety. It keeps the bindings that name everybody, which count in the
/// limit of whoever feeds it.
class OpenNamespaces {
public:
  using Clock = std::chrono::steady_clock;
  using BindingPtr = std::shared_ptr<const Binding>;

  /// So many changes are taken as they come, in one such span; from the next one on the namespace
  /// is restless, until there was none for as long.
  static constexpr unsigned k_most_changes = 6;
  static constexpr std::chrono::seconds k_span{60};

  /// A RoleBinding has come or is another one: as Rights are to know it.
  BindingPtr put(BindingPtr binding);
  /// It is gone. True: it named everybody.
  bool remove(const std::string& name_space, std::string_view name);
  /// Does this binding name everybody? Does any there?
  bool has(const std::string& name_space, std::string_view name) const;
  bool open(const std::string& name_space) const;

  /// What everybody may in this namespace has changed. Bindings that Rights are to know otherwise
  /// from now on: it has become restless.
  std::vector<BindingPtr> changed(const std::string& name_space, Clock::time_point now);
  /// The same for namespaces that have come to rest. To be called from time to time while any().
  std::vector<BindingPtr> settle(Clock::time_point now);
  bool any() const { return !spaces_.empty(); }
  std::size_t restless() const; ///< how many there are

private:
  struct Space {
    std::map<std::string, BindingPtr, std::less<>> bindings; ///< by name, those with everybody
    unsigned changes = 0;
    Clock::time_point since{}, last{}; ///< of `changes`: the first and the last one
    bool restless = false;
  };
  std::unordered_map<std::string, Space> spaces_;
};

} // namespace zoo::authz
