// SPDX-License-Identifier: Apache-2.0
#include "daemon/accounts/reservations.hpp"

#include "common/api/tenant.hpp"
#include "common/crypto/digest.hpp"
#include "common/kube/age.hpp"
#include "common/kube/client.hpp"
#include "daemon/accounts/json_reads.hpp"
#include "daemon/accounts/space_rules.hpp"
#include "daemon/accounts/state.hpp"
#include "daemon/translate/mapping.hpp"
#include "daemon/upstream/control_api.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace zoo::accounts {
namespace {

using nlohmann::json;

/// Writers of one Account's status at the same time: creations of its spaces in each zood.
constexpr int k_status_attempts = 64;
constexpr std::size_t k_most_entries = 256; // docs/limits.md
constexpr std::string_view k_metadata_list =
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";

json& pending_of(json& status) {
  auto& pending = status["pending"];
  if (!pending.is_array()) pending = json::array();
  return pending;
}

std::string text(const json& entry, const char* member) {
  if (!entry.is_object()) return {};
  const auto found = entry.find(member);
  return found != entry.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// Names that count: of namespaces and of entries.
Result<std::set<std::string>> taken(upstream::ControlApi& api, const json& status,
                                    std::string_view account) {
  ZOO_TRY(auto names, namespaces_of(api, account));
  const auto pending = status.find("pending");
  if (pending != status.end() && pending->is_array())
    for (const auto& entry : *pending)
      if (auto name = text(entry, "name"); !name.empty()) names.insert(std::move(name));
  return names;
}

Result<std::string> fresh_id() {
  ZOO_TRY(const auto bytes, crypto::random_bytes(8));
  return crypto::hex_encode(bytes);
}

Result<json> fetch(upstream::ControlApi& api, std::string_view name) {
  auto object = api.get(account_path(name));
  if (object || object.error().code() != Code::not_found) return object;
  // Upstream names what is not there; without the kind it knows no names.
  if (object.error().message().find(fmt::format("\"{}\"", name)) == std::string::npos) {
    return fail(Code::unavailable,
                "the upstream does not serve accounts.{}: is its CustomResourceDefinition "
                "installed?",
                k_config_group);
  }
  return fail(no_account(name));
}

bool has_finalizer(const Account& account) {
  return account.object.find(k_finalizer) != std::string::npos;
}

Result<AccountPtr> read(const json& object, std::string_view name) {
  auto account = read_account(text_of(object));
  if (!account)
    return fail(Code::unavailable, "the upstream answered account \"{}\" with no Account", name);
  return account;
}

} // namespace

Result<AccountPtr> fetch_account(upstream::ControlApi& api, std::string_view name) {
  ZOO_TRY(const auto object, fetch(api, name));
  return read(object, name);
}

Result<void>
change_status(upstream::ControlApi& api, std::string_view account,
              const std::function<Result<bool>(json& status, const Account&)>& change) {
  for (int attempt = 1; attempt <= k_status_attempts; ++attempt) {
    // What counts is read behind this: whatever changes in between makes the write fail.
    ZOO_TRY(auto object, fetch(api, account));
    ZOO_TRY(const auto known, read(object, account));
    auto& status = object["status"];
    if (!status.is_object()) status = json::object();
    ZOO_TRY(const bool changed, change(status, *known));
    if (!changed) return {};
    const auto written = api.update(account_path(account) + "/status", object);
    if (written) return {};
    if (written.error().code() == Code::not_found) continue; // fetch() says what is not there
    if (written.error().code() != Code::conflict) return fail(written.error());
  }
  return fail(Code::unavailable,
              "the status of account \"{}\" is written by too many at once: try again", account);
}

Result<void> set_finalizer(upstream::ControlApi& api, const Account& account, bool wanted) {
  const auto object = json::parse(account.object, nullptr, false);
  auto finalizers = object.value("/metadata/finalizers"_json_pointer, json::array());
  if (!finalizers.is_array()) finalizers = json::array();
  json rest = json::array();
  for (const auto& one : finalizers)
    if (one != k_finalizer) rest.push_back(one);
  if ((rest.size() != finalizers.size()) == wanted) return {};
  if (wanted) rest.push_back(k_finalizer);
  const auto done =
      api.merge_patch(account_path(account.name), {{"metadata",
                                                    {{"uid", account.uid},
                                                     {"resourceVersion", account.resource_version},
                                                     {"finalizers", std::move(rest)}}}});
  if (!done && done.error().code() != Code::not_found) return fail(done.error());
  return {};
}

Result<std::set<std::string>> namespaces_of(upstream::ControlApi& api, std::string_view account) {
  std::set<std::string> names;
  std::string next;
  do {
    // Tenants label their namespaces as they like: these are nobody's spaces.
    kube::Query query = {{"labelSelector", fmt::format("{}={},!{}", k_account_label, account,
                                                       translate::k_tenant_label)},
                         {"limit", "500"}};
    if (!next.empty()) query.emplace_back("continue", next);
    ZOO_TRY(const auto page,
            api.get(kube::with_query("/api/v1/namespaces", query), k_metadata_list));
    ZOO_TRY(const auto items, items_of(page, "/api/v1/namespaces"));
    for (const auto& item : items) {
      auto name = item.value("/metadata/name"_json_pointer, std::string());
      if (!systems_own(name)) names.insert(std::move(name));
    }
    next = page.value("/metadata/continue"_json_pointer, std::string());
  } while (!next.empty());
  return names;
}

/// From here on an Account that is deleted waits until its spaces are seen to. Mostly the
/// controller has said so before.
Result<void> hold(upstream::ControlApi& api, std::string_view name) {
  for (int attempt = 1; attempt <= k_status_attempts; ++attempt) {
    ZOO_TRY(const auto account, fetch_account(api, name));
    if (account->deleting) return fail(account_goes(account->name));
    if (has_finalizer(*account)) return {};
    const auto done = set_finalizer(api, *account, true);
    if (!done && done.error().code() != Code::conflict) return fail(done.error());
  }
  return fail(Code::unavailable, "account \"{}\" is written by too many at once: try again", name);
}

Result<Reserved> reserve(upstream::ControlApi& api, const Wish& wish, bool dry_run) {
  ZOO_TRY(const auto id, fresh_id());
  bool entered = false;
  AccountPtr now;
  const auto done =
      change_status(api, wish.account, [&](json& status, const Account& account) -> Result<bool> {
        entered = false;
        now = std::make_shared<const Account>(account);
        if (account.deleting) return fail(account_goes(account.name));
        if (!dry_run && !has_finalizer(account)) ZOO_TRY_VOID(hold(api, account.name));
        if (!account.limit) return false;
        ZOO_TRY(auto names, taken(api, status, account.name));
        names.insert(wish.space);
        if (static_cast<std::int64_t>(names.size()) > *account.limit)
          return fail(limit_reached(*account.limit, account.name));
        if (dry_run) return false;
        auto& pending = pending_of(status);
        if (std::any_of(pending.begin(), pending.end(),
                        [&](const json& entry) { return text(entry, "id") == id; })) {
          entered = true; // by an attempt whose answer was lost
          return false;
        }
        if (pending.size() >= k_most_entries) {
          return fail(Code::too_many_requests,
                      "{} spaces of account \"{}\" are being made already: try again in a moment",
                      pending.size(), account.name);
        }
        pending.push_back({{"name", wish.space},
                           {"id", id},
                           {"requester", wish.requester},
                           {"started", api::rfc3339(wish.now)}});
        entered = true;
        return true;
      });
  if (!done) {
    // An answer that was lost may have been one of success.
    if (entered && !dry_run) (void)release(api, wish.account, id);
    return fail(done.error());
  }
  return Reserved{id, std::move(now)};
}

Result<AccountPtr> settle(upstream::ControlApi& api, std::string_view account,
                          std::string_view id) {
  AccountPtr out;
  ZOO_TRY_VOID(change_status(api, account, [&](json& status, const Account& now) -> Result<bool> {
    if (now.deleting) return fail(account_goes(now.name));
    out = std::make_shared<const Account>(now);
    if (!id.empty() && drop_entry(status, id)) return true;
    if (!now.limit) return false;
    ZOO_TRY(const auto names, taken(api, status, now.name));
    if (static_cast<std::int64_t>(names.size()) > *now.limit)
      return fail(limit_reached(*now.limit, now.name));
    return false;
  }));
  return out;
}

Result<void> release(upstream::ControlApi& api, std::string_view account, std::string_view id) {
  if (id.empty()) return {};
  auto done = change_status(api, account, [&](json& status, const Account&) -> Result<bool> {
    return drop_entry(status, id);
  });
  if (!done && done.error().code() == Code::not_found) return {};
  return done;
}

bool drop_entry(json& status, std::string_view id) {
  if (id.empty()) return false;
  auto& pending = pending_of(status);
  const auto before = pending.size();
  pending.erase(std::remove_if(pending.begin(), pending.end(),
                               [&](const json& entry) { return text(entry, "id") == id; }),
                pending.end());
  const bool dropped = pending.size() != before;
  if (pending.empty()) status.erase("pending");
  return dropped;
}

bool drop_stale_entries(json& status, const std::set<std::string>& spaces, std::int64_t now,
                        std::int64_t grace, std::int64_t deadline) {
  auto& pending = pending_of(status);
  const auto before = pending.size();
  pending.erase(std::remove_if(pending.begin(), pending.end(),
                               [&](const json& entry) {
                                 const auto age = now - kube::unix_seconds(text(entry, "started"));
                                 return age > deadline ||
                                        (age > grace && spaces.contains(text(entry, "name")));
                               }),
                pending.end());
  const bool dropped = pending.size() != before;
  if (pending.empty()) status.erase("pending");
  return dropped;
}

} // namespace zoo::accounts
