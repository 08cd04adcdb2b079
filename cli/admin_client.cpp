// SPDX-License-Identifier: Apache-2.0
#include "cli/admin_client.hpp"

#include "cli/cluster.hpp"
#include "common/api/tenant.hpp"
#include "common/backup/content.hpp"
#include "common/base/text.hpp"
#include "common/crypto/digest.hpp"
#include "common/kube/client.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace zoo::cli {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

constexpr std::string_view k_page = "500";
constexpr milliseconds k_retry{500};

std::string tenants_path() {
  return kube::path({"apis", api::k_tenant_group, "v1alpha1", api::k_tenant_resource});
}

std::string tenant_path(std::string_view id) {
  return kube::path({"apis", api::k_tenant_group, "v1alpha1", api::k_tenant_resource, id});
}

Result<json> parse(const std::string& body, std::string_view purpose) {
  auto value = json::parse(body, nullptr, false);
  if (value.is_discarded() || !value.is_object()) {
    return fail(Code::internal,
                "while {}, the server answered something that is not a JSON object: is it zood?",
                purpose);
  }
  return value;
}

std::string string_in(const json& object, const char* key) {
  if (!object.is_object()) return {};
  const auto at = object.find(key);
  return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
}

std::string name_of(const json& tenant) {
  return tenant.is_object() && tenant.contains("metadata") ? string_in(tenant["metadata"], "name")
                                                           : std::string();
}

std::string revision_of(const json& object) {
  return object.is_object() && object.contains("metadata")
             ? string_in(object["metadata"], "resourceVersion")
             : std::string();
}

} // namespace

AdminClient::AdminClient(Door door, std::unique_ptr<Transport> transport, milliseconds timeout,
                         Steady steady)
    : door_(std::move(door)), transport_(std::move(transport)), timeout_(timeout),
      steady_(std::move(steady)) {}

AdminClient::~AdminClient() = default;

http_client::Request AdminClient::request_of(const Call& call) const {
  http_client::Request request;
  request.method = call.method;
  request.url = door_.url + call.path;
  request.unix_socket = door_.socket;
  request.timeout = timeout_;
  request.headers = {{"Accept", "application/json"}, {"User-Agent", "zooctl/" ZOO_VERSION}};
  if (!call.body.empty()) request.headers.emplace_back("Content-Type", call.content_type);
  request.body = call.body;
  if (call.max_body != 0) request.max_body = call.max_body;
  return request;
}

Error AdminClient::explain(Error error, const Call& call) const {
  if (error.code() == Code::timeout) {
    return Error(
        Code::timeout,
        fmt::format("zood did not answer on {} within {}s while {}: is it overloaded, or "
                    "its upstream down?{} See `zooctl doctor`; --request-timeout waits longer",
                    door_.name(), std::chrono::duration<double>(timeout_).count(), call.purpose,
                    call.method == "GET" ? ""
                                         : " It may be done all the same: look before you "
                                           "try again."));
  }
  if (error.code() == Code::unavailable && !door_.socket.empty()) {
    return explain_socket(door_.socket, std::move(error).context("while {}", call.purpose));
  }
  return std::move(error).context("while {}", call.purpose);
}

Result<std::string> AdminClient::perform(const Call& call) {
  auto response = transport_->perform(request_of(call));
  if (!response) return fail(explain(std::move(response).error(), call));
  if (response->status < 200 || response->status > 299) return fail(wrong_door(call, *response));
  return std::move(response->body);
}

Result<std::string> AdminClient::answer_of(const Call& call) {
  auto response = transport_->perform(request_of(call));
  if (!response) return fail(explain(std::move(response).error(), call));
  if (response->status < 200 || response->status > 299) return fail(kube::error_of(*response));
  return std::move(response->body);
}

/// What another server than zood's admin API says to a request for it.
Error AdminClient::wrong_door(const Call& call, const http_client::Response& response) const {
  auto error = kube::error_of(response);
  if (error.code() == Code::unauthorized && door_.socket.empty())
    return Error(error.code(), error.message() + " (is this zood's admin address? `zooctl status` "
                                                 "on zood's machine shows it)");
  if (error.code() != Code::not_found) return error;
  const auto status = json::parse(response.body, nullptr, false);
  // Tenants are always there. What stands below /zoo/v1 may be switched off, and zood says so; any
  // API server says the other of a path that it does not know.
  const auto message = status.is_object() ? string_in(status, "message") : std::string();
  const bool off = call.path.starts_with("/zoo/v1/") && !message.empty() &&
                   message.find("could not find the requested resource") == message.npos;
  const bool named = status.is_object() && status.contains("details") &&
                     !string_in(status["details"], "name").empty();
  if (named || off) return error;
  return Error(Code::not_found,
               fmt::format("{} does not serve {}: it is not zood's admin API, but that of a tenant "
                           "or of a cluster. Use DIR/admin.kubeconfig of zood's directory",
                           door_.name(), api::k_tenant_api_version));
}

