// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/clusters.hpp"

#include "common/kube/json_reads.hpp"
#include "daemon/app/cluster_egress.hpp"
#include "daemon/app/settings.hpp"
#include "daemon/clusters/backing.hpp"
#include "daemon/clusters/controller.hpp"
#include "daemon/clusters/door.hpp"
#include "daemon/clusters/kind.hpp"
#include "daemon/clusters/order.hpp"
#include "daemon/clusters/sync/syncer.hpp"
#include "daemon/gateway/guards.hpp"

#include <nlohmann/json.hpp>

#include <atomic>
#include <filesystem>
#include <map>
#include <mutex>

namespace zoo::app {
namespace {

using Level = tenants::Finding::Level;

constexpr std::chrono::minutes k_memory_kept{1};

Result<clusters::Settings> settings_of(const ClustersParts& parts) {
  const auto& values = parts.values;
  clusters::Settings out;
  out.directory = std::filesystem::absolute(values.path("dir")) / "clusters";
  out.binaries = std::filesystem::absolute(values.path("clusters.binaries"));
  out.version = values.string("clusters.version");
  ZOO_TRY(out.addresses, clusters::parse_addresses(values.string("clusters.addresses")));
  ZOO_TRY(out.ports, clusters::parse_ports("clusters.ports", values.string("clusters.ports")));
  ZOO_TRY_VOID(clusters::parse_ports("clusters.node_ports", values.string("clusters.node_ports"))
                   .map([](auto) {}));
  ZOO_TRY(const auto listen, parse_address(parts.listener.address()));
  out.listen_host = listen.host;
  out.listen = reachable(listen).text();
  out.advertise_host = parts.advertise.host;
  out.advertise_port = parts.advertise.port;
  if (const auto domain = values.string("clusters.domain"); !domain.empty()) {
    out.domain = domain;
    out.domain_resolves = true;
  }
  out.service_range = values.string("clusters.service_range");
  out.node_ports = values.string("clusters.node_ports");
  out.service_limit = static_cast<unsigned>(values.integer("clusters.service_limit"));
  out.node_port_limit = static_cast<unsigned>(values.integer("clusters.node_port_limit"));
  out.coredns_image = values.string("clusters.coredns_image");
  out.memory = values.size("clusters.memory");
  out.memory_reserve = values.size("clusters.memory_reserve");
  out.etcd_quota = values.size("clusters.etcd_quota");
  out.disk_reserve = values.size("clusters.disk_reserve");
  out.uid_base = static_cast<std::uint32_t>(values.integer("clusters.uid_base"));
  out.validity = std::chrono::duration_cast<std::chrono::seconds>(
      values.duration("clusters.certificate_validity"));
  return out;
}

} // namespace

struct Clusters::Impl {
  explicit Impl(ClustersParts given) : parts(std::move(given)) {}

  void knock(const std::string& key) {
    const std::scoped_lock lock(knock_mutex);
    if (knocked != nullptr) knocked->knock(key);
  }
  void doors_changed() {
    if (!door_stands) return;
    door->changed();
    egress->follow();
    const std::scoped_lock lock(direct_mutex);
    if (!direct_closed) direct->follow(*table.load(), door);
  }
  void furnished(const std::string& id, bool others) {
    if (door_stands) egress->furnished(id, others);
  }
  /// How a cluster of this ID is kept equal with upstream is another way than it was.
  void synced(const std::string& id) {
    const auto now = table.load();
    const auto* const entry = now->find(id);
    const std::scoped_lock lock(knock_mutex);
    if (knocked != nullptr && entry != nullptr) knocked->wake(entry->key);
  }
  /// What no tenant may store, a cluster may not either.
  Result<void> allowed(const std::string& id, const clusters::sync::MirrorKind& kind,
                       const nlohmann::json& object) const {
    translate::Target target;
    target.group = kind.group;
    target.version = kind.version;
    target.resource = kind.resource;
    return gateway::check_guards(default_terms(parts.values).guards,
                                 translate::Mapping(id, parts.upstream.shared_names()), target,
                                 kube::text_of(object), true);
  }
  void written(const std::string& key) {
    if (follows_orders) orders->written(key);
  }

