// SPDX-License-Identifier: Apache-2.0
#include "daemon/upstream/control_api.hpp"

#include "common/kube/json_reads.hpp"
#include "daemon/upstream/upstream_rbac.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace zoo::upstream {
namespace {

constexpr std::string_view k_json = "application/json";

std::string dump(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

} // namespace

Result<nlohmann::json> ControlApi::json_of(std::string_view method, std::string_view path,
                                           std::string_view content_type, std::string body,
                                           std::string_view accept) {
  ZOO_TRY(auto response,
          request(method, path, content_type, std::move(body), accept.empty() ? k_json : accept));
  if (response.status < 200 || response.status > 299) return fail(kube::error_of(response));
  auto json = kube::parse_foreign(response.body);
  if (json.is_discarded() || !json.is_object()) {
    return fail(Code::unavailable,
                "the upstream answered {} {} with something that is not a JSON object: is a proxy "
                "in between?",
                method, path.substr(0, path.find('?')));
  }
  return json;
}

Result<nlohmann::json> ControlApi::get(std::string_view path, std::string_view accept) {
  return json_of("GET", path, {}, {}, accept);
}

Result<nlohmann::json> ControlApi::create(std::string_view collection,
                                          const nlohmann::json& object) {
  return create_text(collection, dump(object));
}

Result<nlohmann::json> ControlApi::create_text(std::string_view collection, std::string object) {
  return json_of("POST", collection, k_json, std::move(object), {});
}

Result<nlohmann::json> ControlApi::update(std::string_view path, const nlohmann::json& object) {
  return update_text(path, dump(object));
}

Result<nlohmann::json> ControlApi::update_text(std::string_view path, std::string object) {
  return json_of("PUT", path, k_json, std::move(object), {});
}

Result<nlohmann::json> ControlApi::merge_patch(std::string_view path, const nlohmann::json& patch) {
  return json_of("PATCH", path, "application/merge-patch+json", dump(patch), {});
}

Result<nlohmann::json> ControlApi::apply(std::string_view path, const nlohmann::json& object) {
  const auto target = fmt::format("{}?fieldManager={}&force=true", path, k_field_manager);
  // JSON is YAML; the server wants this content type.
  return json_of("PATCH", target, "application/apply-patch+yaml", dump(object), {});
}

Result<void> ControlApi::remove(std::string_view path) {
  return remove(path, nlohmann::json::object());
}

Result<void> ControlApi::remove(std::string_view path, const nlohmann::json& options) {
  ZOO_TRY(auto response, request("DELETE", path, options.empty() ? std::string_view() : k_json,
                                 options.empty() ? std::string() : dump(options), k_json));
  if (response.status == 404 || (response.status >= 200 && response.status <= 299)) return {};
  return fail(kube::error_of(response));
}

Result<void> ControlApi::remove_read(std::string_view path, std::string_view uid,
                                     const nlohmann::json& options) {
  if (uid.empty()) return fail(Code::internal, "{} was read without a UID and stays", path);
  auto with_uid = options;
  with_uid["preconditions"] = {{"uid", uid}};
  auto done = remove(path, with_uid);
  if (!done && done.error().code() == Code::conflict) return {};
  return done;
}

Result<void> ControlApi::remove_read(std::string_view path, std::string_view uid) {
  return remove_read(path, uid, {{"apiVersion", "v1"}, {"kind", "DeleteOptions"}});
}

Result<void> ControlApi::remove_unless(std::string_view path,
                                       const std::function<bool(const nlohmann::json&)>& keep) {
  const auto actual = get(path);
  if (!actual && actual.error().code() == Code::not_found) return {};
  if (!actual) return fail(actual.error());
  if (keep && keep(*actual)) return {};
  return remove_read(path, actual->value("/metadata/uid"_json_pointer, std::string()));
}

KubeApi::KubeApi(kube::ClusterAccess access, Authorization authorization,
                 kube::KubeClientOptions options)
    : client_(std::move(access), std::move(options)), authorization_(std::move(authorization)) {}

Result<http_client::Response> KubeApi::request(std::string_view method, std::string_view path,
                                               std::string_view content_type, std::string body,
                                               std::string_view accept) {
  if (authorization_) {
    if (auto now = authorization_(); now && now != sent_) {
      client_.set_header("Authorization", *now);
      sent_ = std::move(now);
    }
  }
  return client_.raw(method, path, content_type, std::move(body), accept);
}

void KubeApi::act_as(const std::string& user, const std::vector<std::string>& groups) {
  client_.set_header("Impersonate-User", user);
  client_.set_header("Impersonate-Group", {});
  for (const auto& group : groups)
    client_.add_header("Impersonate-Group", group);
}

bool UpstreamUser::in_group(std::string_view group) const {
  return std::find(groups.begin(), groups.end(), group) != groups.end();
}

Result<UpstreamUser> who_am_i(ControlApi& api) {
  const nlohmann::json review = {{"apiVersion", "authentication.k8s.io/v1"},
                                 {"kind", "SelfSubjectReview"}};
  auto answer = api.create("/apis/authentication.k8s.io/v1/selfsubjectreviews", review);
  if (!answer) {
    return fail(std::move(answer).error().context("while asking the upstream who zood is to it"));
  }
  UpstreamUser user;
  const auto info = answer->value("/status/userInfo"_json_pointer, nlohmann::json::object());
  user.name = info.value("username", "");
  for (const auto& group : info.value("groups", nlohmann::json::array()))
    if (group.is_string()) user.groups.push_back(group.get<std::string>());
  if (user.name.empty()) return fail(Code::unavailable, "the upstream did not say who zood is");
  return user;
}

} // namespace zoo::upstream
