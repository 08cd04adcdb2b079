// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/clusters/fake_side.hpp"

#include "common/crypto/digest.hpp"
#include "common/kube/json_reads.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace zoo::tests {
namespace {

using nlohmann::json;

constexpr std::string_view k_kube_system = "/api/v1/namespaces/kube-system";

http_client::Response answer_of(int code, const json& body) { return {code, {}, body.dump()}; }

/// A path without its group, version and namespace: "pods", "pods/a", "pods/a/status".
struct Place {
  std::string collection; ///< up to the name of the resource
  std::string name, part; ///< "": none
};

Place place_of(const std::string& path) {
  std::vector<std::string> words;
  for (std::size_t at = 1; at <= path.size();) {
    const auto end = std::min(path.find('/', at), path.size());
    words.push_back(path.substr(at, end - at));
    at = end + 1;
  }
  std::size_t resource = words.at(0) == "api" ? 2 : 3;
  if (words.size() > resource + 2 && words[resource] == "namespaces" &&
      words[resource + 2] != "status")
    resource += 2;
  Place out;
  for (std::size_t at = 0; at <= resource && at < words.size(); ++at)
    out.collection += "/" + words[at];
  if (words.size() > resource + 1) out.name = words[resource + 1];
  if (words.size() > resource + 2) out.part = words[resource + 2];
  return out;
}

/// What directives of a strategic merge patch leave of it: a merge patch, in which lists are whole.
void drop_directives(json& patch) {
  if (patch.is_array())
    std::erase_if(patch.get_ref<json::array_t&>(),
                  [](const json& each) { return each.is_object() && each.contains("$patch"); });
  if (patch.is_structured())
    for (auto& each : patch)
      drop_directives(each);
}

std::string parameter(const std::string& query, const std::string& name) {
  const auto at = ("&" + query).find("&" + name + "=");
  if (at == std::string::npos) return {};
  const auto from = at + name.size() + 1;
  return query.substr(from, query.find('&', from) - from);
}

/// The key of an object in a list of `collection`, which may be that of all namespaces; none: it is
/// not in it.
std::optional<std::string> key_in(const std::string& collection, const std::string& path) {
  const auto place = place_of(path);
  if (place.collection == collection) return place.name;
  const auto slash = collection.rfind('/');
  const auto spaces = collection.substr(0, slash) + "/namespaces/";
  const auto resource = collection.substr(slash);
  if (!place.collection.starts_with(spaces) || !place.collection.ends_with(resource))
    return std::nullopt;
  return place.collection.substr(spaces.size(),
                                 place.collection.size() - spaces.size() - resource.size()) +
         "/" + place.name;
}

/// Is it in what the watch wants? Of selectors that one is known which the syncer has.
bool is_selected(const clusters::sync::OwnWatch& watch, const json& object) {
  for (const auto& [key, value] : watch.selectors)
    if (key == "fieldSelector" && value == "spec.nodeName!=")
      return !kube::text_at(object, "/spec/nodeName").empty();
  return true;
}

} // namespace

class FakeSide::Connection final : public upstream::ActingApi {
public:
  explicit Connection(FakeSide& side) : side_(side) {}
  Result<http_client::Response> request(std::string_view method, std::string_view target,
                                        std::string_view, std::string body,
                                        std::string_view) override {
    Call call;
    call.method = method;
    call.path = target.substr(0, target.find('?'));
    if (target.find('?') != target.npos) call.query = target.substr(target.find('?') + 1);
    call.user = user_;
    if (!body.empty()) call.body = json::parse(body);
    return side_.handle(std::move(call));
  }
  void act_as(const std::string& user, const std::vector<std::string>&) override { user_ = user; }

private:
  FakeSide& side_;
  std::string user_;
};

FakeSide::FakeSide(std::string name) : name_(std::move(name)) {
  put(std::string(k_kube_system), json::object());
}

