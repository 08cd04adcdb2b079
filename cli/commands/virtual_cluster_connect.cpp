// SPDX-License-Identifier: Apache-2.0
#include "cli/command.hpp"
#include "cli/kubeconfig_file.hpp"
#include "cli/kubectl_program.hpp"
#include "cli/options.hpp"
#include "cli/output/result.hpp"
#include "cli/service_account.hpp"
#include "cli/virtual_cluster.hpp"
#include "common/kube/client.hpp"
#include "common/kube/kubeconfig.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

namespace zoo::cli {
namespace {

using nlohmann::json;

/// The same access at the cluster's direct port, for clients that send no server name.
Result<void> go_direct(kube::KubeconfigParts& parts, const json& cluster) {
  parts.server = text_at(cluster, "/status/directServer");
  parts.tls_server_name.clear();
  if (parts.server.empty()) return fail(Code::unavailable, "the cluster has no direct port yet");
  return {};
}

kube::KubeconfigParts parts_of(kube::ClusterAccess access) {
  kube::KubeconfigParts out;
  out.cluster = access.cluster;
  out.user = access.user;
  out.context = access.context;
  out.server = access.server;
  out.tls_server_name = access.credentials.tls_server_name;
  out.ca_pem = access.credentials.ca_pem;
  out.client_cert_pem = access.credentials.client_cert_pem;
  out.client_key_pem = std::move(access.credentials.client_key_pem);
  return out;
}

/// The kubeconfig is for a ServiceAccount of the cluster. Its token is asked for as administrator.
Result<void> become_account(const Context& context, const std::string& kubeconfig,
                            const ServiceAccountName& account, const std::string& ttl,
                            kube::KubeconfigParts& parts) {
  ZOO_TRY(const auto wanted, token_request(ttl));
  ZOO_TRY(auto access, kube::parse_kubeconfig(kubeconfig));
  access.credentials.direct = true;
  kube::KubeClientOptions options;
  options.user_agent = "zooctl";
  ZOO_TRY(options.timeout, option_duration("--request-timeout", context.globals.request_timeout));
  kube::KubeClient api(std::move(access), std::move(options));
  const auto answer = api.create(token_path(account), wanted);
  if (!answer)
    return fail(Error(answer.error())
                    .context("while asking the virtual cluster for a token of {}/{}", account.space,
                             account.name));
  ZOO_TRY(parts.token, token_of(*answer));
  parts.client_cert_pem.clear();
  parts.client_key_pem = Secret();
  parts.user = parts.context = fmt::format("{}-{}-{}", parts.context, account.space, account.name);
  parts.default_namespace = account.space;
  return {};
}

struct ClusterConnect final : Command {
  std::string name, space = "default", output, account, ttl, stray;
  std::vector<std::string> command;
  bool prints = false, direct = false, merge = false;