Error AdminClient::suggest(Error error, std::string_view id) {
  if (error.code() != Code::not_found) return error;
  const auto list = tenants();
  if (!list) return list.error().code() == Code::not_found ? list.error() : error;
  std::vector<std::string> ids;
  for (const auto& item : (*list)["items"])
    ids.push_back(name_of(item));
  const std::vector<std::string_view> views(ids.begin(), ids.end());
  const auto near = text::nearest(id, views);
  const auto ending = near ? fmt::format("; did you mean '{}'?", *near)
                           : std::string("; `zooctl tenant list` shows those there are");
  return Error(Code::not_found, fmt::format("there is no tenant '{}'{}", id, ending));
}

Result<json> AdminClient::tenants(std::string_view selector) {
  const std::string purpose = "asking for the list of tenants";
  json list;
  std::string next;
  do {
    kube::Query query = {{"limit", std::string(k_page)}};
    if (!selector.empty()) query.emplace_back("labelSelector", std::string(selector));
    if (!next.empty()) query.emplace_back("continue", next);
    ZOO_TRY(auto body,
            perform({.path = kube::with_query(tenants_path(), query), .purpose = purpose}));
    ZOO_TRY(auto page, parse(body, purpose));
    if (!page.contains("items") || !page["items"].is_array()) page["items"] = json::array();
    const auto before = std::exchange(
        next, page.contains("metadata") ? string_in(page["metadata"], "continue") : std::string());
    if (list.is_null()) {
      list = std::move(page);
    } else {
      for (auto& item : page["items"])
        list["items"].push_back(std::move(item));
    }
    if (!next.empty() && next == before) {
      return fail(Code::internal, "while {}, zood gave the same page twice", purpose);
    }
  } while (!next.empty());
  for (const auto* key : {"continue", "remainingItemCount"}) {
    if (list.contains("metadata") && list["metadata"].is_object()) list["metadata"].erase(key);
  }
  for (auto& item : list["items"]) {
    if (!item.is_object()) continue;
    if (!item.contains("kind")) item["kind"] = std::string(api::k_tenant_kind);
    if (!item.contains("apiVersion")) item["apiVersion"] = std::string(api::k_tenant_api_version);
  }
  return list;
}

Result<json> AdminClient::tenant(std::string_view id) {
  const auto purpose = fmt::format("asking for tenant '{}'", id);
  auto body = perform({.path = tenant_path(id), .purpose = purpose});
  if (!body) return fail(suggest(std::move(body).error(), id));
  return parse(*body, purpose);
}

Result<json> AdminClient::create(const json& tenant, bool dry_run) {
  const auto purpose = fmt::format("creating tenant '{}'", name_of(tenant));
  ZOO_TRY(auto body, perform({.method = "POST",
                              .path = kube::with_query(tenants_path(), write_query(dry_run)),
                              .body = tenant.dump(),
                              .purpose = purpose}));
  return parse(body, purpose);
}

Result<json> AdminClient::apply(const json& tenant, bool dry_run) {
  const auto purpose = fmt::format("applying tenant '{}'", name_of(tenant));
  auto query = write_query(dry_run);
  query.emplace_back("force", "true");
  ZOO_TRY(auto body, perform({.method = "PATCH",
                              .path = kube::with_query(tenant_path(name_of(tenant)), query),
                              .content_type = "application/apply-patch+yaml",
                              .body = tenant.dump(),
                              .purpose = purpose}));
  return parse(body, purpose);
}

Result<json> AdminClient::patch(std::string_view id, const json& patch, bool dry_run) {
  return ask(id, {.method = "PATCH",
                  .path = kube::with_query(tenant_path(id), write_query(dry_run)),
                  .content_type = "application/merge-patch+json",
                  .body = patch.dump(),
                  .purpose = fmt::format("changing tenant '{}'", id)});
}