std::unique_ptr<upstream::ActingApi> FakeSide::connect() {
  return std::make_unique<Connection>(*this);
}

http_client::Response refusal(int code, const std::string& reason, const std::string& message) {
  return answer_of(code,
                   {{"kind", "Status"}, {"code", code}, {"reason", reason}, {"message", message}});
}

bool is_guarded(const FakeSide::Call& call) {
  if (call.method == "POST") return true;
  if (call.method == "DELETE") return !kube::text_at(call.body, "/preconditions/uid").empty();
  return !kube::text_at(call.body, "/metadata/uid").empty() ||
         !kube::text_at(call.body, "/metadata/resourceVersion").empty();
}

// ---- requests ----

Result<http_client::Response> FakeSide::handle(Call call) {
  const std::scoped_lock lock(mutex_);
  calls_.push_back(call);
  changed_.notify_all();
  if (fault_)
    if (auto fault = fault_(call)) return *std::move(fault);
  return answer(call);
}

http_client::Response FakeSide::answer(const Call& call) {
  const auto place = place_of(call.path);
  if (call.method == "GET" && place.name.empty()) return list(call);
  if (call.method == "GET") {
    const auto found = objects_.find(call.path);
    if (found == objects_.end()) return refusal(404, "NotFound", call.path + " not found");
    return answer_of(200, found->second);
  }
  if (call.method == "POST" && place.part == "token")
    return answer_of(201, {{"status",
                            {{"token", fmt::format("token-{}", ++uids_)},
                             {"expirationTimestamp", "2100-01-01T00:00:00Z"}}}});
  if (call.method == "POST" && place.name.empty()) return make(call, place.collection);
  if (call.method == "PUT" || call.method == "PATCH")
    return change(call, place.collection + "/" + place.name, place.part == "status");
  if (call.method == "DELETE") return remove(call);
  return refusal(405, "MethodNotAllowed", call.line());
}

http_client::Response FakeSide::list(const Call& call) const {
  std::string start;
  if (const auto token = parameter(call.query, "continue"); !token.empty())
    start = json::parse(*crypto::base64url_decode(token)).at("start").get<std::string>();
  start = start.substr(0, start.find('\0'));
  const auto asked = std::stoul("0" + parameter(call.query, "limit"));
  // A GET without a limit is answered with the whole list in one page. hear() names no limit
  // either, and is given pages all the same, since the real KubeClient asks for them.
  const auto most = call.method == "GET" && asked == 0 ? objects_.size() + 1
                    : asked == 0                       ? page_
                                                       : std::min(asked, page_);
  auto label = parameter(call.query, "labelSelector");
  for (auto at = label.find("%2F"); at != label.npos; at = label.find("%2F"))
    label.replace(at, 3, "/");
  // In the order of keys, as etcd has them.
  std::map<std::string, const json*> found;
  for (const auto& [path, object] : objects_)
    if (const auto key = key_in(call.path, path); key && *key >= start)
      if (label.empty() || kube::texts_at(object, "/metadata/labels").contains(label))
        found.emplace(*key, &object);
  json items = json::array();
  std::string next;
  for (const auto& [key, object] : found) {
    if (items.size() == most) {
      next = crypto::base64url_encode(json{{"start", key}}.dump());
      break;
    }
    items.push_back(*object);
  }
  return answer_of(
      200, {{"kind", "List"},
            {"metadata", {{"continue", next}, {"resourceVersion", std::to_string(versions_)}}},
            {"items", std::move(items)}});
}

http_client::Response FakeSide::make(const Call& call, const std::string& collection) {
  auto object = call.body;
  auto name = kube::text_at(object, "/metadata/name");
  if (name.empty())
    name = fmt::format("{}{}", kube::text_at(object, "/metadata/generateName"), uids_ + 1);
  const auto path = collection + "/" + name;
  if (objects_.contains(path)) return refusal(409, "AlreadyExists", path + " already exists");
  if (call.query.find("dryRun=All") != call.query.npos) return answer_of(201, object);
  object["metadata"].erase("uid");
  stamp(path, object);
  store(path, std::move(object));
  return answer_of(201, objects_.at(path));
}

