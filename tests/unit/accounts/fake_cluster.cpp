// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/accounts/fake_cluster.hpp"

#include "common/base/text.hpp"

#include <algorithm>

namespace zoo::accounts::test {

using nlohmann::json;

namespace {

http_client::Response answer(int code, const json& body) { return {code, {}, body.dump()}; }

std::string decoded(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      out += static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string parameter(const std::string& query, const std::string& name) {
  for (const auto part : text::split(query, '&'))
    if (part.starts_with(name + "=")) return decoded(std::string(part.substr(name.size() + 1)));
  return {};
}

bool selects(const std::string& selector, const json& object) {
  const auto labels = object["metadata"].value("labels", json::object());
  for (const auto term : text::split(selector, ',')) {
    if (term.empty()) continue;
    if (term.front() == '!') {
      if (labels.contains(std::string(term.substr(1)))) return false;
      continue;
    }
    const auto equals = term.find('=');
    const std::string key(term.substr(0, equals));
    if (!labels.contains(key)) return false;
    if (equals != term.npos && labels[key] != term.substr(equals + 1)) return false;
  }
  return true;
}

bool is_namespace(const std::string& path) {
  return path.starts_with("/api/v1/namespaces/") && path.find('/', 19) == std::string::npos;
}

std::string kind_of(const std::string& path) {
  if (path.find("/rolebindings/") != std::string::npos) return "rolebindings";
  if (path.find("/accounts/") != std::string::npos) return "accounts.config.kiosk.sh";
  return "namespaces";
}

http_client::Response missing(const std::string& path) {
  return refusal(404, "NotFound",
                 kind_of(path) + " \"" + path.substr(path.rfind('/') + 1) + "\" not found");
}

/// Rights as they were said, and what the bindings in namespaces give: `get` of the namespace.
class FakeRights final : public authz::Rights {
public:
  std::set<std::tuple<std::string, std::string, std::string, std::string, std::string>> said;
  std::map<std::string, std::set<std::string>> by_binding; ///< namespaces of a user
  std::set<std::string> gone_roles;

  authz::Decision decide(const authz::User& user, const authz::Attributes& wanted) const override {
    for (const auto& [name, verb, group, resource, object] : said) {
      if (name == user.name && (verb == "*" || verb == wanted.verb) && group == wanted.group &&
          resource == wanted.resource && (object == "*" || object == wanted.name))
        return {true, ""};
    }
    const auto bound = by_binding.find(user.name);
    return {bound != by_binding.end() && wanted.verb == "get" && wanted.resource == "namespaces" &&
                bound->second.contains(wanted.name_space),
            ""};
  }
  Reach namespaces_of(const authz::User&, authz::Attributes) const override { return {}; }
  authz::Policy::Rules rules_for(const authz::User&, std::string_view) const override { return {}; }
  bool has_cluster_role(std::string_view name) const override {
    return !gone_roles.contains(std::string(name));
  }
};

template <typename Table>
void add_name(Table& table, const std::string& key, const std::string& name) {
  NameSet set;
  if (const auto known = table.find(key)) set = *known;
  set.name = key;
  set.names.insert(name);
  table.put(std::make_shared<const NameSet>(std::move(set)));
}

} // namespace

class FakeConnection final : public upstream::ControlApi {
public:
  FakeConnection(FakeCluster& cluster, FakeCluster::Hook before, FakeCluster::Hook after)
      : cluster_(cluster), before_(std::move(before)), after_(std::move(after)) {}
  Result<http_client::Response> request(std::string_view method, std::string_view path,
                                        std::string_view, std::string body,
                                        std::string_view) override {
    const auto words = std::string(method) + " " + decoded(std::string(path));
    if (before_) before_(words);
    auto out = cluster_.handle(std::string(method), std::string(path), body);
    if (after_) after_(words);
    return out;
  }

private:
  FakeCluster& cluster_;
  FakeCluster::Hook before_, after_;
};

http_client::Response refusal(int code, const std::string& reason, const std::string& message) {
  return answer(
      code, {{"kind", "Status"}, {"status", "Failure"}, {"reason", reason}, {"message", message}});
}

FakeCluster::FakeCluster() {
  put("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/accounts.config.kiosk.sh", {});
}

std::unique_ptr<upstream::ControlApi> FakeCluster::connect(Hook before, Hook after) {
  return std::make_unique<FakeConnection>(*this, std::move(before), std::move(after));
}

void FakeCluster::set_fault(Fault fault) {
  const std::lock_guard lock(mutex_);
  fault_ = std::move(fault);
}

void FakeCluster::stamp(json& object) {
  object["metadata"]["resourceVersion"] = std::to_string(++version_);
}

void FakeCluster::put(const std::string& path, json object) {
  const std::lock_guard lock(mutex_);
  if (!object.is_object()) object = json::object();
  auto& metadata = object["metadata"];
  metadata["name"] = path.substr(path.rfind('/') + 1);
  metadata["uid"] = "uid-" + std::to_string(++uids_);
  metadata["generation"] = 1;
  if (is_namespace(path)) object["kind"] = "Namespace";
  if (is_namespace(path) && !object.contains("status")) object["status"]["phase"] = "Active";
  if (path.find("/accounts/") != std::string::npos) object["kind"] = "Account";
  if (kind_of(path) == "rolebindings") {
    const auto from = path.find("/namespaces/") + 12;
    metadata["namespace"] = path.substr(from, path.find('/', from) - from);
  }
  stamp(object);
  objects_[path] = std::move(object);
}

bool FakeCluster::has(const std::string& path) const {
  const std::lock_guard lock(mutex_);
  return objects_.contains(path);
}

json FakeCluster::at(const std::string& path) const {
  const std::lock_guard lock(mutex_);
  const auto found = objects_.find(path);
  return found != objects_.end() ? found->second : json();
}

std::vector<std::string> FakeCluster::names(const std::string& collection) const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> out;
  for (const auto& [path, object] : objects_)
    if (path.starts_with(collection + "/") && path.find('/', collection.size() + 1) == path.npos)
      out.push_back(path.substr(collection.size() + 1));
  return out;
}

std::vector<std::string> FakeCluster::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

void FakeCluster::forget_requests() {
  const std::lock_guard lock(mutex_);
  requests_.clear();
}

void FakeCluster::allow(const std::string& user, const std::string& verb, const std::string& group,
                        const std::string& resource, const std::string& name) {
  const std::lock_guard lock(mutex_);
  allowed_.insert({user, verb, group, resource, name});
}

void FakeCluster::hold_namespaces(bool hold) {
  const std::lock_guard lock(mutex_);
  hold_ = hold;
}

void FakeCluster::let_go() {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> gone;
  for (const auto& [path, object] : objects_)
    if (is_namespace(path) && object["metadata"].contains("deletionTimestamp"))
      gone.push_back(path);
  for (const auto& path : gone)
    drop(path);
}

void FakeCluster::drop(const std::string& path) {
  objects_.erase(path);
  if (!is_namespace(path)) return;
  const auto inside = "/namespaces/" + path.substr(path.rfind('/') + 1) + "/";
  std::erase_if(objects_,
                [&](const auto& item) { return item.first.find(inside) != std::string::npos; });
}

/// What is deleted and has nothing to wait for any more goes.
void FakeCluster::settle(const std::string& path) {
  const auto found = objects_.find(path);
  if (found == objects_.end() || !found->second["metadata"].contains("deletionTimestamp")) return;
  const auto finalizers = found->second["metadata"].value("finalizers", json::array());
  if (finalizers.empty() && !(is_namespace(path) && hold_)) drop(path);
}

void FakeCluster::remove(const std::string& path) {
  const std::lock_guard lock(mutex_);
  remove(path, "", false);
}

http_client::Response FakeCluster::list(const std::string& collection,
                                        const std::string& selector) const {
  const std::string all = "/apis/rbac.authorization.k8s.io/v1/rolebindings";
  json items = json::array();
  for (const auto& [path, object] : objects_) {
    const bool inside = collection == all ? path.find("/rolebindings/") != std::string::npos
                                          : path.starts_with(collection + "/") &&
                                                path.find('/', collection.size() + 1) == path.npos;
    if (inside && selects(selector, object)) items.push_back(object);
  }
  return answer(200, {{"kind", "List"}, {"metadata", json::object()}, {"items", items}});
}

http_client::Response FakeCluster::write(const std::string& path, json object, bool status,
                                         bool dry_run) {
  const auto found = objects_.find(path);
  if (found == objects_.end()) return missing(path);
  const auto& live = found->second;
  for (const char* member : {"resourceVersion", "uid"}) {
    const auto wanted = object["metadata"].value(member, std::string());
    if (!wanted.empty() && json(wanted) != live["metadata"][member])
      return refusal(409, "Conflict",
                     "the object has been modified; please apply your changes to "
                     "the latest version and try again");
  }
  const bool has_status = path.find("/accounts/") != std::string::npos || is_namespace(path);
  json next = object;
  if (status) {
    next = live;
    next["status"] = object.value("status", json::object());
  } else if (has_status) {
    next.erase("status");
    if (live.contains("status")) next["status"] = live["status"];
    if (next.value("spec", json()) != live.value("spec", json()))
      next["metadata"]["generation"] = live["metadata"].value("generation", 1) + 1;
  }
  for (const char* kept : {"uid", "deletionTimestamp", "name", "namespace"})
    if (live["metadata"].contains(kept)) next["metadata"][kept] = live["metadata"][kept];
  if (kind_of(path) == "rolebindings" && next["roleRef"] != live["roleRef"])
    return refusal(422, "Invalid", "roleRef: Invalid value: cannot change roleRef");
  next["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"];
  if (dry_run) return answer(200, next);
  if (next != live) stamp(next);
  objects_[path] = next;
  settle(path);
  return answer(200, next);
}

http_client::Response FakeCluster::remove(const std::string& path, const std::string& body,
                                          bool dry_run) {
  const auto found = objects_.find(path);
  if (found == objects_.end()) return missing(path);
  auto& object = found->second;
  const auto options = body.empty() ? json::object() : json::parse(body);
  const auto expected = options.value("preconditions", json::object());
  for (const auto& [member, value] : expected.items())
    if (object["metadata"][member] != value)
      return refusal(409, "Conflict", "Precondition failed: " + member + " in precondition");
  auto gone = object;
  gone["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  if (is_namespace(path)) gone["status"]["phase"] = "Terminating";
  if (dry_run) return answer(200, gone);
  object = gone;
  stamp(object);
  settle(path);
  return answer(200, gone);
}

http_client::Response FakeCluster::handle(const std::string& method, const std::string& target,
                                          const std::string& body) {
  const std::lock_guard lock(mutex_);
  const auto mark = target.find('?');
  auto path = decoded(target.substr(0, mark));
  const auto query = mark == std::string::npos ? std::string() : target.substr(mark + 1);
  const bool dry_run = parameter(query, "dryRun") == "All";
  requests_.push_back(method + " " + path);
  if (fault_) {
    if (auto fault = fault_(requests_.back())) return *fault;
  }
  const bool status = path.ends_with("/status");
  if (status) path.resize(path.size() - 7);
  if (method == "GET") {
    if (query.find("labelSelector=") != std::string::npos)
      return list(path, parameter(query, "labelSelector"));
    const auto found = objects_.find(path);
    return found != objects_.end() ? answer(200, found->second) : missing(path);
  }
  if (method == "POST") {
    auto object = json::parse(body);
    const auto place = path + "/" + object["metadata"]["name"].get<std::string>();
    if (objects_.contains(place))
      return refusal(409, "AlreadyExists",
                     kind_of(place) + " \"" + place.substr(place.rfind('/') + 1) +
                         "\" already exists");
    object["metadata"]["uid"] = "uid-" + std::to_string(++uids_);
    if (is_namespace(place)) object["status"]["phase"] = "Active";
    stamp(object);
    if (!dry_run) objects_[place] = object;
    return answer(201, object);
  }
  if (method == "PUT") return write(path, json::parse(body), status, dry_run);
  if (method == "PATCH") {
    const auto found = objects_.find(path);
    if (found == objects_.end()) return missing(path);
    auto object = found->second;
    object["metadata"].erase("resourceVersion");
    object.merge_patch(json::parse(body));
    const auto version = object["metadata"].value("resourceVersion", std::string());
    const bool current =
        version.empty() || json(version) == found->second["metadata"]["resourceVersion"];
    if (current && object["metadata"]["uid"] != found->second["metadata"]["uid"])
      return refusal(422, "Invalid", "metadata.uid: Invalid value: field is immutable");
    return write(path, object, status, dry_run);
  }
  if (method == "DELETE") return remove(path, body, dry_run);
  return refusal(405, "MethodNotAllowed", method);
}

StatePtr FakeCluster::state() const {
  const std::lock_guard lock(mutex_);
  auto out = std::make_shared<State>();
  auto rights = std::make_shared<FakeRights>();
  rights->said = allowed_;
  rights->gone_roles = gone_roles;
  for (const auto& [path, object] : objects_) {
    if (is_namespace(path)) {
      const auto space = read_space(object.dump());
      if (!space) continue;
      out->spaces.put(space);
      if (!space->account.empty()) add_name(out->spaces_of_account, space->account, space->name);
    } else if (kind_of(path) == "rolebindings") {
      for (const auto& subject : object.value("subjects", json::array()))
        rights->by_binding[subject["name"].get<std::string>()].insert(
            object["metadata"]["namespace"].get<std::string>());
    } else if (kind_of(path) == "accounts.config.kiosk.sh") {
      const auto account = read_account(object.dump());
      out->accounts.put(account);
      for (const auto& key : account->subject_keys)
        add_name(out->accounts_of_subject, key, account->name);
    }
  }
  out->rights = std::move(rights);
  out->revision = version_;
  out->sequence = static_cast<std::uint64_t>(version_);
  return out;
}

} // namespace zoo::accounts::test
