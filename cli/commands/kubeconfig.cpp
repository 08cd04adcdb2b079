// SPDX-License-Identifier: Apache-2.0
#include "common/kube/kubeconfig.hpp"

#include "cli/command.hpp"
#include "cli/kubeconfig_file.hpp"
#include "cli/options.hpp"
#include "common/api/tenant.hpp"
#include "common/crypto/certificate.hpp"

#include <CLI/CLI.hpp>

namespace zoo::cli {
namespace {

struct KubeconfigExport final : Command {
  std::string tenant, user, ttl, server, output;
  std::vector<std::string> groups;
  bool merge = false;

  void define(CLI::App& app) override {
    app.add_option("tenant", tenant, "The tenant's ID")->type_name("TENANT")->required();
    app.add_option("--user", user,
                   "A user of the tenant, with the rights that its RBAC gives; without --user and "
                   "--group the tenant's administrator")
        ->type_name("USER");
    add_repeated(app, "--group", groups, "A group of that user; may be repeated", "GROUP");
    app.add_option("--ttl", ttl,
                   "How long the certificate is valid, as in 30m, 12h or 90d; by default "
                   "tenants.certificate_validity of zood.yaml")
        ->type_name("DURATION");
    app.add_option("--server", server, "The URL to write instead of the advertised one")
        ->type_name("URL");
    add_kubeconfig_output(app, output, merge);
    add_examples(app, "  zooctl kubeconfig export foofoo -o foofoo.kubeconfig\n"
                      "  zooctl kubeconfig export foofoo --user jane --group dev --ttl 8h --merge");
  }

  Result<int> run(Context& context) override {
    KubeconfigWish wish{user, groups, std::nullopt, server};
    if (!ttl.empty()) {
      ZOO_TRY(wish.ttl, option_ttl(ttl));
    }
    ZOO_TRY_VOID(check_user(user, groups));
    if (output == "json" || output == "yaml") {
      return fail(Code::usage,
                  "-o names the file to write, and a kubeconfig is YAML; for a file of that name "
                  "say ./{}",
                  output);
    }
    if (!server.empty() && !server.starts_with("https://")) {
      return fail(Code::usage, "--server must be an https URL, not '{}'", server);
    }
    ZOO_TRY(auto* client, context.client());
    ZOO_TRY(const auto text, client->kubeconfig(tenant, wish));
    const auto access = kube::parse_kubeconfig(text);
    const auto end = access ? end_of(*access, wish) : End{};
    if (merge) {
      ZOO_TRY(const auto file, default_kubeconfig_file(context));
      ZOO_TRY_VOID(merge_into_file(file, text));
      context.say(fmt::format("merged into {}; the current context is now {}{}", file.string(),
                              access ? access->context : "the tenant's", end.clause));
      return 0;
    }
    if (output.empty() || output == "-") {
      context.out << text << std::flush;
      if (end.early) context.say("the certificate" + end.clause.substr(1));
      return 0;
    }
    ZOO_TRY_VOID(write_kubeconfig_file(output, text));
    context.say(fmt::format("wrote {}{}", output, end.clause));
    context.hint(fmt::format("Use it: kubectl --kubeconfig {} get namespaces", output));
    return 0;
  }

  struct End {
    std::string clause; ///< "; valid until ..."
    bool early = false; ///< no certificate outlives zood's CA, whatever was asked for
  };

  static End end_of(const kube::ClusterAccess& access, const KubeconfigWish& wish) {
    const auto certificate = crypto::Certificate::from_pem(access.credentials.client_cert_pem);
    if (!certificate) return {};
    const auto ends = certificate->not_after();
    End out{"; valid until " + api::rfc3339(std::chrono::system_clock::to_time_t(ends)), false};
    out.early = wish.ttl && ends - certificate->not_before() < *wish.ttl;
    if (out.early)
      out.clause += ", when zood's own authority ends, which is earlier than was asked";
    return out;
  }
};

} // namespace

std::unique_ptr<Command> make_kubeconfig_export() { return std::make_unique<KubeconfigExport>(); }

} // namespace zoo::cli
