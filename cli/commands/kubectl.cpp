// SPDX-License-Identifier: Apache-2.0
#include "cli/command.hpp"
#include "cli/kubectl_program.hpp"
#include "cli/options.hpp"

#include <CLI/CLI.hpp>

namespace zoo::cli {
namespace {

constexpr std::string_view k_ttl = "24h"; ///< of a credential that is issued without --ttl

struct Kubectl final : Command {
  std::string tenant, user, ttl;
  std::vector<std::string> groups, arguments;

  void define(CLI::App& app) override {
    app.add_option(
           "--user", user,
           "Run as this user of the tenant; without --user and --group as its administrator")
        ->type_name("USER");
    add_repeated(app, "--group", groups, "A group of that user; may be repeated", "GROUP");
    app.add_option("--ttl", ttl,
                   "Issue a credential that is valid for so long; without it the administrator's "
                   "own is used, and a user's is valid for 24h")
        ->type_name("DURATION");
    app.add_option("tenant", tenant, "The tenant's ID")->type_name("TENANT")->required();
    app.add_option("arguments", arguments, "What kubectl is told; write -- before it")
        ->type_name("ARGS");
    add_examples(app, "  zooctl kubectl foofoo -- get pods -A\n"
                      "  zooctl kubectl --user jane foofoo -- auth whoami");
  }

  bool takes_foreign() const override { return true; }
  void set_foreign(std::vector<std::string> words) override {
    arguments = kubectl_words(std::move(words));
  }

  /// What stands behind the tenant is kubectl's, and these would do something else there.
  Result<void> check_arguments() const {
    if (arguments.empty()) return {};
    const auto first = arguments.front().substr(0, arguments.front().find('='));
    for (const std::string_view own : {"--user", "--group", "--ttl", "--dir", "--socket"}) {
      if (first == own)
        return fail(Code::usage, "{} stands before the tenant: zooctl kubectl {} ... {} -- ...",
                    own, own, tenant);
    }
    return {};
  }

  /// The kubeconfig that kubectl gets. zood keeps a valid certificate of each tenant's
  /// administrator, so none is issued for the administrator unless --ttl asks for one. zood keeps
  /// no key of a user: each call with --user or --group issues a certificate.
  Result<std::string> credential(AdminClient& client, std::chrono::seconds span) const {
    if (user.empty() && groups.empty() && ttl.empty()) {
      ZOO_TRY(auto kept, client.kept_kubeconfig(tenant));
      if (!kept.empty()) return kept;
    }
    return client.kubeconfig(tenant, {user, groups, span, {}});
  }

  Result<int> run(Context& context) override {
    ZOO_TRY_VOID(check_arguments());
    ZOO_TRY_VOID(check_user(user, groups));
    ZOO_TRY(const auto path, find_program(context, "kubectl"));
    ZOO_TRY(const auto span, option_ttl(ttl.empty() ? k_ttl : ttl));
    ZOO_TRY(auto* client, context.client());
    ZOO_TRY(const auto text, credential(*client, span));
    return fail(run_with_kubeconfig(context, path, "kubectl", arguments, text, tenant));
  }
};

} // namespace

std::unique_ptr<Command> make_kubectl() { return std::make_unique<Kubectl>(); }

} // namespace zoo::cli
