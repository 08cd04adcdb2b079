// SPDX-License-Identifier: Apache-2.0
#include "common/base/log.hpp"
#include "common/kube/client.hpp"
#include "common/kube/json_reads.hpp"
#include "daemon/tenants/controller.hpp"
#include "daemon/tenants/footprint.hpp"
#include "daemon/tenants/records.hpp"
#include "daemon/translate/json_value.hpp"
#include "daemon/translate/webhook_relay.hpp"
#include "daemon/upstream/control_api.hpp"

#include <nlohmann/json.hpp>

/// Whether upstream calls what a tenant has stored of webhooks through the relay, or by itself.
namespace zoo::tenants {
namespace {

using std::chrono::milliseconds;
using translate::Hook;
using upstream::ControlApi;

constexpr milliseconds k_hooks_pace{25};
constexpr std::size_t k_page_of_definitions = 500;

/// The text is written as it is: numbers that JSON libraries write in another way stay.
Result<nlohmann::json> put_text(ControlApi& api, const std::string& path, std::string text) {
  ZOO_TRY(const auto answer, api.request("PUT", path, "application/json", std::move(text), {}));
  if (answer.status == 409)
    return fail(Code::conflict, "{} has changed meanwhile: it is read again", path);
  if (answer.status < 200 || answer.status >= 300)
    return fail(Code::unavailable, "the upstream answered {} to the write of {}", answer.status,
                path);
  auto written = kube::parse_foreign(answer.body);
  if (!written.is_object()) return fail(Code::unavailable, "{}: the answer is no JSON", path);
  return written;
}

/// True: it was written. An object that has gone is none.
Result<bool> restate_one(ControlApi& api, const translate::Mapping& mapping, Hook hook,
                         const translate::Relay* relay, const std::string& name) {
  const auto path = std::string(translate::collection_of(hook)) + kube::path({name});
  ZOO_TRY(const auto answer, api.request("GET", path, {}, {}, {}));
  if (answer.status == 404) return false;
  if (answer.status != 200)
    return fail(Code::unavailable, "the upstream answered {} to the question for {}", answer.status,
                path);
  auto restated = translate::restate(mapping, hook, relay, answer.body);
  if (!restated) return fail(std::move(restated).error().context("{}", path));
  if (!*restated) return false;
  ZOO_TRY(const auto written, put_text(api, path, **restated));
  // Upstream took zood for the owner of what has changed; the second write says whose it is.
  ZOO_TRY(auto again, translate::JsonValue::parse(**restated));
  const auto version = written.value("/metadata/resourceVersion"_json_pointer, std::string());
  again.child("metadata").set("resourceVersion", translate::JsonValue::string(version));
  ZOO_TRY_VOID(put_text(api, path, again.written()));
  return true;
}

} // namespace

std::optional<api::Condition> Controller::wanted_relaying(const api::Tenant& tenant,
                                                          const RelayNow& now) const {
  if (!now.known) return std::nullopt;
  if (tenant.webhooks == api::k_webhooks_direct)
    return api::Condition{std::string(k_webhooks_relayed), "False", "Direct",
                          "the upstream calls the Services of webhooks itself: spec.webhooks is "
                          "direct",
                          ""};
  if (!now.relay)
    return api::Condition{std::string(k_webhooks_relayed), "False", "NotReachable",
                          "the upstream calls the Services of webhooks itself: " + now.why, ""};
  return api::Condition{std::string(k_webhooks_relayed), "True", "Relayed",
                        "the upstream calls webhooks through " + now.relay->base, ""};
}

void Controller::look_at_hooks(const api::Tenant& tenant) {
  if (!parts_.relay || !tenant.deletion_timestamp.empty()) return;
  const auto wanted = wanted_relaying(tenant, parts_.relay());
  if (!wanted) return;
  const auto* told = tenant.condition(k_webhooks_relayed);
  if (told != nullptr && told->status == wanted->status && told->reason == wanted->reason &&
      told->message == wanted->message)
    return;
  queue_.add(std::string(k_hooks) + tenant.id, Clock::duration::zero());
}

Result<Controller::Next> Controller::reconcile_hooks(ControlApi& api, std::string_view id) {
  if (!id.empty()) {
    auto tenant = read_tenant(parts_.store, id);
    if (!tenant && tenant.error().code() == Code::not_found) return Next{};
    if (!tenant) return fail(std::move(tenant).error());
    return restate_hooks(api, *tenant);
  }
  if (parts_.directory == nullptr) return Next{};
  std::int64_t count = 0;
  parts_.directory->snapshot()->each([&](const TenantEntry& entry) {
    queue_.add(std::string(k_hooks) + entry.id, k_hooks_pace * count++);
  });
  return Next{};
}

Result<Controller::Next> Controller::restate_hooks(ControlApi& api, const api::Tenant& tenant) {
  if (!parts_.relay || !tenant.deletion_timestamp.empty()) return Next{};
  const auto now = parts_.relay();
  const auto wanted = wanted_relaying(tenant, now);
  if (!wanted) return Next{};
  const auto* relay = wanted->status == "True" ? now.relay.get() : nullptr;
  const translate::Mapping mapping(tenant.id, now.shared);
  std::size_t changed = 0;
  if (tenant.had_webhooks) {
    for (const auto hook : {Hook::validating, Hook::mutating}) {
      ZOO_TRY(const auto found, range(api, translate::collection_of(hook), tenant.id + "-"));
      for (const auto& each : found) {
        ZOO_TRY(const auto done, restate_one(api, mapping, hook, relay, each.name));
        changed += done ? 1 : 0;
      }
    }
  }
  std::vector<std::string> definitions;
  ZOO_TRY_VOID(range_objects(api, k_crds, {}, k_page_of_definitions, 0, true,
                             {{"labelSelector", fmt::format("{}={}", k_tenant_label, tenant.id)}},
                             [&](const nlohmann::json& object) {
                               auto name =
                                   object.value("/metadata/name"_json_pointer, std::string());
                               if (group_of_crd(name).starts_with(tenant.id + "-"))
                                 definitions.push_back(std::move(name));
                             }));
  for (const auto& name : definitions) {
    ZOO_TRY(const auto done, restate_one(api, mapping, Hook::conversion, relay, name));
    changed += done ? 1 : 0;
  }
  if (changed > 0) {
    log::info("tenants", "tenant {}: {} objects with webhooks are stored anew: {}", tenant.id,
              changed, wanted->message);
    return Next{settings_.restated};
  }
  const auto told = change_tenant(led_, tenant.id, tenant.uid, [&](api::Tenant& stored) {
    const auto before = stored.conditions;
    stored.set_condition(wanted->type, wanted->status, wanted->reason, wanted->message, now_text());
    return stored.deletion_timestamp.empty() && stored.conditions != before;
  });
  if (!told && told.error().code() != Code::not_found) return fail(told.error());
  return Next{};
}

} // namespace zoo::tenants
