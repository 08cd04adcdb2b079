// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/reconcile/queue.hpp"
#include "daemon/reconcile/runner.hpp"
#include "daemon/templates/deployer.hpp"
#include "daemon/templates/table.hpp"
#include "daemon/upstream/connections.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zoo::templates {

/// A namespace in which there may be instances.
struct Place {
  enum class State : std::uint8_t {
    open,   ///< instances are deployed
    made,   ///< it is being made, and whoever makes it deploys them
    goes,   ///< it is being deleted
    closed, ///< the system's: no template makes anything there
  };
  State state = State::open;
  Surroundings at;
};

struct KeeperSettings {
  unsigned threads = 2;
  std::chrono::milliseconds settle{20};       ///< changes that come together
  std::chrono::milliseconds repair{10'000};   ///< between two repairs of one instance
  std::chrono::milliseconds failed{5'000};    ///< after the first failure; doubles
  std::chrono::milliseconds longest{300'000}; ///< and never waits longer
  std::chrono::milliseconds attempt{60'000};  ///< after which a look begins nothing more
  reconcile::Queue::Now now = reconcile::Queue::Clock::now;
};

/// How many attempts there were, by their ends, and how often a change by somebody else was heard.
struct Tally {
  std::atomic<std::uint64_t> deployed{0}, failed{0}, repaired{0};
};

/// Keeps TemplateInstances as they should be: deploys those that are new or have other parameters,
/// and those that follow also when their Template or one of their objects changes. Level-triggered:
/// all it goes by is upstream's objects. Threads "templates-1" and so on. An instance that fails
/// fails alone, says so in its status, and is tried again.
class Keeper {
public:
  /// `place_of`: nothing if there is no such namespace, or it is a tenant's; an error while that is
  /// not known. Any thread.
  using PlaceOf = std::function<Result<std::optional<Place>>(std::string_view name_space)>;
  using Deployed = std::function<void(const Instance&, const std::vector<Applied>&)>;
  Keeper(DeployerParts parts, upstream::Connections& connections, PlaceOf place_of,
         KeeperSettings settings = {});
  ~Keeper() = default; ///< waits for looks in progress
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

  /// Told of each deployment of an instance that follows. Null: nobody is. Any thread; waits for a
  /// call in progress, which must not block.
  void on_deployed(Deployed hears);
  /// Told the namespace of an instance that has failed, or has done so no more. Before start(); on
  /// the thread that hears of instances; must not block.
  void on_state(std::function<void(std::string_view name_space)> hears) {
    tells_state_ = std::move(hears);
  }
  void start();
  void lead(bool leads) { runner_.lead(leads); } ///< reconcile::Runner::lead()
  reconcile::Counts counts() const { return runner_.counts(); }

  /// What watches tell; any thread, do not block.
  void heard_instance(const nlohmann::json& object);
  void heard_template(const std::string& name, const std::string& version);
  void lost_template(const std::string& name);
  void drifted(const std::string& name_space, const std::string& mark);
  void missed(); ///< anything may have changed
  /// Objects of these may have changed: namespace, and mark_of() the instance's name.
  void missed_of(const std::set<std::pair<std::string, std::string>>& instances);
  void space_changed(std::string_view name_space); ///< its state is another than before

  /// Deploys an instance now, on this thread, for whoever makes its namespace.
  Result<Outcome> deploy_now(upstream::ControlApi& api, const nlohmann::json& live,
                             const Surroundings& at, std::chrono::steady_clock::time_point until,
                             std::chrono::milliseconds chart_wait);

  /// Deployer::clear(), on this thread.
  Result<void> clear(upstream::ControlApi& api, const nlohmann::json& live,
                     const Surroundings& at) {
    return deployer_.clear(api, live, at, std::chrono::steady_clock::now() + settings_.attempt);
  }

  Table& table() { return table_; }
  const Table& table() const { return table_; }
  const Tally& tally() const { return tally_; }

  /// For tests: looks at everything that is due, on this thread.
  void run_due() { runner_.run_due(); }

private:
  using Next = reconcile::Next;
  reconcile::Reconciler reconciler();
  Result<Next> look(upstream::ControlApi& api, const std::string& key, unsigned attempts);
  void add(std::string key, std::chrono::milliseconds delay);
  Next after_failure(const std::string& key);
  Next after_chart(const std::string& key);
  void forget_failures(const std::string& key);

  upstream::Connections& connections_;
  const PlaceOf place_of_;
  const KeeperSettings settings_;
  std::mutex deployed_mutex_;
  Deployed deployed_;
  std::function<void(std::string_view name_space)> tells_state_;
  Deployer deployer_;
  Table table_;
  Tally tally_;
  std::mutex mutex_;
  std::map<std::string, reconcile::Queue::Clock::time_point, std::less<>>
      repaired_; ///< last, or next
  /// Of instances that have failed, and of which nothing was heard since: how often. A chart that
  /// is fetched again in between does not begin anew.
  std::map<std::string, unsigned, std::less<>> failures_;
  /// Of instances whose chart is being rendered: how often that was looked at.
  std::map<std::string, unsigned, std::less<>> chart_waits_;
  reconcile::Queue queue_;
  reconcile::Runner runner_; ///< last: its threads use all the rest
};

} // namespace zoo::templates
