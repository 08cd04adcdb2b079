// SPDX-License-Identifier: Apache-2.0
#include "cli/virtual_cluster.hpp"

#include "cli/command.hpp"
#include "cli/options.hpp"
#include "cli/output/result.hpp"
#include "cli/output/table.hpp"
#include "common/api/virtual_cluster.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>
#include <utility>

namespace zoo::cli {
namespace {

using nlohmann::json;
namespace phases = api::cluster_phase;

/// --services and --node-ports: how many of the upstream's ClusterIPs and nodePorts it may take.
struct LimitOptions {
  std::optional<unsigned> services, node_ports;

  /// `is_new`: of a cluster that is made by this command, not changed.
  void define(CLI::App& app, bool is_new) {
    const auto unless = [is_new](const char* key) {
      return is_new ? fmt::format("by default {} of zood.yaml", key)
                    : std::string("it stays as it is where nothing is said");
    };
    app.add_option("--services", services,
                   "How many Services it may have; " + unless("clusters.service_limit"))
        ->type_name("NUMBER");
    app.add_option("--node-ports", node_ports,
                   "How many nodePorts these may have together; " +
                       unless("clusters.node_port_limit"))
        ->type_name("NUMBER");
  }
  bool given() const { return services || node_ports; }
  void put(json& spec) const {
    if (services) spec["limits"]["services"] = *services;
    if (node_ports) spec["limits"]["nodePorts"] = *node_ports;
  }
};

struct ClusterCreate final : Command {
  std::string name, space = "default", cpu, memory, version, sleep, dns, format;
  std::vector<std::string> nodes, resources, sans;
  std::optional<unsigned> virtual_nodes, weight;
  bool exclusive = false, disruption_budgets = false, dry_run = false;
  LimitOptions limits;
  WaitOptions wait{true, "2m"};

  void define(CLI::App& app) override {
    app.add_option("cluster", name, "The new virtual cluster's name")
        ->type_name("NAME")
        ->required();
    add_cluster_space(app, space);
    add_repeated(app, "--node", nodes, "A node of the upstream; may be repeated", "NODE");
    app.add_option("--cpu", cpu, "Its share of cpu, as in 10 or 500m")->type_name("QUANTITY");
    app.add_option("--memory", memory, "Its share of memory, as in 100Gi")->type_name("QUANTITY");
    add_repeated(app, "--resource", resources,
                 "Its share of another resource, as in nvidia.com/gpu=2; may be repeated",
                 "NAME=QUANTITY");
    app.add_option("--virtual-nodes", virtual_nodes,
                   "As how many nodes the share is shown, 1 to 100; by default 1")
        ->type_name("NUMBER");
    app.add_flag("--exclusive", exclusive, "No other virtual cluster has its nodes");
    app.add_option("--weight", weight,
                   "Its part of turns and processor time where clusters compete, 1 to 10000; by "
                   "default 100")
        ->type_name("NUMBER");
    limits.define(app, true);
    app.add_flag("--disruption-budgets", disruption_budgets,
                 "Drains of the upstream's nodes heed its PodDisruptionBudgets");
    add_choice(app, "--dns", dns, "coredns|none",
               "coredns, the default: zood runs CoreDNS in it. none: it does not");
    app.add_option(
           "--kubernetes", version,
           "The version of Kubernetes; by default clusters.version of zood.yaml, or the newest "
           "that zood has")
        ->type_name("VERSION");
    app.add_option("--sleep-after", sleep,
                   "Stop the control plane so long after the last connection; one that comes "
                   "starts it again. By default never")
        ->type_name("DURATION");
    add_repeated(app, "--san", sans,
                 "A name or address more at which clients reach it; may be repeated", "NAME");
    add_dry_run(app, dry_run);
    add_wait_options(app, wait, "the cluster is Initialized");
    add_format_option(app, format, k_object_formats);
    add_examples(app, "  zooctl cluster create tenant1-cluster --node node1 --node node2 --cpu 10 "
                      "--memory 100Gi\n"
                      "  zooctl cluster create small --sleep-after 30m --no-wait");
  }

  Result<json> wanted() const {
    json cluster = {{"apiVersion", api::k_cluster_api_version},
                    {"kind", api::k_cluster_kind},
                    {"metadata", {{"name", name}, {"namespace", space}}},
                    {"spec", json::object()}};
    auto& spec = cluster["spec"];
    if (!nodes.empty()) spec["promoteResources"]["nodes"] = nodes;
    if (!cpu.empty()) spec["promoteResources"]["resources"]["cpu"] = cpu;
    if (!memory.empty()) spec["promoteResources"]["resources"]["memory"] = memory;
    for (const auto& each : resources) {
      ZOO_TRY(const auto pair, option_pair("--resource", each, "NAME=QUANTITY"));
      spec["promoteResources"]["resources"][pair.first] = pair.second;
    }
    if (virtual_nodes) spec["virtualNodes"] = *virtual_nodes;
    if (exclusive) spec["exclusive"] = true;
    if (weight) spec["weight"] = *weight;
    limits.put(spec);
    if (disruption_budgets) spec["sync"]["podDisruptionBudgets"] = true;
    if (!dns.empty()) spec["dns"] = dns;
    if (!version.empty()) spec["version"] = version;
    if (!sleep.empty()) spec["sleep"]["after"] = sleep;
    if (!sans.empty()) spec["extraSANs"] = sans;
    return cluster;
  }

