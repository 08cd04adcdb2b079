// SPDX-License-Identifier: Apache-2.0
#include "daemon/accounts/quota_sets.hpp"

#include "common/base/error_table.hpp"
#include "common/base/log.hpp"
#include "common/kube/client.hpp"
#include "common/templates/template.hpp"
#include "daemon/accounts/json_reads.hpp"
#include "daemon/accounts/paths.hpp"
#include "daemon/net/loop.hpp"
#include "daemon/upstream/control_api.hpp"
#include "daemon/upstream/upstream.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

namespace zoo::accounts {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

constexpr milliseconds k_settle{100}, k_resync{600'000};

/// Is it as it should be: are these members of it the same?
bool same(const json& is, const json& wanted) {
  if (value_at(is, "/spec") != value_at(wanted, "/spec")) return false;
  for (const auto* map : {"/metadata/labels", "/metadata/annotations"}) {
    const auto want = value_at(wanted, map), has = value_at(is, map);
    if (!want.is_object()) continue;
    for (const auto& [key, value] : want.items())
      if (!has.is_object() || has.value(key, json()) != value) return false;
  }
  return true;
}

} // namespace

json quota_of_set(const json& set, std::string_view account) {
  const auto name = text_at(set, "/metadata/name");
  json metadata = {{"name", fmt::format("{}-{}", name, account)},
                   {"ownerReferences", json::array({{{"apiVersion", config_api_version()},
                                                     {"kind", "AccountQuotaSet"},
                                                     {"name", name},
                                                     {"uid", text_at(set, "/metadata/uid")},
                                                     {"controller", true},
                                                     {"blockOwnerDeletion", false}}})}};
  for (const auto* map : {"labels", "annotations"})
    if (auto given = value_at(set, fmt::format("/spec/template/metadata/{}", map));
        given.is_object())
      metadata[map] = std::move(given);
  metadata["labels"][std::string(k_quota_set_label)] = name;
  json spec = {{"account", account}};
  if (auto quota = value_at(set, "/spec/template/spec/quota"); quota.is_object())
    spec["quota"] = std::move(quota);
  return {{"apiVersion", config_api_version()},
          {"kind", "AccountQuota"},
          {"metadata", std::move(metadata)},
          {"spec", std::move(spec)}};
}

QuotaSets::QuotaSets(const WriteParts& parts, upstream::Connections& connections,
                     upstream::Upstream& upstream, net::Loop& loop)
    : parts_(parts), connections_(connections), loop_(loop), runner_(reconciler(), queue_) {
  upstream::ChangeFollower::Hears hears;
  hears.looks = [this] { found_.clear(); };
  const auto add = [this](const std::string& name) {
    {
      const std::lock_guard lock(mutex_);
      names_.insert(name);
    }
    queue_.add(name, k_settle);
  };
  hears.found = [this, add](std::string_view name, std::string_view) {
    found_.emplace(name);
    add(std::string(name));
  };
  hears.began = [this] {
    const std::lock_guard lock(mutex_);
    names_ = std::exchange(found_, {});
  };
  hears.changed = [this, add](translate::EventType type, const translate::ObjectKey& key,
                              std::string_view) {
    if (type != translate::EventType::deleted) return add(key.name);
    const std::lock_guard lock(mutex_);
    names_.erase(key.name);
  };
  follower_ = std::make_unique<upstream::ChangeFollower>(
      upstream, loop, upstream.caller(loop), config_path("accountquotasets"), "", std::move(hears));
}

reconcile::Reconciler QuotaSets::reconciler() {
  reconcile::Reconciler out;
  out.name = "quotasets";
  out.look = [this](const std::string& key, unsigned) {
    const auto api = connections_.take();
    return look(*api, key);
  };
  out.failed = [](const std::string& key, const Error& error) {
    log::warning("accounts", "quota set {}: {}", key, error.text());
  };
  return out;
}

void QuotaSets::start() {
  runner_.start(1);
  loop_.post([this] { follower_->start(); });
}

void QuotaSets::touched() {
  const std::lock_guard lock(mutex_);
  for (const auto& name : names_)
    queue_.add(name, k_settle);
}

Result<reconcile::Next> QuotaSets::look(upstream::ControlApi& api, const std::string& name) {
  auto set = api.get(config_path("accountquotasets", name));
  if (!set && set.error().code() == Code::not_found) return reconcile::Next{};
  if (!set) return fail(std::move(set).error());
  if (!text_at(*set, "/metadata/deletionTimestamp").empty()) return reconcile::Next{};
  ZOO_TRY(const auto state, parts_.state());
  std::map<std::string, json> wanted;
  state->accounts.visit("", [&](const AccountPtr& account) {
    const auto object = json::parse(account->object, nullptr, false);
    if (!account->deleting && templates::selects(value_at(*set, "/spec/accountLabelSelector"),
                                                 kube::texts_at(object, "/metadata/labels"))) {
      auto quota = quota_of_set(*set, account->name);
      wanted.emplace(text_at(quota, "/metadata/name"), std::move(quota));
    }
    return true;
  });
  // A quota that upstream refuses keeps no other account from having its own.
  std::optional<Error> refused;
  const auto note = [&](const Result<json>& done, const std::string& quota) -> Result<void> {
    if (done) return {};
    auto error = Error(done.error()).context("while making AccountQuota {}", quota);
    if (may_pass(done.error().code())) return fail(std::move(error));
    if (!refused) refused = std::move(error);
    return {};
  };
  ZOO_TRY(const auto list,
          api.get(config_path("accountquotas") + "?labelSelector=" +
                  kube::percent_encode(fmt::format("{}={}", k_quota_set_label, name))));
  for (const auto& item : list.value("items", json::array())) {
    const auto found = wanted.find(text_at(item, "/metadata/name"));
    if (found == wanted.end() ||
        text_at(found->second, "/spec/account") != text_at(item, "/spec/account")) {
      ZOO_TRY_VOID(api.remove_read(config_path("accountquotas", text_at(item, "/metadata/name")),
                                   text_at(item, "/metadata/uid")));
      continue;
    }
    if (!same(item, found->second)) {
      auto changed = item;
      changed["apiVersion"] = found->second["apiVersion"];
      changed["kind"] = "AccountQuota";
      changed["spec"] = found->second["spec"];
      for (const auto* map : {"labels", "annotations"})
        if (found->second["metadata"].contains(map))
          changed["metadata"][map].update(found->second["metadata"][map]);
      ZOO_TRY_VOID(
          note(api.update(config_path("accountquotas", text_at(item, "/metadata/name")), changed),
               text_at(item, "/metadata/name")));
    }
    wanted.erase(found);
  }
  std::string others;
  for (const auto& [quota, object] : wanted) {
    const auto made = api.create(config_path("accountquotas"), object);
    if (!made && made.error().code() == Code::already_exists) {
      others += (others.empty() ? "" : ", ") + quota;
    } else {
      ZOO_TRY_VOID(note(made, quota));
    }
  }
  json status = {{"observedGeneration", value_at(*set, "/metadata/generation")}};
  if (!others.empty())
    status["message"] = "left alone, since no set made them: AccountQuota " + others;
  if (refused) status["message"] = refused->text();
  if (value_at(*set, "/status") != status) {
    (*set)["status"] = status;
    const auto told = api.update(config_path("accountquotasets", name) + "/status", *set);
    if (!told && told.error().code() != Code::conflict && told.error().code() != Code::not_found)
      return fail(told.error());
  }
  if (refused) return fail(*std::move(refused));
  return reconcile::Next{reconcile::jittered(k_resync)};
}

} // namespace zoo::accounts
