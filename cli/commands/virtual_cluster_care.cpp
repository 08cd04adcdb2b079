// SPDX-License-Identifier: Apache-2.0
// What is looked at and renewed in a virtual cluster that runs: certificates, logs.
#include "cli/command.hpp"
#include "cli/options.hpp"
#include "cli/output/printer.hpp"
#include "cli/output/table.hpp"
#include "cli/virtual_cluster.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>

namespace zoo::cli {
namespace {

using nlohmann::json;

constexpr const char* k_components = "etcd|kube-apiserver|kube-controller-manager|kube-scheduler";
constexpr std::chrono::milliseconds k_log_pause{1'000}; ///< between two looks at a log

struct ClusterCerts final : Command {
  std::string action, name, stage, space = "default", format;

  void define(CLI::App& app) override {
    add_choice(app, "action", action, "check|rotate|rotate-ca|revoke",
               "check: show them. rotate: make them anew, and the administrator's with a new key. "
               "rotate-ca: let another authority follow, stage by stage. revoke: make the "
               "administrator's anew, and refuse those until now");
    app.get_option("action")->required();
    add_cluster_name(app, name);
    add_cluster_space(app, space);
    add_choice(
        app, "--stage", stage, "announce|use|settle",
        "Of rotate-ca. announce, the first: kubeconfigs from now on trust the next "
        "authority, too. use: it signs; what the one before it has signed is taken. settle: "
        "the one before it is trusted no more; after announce: all stays as it was. By default "
        "announce or, while a change is under way, none: it is shown");
    add_format_option(app, format, "table|json|yaml");
    add_examples(app, "  zooctl cluster certs check tenant1-cluster\n"
                      "  zooctl cluster certs revoke tenant1-cluster\n"
                      "  zooctl cluster certs rotate-ca tenant1-cluster\n"
                      "  zooctl cluster certs rotate-ca tenant1-cluster --stage use");
  }

  /// zood's word for it. Without --stage a rotation begins, or is told of.
  Result<json> rotate_authority(VirtualClusters& clusters) const {
    if (stage == "use") return clusters.turn_authority(name, "used");
    if (stage == "settle") return clusters.turn_authority(name, "settled");
    if (stage == "announce") return clusters.turn_authority(name, "announced");
    ZOO_TRY(auto list, clusters.certificates(name));
    if (text_at(list, "/authorityStage") != "settled") return list;
    return clusters.turn_authority(name, "announced");
  }

  Result<json> act(VirtualClusters& clusters) const {
    if (action == "check") return clusters.certificates(name);
    if (action == "rotate-ca") return rotate_authority(clusters);
    return clusters.renew(name, action);
  }

  void tell_stage(Context& context, const json& list) const {
    const auto command = fmt::format("zooctl cluster certs rotate-ca {}{} --stage ", name,
                                     space == "default" ? std::string() : " -n " + space);
    const auto now = text_at(list, "/authorityStage");
    if (now == "announced")
      context.say(fmt::format("the next authority is announced: hand out the kubeconfig of now "
                              "(zooctl cluster connect), and when everybody has it: {}use",
                              command));
    if (now == "used")
      context.say(fmt::format("the next authority signs; credentials of the one before it work "
                              "until: {}settle",
                              command));
    if (now == "settled") context.say("one authority is trusted, and no other");
  }

  Result<int> run(Context& context) override {
    if (!stage.empty() && action != "rotate-ca")
      return fail(Code::usage, "--stage goes with rotate-ca, not with {}", action);
    ZOO_TRY(auto clusters, VirtualClusters::open(context, space));
    ZOO_TRY(const auto list, act(clusters));
    const auto kind = format_of(format);
    if (kind == Format::json || kind == Format::yaml) {
      print_record(context, list, kind);
    } else {
      print_certificates(context, list);
    }
    if (action == "rotate")
      context.say("the administrator's kubeconfig is a new one; those before it work until they "
                  "expire");
    if (action == "revoke")
      context.say("the administrator's kubeconfig is a new one; those before it are refused");
    if (action == "rotate-ca") tell_stage(context, list);
    bool good = true;
    for (const auto& each : list.value("items", json::array()))
      good = good && text_at(each, "/trouble").empty();
    return good ? 0 : 1;
  }
};

struct ClusterLogs final : Command {
  std::string name, component, space = "default";
  unsigned lines = 100;
  bool follows = false;

  void define(CLI::App& app) override {
    add_cluster_name(app, name);
    add_choice(app, "component", component, k_components, "Whose log");
    app.get_option("component")->required();
    add_cluster_space(app, space);
    app.add_option("--tail", lines, "How many lines of its end, 10000 at most")
        ->type_name("LINES")
        ->capture_default_str();
    app.add_flag("-f,--follow", follows, "Go on with what is written from then on");
    add_examples(app, "  zooctl cluster logs tenant1-cluster kube-apiserver --tail 20\n"
                      "  zooctl cluster logs -f tenant1-cluster etcd");
  }

  static void print(Context& context, std::string_view text) {
    std::size_t begin = 0;
    while (begin < text.size()) {
      const auto end = std::min(text.find('\n', begin), text.size());
      context.out << printable(text.substr(begin, end - begin)) << '\n';
      begin = end + 1;
    }
    context.out << std::flush;
  }

  /// Until nobody reads it, or zood has no such log any more. A zood that is away is waited for:
  /// the log stays where it is, and so does the position in it.
  Result<int> follow(Context& context, VirtualClusters& clusters) const {
    ZOO_TRY(auto part, clusters.log_part(name, component, lines, std::nullopt));
    bool away = false;
    for (;;) {
      print(context, part.text);
      if (!context.out) return 0;
      // What one answer had no room for is asked for at once.
      if (part.text.empty()) context.pause(k_log_pause);
      auto next = clusters.log_part(name, component, lines, part.position);
      if (!next && !AdminClient::passes(next.error())) return fail(std::move(next).error());
      if (away == next.has_value())
        context.say(away ? "zood answers again: the log goes on where it was"
                         : "the log goes on when zood answers again: " + next.error().message());
      away = !next;
      if (next) {
        part = *std::move(next);
      } else {
        part.text.clear();
      }
    }
  }

  Result<int> run(Context& context) override {
    ZOO_TRY(auto clusters, VirtualClusters::open(context, space));
    if (follows) return follow(context, clusters);
    ZOO_TRY(const auto text, clusters.log(name, component, lines));
    print(context, text);
    return 0;
  }
};

} // namespace

std::unique_ptr<Command> make_cluster_certs() { return std::make_unique<ClusterCerts>(); }
std::unique_ptr<Command> make_cluster_logs() { return std::make_unique<ClusterLogs>(); }

} // namespace zoo::cli