  Result<int> run(Context& context) override {
    ZOO_TRY(const auto timeout, option_duration("--timeout", wait.timeout));
    ZOO_TRY(const auto cluster, wanted());
    ZOO_TRY(auto clusters, VirtualClusters::open(context, space));
    const auto begun = context.steady();
    ZOO_TRY(const auto made, clusters.create(cluster, dry_run));
    const auto kind = format_of(format);
    const bool waits = wait.wait && !dry_run;
    if (kind == Format::standard || !waits)
      print_cluster_result(context, made, "created", dry_run, kind);
    if (!waits) return 0;
    ZOO_TRY(const auto ready, clusters.wait(name, std::string(phases::k_initialized),
                                            text_at(made, "/metadata/uid"), timeout));
    if (kind != Format::standard) print_cluster_result(context, ready, "", false, kind);
    context.say(fmt::format("virtualcluster/{} is Initialized ({:.1f} s)", name,
                            std::chrono::duration<double>(context.steady() - begun).count()));
    context.hint(fmt::format("Connect to it: zooctl cluster connect {}{}", name,
                             space == "default" ? "" : " -n " + space));
    return 0;
  }
};

struct ClusterList final : Command {
  std::string space = "default", selector, format;
  bool all = false, no_headers = false;

  void define(CLI::App& app) override {
    add_cluster_space(app, space);
    app.add_flag("-A,--all-namespaces", all, "Those of all namespaces");
    app.add_option("-l,--selector", selector, "Only those with these labels: key=value,...")
        ->type_name("SELECTOR");
    add_format_option(app, format, k_object_formats);
    add_no_headers(app, no_headers);
    add_examples(app, "  zooctl cluster list -A\n  zooctl cluster list -o wide");
  }

  Result<int> run(Context& context) override {
    ZOO_TRY(auto clusters, VirtualClusters::open(context, all ? "" : space));
    ZOO_TRY(auto list, clusters.list(selector));
    const bool none = list["items"].empty();
    print_clusters(context, std::move(list), {format_of(format), !no_headers}, all);
    if (none)
      context.hint(
          all ? "There are no virtual clusters yet. Make one: zooctl cluster create NAME"
              : fmt::format("There are none in namespace {}; -A shows those of all", space));
    return 0;
  }
};

struct ClusterGet final : Command {
  std::vector<std::string> names;
  std::string space = "default", format;
  bool no_headers = false, describes;

  explicit ClusterGet(bool in_full) : describes(in_full) {}

  void define(CLI::App& app) override {
    add_cluster_names(app, names);
    add_cluster_space(app, space);
    if (describes) return add_examples(app, "  zooctl cluster describe tenant1-cluster");
    add_format_option(app, format, k_object_formats);
    add_no_headers(app, no_headers);
    add_examples(app, "  zooctl cluster get tenant1-cluster -o yaml");
  }

  Result<int> run(Context& context) override {
    ZOO_TRY(auto clusters, VirtualClusters::open(context, space));
    bool first = true;
    return for_all<std::string>(context, names, [&](const std::string& name) -> Result<void> {
      ZOO_TRY(auto cluster, clusters.get(name));
      if (describes) {
        if (!std::exchange(first, false)) context.out << "\n\n";
        describe_cluster(context, cluster);
      } else {
        print_cluster(context, std::move(cluster),
                      {format_of(format), !no_headers && std::exchange(first, false)});
      }
      return {};
    });
  }
};

struct ClusterDelete final : Command {
  std::vector<std::string> names;
  std::string space = "default", format;
  bool dry_run = false, ignore_not_found = false;
  WaitOptions wait{true, "2m"};

  void define(CLI::App& app) override {
    add_cluster_names(app, names);
    add_cluster_space(app, space);
    app.add_flag("--ignore-not-found", ignore_not_found, "One that is not there is no error");
    add_dry_run(app, dry_run);
    add_wait_options(app, wait, "all of it is gone");
    add_format_option(app, format, "name");
    add_examples(app, "  zooctl cluster delete tenant1-cluster");
  }

