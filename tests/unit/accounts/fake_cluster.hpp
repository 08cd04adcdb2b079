// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/accounts/state.hpp"
#include "daemon/upstream/control_api.hpp"

#include <nlohmann/json.hpp>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace zoo::accounts::test {

/// The process has ended here: thrown out of a request, past everything that catches errors.
struct Crash {};

/// As much of an API server as accounts and spaces need: namespaces, Accounts with their status,
/// RoleBindings; versions and UIDs as preconditions, label selectors, dry runs, finalizers. Any
/// thread.
class FakeCluster {
public:
  FakeCluster();

  /// Before a request is looked at, and behind it. Either may throw Crash.
  using Hook = std::function<void(const std::string& request)>;
  /// Answers in the place of the cluster.
  using Fault = std::function<std::optional<http_client::Response>(const std::string& request)>;
  /// A connection of one zood.
  std::unique_ptr<upstream::ControlApi> connect(Hook before = {}, Hook after = {});
  void set_fault(Fault fault);

  void put(const std::string& path, nlohmann::json object);
  void remove(const std::string& path); ///< as a client does, without preconditions
  bool has(const std::string& path) const;
  nlohmann::json at(const std::string& path) const;
  std::vector<std::string> names(const std::string& collection) const;
  std::vector<std::string> requests() const; ///< "GET /api/v1/namespaces/x"
  void forget_requests();

  /// Namespaces that are deleted stay until let_go().
  void hold_namespaces(bool hold);
  void let_go();

  /// user, verb, group, resource, name; "*" stands for any.
  void allow(const std::string& user, const std::string& verb, const std::string& group,
             const std::string& resource, const std::string& name = "*");

  std::set<std::string> gone_roles; ///< ClusterRoles that there are not; of all others there are

  /// What the Follower would have read of it by now.
  StatePtr state() const;

  static std::string space(const std::string& name) { return "/api/v1/namespaces/" + name; }
  static std::string account(const std::string& name) {
    return "/apis/config.kiosk.sh/v1alpha1/accounts/" + name;
  }
  static std::string binding(const std::string& space, const std::string& name = "zoo:account") {
    return "/apis/rbac.authorization.k8s.io/v1/namespaces/" + space + "/rolebindings/" + name;
  }

private:
  friend class FakeConnection;
  http_client::Response handle(const std::string& method, const std::string& target,
                               const std::string& body);
  http_client::Response list(const std::string& collection, const std::string& selector) const;
  http_client::Response write(const std::string& path, nlohmann::json object, bool status,
                              bool dry_run);
  http_client::Response remove(const std::string& path, const std::string& body, bool dry_run);
  void stamp(nlohmann::json& object);
  void drop(const std::string& path);
  void settle(const std::string& path);

  mutable std::mutex mutex_;
  std::map<std::string, nlohmann::json> objects_;
  std::vector<std::string> requests_;
  std::set<std::tuple<std::string, std::string, std::string, std::string, std::string>> allowed_;
  Fault fault_;
  std::int64_t version_ = 100;
  int uids_ = 0;
  bool hold_ = false;
};

http_client::Response refusal(int code, const std::string& reason, const std::string& message);

} // namespace zoo::accounts::test
