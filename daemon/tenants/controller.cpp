// SPDX-License-Identifier: Apache-2.0
#include "daemon/tenants/controller.hpp"

#include "common/base/log.hpp"
#include "daemon/tenants/entry_scan.hpp"
#include "daemon/tenants/kept.hpp"
#include "daemon/tenants/led_api.hpp"
#include "daemon/tenants/records.hpp"
#include "daemon/upstream/control_api.hpp"

#include <algorithm>
#include <utility>

namespace zoo::tenants {
namespace {

using std::chrono::milliseconds;

// Before an ID: a key of its own in the queue.
constexpr std::string_view k_sign = "sign/", k_webhooks = "webhooks/";
/// Between two tenants that are looked after only for what may have drifted: 40 a second.
constexpr milliseconds k_pace = reconcile::Queue::Pauses{}.pace;

} // namespace

std::string Settings::server_url() const {
  const bool v6 = advertise_host.find(':') != std::string::npos;
  return fmt::format("https://{}{}{}:{}", v6 ? "[" : "", advertise_host, v6 ? "]" : "",
                     advertise_port);
}

Controller::Controller(ControllerParts parts, Settings settings)
    : parts_(std::move(parts)), led_(parts_.store, parts_.session), settings_(std::move(settings)),
      connections_(parts_.connect), runner_(reconciler(), queue_) {
  set_policy(settings_.policy);
}

reconcile::Reconciler Controller::reconciler() {
  reconcile::Reconciler out;
  out.name = "tenants";
  out.look = [this](const std::string& key, unsigned attempts) {
    const auto api = connections_.take();
    return reconcile(*api, key, attempts);
  };
  out.failed = [this](const std::string& key, const Error& error) { tell_failure(key, error); };
  out.settled = settings_.resync / 2;
  out.retry = settings_.retry;
  return out;
}

/// Those that wait for something at once; the others one after another, so that a hundred thousand
/// neither fill the first minutes nor come up again all together.
Result<void> Controller::enqueue_all(bool settled_alone) {
  std::int64_t settled = 0;
  if (parts_.directory != nullptr) {
    parts_.directory->snapshot()->each([&](const TenantEntry& entry) {
      if (!entry.settled && settled_alone) return; // it has its turns
      queue_.add(entry.id, entry.settled ? k_pace * ++settled : milliseconds(0));
    });
    return {};
  }
  std::string after;
  for (;;) {
    ZOO_TRY(const auto page, parts_.store.list(k_tenant_kind, {}, after, 500));
    for (const auto& record : page.records)
      wake(record.key);
    if (!page.more || page.records.empty()) return {};
    after = page.records.back().key;
  }
}

milliseconds Controller::resync(bool told) const {
  auto usual = settings_.resync;
  if (told) {
    // Certificates end, and are told of or renewed before that, with nothing changed upstream.
    const auto policy = this->policy();
    const auto soonest =
        std::min<milliseconds>(policy->certificate_validity / 10, policy->certificate_warning / 4);
    usual = std::max(usual, std::min(settings_.resync_told, soonest));
  }
  return std::max(usual, k_pace * static_cast<std::int64_t>(queue_.size()));
}

/// The leader wakes for what any zood has written and that is not done yet.
Result<void> Controller::hear_of_others() {
  ZOO_TRY(const auto now, parts_.store.revision());
  ZOO_TRY(others_, parts_.store.watch(k_tenant_kind, now, [this](const store::Change& change) {
    if (change.type == store::Change::Type::removed || !parts_.session->leads()) return;
    const auto entry = read_entry(change.record);
    if (entry && !entry->settled) wake(entry->id);
  }));
  return {};
}

Result<Controller::Next>
Controller::if_leading(upstream::ControlApi& api,
                       const std::function<Result<Next>(upstream::ControlApi& api)>& look) {
  const auto* session = parts_.session;
  const Next later{reconcile::jittered(settings_.resync), true}; // lead() comes before that
  if (session != nullptr && !session->leads()) return later;
  LedApi led(api, session);
  auto next = look(led);
  if (!next && session != nullptr && !session->leads()) return later;
  return next;
}

Result<void> Controller::start() {
  if (parts_.session != nullptr) ZOO_TRY_VOID(hear_of_others());
  ZOO_TRY_VOID(enqueue_all(false));
  runner_.start(settings_.workers);
  return {};
}

void Controller::set_policy(Policy policy) {
  const auto before = policy_.load();
  const bool moves = before && (before->guards.isolated != policy.guards.isolated ||
                                before->guards.network_from != policy.guards.network_from);
  policy_.store(std::make_shared<const Policy>(std::move(policy)));
  if (moves) touch_all();
}

void Controller::sign_soon(std::string_view id) {
  queue_.add(std::string(k_sign) + std::string(id), Clock::duration::zero());
}

void Controller::has_webhooks(std::string_view id) {
  queue_.add(std::string(k_webhooks) + std::string(id), Clock::duration::zero());
}

Result<Controller::Next> Controller::reconcile(upstream::ControlApi& api, std::string_view key,
                                               unsigned attempts) {
  if (key == k_all) {
    ZOO_TRY_VOID(enqueue_all(true));
    return Next{};
  }
  if (key == k_lead) {
    ZOO_TRY_VOID(enqueue_all(false));
    return Next{};
  }
  if (key.starts_with(k_webhooks)) {
    const auto noted =
        change_tenant(parts_.store, key.substr(k_webhooks.size()), {}, [](api::Tenant& tenant) {
          return !std::exchange(tenant.had_webhooks, true);
        });
    if (!noted && noted.error().code() != Code::not_found) return fail(noted.error());
    if (noted) look_at_hooks(*noted);
    return Next{};
  }
  if (key.starts_with(k_hooks)) {
    return if_leading(api, [&](upstream::ControlApi& led) {
      return reconcile_hooks(led, key.substr(k_hooks.size()));
    });
  }
  const bool told = parts_.hears && parts_.hears(); // of what changes during the look, too
  const bool signing = key.starts_with(k_sign);
  const auto id = signing ? key.substr(k_sign.size()) : key;
  auto tenant = read_tenant(parts_.store, id);
  if (!tenant) {
    if (tenant.error().code() == Code::not_found) return Next{};
    return fail(std::move(tenant).error());
  }
  if (signing) {
    if (!tenant->deletion_timestamp.empty()) return Next{};
    ZOO_TRY_VOID(sign_requests(api, *tenant));
    return Next{};
  }
  auto next = if_leading(api, [&](upstream::ControlApi& led) {
    ++looks_;
    return tenant->deletion_timestamp.empty() ? sync(led, *tenant, attempts)
                                              : reclaim(led, *tenant, attempts);
  });
  if (next && !next->waits && next->after && *next->after >= settings_.resync)
    return Next{reconcile::jittered(resync(told))};
  return next;
}

void Controller::tell_failure(std::string_view id, const Error& error) {
  if (id.find('/') != std::string_view::npos) { // the tenant itself is well
    log::warning("tenants", "{}: {}", id, error.text());
    return;
  }
  bool changed = true;
  const auto told = change_tenant(led_, id, {}, [&](api::Tenant& tenant) {
    const auto before = tenant;
    if (tenant.deletion_timestamp.empty()) {
      tenant.set_condition("Synced", "False", "Failed", error.text(), now_text());
      if (tenant.phase != api::Phase::ready && tenant.phase != api::Phase::suspended) {
        tenant.set_condition("Ready", "False", "Failed", error.text(), now_text());
      }
    } else {
      tenant.set_condition("Deleting", "True", "Failed", error.text(), now_text());
    }
    tenant.waiting_for = error.text();
    changed = before.conditions != tenant.conditions || before.waiting_for != tenant.waiting_for;
    return changed;
  });
  // Each try of each tenant may fail in the same way for as long as the upstream is away.
  log::at(changed ? LogLevel::warning : LogLevel::debug, "tenants", "tenant {}: {}", id,
          error.text());
  if (!told && told.error().code() != Code::not_found) {
    log::error("tenants", "tenant {}: cannot record why it is not Ready: {}", id,
               told.error().text());
  }
}

} // namespace zoo::tenants