Result<void> AdminClient::remove(std::string_view id, std::string_view uid, bool dry_run) {
  json options = {{"kind", "DeleteOptions"}, {"apiVersion", "v1"}};
  if (!uid.empty()) options["preconditions"] = {{"uid", std::string(uid)}};
  if (dry_run) options["dryRun"] = json::array({"All"});
  kube::Query query;
  if (dry_run) query.emplace_back("dryRun", "All");
  auto body = perform({.method = "DELETE",
                       .path = kube::with_query(tenant_path(id), query),
                       .body = options.dump(),
                       .purpose = fmt::format("deleting tenant '{}'", id)});
  if (!body) return fail(suggest(std::move(body).error(), id));
  return {};
}

Result<std::string> AdminClient::kubeconfig(std::string_view id, const KubeconfigWish& wish) {
  const auto purpose = fmt::format("asking for a kubeconfig of tenant '{}'", id);
  json ask = {{"administrator", wish.user.empty() && wish.groups.empty()}};
  if (!wish.user.empty()) ask["user"] = wish.user;
  if (!wish.groups.empty()) ask["groups"] = wish.groups;
  if (wish.ttl) ask["ttlSeconds"] = wish.ttl->count();
  if (!wish.server.empty()) ask["server"] = wish.server;
  auto body = perform({.method = "POST",
                       .path = tenant_path(id) + "/kubeconfig",
                       .body = ask.dump(),
                       .purpose = purpose});
  if (!body) return fail(suggest(std::move(body).error(), id));
  ZOO_TRY(auto answer, parse(*body, purpose));
  auto text = string_in(answer, "kubeconfig");
  if (text.empty()) return fail(Code::internal, "while {}, zood answered none", purpose);
  return text;
}

Result<std::string> AdminClient::kept_kubeconfig(std::string_view id) {
  ZOO_TRY(const auto found, tenant(id));
  const auto metadata = found.value("metadata", json::object());
  const auto encoded = string_in(metadata.value("annotations", json::object()),
                                 std::string(api::k_kubeconfig_annotation).c_str());
  return crypto::base64_decode(encoded).value_or(std::string());
}

Result<json> AdminClient::ask(std::string_view id, const Call& call) {
  auto body = perform(call);
  if (!body) return fail(suggest(std::move(body).error(), id));
  return parse(*body, call.purpose);
}

Result<json> AdminClient::suspend(std::string_view id, bool suspended, bool dry_run) {
  return ask(id,
             {.method = "PATCH",
              .path = kube::with_query(tenant_path(id), write_query(dry_run)),
              .content_type = "application/merge-patch+json",
              .body = json{{"spec", {{"suspended", suspended}}}}.dump(),
              .purpose = fmt::format("{} tenant '{}'", suspended ? "suspending" : "resuming", id)});
}

Result<json> AdminClient::rotate(std::string_view id, bool revoke_old, bool dry_run) {
  return ask(id, {.method = "POST",
                  .path = kube::with_query(tenant_path(id) + "/rotate", write_query(dry_run)),
                  .body = json{{"revokeOld", revoke_old}}.dump(),
                  .purpose = fmt::format("rotating the certificate of tenant '{}'", id)});
}

Result<json> AdminClient::revoke(std::string_view id, const std::vector<std::string>& serials,
                                 bool dry_run) {
  const auto purpose = fmt::format("revoking credentials of tenant '{}'", id);
  auto body =
      perform({.method = "POST",
               .path = kube::with_query(tenant_path(id) + "/revoke", write_query(dry_run)),
               .body = (serials.empty() ? json{{"all", true}} : json{{"serials", serials}}).dump(),
               .purpose = purpose});
  if (!body) {
    // What is not found may be the certificate.
    if (const auto there = tenant(id); !there) return fail(there.error());
    return fail(std::move(body).error());
  }
  return parse(*body, purpose);
}

Result<json> AdminClient::certificates(std::string_view id) {
  return ask(id, {.path = tenant_path(id) + "/certificates",
                  .purpose = fmt::format("asking for the certificates of tenant '{}'", id)});
}

/// One run of list and watch: cuts the stream into lines, keeps what `each` said.
struct AdminClient::Follower {
  const std::function<Result<bool>(const json*)>& each;
  std::string id;
  std::string pending = {};
  Result<bool> outcome = false;

  void see(const json* tenant) { outcome = each(tenant); }

  /// False ends the stream.
  bool line(std::string_view text) {
    if (text::trim(text).empty()) return true;
    const auto event = json::parse(text, nullptr, false);
    if (!event.is_object() || !event.contains("object")) {
      outcome = fail(Code::internal, "zood sent a watch event that is not JSON");
      return false;
    }
    const auto type = string_in(event, "type");
    const auto& object = event["object"];
    if (type == "ERROR") {
      // 410: what happened since the list is no longer known; a new list tells.
      return false;
    }
    if (type == "BOOKMARK" || name_of(object) != id) return true;
    see(type == "DELETED" ? nullptr : &object);
    return outcome && !*outcome;
  }

