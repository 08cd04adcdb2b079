// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/accounts/quota_broker.hpp"
#include "daemon/upstream/change_follower.hpp"

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

namespace zoo::upstream {
class Upstream;
}

namespace zoo::accounts {

/// Tells the QuotaBroker of every object that a quota may count: follows the kinds that some limit
/// names, of the whole upstream, from when one does. Kinds that are charged by their number alone
/// are followed by their metadata: nothing of a Secret is read. On one loop; destroyed when that
/// has stopped.
class QuotaObjects {
public:
  using Kinds = std::set<std::string, std::less<>>; ///< "pods", "deployments.apps"
  using Names = std::set<std::string, std::less<>>; ///< "requests.cpu", "count/pods"
  QuotaObjects(upstream::Upstream& upstream, net::Loop& loop, QuotaBroker& broker)
      : upstream_(upstream), loop_(loop), broker_(broker), timer_(loop) {}

  /// What limits count from now on: so much is kept of each object. What is followed already goes
  /// on; where a name is new, all objects of its kind are read again. Any thread.
  void follow(const Names& names);
  /// Where one object of a kind is found upstream; "": nobody has asked for that kind. Any thread.
  std::string path_of(std::string_view space, std::string_view key) const;
  /// Kinds that limits count, and whose objects are not all known. Any thread.
  Kinds missing() const;

private:
  struct Kind {
    std::string group, resource, path;
    Names names;                              ///< what is kept of an object's cost
    std::set<std::string, std::less<>> found; ///< "space/name", while it is read anew
    std::unique_ptr<upstream::ChangeFollower> follower;
  };
  void open(const std::string& name); ///< on the loop
  void widen(const std::string& name, const Names& names);
  void begin(const std::string& name, const std::string& version);
  void heard(const Kind& kind, translate::EventType type, std::string_view object);
  void tell_known();

  upstream::Upstream& upstream_;
  net::Loop& loop_;
  QuotaBroker& broker_;
  net::Timer timer_;
  std::map<std::string, Kind, std::less<>> kinds_; ///< loop thread
  mutable std::mutex mutex_;
  Kinds wanted_, known_;                                  ///< under mutex_
  std::map<std::string, Names, std::less<>> names_;       ///< likewise: of each kind
  std::map<std::string, std::string, std::less<>> paths_; ///< likewise: "/api/v1", by kind
};

} // namespace zoo::accounts
