// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "common/http_client/client.hpp"
#include "common/kube/client.hpp"

#include <nlohmann/json_fwd.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace zoo::upstream {

/// How controllers speak to the upstream: blocking, JSON, one thread at a time, kept-alive
/// connections. One virtual function, so that a test can put faults and a scripted upstream
/// behind all of it. Never used on the data path.
class ControlApi {
public:
  virtual ~ControlApi() = default;

  /// Any request; an HTTP status is not an error here.
  virtual Result<http_client::Response> request(std::string_view method, std::string_view path,
                                                std::string_view content_type, std::string body,
                                                std::string_view accept) = 0;

  /// 4xx and 5xx are Errors (kube::error_of). An answer that is not JSON is Code::unavailable.
  Result<nlohmann::json> get(std::string_view path, std::string_view accept = {});
  Result<nlohmann::json> create(std::string_view collection, const nlohmann::json& object);
  Result<nlohmann::json> update(std::string_view path, const nlohmann::json& object);
  /// create() and update() for an object that the caller has as JSON text: it is sent as it is.
  Result<nlohmann::json> create_text(std::string_view collection, std::string object);
  Result<nlohmann::json> update_text(std::string_view path, std::string object);
  Result<nlohmann::json> merge_patch(std::string_view path, const nlohmann::json& patch);
  /// Server-side apply as field manager `zood`, forced.
  Result<nlohmann::json> apply(std::string_view path, const nlohmann::json& object);
  /// An object that is not there any more is no error. `options`: metav1.DeleteOptions.
  Result<void> remove(std::string_view path);
  Result<void> remove(std::string_view path, const nlohmann::json& options);
  /// The same for the object that was read with this UID: one that has taken its name meanwhile
  /// stays, and is no error. An empty `uid` is Code::internal.
  Result<void> remove_read(std::string_view path, std::string_view uid,
                           const nlohmann::json& options);
  Result<void> remove_read(std::string_view path, std::string_view uid);
  /// The same for whatever stands there now, unless `keep` says that it is right.
  Result<void> remove_unless(std::string_view path,
                             const std::function<bool(const nlohmann::json&)>& keep);

private:
  Result<nlohmann::json> json_of(std::string_view method, std::string_view path,
                                 std::string_view content_type, std::string body,
                                 std::string_view accept);
};

/// A ControlApi that upstream takes for somebody else. Before each time that it is lent it is told
/// for whom, so that nothing is asked as zood by oversight.
class ActingApi : public ControlApi {
public:
  /// From here on each request is that of this user and these groups (Impersonate-User and
  /// Impersonate-Group), and of nobody else; neither is empty.
  virtual void act_as(const std::string& user, const std::vector<std::string>& groups) = 0;
};

/// The real one. `authorization`, if given, is asked before each request for the value of the
/// header ("Bearer ..."), so that a renewed token is used at once.
class KubeApi final : public ActingApi {
public:
  using Authorization = std::function<std::shared_ptr<const std::string>()>;
  explicit KubeApi(kube::ClusterAccess access, Authorization authorization = {},
                   kube::KubeClientOptions options = {});
  Result<http_client::Response> request(std::string_view method, std::string_view path,
                                        std::string_view content_type, std::string body,
                                        std::string_view accept) override;
  void act_as(const std::string& user, const std::vector<std::string>& groups) override;

private:
  kube::KubeClient client_;
  Authorization authorization_;
  std::shared_ptr<const std::string> sent_;
};

/// What the upstream answers to "who am I" (authentication.k8s.io/v1 SelfSubjectReview).
struct UpstreamUser {
  std::string name;
  std::vector<std::string> groups;
  bool in_group(std::string_view group) const;
};
Result<UpstreamUser> who_am_i(ControlApi& api);

} // namespace zoo::upstream