  bool bytes(std::string_view more) {
    pending += more;
    for (std::size_t end; (end = pending.find('\n')) != std::string::npos;) {
      const auto text = pending.substr(0, end);
      pending.erase(0, end + 1);
      if (!line(text)) return false;
    }
    return true;
  }
};

bool AdminClient::passes(const Error& error) {
  return error.code() == Code::unavailable || error.code() == Code::timeout ||
         error.code() == Code::too_many_requests;
}

Result<bool> AdminClient::follow(std::string_view id,
                                 std::chrono::steady_clock::time_point deadline,
                                 const std::function<Result<bool>(const json*)>& each,
                                 const std::function<void(const Error&)>& lost,
                                 const std::function<void(milliseconds)>& pause) {
  return follow(tenants_path(), id, deadline, each, lost, pause);
}

Result<bool> AdminClient::follow(const std::string& collection, std::string_view id,
                                 std::chrono::steady_clock::time_point deadline,
                                 const std::function<Result<bool>(const json*)>& each,
                                 const std::function<void(const Error&)>& lost,
                                 const std::function<void(milliseconds)>& pause) {
  const auto purpose = fmt::format("watching '{}'", id);
  const auto left = [&] { return std::chrono::duration_cast<milliseconds>(deadline - steady_()); };
  const auto again = [&](Error error) -> Result<void> {
    if (!passes(error)) return fail(std::move(error));
    lost(error);
    pause(std::clamp(left(), milliseconds(0), k_retry));
    return {};
  };
  const kube::Query base = {{"fieldSelector", fmt::format("metadata.name={}", id)}};
  while (left().count() > 0) {
    const Call list{.path = kube::with_query(collection, base), .purpose = purpose};
    auto list_request = request_of(list);
    list_request.timeout = std::min(timeout_, left());
    auto answer = transport_->perform(list_request);
    if (answer && answer->status != 200) answer = fail(kube::error_of(*answer));
    if (!answer) {
      ZOO_TRY_VOID(again(explain(std::move(answer).error(), list)));
      continue;
    }
    ZOO_TRY(const auto page, parse(answer->body, purpose));
    Follower follower{.each = each, .id = std::string(id)};
    const json* found = nullptr;
    if (page.contains("items") && page["items"].is_array()) {
      for (const auto& item : page["items"]) {
        if (name_of(item) == id) found = &item;
      }
    }
    follower.see(found);
    if (!follower.outcome || *follower.outcome) return follower.outcome;

    auto query = base;
    query.emplace_back("watch", "true");
    query.emplace_back("allowWatchBookmarks", "true");
    query.emplace_back("resourceVersion", revision_of(page));
    const auto span = left();
    if (span.count() <= 0) return false;
    query.emplace_back("timeoutSeconds", std::to_string(span.count() / 1000 + 1));
    const Call watch{.path = kube::with_query(collection, query), .purpose = purpose};
    auto request = request_of(watch);
    request.timeout = std::min(timeout_, span);
    request.idle_timeout = span;
    const auto begun = steady_();
    auto stream = transport_->stream(request, [&](std::string_view bytes) {
      return follower.bytes(bytes) && left().count() > 0;
    });
    if (!follower.outcome || *follower.outcome) return follower.outcome;
    if (left().count() <= 0) return false;
    if (stream && stream->status != 200) {
      auto error = kube::error_of(*stream);
      if (error.code() == Code::expired) {
        stream->status = 200;
      } else {
        stream = fail(std::move(error));
      }
    }
    if (!stream) {
      ZOO_TRY_VOID(again(explain(std::move(stream).error(), watch)));
    } else if (steady_() - begun < k_retry) {
      // A server that ends its streams at once is not asked in a busy loop.
      pause(std::clamp(left(), milliseconds(0), k_retry));
    }
  }
  return false;
}

Result<nlohmann::ordered_json> AdminClient::status() {
  ZOO_TRY(auto body, perform({.path = "/zoo/v1/status", .purpose = "asking for zood's status"}));
  auto value = nlohmann::ordered_json::parse(body, nullptr, false);
  if (!value.is_object()) {
    return fail(Code::internal, "zood's status is not a JSON object: is {} zood?", door_.name());
  }
  return value;
}

