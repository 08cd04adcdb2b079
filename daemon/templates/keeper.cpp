// SPDX-License-Identifier: Apache-2.0
#include "daemon/templates/keeper.hpp"

#include "common/base/log.hpp"
#include "daemon/upstream/control_api.hpp"

#include <algorithm>
#include <utility>

namespace zoo::templates {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

/// Between two that are looked at only for what may have changed unheard.
constexpr milliseconds k_pace = reconcile::Queue::Pauses{}.pace;
/// A namespace that is not known may have been made a moment ago.
constexpr unsigned k_unknown_looks = 3;
constexpr milliseconds k_unknown{1'000};
/// Between two looks at an instance whose chart is rendered: the first, and the longest.
constexpr milliseconds k_chart_again{200}, k_chart_longest{16'000};
/// Looks that come later than this are no repetitions.
constexpr milliseconds k_settled{600'000};
constexpr std::size_t k_most_repaired = 65'536;

} // namespace

Keeper::Keeper(DeployerParts parts, upstream::Connections& connections, PlaceOf place_of,
               KeeperSettings settings)
    : connections_(connections), place_of_(std::move(place_of)), settings_(std::move(settings)),
      deployer_(std::move(parts)), queue_(reconcile::Queue::Pauses{}, settings_.now),
      runner_(reconciler(), queue_) {}

reconcile::Reconciler Keeper::reconciler() {
  reconcile::Reconciler out;
  out.name = "templates";
  out.look = [this](const std::string& key, unsigned attempts) {
    const auto api = connections_.take();
    return look(*api, key, attempts);
  };
  out.failed = [](const std::string& key, const Error& error) {
    const bool away = error.code() == Code::unavailable || error.code() == Code::conflict;
    log::at(away ? LogLevel::debug : LogLevel::warning, "templates", "instance {}: {}", key,
            error.text());
  };
  out.settled = k_settled;
  return out;
}

void Keeper::on_deployed(Deployed hears) {
  const std::lock_guard lock(deployed_mutex_);
  deployed_ = std::move(hears);
}

void Keeper::start() { runner_.start(settings_.threads); }

void Keeper::add(std::string key, milliseconds delay) {
  forget_failures(key);
  queue_.add(std::move(key), delay);
}

void Keeper::forget_failures(const std::string& key) {
  const std::lock_guard lock(mutex_);
  failures_.erase(key);
  chart_waits_.erase(key);
}

/// No look waits for a chart: one account's instances would hold the threads of all.
Keeper::Next Keeper::after_chart(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto before = chart_waits_[key]++;
  return Next{std::min(k_chart_again * (1L << std::min(before, 9U)), k_chart_longest), true};
}

void Keeper::heard_instance(const json& object) {
  const auto instance = read_instance(object);
  if (!instance) return;
  const auto known = table_.find(instance->key());
  const bool due = table_.put_instance(object);
  if (tells_state_ && (known && known->failed) != instance->failed)
    tells_state_(instance->name_space);
  if (due) add(instance->key(), settings_.settle);
}

void Keeper::heard_template(const std::string& name, const std::string& version) {
  if (!table_.put_template(name, version)) return;
  milliseconds delay = settings_.settle;
  for (const auto& each : table_.of_template(name)) {
    // One that is not yet as it says takes the new template: it waits no longer for the old one.
    if (!each.follows && each.stands) continue;
    add(fmt::format("{}/{}", each.name_space, each.name), delay);
    delay += k_pace;
  }
}

void Keeper::lost_template(const std::string& name) {
  table_.remove_template(name);
  for (const auto& each : table_.of_template(name))
    if (each.follows) add(fmt::format("{}/{}", each.name_space, each.name), settings_.settle);
}

void Keeper::drifted(const std::string& name_space, const std::string& mark) {
  for (const auto& each : table_.in(name_space)) {
    if (mark_of(each.name) != mark || !each.follows) continue;
    const auto key = fmt::format("{}/{}", name_space, each.name);
    const auto now = settings_.now();
    milliseconds delay = settings_.settle;
    {
      // Whoever changes an object again and again does not keep zood at it.
      const std::lock_guard lock(mutex_);
      if (repaired_.size() > k_most_repaired) repaired_.clear();
      const auto known = repaired_.find(key);
      // The last repair, or the next one, which is told already.
      auto at = known == repaired_.end() ? now : known->second;
      if (at < now) at = std::max(now, at + settings_.repair);
      repaired_.insert_or_assign(key, at);
      delay = std::max(delay, std::chrono::ceil<milliseconds>(at - now));
    }
    ++tally_.repaired;
    add(key, delay);
  }
}

void Keeper::missed() {
  milliseconds delay = settings_.settle;
  for (const auto& each : table_.all()) {
    if (!each.follows) continue;
    add(fmt::format("{}/{}", each.name_space, each.name), delay);
    delay += k_pace;
  }
}

void Keeper::missed_of(const std::set<std::pair<std::string, std::string>>& instances) {
  milliseconds delay = settings_.settle;
  for (const auto& [name_space, mark] : instances) {
    for (const auto& each : table_.in(name_space)) {
      if (mark_of(each.name) != mark || !each.follows) continue;
      add(fmt::format("{}/{}", name_space, each.name), delay);
      delay += k_pace;
    }
  }
}

void Keeper::space_changed(std::string_view name_space) {
  for (const auto& each : table_.in(name_space))
    add(fmt::format("{}/{}", name_space, each.name), settings_.settle);
}

Keeper::Next Keeper::after_failure(const std::string& key) {
  unsigned before = 0;
  {
    const std::lock_guard lock(mutex_);
    before = failures_[key]++;
    chart_waits_.erase(key);
  }
  const auto pause = settings_.failed * (1L << std::min(before, 9U));
  return Next{std::min<milliseconds>(pause, settings_.longest)};
}

Result<Keeper::Next> Keeper::look(upstream::ControlApi& api, const std::string& key,
                                  unsigned attempts) {
  const auto slash = key.find('/');
  const auto name_space = key.substr(0, slash), name = key.substr(slash + 1);
  const auto live = api.get(instance_path(name_space, name));
  if (!live && live.error().code() == Code::not_found) {
    forget_failures(key);
    return Next{};
  }
  if (!live) return fail(live.error());
  const auto instance = read_instance(*live);
  if (!instance || instance->deleting) {
    forget_failures(key);
    return Next{};
  }
  ZOO_TRY(const auto place, place_of_(name_space));
  if (!place && attempts < k_unknown_looks) return Next{k_unknown};
  if (!place || place->state == Place::State::closed) {
    ZOO_TRY_VOID(deployer_.refuse(
        api, *live, "NamespaceRefused",
        fmt::format("namespace \"{}\" is the system's or a tenant's: templates make nothing there",
                    name_space)));
    return Next{};
  }
  if (place->state != Place::State::open) return Next{};
  if (instance->stands() && !instance->follows()) return Next{};
  ZOO_TRY(const auto outcome,
          deploy_now(api, *live, place->at, std::chrono::steady_clock::now() + settings_.attempt,
                     milliseconds(0)));
  if (outcome.deployed) forget_failures(key);
  if (outcome.deployed) return Next{};
  if (outcome.waits) return after_chart(key);
  return after_failure(key);
}

Result<Outcome> Keeper::deploy_now(upstream::ControlApi& api, const json& live,
                                   const Surroundings& at,
                                   std::chrono::steady_clock::time_point until,
                                   milliseconds chart_wait) {
  auto outcome = deployer_.deploy(api, live, at, until, chart_wait);
  if (!outcome) return outcome;
  const auto instance = read_instance(live);
  if (outcome->deployed) {
    ++tally_.deployed;
    const std::lock_guard lock(deployed_mutex_);
    if (instance->follows() && deployed_) deployed_(*instance, outcome->applied);
  } else if (!outcome->waits) {
    ++tally_.failed;
    // The same failure again is no news.
    if (!instance->failed || instance->reason != outcome->reason)
      log::warning("templates", "instance {} of template {}: {}: {}", instance->key(),
                   instance->template_name, outcome->reason, outcome->message);
  }
  return outcome;
}

} // namespace zoo::templates
