// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/api/virtual_cluster.hpp"
#include "common/kube/client.hpp"
#include "daemon/clusters/door_table.hpp"
#include "daemon/clusters/grant.hpp"
#include "daemon/clusters/pki_keeper.hpp"
#include "daemon/clusters/record.hpp"
#include "daemon/clusters/settings.hpp"
#include "daemon/keeper/client.hpp"
#include "daemon/reconcile/runner.hpp"
#include "daemon/tenants/cluster_tenants.hpp"
#include "daemon/upstream/control_api.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>

namespace zoo::clusters::sync {
class Syncer;
}

namespace zoo::clusters {

struct ControllerParts {
  store::Store& store;
  Settings settings;
  PublishedDoors& doors; ///< written by the controller alone
  /// Of what clusters have upstream. It outlives the controller.
  tenants::ClusterTenants& tenants;
  /// What keeps their nodes and pods. Likewise.
  sync::Syncer& syncer;
  /// The upstream as zood: it is asked for its range of ClusterIPs. Any thread.
  std::function<std::unique_ptr<upstream::ControlApi>()> connect;
  /// The doors' table is another one now. One thread at a time; may wait for loops.
  std::function<void()> doors_changed = [] {};
  /// The files of this cluster are as they should be; `others`: zood's own certificate, or the
  /// authority, is another one now. Any thread; may wait for loops.
  std::function<void(const std::string& id, bool others)> furnished = [](const auto&, bool) {};
  /// Since when nobody has had a connection to the cluster of this ID through a door: nothing while
  /// somebody has one. Any thread.
  std::function<std::optional<std::chrono::milliseconds>(const std::string& id)> idle =
      [](const std::string&) { return std::nullopt; };
  /// Told of each record that was written or removed. Any thread; must not block.
  std::function<void(const std::string& key)> written = [](const std::string&) {};
};

/// Makes each virtual cluster as its record wants it (docs/virtual-clusters.md): level-triggered,
/// resumable after kill -9 at any step, since the record is its only state and every step may be
/// repeated. Threads "clusters-1".."clusters-N", and "clusters-watch", which hears of the keeper's
/// processes.
class Controller {
public:
  explicit Controller(ControllerParts parts);
  ~Controller(); ///< waits for looks in progress; the control planes run on
  Controller(const Controller&) = delete;

  Result<void> start();
  void wake(const std::string& key) { queue_.add(key, std::chrono::milliseconds(0)); }
  /// A client wants to speak to a cluster that sleeps: it is woken once, however many want to. Any
  /// thread; does not block.
  void knock(const std::string& key) { queue_.add(k_knock + key, std::chrono::milliseconds(0)); }

  const Settings& settings() const { return parts_.settings; }
  reconcile::Counts counts() const { return runner_.counts(); }

  // For the row of the API (kind.hpp) and for what follows the upstream's orders. Any thread.
  void decorate(nlohmann::json& object, std::vector<std::string>& warnings) const;
  /// In base64; "" until it works.
  Result<std::string> kubeconfig(const Record& record) const;
  Result<nlohmann::json> certificates(const std::string& key) const;
  Result<nlohmann::json> renew(const std::string& key, bool revoke);
  /// Goes on to that stage of one authority following another (authorities.hpp); answers as
  /// certificates(). Code::conflict: another stage comes next.
  Result<nlohmann::json> turn_authority(const std::string& key, AuthorityStage stage);
  Result<std::string> logs(const std::string& key, const std::string& component,
                           std::size_t lines) const;
  /// What came behind that position of the log; without one, the last lines.
  Result<FilePart> log_part(const std::string& key, const std::string& component, std::size_t lines,
                            std::optional<std::uint64_t> from) const;
  /// The keeper's state of a cluster; nothing if it does not answer, or knows none.
  std::optional<keeper::PlanState> processes(const std::string& id) const;
  /// Bytes of memory that this machine has left; 0: not known.
  std::uint64_t free_memory() const;
  /// What the kernel does not hold control planes to, and why; "": it does, or nobody knows.
  struct Unheld {
    std::string limits;         ///< of memory, processors, threads
    std::string files;          ///< those of their own clusters
    std::string users;          ///< that each has of its own, by clusters.uid_base
    std::uint32_t uid_base = 0; ///< of the keeper
  };
  Unheld unheld() const;
  /// "" or why the keeper of control planes does not answer.
  std::string keeper_trouble() const;

private:
  using Next = reconcile::Next;
  static constexpr const char* k_knock = "!"; ///< before a key in the queue: no namespace has it
  void wake_up(const std::string& key);
  enum class Ready { no, yes };

