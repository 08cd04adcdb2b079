// SPDX-License-Identifier: Apache-2.0
#include "daemon/accounts/saga.hpp"

#include "common/api/tenant.hpp"
#include "common/base/error_table.hpp"
#include "common/base/log.hpp"
#include "common/kube/age.hpp"
#include "common/kube/client.hpp"
#include "daemon/accounts/account_events.hpp"
#include "daemon/accounts/account_status.hpp"
#include "daemon/accounts/json_reads.hpp"
#include "daemon/accounts/reservations.hpp"

#include <nlohmann/json.hpp>

#include <functional>
#include <utility>

namespace zoo::accounts {
namespace {

using nlohmann::json;

constexpr std::chrono::seconds k_longest_turn{5};
/// Of one half made namespace, which others may write at the same time.
constexpr int k_removals = 5;

} // namespace

Result<http_client::Response> Timed::request(std::string_view method, std::string_view path,
                                             std::string_view content_type, std::string body,
                                             std::string_view accept) {
  if (over()) {
    return fail(Code::timeout, "the upstream is slow: it was not done within {} s",
                std::chrono::duration_cast<std::chrono::seconds>(parts_.answer_within).count());
  }
  return api_.request(method, path, content_type, std::move(body), accept);
}

std::string SpaceRequest::text() const {
  json out = {{"requester", requester}, {"account", account}, {"started", api::rfc3339(started)}};
  if (!id.empty()) out["id"] = id;
  return text_of(out);
}

std::optional<SpaceRequest> SpaceRequest::read(std::string_view text) {
  const auto object = json::parse(text, nullptr, false);
  if (!object.is_object()) return {};
  SpaceRequest out{text_at(object, "/requester"), text_at(object, "/account"),
                   text_at(object, "/id"), kube::unix_seconds(text_at(object, "/started"))};
  if (out.account.empty() || out.started < 0) return {};
  return out;
}

Result<json> Saga::begin(upstream::ControlApi& api, json object, const SpaceRequest& request,
                         std::string_view query) {
  const auto name = text_at(object, "/metadata/name");
  auto& metadata = object["metadata"];
  metadata["labels"][std::string(k_account_label)] = request.account;
  metadata["annotations"][std::string(k_initializing)] = "true";
  metadata["annotations"][std::string(k_space_request)] = request.text();
  parts_.step("namespace");
  auto made = api.create(fmt::format("/api/v1/namespaces{}", query), object);
  if (made) return made;
  const bool unclear = may_pass(made.error().code());
  if (unclear || made.error().code() == Code::already_exists) {
    // It may have been made all the same. If it was not, it may still be: its entry stays until
    // the deadline.
    auto there = api.get(namespace_path(name));
    if (there && annotation_of(*there, k_space_request) == request.text()) return there;
    if (unclear) return fail(std::move(made).error());
  }
  if (const auto released = release(api, request.account, request.id); !released) {
    log::warning("accounts", "space {} stays reserved in account {} for {} s: {}", name,
                 request.account, parts_.deadline.count(), released.error().text());
  }
  return fail(std::move(made).error());
}

Result<json> Saga::forward(upstream::ControlApi& api, const json& object,
                           const SpaceRequest& request, bool answered) {
  const auto name = text_at(object, "/metadata/name");
  parts_.step("settle");
  AccountPtr account;
  {
    const auto my_turn = turn(request.account);
    ZOO_TRY(account, settle(api, request.account, request.id));
  }
  parts_.step("furnish");
  if (parts_.furnish) {
    const auto patience = answered ? std::chrono::milliseconds(0) : parts_.chart_within;
    ZOO_TRY_VOID(parts_.furnish(api, name, *account, patience));
  }
  parts_.step("binding");
  const auto members = members_of(account, parts_.default_cluster_role);
  if (members.any()) ZOO_TRY_VOID(put_bindings_right(api, name, {}, members));
  parts_.step("ready");
  const json done = {{"metadata",
                      {{"uid", text_at(object, "/metadata/uid")},
                       {"annotations", {{k_initializing, nullptr}, {k_space_request, nullptr}}}}}};
  return api.merge_patch(namespace_path(name), done);
}

/// Deletes a namespace that is half made. Another zood may have gone on with it meanwhile, so only
/// what was judged is deleted. The answer is the namespace if it is ready by now and stays.
Result<json> Saga::remove_half_made(upstream::ControlApi& api, json object,
                                    const SpaceRequest& request) {
  const auto path = namespace_path(text_at(object, "/metadata/name"));
  const auto uid = text_at(object, "/metadata/uid");
  if (uid.empty()) return fail(Code::internal, "{} was read without a UID and stays", path);
  for (int attempt = 1; attempt <= k_removals; ++attempt) {
    const auto done = api.remove(
        path,
        {{"apiVersion", "v1"},
         {"kind", "DeleteOptions"},
         {"preconditions",
          {{"uid", uid}, {"resourceVersion", text_at(object, "/metadata/resourceVersion")}}}});
    if (done) return json();
    if (done.error().code() != Code::conflict) return fail(done.error());
    auto live = api.get(path);
    if (!live && live.error().code() == Code::not_found) return json();
    if (!live) return live;
    if (text_at(*live, "/metadata/uid") != uid ||
        !text_at(*live, "/metadata/deletionTimestamp").empty())
      return json(); // it is gone, or goes
    if (annotation_of(*live, k_space_request) != request.text()) return live;
    object = *std::move(live);
  }
  return fail(Code::conflict, "{} is changed again and again", path);
}

Result<json> Saga::back(upstream::ControlApi& api, const json& object, const SpaceRequest& request,
                        const Error& why, bool answered) {
  const auto name = text_at(object, "/metadata/name");
  parts_.step("back");
  ZOO_TRY(auto ready, remove_half_made(api, object, request));
  if (!ready.is_null()) return ready;
  log::warning("accounts", "space {} of account {} was not made: {}", name, request.account,
               why.text());
  AccountPtr concerned;
  const auto told =
      change_status(api, request.account, [&](json& status, const Account& now) -> Result<bool> {
        const bool released = drop_entry(status, request.id);
        if (!answered) return released;
        concerned = std::make_shared<const Account>(now);
        note_failed_space(status, name, request.requester, why.text(), parts_.now());
        return true;
      });
  if (!told && told.error().code() != Code::not_found)
    log::warning("accounts", "account {} cannot be told of it: {}", request.account,
                 told.error().text());
  if (told && concerned)
    tell_event(api, *concerned, "SpaceFailed",
               fmt::format("space \"{}\" was not made: {}", name, why.text()), parts_.now());
  return json();
}

Result<json> Saga::finish(upstream::ControlApi& api, const json& object, bool answered) {
  const auto name = text_at(object, "/metadata/name");
  const auto request = SpaceRequest::read(annotation_of(object, k_space_request));
  if (annotation_of(object, k_initializing) != "true" || !request) return object;
  if (!text_at(object, "/metadata/deletionTimestamp").empty())
    return fail(Code::conflict, "space \"{}\" is being deleted", name);
  const bool late = parts_.now() - request->started > parts_.deadline.count();
  Result<json> done = late ? fail(Code::invalid, "space \"{}\" was not ready within {} minutes",
                                  name, parts_.deadline.count() / 60)
                           : forward(api, object, *request, answered);
  if (done || may_pass(done.error().code())) {
    // A conflict is passing but for an account that goes: nothing will be ready in it.
    if (done || done.error().code() != Code::conflict) return done;
    const auto account = fetch_account(api, request->account);
    if (!account || !(*account)->deleting) return done;
  }
  ZOO_TRY(auto ready, back(api, object, *request, done.error(), answered));
  if (!ready.is_null()) return ready;
  // Errors of upstream name objects of its own; whose request failed is said by the code.
  const auto& error = done.error();
  const auto code = error.code() == Code::not_found ? Code::invalid : error.code();
  return fail(code, "{}; the space was not created", error.message());
}

Saga::Hold::Hold(Saga& saga, std::string space) : saga_(saga), space_(std::move(space)) {
  const std::lock_guard lock(saga_.mutex_);
  saga_.held_.insert(space_);
}

Saga::Hold::~Hold() {
  const std::lock_guard lock(saga_.mutex_);
  saga_.held_.erase(saga_.held_.find(space_));
}

std::unique_lock<std::timed_mutex> Saga::turn(std::string_view account) {
  auto& mutex = turns_[std::hash<std::string_view>()(account) % turns_.size()];
  return {mutex, k_longest_turn};
}

bool Saga::held(std::string_view space) const {
  const std::lock_guard lock(mutex_);
  return held_.contains(space);
}

} // namespace zoo::accounts