  /// Of a program of a control plane, in bytes: at most a minute old, since the kernel goes over
  /// all its pages for it.
  std::uint64_t memory_of(std::int64_t pid) {
    const std::scoped_lock lock(memory_mutex);
    const auto now = std::chrono::steady_clock::now();
    std::erase_if(memory,
                  [now](const auto& each) { return now - each.second.read > k_memory_kept; });
    auto [found, fresh] = memory.try_emplace(pid);
    if (fresh) found->second = {clusters::process_memory(pid), now};
    return found->second.bytes;
  }

  ClustersParts parts;
  struct Memory {
    std::uint64_t bytes = 0;
    std::chrono::steady_clock::time_point read;
  };
  std::mutex memory_mutex;
  std::map<std::int64_t, Memory> memory; ///< by process
  // As long as there is a listener somebody may stand at its door: these outlive all of them.
  clusters::PublishedDoors table{std::make_shared<const clusters::DoorTable>()};
  std::mutex knock_mutex;
  clusters::Controller* knocked = nullptr; ///< `controller`, while it is there
  std::shared_ptr<clusters::Door> door;
  std::mutex direct_mutex;
  std::unique_ptr<clusters::DirectDoors> direct; ///< under the mutex, as `direct_closed`
  bool direct_closed = false;
  std::unique_ptr<ClusterEgress> egress;
  std::atomic<bool> door_stands = false;    ///< `door`, `direct` and `egress` are there, and stay
  std::atomic<bool> follows_orders = false; ///< `orders` is there, and stays
  std::unique_ptr<clusters::Orders> orders; ///< null without clusters.upstream_crd
  std::unique_ptr<clusters::sync::Syncer> syncer;
  std::unique_ptr<clusters::Controller> controller;
};

Clusters::Clusters() = default;
Clusters::~Clusters() { close(); }

Result<std::unique_ptr<Clusters>> Clusters::open(ClustersParts parts) {
  std::unique_ptr<Clusters> out(new Clusters);
  if (!parts.values.boolean("clusters.enabled")) return out;
  out->impl_ = std::make_unique<Impl>(std::move(parts));
  auto& impl = *out->impl_;
  ZOO_TRY(auto settings, settings_of(impl.parts));
  impl.syncer = std::make_unique<clusters::sync::Syncer>(
      impl.parts.upstream, *impl.parts.sync_loop,
      clusters::sync::SyncerParts{
          .upstream = std::make_shared<upstream::Connections>(
              [&impl] { return impl.parts.credential.api(); }),
          .acting = std::make_shared<upstream::ActingConnections>(
              [&impl] { return impl.parts.credential.acting_api(); }),
          .names = [&impl] { return impl.parts.upstream.shared_names(); },
          .allowed = [&impl](const auto& id, const auto& kind,
                             const auto& object) { return impl.allowed(id, kind, object); },
          .tenants = impl.parts.tenants,
          .changed = [&impl](const std::string& id) { impl.synced(id); },
          .quota_fence = impl.parts.values.boolean("clusters.quota_fence")});
  impl.controller = std::make_unique<clusters::Controller>(clusters::ControllerParts{
      .store = impl.parts.store,
      .settings = std::move(settings),
      .doors = impl.table,
      .tenants = impl.parts.tenants,
      .syncer = *impl.syncer,
      .connect = [&impl] { return impl.parts.credential.api(); },
      .doors_changed = [&impl] { impl.doors_changed(); },
      .furnished = [&impl](const auto& id, bool others) { impl.furnished(id, others); },
      .idle = [&impl](const auto& id) { return impl.door->idle(id); },
      .written = [&impl](const auto& key) { impl.written(key); }});
  const auto& made = impl.controller->settings();
  impl.door = std::make_shared<clusters::Door>(clusters::Door::Parts{
      impl.table, made.domain,
      static_cast<std::size_t>(impl.parts.values.integer("clusters.connections")),
      [&impl](const std::string& key) { impl.knock(key); }, impl.parts.loops});
  impl.direct = std::make_unique<clusters::DirectDoors>(
      impl.parts.loops, made.listen_host, listener_limits(impl.parts.values), made.domain);
  ZOO_TRY(impl.egress,
          ClusterEgress::open({impl.parts.values, impl.parts.credential, impl.parts.upstream,
                               impl.parts.gateway, impl.parts.loops, impl.parts.advertise, made,
                               impl.table, *impl.syncer,
                               [&impl](const auto& id, std::string body, auto done) {
                                 return impl.syncer->review(id, std::move(body), std::move(done));
                               },
                               [&impl](const auto& id, auto request, auto done) {
                                 return impl.syncer->usage(id, std::move(request), std::move(done));
                               }}));
  impl.egress->start();
  impl.knocked = impl.controller.get();
  impl.door_stands = true;
  impl.syncer->start();
  ZOO_TRY_VOID(impl.controller->start());
  impl.parts.listener.set_porter(impl.door); // the table has all clusters by then
  if (!impl.parts.values.boolean("clusters.upstream_crd")) return out;
  impl.orders = std::make_unique<clusters::Orders>(clusters::OrderParts{
      impl.parts.store, *impl.controller, impl.parts.upstream, *impl.parts.loops.front(),
      [&impl] { return impl.parts.credential.api(); },
      impl.parts.values.boolean("clusters.kubeconfig_in_cr")});
  impl.follows_orders = true;
  impl.orders->start();
  return out;
}

std::vector<resources::KindPtr> Clusters::kinds() const {
  if (!impl_) return {};
  auto* const controller = impl_->controller.get();
  clusters::KindParts parts;
  parts.backing = std::make_shared<clusters::ClusterBacking>(
      impl_->parts.store, [controller](const std::string& key) { controller->wake(key); });
  parts.decorate = [controller](nlohmann::json& object, std::vector<std::string>& warnings) {
    controller->decorate(object, warnings);
  };
  parts.certificates = [controller](const std::string& key) {
    return controller->certificates(key);
  };
  parts.renew = [controller](const std::string& key, bool revoke) {
    return controller->renew(key, revoke);
  };
  parts.wake = [controller](const std::string& key) { controller->knock(key); };
  parts.turn_authority = [controller](const std::string& key, clusters::AuthorityStage stage) {
    return controller->turn_authority(key, stage);
  };
  parts.log_part = [controller](const std::string& key, const std::string& component,
                                std::size_t lines, std::optional<std::uint64_t> from) {
    return controller->log_part(key, component, lines, from);
  };
  return {clusters::cluster_kind(std::move(parts))};
}

std::vector<tenants::Finding> Clusters::findings() const {
  std::vector<tenants::Finding> out;
  if (!impl_) return out;
  const auto& settings = impl_->controller->settings();
  const auto versions = clusters::present_versions(settings.binaries);
  if (versions.empty()) {
    out.push_back({Level::problem, "virtual clusters",
                   fmt::format("there is no version of Kubernetes in {}: no cluster can start",
                               settings.binaries.string()),
                   "build one with packaging/control-planes, or set clusters.binaries"});
  }
  const auto records = clusters::all_records(impl_->parts.store);
  if (!records) {
    out.push_back({Level::problem, "virtual clusters", records.error().text(), "see the log"});
    return out;
  }
  if (const auto trouble = impl_->orders ? impl_->orders->trouble() : std::string();
      !trouble.empty())
    out.push_back({Level::problem, "virtual clusters",
                   "orders of the upstream are not followed: " + trouble, "see zood's log"});
  if (records->empty()) return out;
  if (const auto trouble = impl_->controller->keeper_trouble(); !trouble.empty())
    out.push_back({Level::problem, "virtual clusters", trouble,
                   "start it: `systemctl start zood-keeper`, or restart zood"});
  const auto free = impl_->controller->free_memory();
  if (free != 0 && free < settings.memory_reserve + clusters::Settings::k_needed)
    out.push_back({Level::warning, "virtual clusters",
                   fmt::format("{} MiB of memory are free: no further control plane starts or "
                               "wakes",
                               free >> 20U),
                   "pause clusters, let them sleep (spec.sleep.after), or add memory"});
  if (const auto disk = clusters::free_disk(settings.directory);
      disk && *disk < settings.disk_reserve + clusters::Settings::k_needed_disk)
    out.push_back({Level::warning, "virtual clusters",
                   fmt::format("{} MiB are free on the disk of {}: no further control plane starts "
                               "or wakes",
                               *disk >> 20U, settings.directory.string()),
                   "make room there, or delete clusters that nobody needs"});
  std::size_t good = 0;
  for (const auto& record : *records) {
    const auto phase = record.phase();
    const auto& status = record.object["status"];
    if (phase == "Initialized" || phase == "Paused") {
      bool ready = true;
      for (const auto& each : status.value("conditions", nlohmann::json::array()))
        if (each.value("type", "") == "ControlPlaneReady" && each.value("status", "") != "True" &&
            phase == "Initialized") {
          ready = false;
          out.push_back({Level::problem, "virtual cluster " + record.key(),
                         each.value("message", ""),
                         fmt::format("`zooctl cluster describe {} -n {}` shows more", record.name(),
                                     record.space())});
        }
      good += ready ? 1 : 0;
      continue;
    }
    out.push_back(
        {Level::warning, "virtual cluster " + record.key(),
         fmt::format("it is {}: {}", phase.empty() ? "new" : phase, status.value("message", "")),
         ""});
  }
  const auto [soft, open, users, uid_base] = impl_->controller->unheld();
  if (!open.empty())
    out.push_back({Level::warning, "virtual clusters",
                   "programs of one control plane can open keys and data of the others: " + open,
                   "have a kernel that names landlock in /sys/kernel/security/lsm"});
  if (uid_base != settings.uid_base)
    out.push_back(
        {Level::warning, "virtual clusters",
         fmt::format("the keeper of control planes was started with clusters.uid_base "
                     "{}, and zood with {}",
                     uid_base, settings.uid_base),
         "start the keeper anew, which ends no control plane: `systemctl restart zood-keeper`, "
         "or SIGTERM to it where zood has started it itself"});
  else if (!users.empty())
    out.push_back({Level::warning, "virtual clusters", "users of control planes: " + users,
                   "docs/virtual-clusters.md, \"Who sees what on zood's machine\", says how each "
                   "has one of its own"});
  out.push_back(
      {Level::ok, "virtual clusters",
       fmt::format("{} of {} are as they should be; {}{}", good, records->size(),
                   soft.empty()
                       ? "the kernel holds each to its memory and its part of the processors"
                       : "the limits of their memory are soft: " + soft,
                   uid_base != 0 && uid_base == settings.uid_base && users.empty()
                       ? "; each runs as a user of its own"
                       : ""),
       ""});
  return out;
}

void Clusters::measure(MetricText& out) const {
  if (!impl_) return;
  using Type = MetricText::Type;
  const auto records = clusters::all_records(impl_->parts.store);
  if (!records) return;
  std::map<std::string, std::size_t> phases;
  std::vector<std::pair<const clusters::Record*, keeper::PlanState>> states;
  for (const auto& record : *records) {
    ++phases[record.phase().empty() ? "Preparing" : record.phase()];
    if (auto state = impl_->controller->processes(record.place.id))
      states.emplace_back(&record, *std::move(state));
  }
  out.family("zood_virtual_clusters", Type::gauge, "Virtual clusters, by phase");
  for (const auto& [phase, count] : phases)
    out.sample(static_cast<double>(count), {{"phase", phase}});
  out.family("zood_virtual_cluster_component_restarts_total", Type::counter,
             "Times that a program of a control plane ended without being told to");
  for (const auto& [record, state] : states)
    for (const auto& each : state.components)
      out.sample(
          static_cast<double>(each.restarts),
          {{"namespace", record->space()}, {"name", record->name()}, {"component", each.name}});
  out.family(
      "zood_virtual_cluster_component_memory_bytes", Type::gauge,
      "Memory of a program of a control plane: its proportional set size, read once a minute");
  for (const auto& [record, state] : states)
    for (const auto& each : state.components)
      if (each.pid != 0)
        out.sample(
            static_cast<double>(impl_->memory_of(each.pid)),
            {{"namespace", record->space()}, {"name", record->name()}, {"component", each.name}});
  const auto synced = impl_->syncer->counts();
  using Synced = clusters::sync::Syncer::Count;
  const auto of_syncer = [&](std::string_view name, std::string_view help, auto value) {
    out.family(name, Type::gauge, help);
    for (const auto& [id, count] : synced)
      out.sample(static_cast<double>(value(count)), {{"id", id}});
  };
  of_syncer("zood_virtual_cluster_pods", "Pods of a virtual cluster that are bound, or upstream",
            [](const Synced& count) { return count.pods; });
  of_syncer("zood_virtual_cluster_pods_refused", "Of these, those that the upstream does not take",
            [](const Synced& count) { return count.refused; });
  of_syncer("zood_virtual_cluster_backlog", "Pods and nodes of it that are to be looked at",
            [](const Synced& count) { return count.backlog; });
  const auto counts = impl_->door->counts();
  using Count = clusters::Door::Count;
  const auto of_door = [&](std::string_view name, Type type, std::string_view help, auto value) {
    out.family(name, type, help);
    for (const auto& [id, count] : counts)
      out.sample(static_cast<double>(value(count)), {{"id", id}});
  };
  of_door("zood_virtual_cluster_connections", Type::gauge, "Connections to a virtual cluster",
          [](const Count& count) { return count.open; });
  of_door("zood_virtual_cluster_connections_total", Type::counter,
          "Connections that there have been", [](const Count& count) { return count.accepted; });
  of_door("zood_virtual_cluster_connections_refused_total", Type::counter,
          "Connections above clusters.connections",
          [](const Count& count) { return count.refused; });
  auto passed = impl_->parts.listener.passed();
  {
    const std::scoped_lock lock(impl_->direct_mutex);
    passed += impl_->direct->passed();
  }
  out.family("zood_virtual_cluster_objects", Type::gauge,
             "Objects of a virtual cluster, pods apart, that are kept upstream");
  for (const auto& [id, kinds] : impl_->syncer->objects())
    for (const auto& [resource, count] : kinds)
      out.sample(static_cast<double>(count), {{"id", id}, {"resource", resource}});
  const auto egress = impl_->egress->counts();
  using Egress = clusters::EgressDoors::Count;
  const auto of_egress = [&](std::string_view name, Type type, std::string_view help, auto value) {
    out.family(name, type, help);
    for (const auto& [id, count] : egress)
      out.sample(static_cast<double>(value(count)), {{"id", id}});
  };
  of_egress("zood_virtual_cluster_egress_connections", Type::gauge,
            "Connections of a virtual cluster's API server to the outside",
            [](const Egress& count) { return count.open; });
  of_egress("zood_virtual_cluster_egress_total", Type::counter,
            "Connections to the outside that it asked for",
            [](const Egress& count) { return count.asked; });
  of_egress("zood_virtual_cluster_egress_refused_total", Type::counter,
            "Of these, those that it did not get",
            [](const Egress& count) { return count.refused; });
  out.family("zood_virtual_cluster_bytes_total", Type::counter,
             "Bytes that were handed through to and from virtual clusters");
  out.sample(static_cast<double>(passed.inward), {{"direction", "inward"}});
  out.sample(static_cast<double>(passed.outward), {{"direction", "outward"}});
}

std::vector<reconcile::Counts> Clusters::controllers() const {
  return impl_ ? std::vector{impl_->controller->counts()} : std::vector<reconcile::Counts>();
}

void Clusters::close() {
  if (!impl_) return;
  if (impl_->orders) impl_->orders->stop();
  {
    const std::scoped_lock lock(impl_->direct_mutex);
    impl_->direct_closed = true;
    if (impl_->direct) impl_->direct->close();
  }
  {
    const std::scoped_lock lock(impl_->knock_mutex);
    impl_->knocked = nullptr;
  }
  if (impl_->egress) impl_->egress->close(); // nobody waits for its loops after this
  impl_->controller.reset();
  if (impl_->syncer) impl_->syncer->stop();
  impl_->follows_orders = false;
  impl_->orders.reset();
}

} // namespace zoo::app
