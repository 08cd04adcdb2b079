// SPDX-License-Identifier: Apache-2.0
#include "cli/cluster.hpp"
#include "cli/command.hpp"
#include "cli/door.hpp"
#include "cli/kubeconfig_file.hpp"
#include "cli/options.hpp"
#include "cli/output/printer.hpp"
#include "common/base/file.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

namespace zoo::cli {
namespace {

using nlohmann::json;

constexpr std::string_view k_cluster = "zood-accounts";

/// A kubeconfig of zood's account door: with the token of a ServiceAccount, or with none.
struct KubeconfigAccount final : Command {
  std::string service_account, server, ca_file, ttl, output, context_name;
  bool bare = false, merge = false;

  void define(CLI::App& app) override {
    auto* without = app.add_flag(
        "--bare", bare, "Only the server and its CA: the user adds a credential of his own");
    app.add_option("--sa", service_account,
                   "A ServiceAccount, for which a token is asked of the cluster that your "
                   "kubeconfig names")
        ->type_name("NS/NAME")
        ->excludes(without);
    app.add_option("--ttl", ttl, "How long the token is valid, as in 1h or 30d")
        ->type_name("DURATION")
        ->excludes(without);
    app.add_option("--server", server,
                   "The URL of the account door; else the server of your kubeconfig")
        ->type_name("URL");
    app.add_option("--certificate-authority", ca_file,
                   "The CA (PEM) of --server; else that of your kubeconfig")
        ->type_name("FILE");
    add_context_option(app, context_name);
    auto* file =
        app.add_option("-o,--output", output, "Write to this file, mode 0600; - is standard output")
            ->type_name("FILE");
    app.add_flag("--merge", merge,
                 "Merge into the file that kubectl uses ($KUBECONFIG, or ~/.kube/config) and "
                 "switch to the new context")
        ->excludes(file);
    add_examples(app, "  zooctl kubeconfig account --bare --server https://zoo.example.com:8443 "
                      "--certificate-authority ca.crt -o blue.kubeconfig\n"
                      "  zooctl kubeconfig account --sa ci/deployer --ttl 30d -o ci.kubeconfig");
  }

  Result<Secret> token(Cluster& cluster) const {
    const auto slash = service_account.find('/');
    if (slash == 0 || slash == std::string::npos || slash + 1 == service_account.size())
      return fail(Code::usage, "--sa '{}' is not NAMESPACE/NAME", service_account);
    json wanted = {{"apiVersion", "authentication.k8s.io/v1"},
                   {"kind", "TokenRequest"},
                   {"spec", json::object()}};
    if (!ttl.empty()) {
      ZOO_TRY(const auto span, option_ttl(ttl));
      wanted["spec"]["expirationSeconds"] = span.count();
    }
    ZOO_TRY(
        const auto answer,
        cluster.create(kube::path({"api", "v1", "namespaces", service_account.substr(0, slash),
                                   "serviceaccounts", service_account.substr(slash + 1), "token"}),
                       wanted, false));
    auto text = text_at(answer, "/status/token");
    if (text.empty()) return fail(Code::unavailable, "the cluster answered without a token");
    return Secret(std::move(text));
  }

  Result<int> run(Context& context) override {
    if (bare == !service_account.empty())
      return fail(Code::usage, "say --bare, or whose kubeconfig it is to be: --sa NS/NAME");
    if (!server.empty() && !server.starts_with("https://"))
      return fail(Code::usage, "--server must be an https URL, not '{}'", server);
    if (!server.empty() && ca_file.empty())
      return fail(Code::usage, "--server needs --certificate-authority FILE: the CA of your "
                               "kubeconfig is another server's");
    ZOO_TRY(auto cluster, Cluster::open(context, context_name));
    kube::KubeconfigParts parts;
    parts.cluster = k_cluster;
    parts.server = server.empty() ? cluster.access().server : server;
    parts.ca_pem = cluster.access().credentials.ca_pem;
    if (server.empty()) parts.tls_server_name = cluster.access().credentials.tls_server_name;
    if (!ca_file.empty()) {
      ZOO_TRY(parts.ca_pem, file::read(ca_file));
    }
    parts.user = bare ? "me" : service_account;
    parts.context = k_cluster;
    if (!bare) {
      ZOO_TRY(parts.token, token(cluster));
      parts.default_namespace = service_account.substr(0, service_account.find('/'));
    }
    const auto text = kube::write_kubeconfig(parts);
    if (merge) {
      ZOO_TRY(const auto file, default_kubeconfig_file(context));
      ZOO_TRY_VOID(merge_into_file(file, text));
      context.say(
          fmt::format("merged into {}; the current context is now {}", file.string(), k_cluster));
      return 0;
    }
    if (output.empty() || output == "-") {
      context.out << text << std::flush;
      return 0;
    }
    ZOO_TRY_VOID(write_kubeconfig_file(output, text));
    context.say("wrote " + output);
    if (bare)
      context.hint(fmt::format("Add a credential: kubectl --kubeconfig {} config set-credentials "
                               "me --token TOKEN",
                               output));
    return 0;
  }
};

} // namespace

std::unique_ptr<Command> make_kubeconfig_account() { return std::make_unique<KubeconfigAccount>(); }

} // namespace zoo::cli
