// SPDX-License-Identifier: Apache-2.0
#include "cli/command.hpp"
#include "cli/options.hpp"
#include "cli/output/printer.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

namespace zoo::cli {
namespace {

using nlohmann::json;

struct TenantGet final : Command {
  std::vector<std::string> ids;
  std::string format;
  bool no_headers = false;

  void define(CLI::App& app) override {
    app.add_option("tenant", ids, "IDs of tenants")->type_name("TENANT")->required();
    add_format_option(app, format, k_object_formats);
    add_no_headers(app, no_headers);
    add_examples(app, "  zooctl tenant get foofoo\n"
                      "  zooctl tenant get foofoo -o yaml");
  }

  Result<int> run(Context& context) override {
    ZOO_TRY(auto* client, context.client());
    const PrintOptions options{format_of(format), !no_headers};
    if (ids.size() == 1) {
      ZOO_TRY(const auto tenant, client->tenant(ids.front()));
      print_tenant(context, tenant, options);
      return 0;
    }
    json list = {{"apiVersion", "tenant.kubezoo.io/v1alpha1"},
                 {"kind", "TenantList"},
                 {"metadata", json::object()},
                 {"items", json::array()}};
    std::optional<Error> first;
    for (const auto& id : ids) {
      auto tenant = client->tenant(id);
      if (tenant) {
        list["items"].push_back(*std::move(tenant));
      } else if (!first) {
        first = std::move(tenant).error();
      } else {
        context.err << "zooctl: " << tenant.error().text() << '\n';
      }
    }
    print_tenants(context, list, options);
    if (first) return fail(*std::move(first));
    return 0;
  }
};

struct TenantList final : Command {
  std::string selector;
  std::string format;
  bool no_headers = false;

  void define(CLI::App& app) override {
    app.add_option("-l,--selector", selector, "Only tenants with these labels: key=value,...")
        ->type_name("SELECTOR");
    add_format_option(app, format, k_object_formats);
    add_no_headers(app, no_headers);
    add_examples(app, "  zooctl tenant list -o wide\n"
                      "  zooctl tenant list -l team=blue -o name");
  }

  Result<int> run(Context& context) override {
    ZOO_TRY(auto* client, context.client());
    ZOO_TRY(const auto list, client->tenants(selector));
    print_tenants(context, list, {format_of(format), !no_headers});
    if (list["items"].empty()) {
      context.hint(selector.empty() ? "There are no tenants yet. Make one: zooctl tenant create ID"
                                    : "No tenant has these labels.");
    }
    return 0;
  }
};

struct TenantDescribe final : Command {
  std::vector<std::string> ids;

  void define(CLI::App& app) override {
    app.add_option("tenant", ids, "IDs of tenants")->type_name("TENANT")->required();
    add_examples(app, "  zooctl tenant describe foofoo");
  }

  Result<int> run(Context& context) override {
    ZOO_TRY(auto* client, context.client());
    for (std::size_t i = 0; i < ids.size(); ++i) {
      ZOO_TRY(const auto tenant, client->tenant(ids[i]));
      if (i > 0) context.out << "\n\n";
      describe_tenant(context, tenant);
    }
    return 0;
  }
};

} // namespace

std::unique_ptr<Command> make_tenant_get() { return std::make_unique<TenantGet>(); }
std::unique_ptr<Command> make_tenant_list() { return std::make_unique<TenantList>(); }
std::unique_ptr<Command> make_tenant_describe() { return std::make_unique<TenantDescribe>(); }

} // namespace zoo::cli
