// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/tenants/fake_upstream.hpp"

#include "common/crypto/digest.hpp"

namespace zoo::tests {

using nlohmann::json;

namespace {

http_client::Response answer(int code, const json& body) { return {code, {}, body.dump()}; }

class Connection final : public upstream::ControlApi {
public:
  explicit Connection(FakeUpstream& server) : server_(server) {}
  Result<http_client::Response> request(std::string_view method, std::string_view path,
                                        std::string_view, std::string body,
                                        std::string_view) override {
    return server_.handle(std::string(method), std::string(path), body);
  }

private:
  FakeUpstream& server_;
};

std::string parameter(const std::string& query, const std::string& name) {
  const auto at = ("&" + query).find("&" + name + "=");
  if (at == std::string::npos) return {};
  const auto from = at + name.size() + 1;
  return query.substr(from, query.find('&', from) - from);
}

/// The key of an object in a list of `collection`, which may be that of all namespaces; none: it is
/// not in it.
std::optional<std::string> key_in(const std::string& collection, const std::string& path) {
  if (path.starts_with(collection + "/")) {
    auto key = path.substr(collection.size() + 1);
    return key.find('/') == std::string::npos ? std::optional(std::move(key)) : std::nullopt;
  }
  const auto slash = collection.rfind('/');
  const auto spaces = collection.substr(0, slash) + "/namespaces/";
  const auto resource = collection.substr(slash) + "/";
  if (!path.starts_with(spaces)) return std::nullopt;
  const auto rest = path.substr(spaces.size());
  const auto space = rest.substr(0, rest.find('/'));
  if (!rest.substr(space.size()).starts_with(resource)) return std::nullopt;
  return space + "/" + rest.substr(space.size() + resource.size());
}

json resource(const char* name, bool namespaced) {
  return {{"resource", name},
          {"scope", namespaced ? "Namespaced" : "Cluster"},
          {"verbs", {"create", "delete", "get", "list", "patch", "update"}}};
}

json group(const char* name, const char* version, json resources) {
  return {{"metadata", {{"name", name}}},
          {"versions", json::array({{{"version", version}, {"resources", std::move(resources)}}})}};
}

json discovery(bool core) {
  json items = json::array();
  if (core) {
    items.push_back(
        {{"metadata", json::object()},
         {"versions", json::array({{{"version", "v1"},
                                    {"resources", json::array({resource("configmaps", true),
                                                               resource("nodes", false)})}}})}});
  } else {
    items.push_back(group("admissionregistration.k8s.io", "v1",
                          json::array({resource("validatingwebhookconfigurations", false)})));
    items.push_back(
        group("scheduling.k8s.io", "v1", json::array({resource("priorityclasses", false)})));
    items.push_back(group("storage.k8s.io", "v1", json::array({resource("csinodes", false)})));
    items.push_back(group("foofoo-own.example.com", "v1", json::array({resource("gizmos", true)})));
    items.push_back(
        group("barbar-own.example.com", "v1", json::array({resource("gadgets", true)})));
  }
  return {{"kind", "APIGroupDiscoveryList"}, {"items", items}};
}

} // namespace

http_client::Response status(int code, const std::string& reason, const std::string& message) {
  return answer(code, {{"kind", "Status"}, {"reason", reason}, {"message", message}});
}

std::unique_ptr<upstream::ControlApi> FakeUpstream::connect() {
  return std::make_unique<Connection>(*this);
}

http_client::Response FakeUpstream::list(const std::string& collection,
                                         const std::string& query) const {
  std::string start;
  if (const auto token = parameter(query, "continue"); !token.empty()) {
    if (refuse_positions) return status(400, "BadRequest", "continue key is not valid");
    const auto position = json::parse(*crypto::base64url_decode(token));
    start = position.at("start").get<std::string>();
  }
  const auto limit = std::stoul("0" + parameter(query, "limit"));
  constexpr std::string_view k_by_name = "metadata.name%3D";
  const auto selector = parameter(query, "fieldSelector");
  const auto name = selector.starts_with(k_by_name) ? selector.substr(k_by_name.size()) : "";
  json items = json::array();
  std::string next;
  for (const auto& [path, object] : objects_) {
    const auto key = key_in(collection, path);
    if (!key || *key < start) continue;
    if (!name.empty() && path.substr(path.rfind('/') + 1) != name) continue;
    if (limit != 0 && items.size() == limit) {
      next = crypto::base64url_encode(json{{"start", *key}}.dump());
      break;
    }
    items.push_back(object);
  }
  return answer(200, {{"kind", "List"}, {"metadata", {{"continue", next}}}, {"items", items}});
}

http_client::Response FakeUpstream::handle(const std::string& method, const std::string& target,
                                           const std::string& body) {
  const std::lock_guard lock(mutex_);
  const auto mark = target.find('?');
  const auto path = target.substr(0, mark);
  const auto query = mark == std::string::npos ? std::string() : target.substr(mark + 1);
  requests_.push_back(method + " " + path);
  if (fault_) {
    if (auto fault = fault_(method, path)) return *fault;
  }
  if (path == "/api" || path == "/apis") return answer(200, discovery(path == "/api"));
  if (path.ends_with("accessreviews")) return answer(201, {{"status", {{"allowed", true}}}});
  const auto found = objects_.find(path);
  if (method == "GET") {
    return found != objects_.end() ? answer(200, found->second)
           : path.find_last_of('/') != std::string::npos &&
                   query.find("limit=") != std::string::npos
               ? list(path, query)
               : status(404, "NotFound", path + " not found");
  }
  if (method == "POST") {
    auto object = json::parse(body);
    const auto place = path + "/" + object["metadata"]["name"].get<std::string>();
    if (objects_.contains(place)) return status(409, "AlreadyExists", place + " already exists");
    object["metadata"]["uid"] = next_uid();
    objects_[place] = object;
    return answer(201, object);
  }
  if (method == "PATCH" || method == "PUT") {
    auto& object = objects_[path];
    if (method == "PUT") {
      const auto before = std::exchange(object, json::parse(body));
      for (const auto* kept : {"uid", "deletionTimestamp"}) {
        const json::json_pointer at(std::string("/metadata/") + kept);
        if (before.contains(at)) object[at] = before[at];
      }
    } else {
      object.merge_patch(json::parse(body));
    }
    if (!object["metadata"].contains("uid")) object["metadata"]["uid"] = next_uid();
    if (object["metadata"].contains("deletionTimestamp") &&
        !object["metadata"].contains("finalizers")) {
      objects_.erase(path);
      return answer(200, json::object());
    }
    return answer(200, object);
  }
  if (method == "DELETE") {
    if (const auto other = remade_.find(path); other != remade_.end()) {
      objects_[path] = std::move(other->second);
      remade_.erase(other);
    }
    return remove(path, body);
  }
  return status(405, "MethodNotAllowed", method);
}

http_client::Response FakeUpstream::remove(const std::string& path, const std::string& body) {
  const auto found = objects_.find(path);
  if (found == objects_.end()) return status(404, "NotFound", path + " not found");
  const auto options = body.empty() ? json::object() : json::parse(body);
  const auto uid = options.value("/preconditions/uid"_json_pointer, std::string());
  if (!uid.empty() && found->second["metadata"]["uid"] != uid)
    return status(409, "Conflict", "Precondition failed: UID in precondition: " + uid);
  if (found->second["metadata"].contains("finalizers")) {
    found->second["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
    return answer(200, found->second);
  }
  std::erase_if(objects_, [&](const auto& item) {
    return item.first == path || item.first.starts_with(path + "/") ||
           (path.starts_with("/api/v1/namespaces/") &&
            item.first.find(path.substr(7) + "/") != std::string::npos);
  });
  return answer(200, json::object());
}

bool FakeUpstream::has(const std::string& path) const {
  const std::lock_guard lock(mutex_);
  return objects_.contains(path);
}

json FakeUpstream::at(const std::string& path) const {
  const std::lock_guard lock(mutex_);
  return objects_.at(path);
}

void FakeUpstream::put(const std::string& path, json object) {
  const std::lock_guard lock(mutex_);
  objects_[path] = made(path, std::move(object));
}

void FakeUpstream::remake_before_delete(const std::string& path, json object) {
  const std::lock_guard lock(mutex_);
  remade_[path] = made(path, std::move(object));
}

json FakeUpstream::made(const std::string& path, json object) {
  object["metadata"]["name"] = path.substr(path.rfind('/') + 1);
  constexpr std::string_view k_spaces = "/namespaces/";
  if (const auto at = path.find(k_spaces); at != std::string::npos) {
    const auto rest = path.substr(at + k_spaces.size());
    if (const auto slash = rest.find('/'); slash != std::string::npos)
      object["metadata"]["namespace"] = rest.substr(0, slash);
  }
  object["metadata"]["uid"] = next_uid();
  return object;
}

std::size_t FakeUpstream::size() const {
  const std::lock_guard lock(mutex_);
  return objects_.size();
}

void FakeUpstream::set_fault(Fault fault) {
  const std::lock_guard lock(mutex_);
  fault_ = std::move(fault);
}

std::vector<std::string> FakeUpstream::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

} // namespace zoo::tests
