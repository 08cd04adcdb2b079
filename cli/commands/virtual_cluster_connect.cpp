// SPDX-License-Identifier: Apache-2.0
#include "cli/command.hpp"
#include "cli/kubeconfig_file.hpp"
#include "cli/kubectl_program.hpp"
#include "cli/options.hpp"
#include "cli/virtual_cluster.hpp"
#include "common/base/text.hpp"
#include "common/kube/kubeconfig.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

namespace zoo::cli {
namespace {

using nlohmann::json;

/// The same access at the cluster's direct port, for clients that send no server name.
Result<std::string> at_direct_server(const std::string& kubeconfig, const json& cluster) {
  const auto direct = text_at(cluster, "/status/directServer");
  if (direct.empty()) return fail(Code::unavailable, "the cluster has no direct port yet");
  ZOO_TRY(auto access, kube::parse_kubeconfig(kubeconfig));
  kube::KubeconfigParts parts;
  parts.cluster = access.cluster;
  parts.user = access.user;
  parts.context = access.context;
  parts.server = direct;
  parts.ca_pem = access.credentials.ca_pem;
  parts.client_cert_pem = access.credentials.client_cert_pem;
  parts.client_key_pem = std::move(access.credentials.client_key_pem);
  return kube::write_kubeconfig(parts);
}

struct ClusterConnect final : Command {
  std::string name, space = "default", output, stray;
  std::vector<std::string> command;
  bool prints = false, direct = false, merge = false;

  void define(CLI::App& app) override {
    app.add_option("-n,--namespace", space, "The namespace of virtual clusters")
        ->type_name("NAMESPACE")
        ->capture_default_str();
    app.add_flag("--print", prints, "Print the kubeconfig, which is a secret");
    app.add_flag("--direct", direct,
                 "By the cluster's own port, for clients that send no server name (SNI)");
    app.add_option("--kubeconfig-file", output, "Write the kubeconfig to this file, mode 0600")
        ->type_name("FILE");
    app.add_flag("--merge", merge,
                 "Merge it into the file that kubectl uses, and switch to its context: what is "
                 "done without one of these options and without a command");
    app.add_option("cluster", name, "The virtual cluster's name")->type_name("CLUSTER")->required();
    app.add_option("command", command,
                   "A program that is run with the kubeconfig, which is then in no file; write -- "
                   "before it")
        ->type_name("COMMAND");
    add_examples(app, "  zooctl cluster connect tenant1-cluster\n"
                      "  zooctl cluster connect tenant1-cluster -- kubectl get namespaces\n"
                      "  zooctl cluster connect --direct --print tenant1-cluster");
  }

  bool takes_foreign() const override { return true; }
  /// What stands behind the name: options of this command up to a word that is none, or "--". From
  /// there on it is the command.
  void set_foreign(std::vector<std::string> words) override {
    std::size_t at = 0;
    for (; at < words.size() && words[at].starts_with("-"); ++at) {
      if (words[at] == "--") {
        ++at;
        break;
      }
      const auto equals = words[at].find('=');
      const auto option = words[at].substr(0, equals);
      auto* const text = option == "-n" || option == "--namespace" ? &space
                         : option == "--kubeconfig-file"           ? &output
                                                                   : nullptr;
      auto* const flag = option == "--print"    ? &prints
                         : option == "--direct" ? &direct
                         : option == "--merge"  ? &merge
                                                : nullptr;
      if (text != nullptr && equals != std::string::npos) {
        *text = words[at].substr(equals + 1);
      } else if (text != nullptr && at + 1 < words.size()) {
        *text = words[++at];
      } else if (flag != nullptr && equals == std::string::npos) {
        *flag = true;
      } else {
        stray = words[at];
        return;
      }
    }
    command.assign(words.begin() + static_cast<std::ptrdiff_t>(at), words.end());
  }

  Result<int> run(Context& context) override {
    if (!stray.empty())
      return fail(Code::usage,
                  "there is no option '{}' here, or it has no value: zooctl cluster "
                  "connect --help lists them",
                  stray);
    const int forms =
        (prints ? 1 : 0) + (output.empty() ? 0 : 1) + (merge ? 1 : 0) + (command.empty() ? 0 : 1);
    if (forms > 1)
      return fail(Code::usage,
                  "--print, --kubeconfig-file, --merge and a command exclude each other");
    ZOO_TRY(auto clusters, VirtualClusters::open(context, space));
    ZOO_TRY(const auto cluster, clusters.get(name));
    ZOO_TRY(auto text, clusters.kubeconfig(cluster));
    if (direct) {
      ZOO_TRY(text, at_direct_server(text, cluster));
    }
    if (prints) {
      context.out << text << std::flush;
      return 0;
    }
    if (!output.empty()) {
      ZOO_TRY_VOID(write_kubeconfig_file(output, text));
      context.say(fmt::format("wrote {}", output));
      return 0;
    }
    if (!command.empty()) {
      ZOO_TRY(const auto path, find_program(context, command.front()));
      return fail(run_with_kubeconfig(context, path, command.front(),
                                      {command.begin() + 1, command.end()}, text,
                                      text_at(cluster, "/status/id")));
    }
    ZOO_TRY(const auto file, default_kubeconfig_file(context));
    ZOO_TRY_VOID(merge_into_file(file, text));
    context.say(fmt::format("merged into {}; the current context is now {}", file.string(), name));
    return 0;
  }
};

} // namespace

std::unique_ptr<Command> make_cluster_connect() { return std::make_unique<ClusterConnect>(); }

} // namespace zoo::cli
