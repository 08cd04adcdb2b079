// SPDX-License-Identifier: Apache-2.0
#include "cli/command.hpp"
#include "cli/options.hpp"
#include "common/api/dns_rules.hpp"
#include "common/config/key.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <string>
#include <string_view>

namespace zoo::cli {
namespace {

std::string_view reserved_ids() {
  const auto keys = config::zood_keys();
  const auto found = std::find_if(keys.begin(), keys.end(), [](const config::Key& key) {
    return key.name == "tenants.reserved_ids";
  });
  return found == keys.end() ? std::string_view() : found->default_text;
}

struct DnsCorefile final : Command {
  std::string domain = "cluster.local";
  bool second_layer = false;

  void define(CLI::App& app) override {
    app.add_option("--domain", domain, "The cluster's domain: inside.domain of zood.yaml")
        ->type_name("DOMAIN")
        ->capture_default_str();
    app.add_flag("--second-layer", second_layer,
                 "Print the optional server block for clients that do not search");
    add_examples(app, "  zooctl dns corefile\n"
                      "  zooctl dns corefile --domain k8s.example.com --second-layer");
  }

  Result<int> run(Context& context) override {
    if (!api::is_cluster_domain(domain))
      return fail(Code::usage, "--domain '{}' is no domain of a cluster, as cluster.local", domain);
    context.out << (second_layer ? api::corefile_second_layer(domain, reserved_ids())
                                 : api::corefile_rules(domain));
    return 0;
  }
};

} // namespace

std::unique_ptr<Command> make_dns_corefile() { return std::make_unique<DnsCorefile>(); }

} // namespace zoo::cli