Result<json> AdminClient::doctor() {
  ZOO_TRY(auto body,
          perform({.path = "/zoo/v1/doctor", .purpose = "asking zood to examine itself"}));
  auto value = json::parse(body, nullptr, false);
  if (value.is_discarded()) {
    return fail(Code::internal, "zood's findings are not JSON: is {} zood?", door_.name());
  }
  return value;
}

Result<json> AdminClient::object_of(const Call& call) {
  ZOO_TRY(const auto body, perform(call));
  auto value = json::parse(body, nullptr, false);
  if (!value.is_object())
    return fail(Code::internal, "the answer is not a JSON object: is {} zood?", door_.name());
  return value;
}

Result<json> AdminClient::aggregated() {
  return object_of({.path = "/zoo/v1/aggregated", .purpose = "asking for the aggregated door"});
}

Result<json> AdminClient::switch_aggregated(bool on) {
  return object_of({.method = "PUT",
                    .path = "/zoo/v1/aggregated",
                    .body = json{{"enabled", on}}.dump(),
                    .purpose = "switching the aggregated door"});
}

Result<json> AdminClient::uninstall_accounts(bool force, bool dry_run) {
  kube::Query query;
  if (force) query.emplace_back("force", "true");
  if (dry_run) query.emplace_back("dryRun", "All");
  return object_of({.method = "POST",
                    .path = kube::with_query("/zoo/v1/uninstall-accounts", query),
                    .body = "{}",
                    .purpose = "removing what accounts need upstream"});
}

Result<json> AdminClient::quotas(std::string_view owner) {
  kube::Query query;
  if (!owner.empty()) query.emplace_back("owner", owner);
  return object_of({.path = kube::with_query("/zoo/v1/quotas", query),
                    .purpose = "asking for the quotas of accounts"});
}

Result<json> AdminClient::explain_quota(std::string_view owner, std::string_view space,
                                        const json& objects) {
  return object_of(
      {.method = "POST",
       .path = "/zoo/v1/quotas",
       .body = json{{"explain", {{"owner", owner}, {"space", space}, {"objects", objects}}}}.dump(),
       .purpose = "asking what is full"});
}

Result<void> AdminClient::recount_quota(std::string_view owner) {
  ZOO_TRY_VOID(object_of({.method = "POST",
                          .path = "/zoo/v1/quotas",
                          .body = json{{"recount", owner}}.dump(),
                          .purpose = "asking for a recount"}));
  return {};
}

Result<Secret> AdminClient::backup() {
  ZOO_TRY(auto text, perform({.path = "/zoo/v1/backup",
                              .max_body = backup::k_most_bytes,
                              .purpose = "making a backup"}));
  return Secret(std::move(text));
}

Result<json> AdminClient::migrate_store(const json& wish) {
  const Secret body(wish.dump());
  return object_of({.method = "POST",
                    .path = "/zoo/v1/store",
                    .body = std::string(body.view()),
                    .purpose = "moving zood's records"});
}

Result<json> AdminClient::store() {
  return object_of({.path = "/zoo/v1/store", .purpose = "asking for zood's store"});
}

Result<Secret> AdminClient::invitation() {
  ZOO_TRY(auto text,
          perform({.path = "/zoo/v1/invitation", .purpose = "asking for an invitation"}));
  return Secret(std::move(text));
}

Result<void> AdminClient::acknowledge_restore() {
  ZOO_TRY_VOID(object_of({.method = "POST",
                          .path = "/zoo/v1/backup",
                          .body = R"({"acknowledged":true})",
                          .purpose = "acknowledging that the state was restored"}));
  return {};
}

Result<json> AdminClient::audit(const api::AuditQuery& wanted) {
  const std::string purpose = "asking for the audit log";
  kube::Query query = {{"limit", std::to_string(wanted.limit)}};
  const auto ask = [&query](const char* name, const std::string& value) {
    if (!value.empty()) query.emplace_back(name, value);
  };
  const auto time = [](std::chrono::system_clock::time_point at) {
    return api::rfc3339(std::chrono::system_clock::to_time_t(at));
  };
  ask("tenant", wanted.tenant);
  ask("user", wanted.user);
  ask("verb", wanted.verb);
  ask("decision", wanted.decision);
  if (wanted.denied) ask("denied", "true");
  ask("since", time(wanted.since));
  if (wanted.until) ask("until", time(*wanted.until));
  ZOO_TRY(auto body,
          perform({.path = kube::with_query("/zoo/v1/audit", query), .purpose = purpose}));
  return parse(body, purpose);
}

} // namespace zoo::cli
