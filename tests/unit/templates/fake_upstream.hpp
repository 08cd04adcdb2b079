// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/upstream/control_api.hpp"

#include <nlohmann/json.hpp>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace zoo::templates::test {

/// As much of an API server as templates need: discovery of some kinds, objects by their paths,
/// apply, merge patches, UIDs. One thread.
class FakeUpstream {
public:
  /// Answers in the place of the cluster: a code and a message, or nothing.
  using Fault = std::function<std::optional<std::pair<int, std::string>>(
      const std::string& method, const std::string& path, const std::string& user)>;
  Fault fault;
  std::map<std::string, nlohmann::json> objects; ///< by path
  std::vector<std::string> requests;             ///< "PATCH /api/... as zoo:templates"
  /// user and group of the last one who acted for somebody
  std::string group;
  std::vector<std::string> groups; ///< all of his

  std::unique_ptr<upstream::ActingApi> connect() { return std::make_unique<Api>(*this); }

  void put(const std::string& path, nlohmann::json object) {
    if (!object["metadata"].contains("uid")) object["metadata"]["uid"] = "uid-" + path;
    object["metadata"]["resourceVersion"] = std::to_string(++version_);
    objects[path] = std::move(object);
  }

private:
  class Api final : public upstream::ActingApi {
  public:
    explicit Api(FakeUpstream& of) : of_(of) {}
    void act_as(const std::string& user, const std::vector<std::string>& groups) override {
      user_ = user;
      of_.groups = groups;
      of_.group = groups.back();
    }
    Result<http_client::Response> request(std::string_view method, std::string_view path,
                                          std::string_view, std::string body,
                                          std::string_view) override {
      return of_.handle(std::string(method), decoded(path.substr(0, path.find('?'))), user_,
                        nlohmann::json::parse(body, nullptr, false));
    }

  private:
    FakeUpstream& of_;
    std::string user_;
  };

  static std::string decoded(std::string_view path) {
    std::string out;
    for (std::size_t i = 0; i < path.size(); ++i) {
      if (path.substr(i, 3) == "%3A") {
        out += ':';
        i += 2;
      } else {
        out += path[i];
      }
    }
    return out;
  }
  static http_client::Response answer(int code, const nlohmann::json& body) {
    return {code, {}, body.dump()};
  }
  static http_client::Response refusal(int code, const std::string& message) {
    static const std::map<int, std::string> reasons = {{403, "Forbidden"},
                                                       {404, "NotFound"},
                                                       {409, "Conflict"},
                                                       {422, "Invalid"},
                                                       {503, "ServiceUnavailable"}};
    return answer(code, {{"kind", "Status"},
                         {"status", "Failure"},
                         {"code", code},
                         {"reason", reasons.at(code)},
                         {"message", message}});
  }
  static nlohmann::json
  resources(const std::vector<std::tuple<std::string, std::string, bool>>& all) {
    auto out = nlohmann::json::array();
    for (const auto& [name, kind, namespaced] : all)
      out.push_back({{"name", name},
                     {"kind", kind},
                     {"namespaced", namespaced},
                     {"verbs", {"get", "patch"}}});
    return {{"resources", out}};
  }

  http_client::Response handle(const std::string& method, const std::string& path,
                               const std::string& user, nlohmann::json body) {
    requests.push_back(method + " " + path + (user.empty() ? "" : " as " + user));
    if (fault)
      if (const auto said = fault(method, path, user)) return refusal(said->first, said->second);
    if (path == "/api/v1")
      return answer(200, resources({{"configmaps", "ConfigMap", true},
                                    {"services", "Service", true},
                                    {"namespaces", "Namespace", false}}));
    if (path == "/apis/rbac.authorization.k8s.io/v1")
      return answer(200, resources({{"clusterroles", "ClusterRole", false}}));
    const bool status = path.ends_with("/status");
    const auto at = status ? path.substr(0, path.size() - 7) : path;
    const auto found = objects.find(at);
    if (method == "POST") {
      const auto made = path + "/" + body["metadata"]["name"].get<std::string>();
      if (objects.contains(made)) return refusal(409, "already exists");
      put(made, body);
      return answer(201, objects[made]);
    }
    if (method == "PATCH" && !user.empty()) { // apply
      const bool fresh = found == objects.end();
      auto merged = fresh ? nlohmann::json::object() : found->second;
      merged.merge_patch(body);
      const bool same = !fresh && merged == found->second;
      if (!same) put(at, merged);
      return answer(fresh ? 201 : 200, objects[at]);
    }
    if (found == objects.end()) return refusal(404, "\"" + at + "\" not found");
    if (method == "DELETE") {
      found->second["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
      settle(at);
      return answer(200, {{"kind", "Status"}, {"status", "Success"}});
    }
    if (method == "PATCH") {
      auto merged = found->second;
      merged.merge_patch(body);
      put(at, merged);
      const auto out = answer(200, merged);
      settle(at);
      return out;
    }
    return answer(200, objects[at]);
  }
  /// What is deleted, and has nothing to wait for, goes.
  void settle(const std::string& path) {
    const auto& metadata = objects.at(path)["metadata"];
    if (metadata.contains("deletionTimestamp") && !metadata.contains("finalizers"))
      objects.erase(path);
  }

  int version_ = 100;
};

} // namespace zoo::templates::test