  Result<int> run(Context& context) override {
    ZOO_TRY(const auto timeout, option_duration("--timeout", wait.timeout));
    ZOO_TRY(auto clusters, VirtualClusters::open(context, space));
    std::vector<json> going;
    auto asked = for_all<std::string>(context, names, [&](const std::string& name) -> Result<void> {
      auto cluster = clusters.get(name);
      if (!cluster && ignore_not_found && cluster.error().code() == Code::not_found) return {};
      if (!cluster) return fail(std::move(cluster).error());
      ZOO_TRY_VOID(clusters.remove(name, text_at(*cluster, "/metadata/uid"), dry_run));
      if (wait.wait && !dry_run) {
        going.push_back(*std::move(cluster));
      } else {
        print_cluster_result(context, *cluster, dry_run ? "deleted" : "is being deleted", dry_run,
                             format_of(format));
      }
      return {};
    });
    auto gone = for_all<json>(context, going, [&](const json& cluster) -> Result<void> {
      ZOO_TRY_VOID(clusters.wait(text_at(cluster, "/metadata/name"), "",
                                 text_at(cluster, "/metadata/uid"), timeout));
      print_cluster_result(context, cluster, "deleted", false, format_of(format));
      return {};
    });
    if (!asked && !gone) context.err << "zooctl: " << gone.error().text() << '\n';
    return asked ? gone : asked;
  }
};

/// pause and resume.
struct ClusterPause final : Command {
  std::vector<std::string> names;
  std::string space = "default", format;
  bool dry_run = false, pauses;
  WaitOptions wait{true, "2m"};

  explicit ClusterPause(bool to_pause) : pauses(to_pause) {}

  void define(CLI::App& app) override {
    add_cluster_names(app, names);
    add_cluster_space(app, space);
    add_dry_run(app, dry_run);
    add_wait_options(app, wait, pauses ? "its processes have ended" : "the cluster is Initialized");
    add_format_option(app, format, k_object_formats);
    add_examples(app, pauses ? "  zooctl cluster pause tenant1-cluster"
                             : "  zooctl cluster resume tenant1-cluster");
  }

  Result<int> run(Context& context) override {
    ZOO_TRY(const auto timeout, option_duration("--timeout", wait.timeout));
    ZOO_TRY(auto clusters, VirtualClusters::open(context, space));
    return for_all<std::string>(context, names, [&](const std::string& name) -> Result<void> {
      ZOO_TRY(auto cluster, clusters.patch(name, {{"spec", {{"paused", pauses}}}}, dry_run));
      if (!pauses && !dry_run && text_at(cluster, "/status/reason") == "Asleep")
        ZOO_TRY_VOID(clusters.wake(name));
      if (wait.wait && !dry_run) {
        const auto phase = std::string(pauses ? phases::k_paused : phases::k_initialized);
        ZOO_TRY(cluster, clusters.wait(name, phase, text_at(cluster, "/metadata/uid"), timeout));
      }
      print_cluster_result(context, cluster, pauses ? "paused" : "resumed", dry_run,
                           format_of(format));
      return {};
    });
  }
};

struct ClusterLimit final : Command {
  std::vector<std::string> names;
  std::string space = "default", format;
  LimitOptions limits;
  bool dry_run = false;

  void define(CLI::App& app) override {
    add_cluster_names(app, names);
    add_cluster_space(app, space);
    limits.define(app, false);
    add_dry_run(app, dry_run);
    add_format_option(app, format, k_object_formats);
    add_examples(app, "  zooctl cluster limit tenant1-cluster --services 200 --node-ports 10");
  }

  Result<int> run(Context& context) override {
    if (!limits.given())
      return fail(Code::usage, "say what it may have: --services NUMBER, --node-ports NUMBER");
    ZOO_TRY(auto clusters, VirtualClusters::open(context, space));
    json spec = json::object();
    limits.put(spec);
    return for_all<std::string>(context, names, [&](const std::string& name) -> Result<void> {
      ZOO_TRY(const auto cluster, clusters.patch(name, {{"spec", spec}}, dry_run));
      print_cluster_result(context, cluster, "limited", dry_run, format_of(format));
      return {};
    });
  }
};

} // namespace

std::unique_ptr<Command> make_cluster_create() { return std::make_unique<ClusterCreate>(); }
std::unique_ptr<Command> make_cluster_list() { return std::make_unique<ClusterList>(); }
std::unique_ptr<Command> make_cluster_get() { return std::make_unique<ClusterGet>(false); }
std::unique_ptr<Command> make_cluster_describe() { return std::make_unique<ClusterGet>(true); }
std::unique_ptr<Command> make_cluster_delete() { return std::make_unique<ClusterDelete>(); }
std::unique_ptr<Command> make_cluster_pause() { return std::make_unique<ClusterPause>(true); }
std::unique_ptr<Command> make_cluster_resume() { return std::make_unique<ClusterPause>(false); }
std::unique_ptr<Command> make_cluster_limit() { return std::make_unique<ClusterLimit>(); }

} // namespace zoo::cli