  Result<Next> look(const std::string& key, unsigned attempts);
  Result<Next> sync(Record record);
  Result<Next> remove(Record record);
  void failed(const std::string& key, const Error& error);

  // Steps of sync(), in their order.
  Result<bool> identify(Record& record, const api::ClusterSpec& spec); ///< false: it must wait
  Result<void> place(Record& record);
  Result<void> furnish(const Record& record, const api::ClusterSpec& spec);
  Result<void> keep_pki(const Record& record, const api::ClusterSpec& spec, PkiKeeper::How how);
  void pki_changed(const std::string& id, PkiKeeper::Change change);
  Result<keeper::PlanState> run(const Record& record, bool wish, bool whole);
  Result<Ready> reach(const Record& record, const keeper::PlanState& state, std::string& waits);
  Result<void> bootstrap(kube::KubeClient& api, const Record& record);
  Result<void> bind_administrators(kube::KubeClient& api, const Record& record);
  Result<Ready> helpers_healthy(const Record& record, const keeper::PlanState& state,
                                std::string& waits);
  Result<Ready> user_is_served(const Record& record, std::string& waits);

  // promote.cpp
  struct Aspect { ///< of a condition
    bool holds = false;
    std::string reason, message;
  };
  struct Promoted {
    Aspect nodes, pods, dns, reach;
    std::string own_store, upstream_store, api_address; ///< see Place; "": not known yet
    std::optional<std::chrono::milliseconds> after;     ///< it is to be looked at again
  };
  std::string why_no_tenant(const Record& record);
  static Promoted unpromoted();
  Promoted promote(Record& record, const api::ClusterSpec& spec);
  Result<Grant> grant(Record& record, const api::ClusterSpec& spec);
  void tell_reserved(const std::vector<Record>& all); ///< to the syncer: nodes that are one's alone
  Aspect look_at_dns(const Record& record, const api::ClusterSpec& spec);
  void demote(const Record& record);
  Result<std::optional<Next>> reclaim(Record& record);

  Result<Next> settle(Record record, const api::ClusterSpec& spec, const keeper::PlanState& state);
  Result<Next> halt(Record record, const keeper::PlanState& state, bool asleep);
  Result<Next> wait(Record record, std::string_view phase, std::string_view reason,
                    std::string message, const keeper::PlanState* state,
                    std::chrono::milliseconds after);

  Result<Record> tell(const Record& record, const std::function<void(Record&)>& change);
  void put_entrance(Record& record) const;
  void put_components(Record& record, const keeper::PlanState* state) const;
  std::string crash_of(const Record& record, const keeper::PlanState& state) const;
  Result<std::filesystem::path> log_of(const std::string& key, const std::string& component) const;
  PkiWish pki_wish(const Record& record, const api::ClusterSpec& spec) const;
  Result<std::string> service_range();
  void publish(const Record& record, DoorEntry::State state);
  void forget(const std::string& id);
  Result<keeper::Reply> ask(const keeper::Request& request) const;
  Result<void> ensure_keeper() const;
  void watch_keeper(const std::stop_token& stop);
  void step(std::string_view name, const Record& record) const;

  ControllerParts parts_;
  keeper::Client keeper_;
  mutable std::mutex keeper_mutex_; ///< one thread starts it
  PkiKeeper pki_;
  std::mutex place_mutex_; ///< one thread takes numbers, ports and IDs
  std::mutex service_mutex_;
  std::string service_range_;
  std::mutex doors_mutex_; ///< for those that publish
  reconcile::Queue queue_;
  std::jthread watch_;
  reconcile::Runner runner_; ///< last: its threads use all the rest
};

} // namespace zoo::clusters