http_client::Response FakeSide::change(const Call& call, const std::string& path, bool status) {
  const auto found = objects_.find(path);
  if (found == objects_.end()) return refusal(404, "NotFound", path + " not found");
  const auto& before = found->second;
  for (const char* key : {"uid", "resourceVersion"}) {
    const auto named = kube::text_at(call.body, std::string("/metadata/") + key);
    if (!named.empty() && before["metadata"][key] != named)
      return refusal(409, "Conflict", fmt::format("{}: {} is another one", path, key));
  }
  auto next = before;
  auto body = call.body;
  if (call.method == "PATCH") {
    drop_directives(body);
    next.merge_patch(body);
  } else {
    next = std::move(body);
  }
  if (status) {
    auto only = before;
    only["status"] = next["status"];
    next = std::move(only);
  } else if (before.contains("status")) {
    next["status"] = before["status"];
  }
  if (call.query.find("dryRun=All") != call.query.npos) return answer_of(200, next);
  next["metadata"]["uid"] = before["metadata"]["uid"];
  stamp(path, next);
  store(path, std::move(next));
  return answer_of(200, objects_.at(path));
}

http_client::Response FakeSide::remove(const Call& call) {
  const auto found = objects_.find(call.path);
  if (found == objects_.end()) return refusal(404, "NotFound", call.path + " not found");
  const auto uid = kube::text_at(call.body, "/preconditions/uid");
  if (!uid.empty() && found->second["metadata"]["uid"] != uid)
    return refusal(409, "Conflict", "the UID in the precondition is another one: " + uid);
  const auto gone = found->second;
  objects_.erase(found);
  return answer_of(200, gone);
}

/// What an API server sets itself.
void FakeSide::stamp(const std::string& path, json& object) {
  auto& metadata = object["metadata"];
  const auto place = place_of(path);
  metadata["name"] = place.name;
  constexpr std::string_view k_spaces = "/namespaces/";
  if (const auto at = place.collection.find(k_spaces); at != std::string::npos) {
    const auto rest = place.collection.substr(at + k_spaces.size());
    metadata["namespace"] = rest.substr(0, rest.find('/'));
  }
  if (!metadata.contains("uid")) metadata["uid"] = fmt::format("{}-{}", name_, ++uids_);
  if (!metadata.contains("creationTimestamp"))
    metadata["creationTimestamp"] = "2026-01-01T00:00:00Z";
  metadata["resourceVersion"] = std::to_string(++versions_);
}

void FakeSide::store(const std::string& path, json object) {
  const auto before = objects_.find(path);
  const json::json_pointer generation("/metadata/generation");
  if (before != objects_.end() && before->second.contains(generation) &&
      before->second["spec"] != object["spec"])
    object[generation] = before->second[generation].get<int>() + 1;
  if (prune_) prune_(object);
  objects_[path] = std::move(object);
}

// ---- watches ----

Result<void> FakeSide::hear(const clusters::sync::OwnWatch& watch, const std::stop_token& stop) {
  Call call;
  call.method = "LIST";
  call.path = watch.path;
  for (bool more = true; more;) {
    std::vector<json> items;
    {
      const std::scoped_lock lock(mutex_);
      calls_.push_back(call);
      changed_.notify_all();
      if (fault_)
        if (auto fault = fault_(call))
          return *fault ? fail(kube::error_of(**fault)) : fail(fault->error());
      const auto page = json::parse(list(call).body);
      for (const auto& item : page["items"])
        items.push_back(item);
      const auto next = kube::text_at(page, "/metadata/continue");
      more = !next.empty();
      call.query = "continue=" + next;
    }
    for (const auto& item : items)
      if (is_selected(watch, item)) watch.found(item);
  }
  watch.listed();
  Watch now{&watch};
  std::unique_lock lock(mutex_);
  watches_.insert(&now);
  changed_.notify_all();
  changed_.wait(lock, stop, [&now] { return now.broken; });
  watches_.erase(&now);
  if (now.broken) return fail(Code::unavailable, "the watch is broken");
  return {};
}