  void define(CLI::App& app) override {
    add_cluster_space(app, space);
    app.add_flag("--print", prints, "Print the kubeconfig, which is a secret");
    app.add_flag("--direct", direct,
                 "By the cluster's own port, for clients that send no server name (SNI)");
    app.add_option("--kubeconfig-file", output, "Write the kubeconfig to this file, mode 0600")
        ->type_name("FILE");
    app.add_flag("--merge", merge,
                 "Merge it into the file that kubectl uses, and switch to its context: what is "
                 "done without one of these options and without a command");
    app.add_option("--service-account", account,
                   "As this ServiceAccount of the cluster, with a token, in place of the "
                   "cluster's administrator")
        ->type_name("NS/NAME");
    app.add_option("--ttl", ttl,
                   "How long the token of --service-account is valid; the cluster may give a "
                   "shorter one, and chooses where nothing is said")
        ->type_name("DURATION");
    add_cluster_name(app, name);
    app.add_option("command", command,
                   "A program that is run with the kubeconfig, which is then in no file; write -- "
                   "before it")
        ->type_name("COMMAND");
    add_examples(app, "  zooctl cluster connect tenant1-cluster\n"
                      "  zooctl cluster connect tenant1-cluster -- kubectl get namespaces\n"
                      "  zooctl cluster connect --direct --print tenant1-cluster\n"
                      "  zooctl cluster connect --service-account ci/deployer --ttl 8h "
                      "--kubeconfig-file ci.kubeconfig tenant1-cluster");
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
                         : option == "--service-account"           ? &account
                         : option == "--ttl"                       ? &ttl
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
    if (account.empty() && !ttl.empty())
      return fail(Code::usage, "--ttl goes with --service-account: the administrator's certificate "
                               "is the one that zood keeps");
    ZOO_TRY(auto clusters, VirtualClusters::open(context, space));
    ZOO_TRY(const auto cluster, clusters.get(name));
    ZOO_TRY(auto text, clusters.kubeconfig(cluster));
    if (direct || !account.empty()) {
      ZOO_TRY(text, changed(context, text, cluster));
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
    ZOO_TRY(const auto now, connect_in_file(file, text));
    context.say(fmt::format("merged into {}; the current context is now {}", file.string(), now));
    context.hint(fmt::format("Back to the one before it: zooctl cluster disconnect {}", now));
    return 0;
  }

  Result<std::string> changed(const Context& context, const std::string& kubeconfig,
                              const json& cluster) const {
    ZOO_TRY(auto access, kube::parse_kubeconfig(kubeconfig));
    auto parts = parts_of(std::move(access));
    if (!account.empty()) {
      ZOO_TRY(const auto named, option_service_account("--service-account", account));
      ZOO_TRY_VOID(become_account(context, kubeconfig, named, ttl, parts));
    }
    if (direct) ZOO_TRY_VOID(go_direct(parts, cluster));
    return kube::write_kubeconfig(parts);
  }
};

/// Asks nobody but kubectl's own file: the cluster may be gone.
struct ClusterDisconnect final : Command {
  std::vector<std::string> contexts;

  void define(CLI::App& app) override {
    app.add_option("context", contexts,
                   "What connect said that the context is called: the cluster's name, but for "
                   "--service-account; without one, the current context")
        ->type_name("CONTEXT");
    add_examples(app, "  zooctl cluster disconnect\n"
                      "  zooctl cluster disconnect tenant1-cluster");
  }

  Result<int> run(Context& context) override {
    ZOO_TRY(const auto file, default_kubeconfig_file(context));
    if (contexts.empty()) {
      ZOO_TRY(auto current, current_context(file));
      if (current.empty())
        return fail(Code::not_found, "{} has no current context: name the one that is to go",
                    file.string());
      contexts.push_back(std::move(current));
    }
    return for_all<std::string>(context, contexts, [&](const std::string& each) -> Result<void> {
      ZOO_TRY(const auto now, disconnect_in_file(file, each));
      context.say(now.empty() ? fmt::format("{} is out of {}, which has no current context now",
                                            each, file.string())
                              : fmt::format("{} is out of {}; the current context is {}", each,
                                            file.string(), now));
      return {};
    });
  }
};

/// kubectl with the administrator's kubeconfig, which is in no file.
struct ClusterKubectl final : Command {
  std::string name, space = "default";
  std::vector<std::string> arguments;

  void define(CLI::App& app) override {
    add_cluster_space(app, space);
    add_cluster_name(app, name);
    app.add_option("arguments", arguments, "What kubectl is told; write -- before it")
        ->type_name("ARGS");
    add_examples(app, "  zooctl cluster kubectl tenant1-cluster -- get pods -A\n"
                      "  zooctl cluster kubectl -n team tenant1-cluster -- apply -f app.yaml");
  }

  bool takes_foreign() const override { return true; }
  void set_foreign(std::vector<std::string> words) override {
    arguments = kubectl_words(std::move(words));
  }

  Result<int> run(Context& context) override {
    ZOO_TRY(const auto path, find_program(context, "kubectl"));
    ZOO_TRY(auto clusters, VirtualClusters::open(context, space));
    ZOO_TRY(const auto cluster, clusters.get(name));
    ZOO_TRY(const auto text, clusters.kubeconfig(cluster));
    return fail(run_with_kubeconfig(context, path, "kubectl", arguments, text,
                                    text_at(cluster, "/status/id")));
  }
};

} // namespace

std::unique_ptr<Command> make_cluster_connect() { return std::make_unique<ClusterConnect>(); }
std::unique_ptr<Command> make_cluster_disconnect() { return std::make_unique<ClusterDisconnect>(); }
std::unique_ptr<Command> make_cluster_kubectl() { return std::make_unique<ClusterKubectl>(); }

} // namespace zoo::cli