bool FakeSide::heard(const std::string& collection) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::minutes(1), [&] {
    return std::any_of(watches_.begin(), watches_.end(),
                       [&](const Watch* each) { return each->what->path == collection; });
  });
}

bool FakeSide::wait_for(const std::function<bool(const std::vector<Call>&)>& so) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::minutes(1), [&] { return so(calls_); });
}

/// Under the lock, so that none ends meanwhile: what a watch is told asks no API server.
void FakeSide::tell_watches(const std::string& path, const json& object, bool gone) {
  for (const auto* each : watches_)
    if (key_in(each->what->path, path) && is_selected(*each->what, object))
      (gone ? each->what->gone : each->what->found)(object);
}

void FakeSide::break_watches() {
  const std::scoped_lock lock(mutex_);
  for (auto* each : watches_)
    each->broken = true;
  watches_.clear();
  changed_.notify_all();
}

// ---- what others do there ----

json FakeSide::put(const std::string& path, json object) {
  const std::scoped_lock lock(mutex_);
  const auto found = objects_.find(path);
  if (found != objects_.end() && !object.contains("/metadata/uid"_json_pointer))
    object["metadata"]["uid"] = found->second["metadata"]["uid"];
  stamp(path, object);
  store(path, std::move(object));
  tell_watches(path, objects_.at(path), false);
  return objects_.at(path);
}

void FakeSide::drop(const std::string& path) {
  const std::scoped_lock lock(mutex_);
  const auto found = objects_.find(path);
  if (found == objects_.end()) return;
  const auto object = found->second;
  objects_.erase(found);
  tell_watches(path, object, true);
}

void FakeSide::tell(const std::string& path) {
  const std::scoped_lock lock(mutex_);
  tell_watches(path, objects_.at(path), false);
}

void FakeSide::replace(const std::function<bool(const std::string& path)>& kept) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(objects_,
                [&](const auto& each) { return each.first != k_kube_system && !kept(each.first); });
  for (auto& [path, object] : objects_)
    object["metadata"]["uid"] = fmt::format("{}-other-{}", name_, ++uids_);
}

// ---- what is known of it ----

bool FakeSide::has(const std::string& path) const {
  const std::scoped_lock lock(mutex_);
  return objects_.contains(path);
}

json FakeSide::at(const std::string& path) const {
  const std::scoped_lock lock(mutex_);
  const auto found = objects_.find(path);
  return found == objects_.end() ? json() : found->second;
}

std::string FakeSide::uid_of(const std::string& path) const {
  return kube::text_at(at(path), "/metadata/uid");
}

void FakeSide::set_fault(Fault fault) {
  const std::scoped_lock lock(mutex_);
  fault_ = std::move(fault);
}

void FakeSide::set_prune(std::function<void(json&)> prune) {
  const std::scoped_lock lock(mutex_);
  prune_ = std::move(prune);
}

void FakeSide::set_page(std::size_t most) {
  const std::scoped_lock lock(mutex_);
  page_ = most;
}

std::vector<FakeSide::Call> FakeSide::calls() const {
  const std::scoped_lock lock(mutex_);
  return calls_;
}

std::vector<FakeSide::Call> FakeSide::writes() const {
  auto out = calls();
  std::erase_if(out, [](const Call& call) { return !call.writes() || call.method == "LIST"; });
  return out;
}

std::vector<std::string> FakeSide::lines() const {
  std::vector<std::string> out;
  for (const auto& call : writes())
    out.push_back(call.line());
  return out;
}

void FakeSide::forget_calls() {
  const std::scoped_lock lock(mutex_);
  calls_.clear();
}

} // namespace zoo::tests
