// SPDX-License-Identifier: Apache-2.0
#include "cli/command.hpp"
#include "cli/options.hpp"
#include "cli/output/printer.hpp"
#include "cli/output/result.hpp"
#include "cli/output/table.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

/// Who is let in to a tenant: suspension, and the certificates it has been given.
namespace zoo::cli {
namespace {

using nlohmann::json;

/// `suspend` and `resume`.
struct TenantSuspend final : Command {
  explicit TenantSuspend(bool wanted) : suspended(wanted) {}
  const bool suspended;
  std::vector<std::string> ids;
  std::string format;
  bool dry_run = false;

  void define(CLI::App& app) override {
    app.add_option("tenant", ids, "IDs of tenants")->type_name("TENANT")->required();
    add_dry_run(app, dry_run);
    add_format_option(app, format, k_object_formats);
    add_examples(app,
                 suspended ? "  zooctl tenant suspend foofoo" : "  zooctl tenant resume foofoo");
  }

  Result<int> run(Context& context) override {
    ZOO_TRY(auto* client, context.client());
    return for_all<std::string>(context, ids, [&](const std::string& id) -> Result<void> {
      ZOO_TRY(const auto tenant, client->suspend(id, suspended, dry_run));
      print_result(context, tenant, suspended ? "suspended" : "resumed", dry_run,
                   format_of(format));
      return {};
    });
  }
};

struct TenantRotate final : Command {
  std::string id, format;
  bool revoke_old = false, dry_run = false;

  void define(CLI::App& app) override {
    app.add_option("tenant", id, "The tenant's ID")->type_name("TENANT")->required();
    app.add_flag("--revoke-old", revoke_old,
                 "Also revoke the administrator's certificate that zood keeps in the Tenant; "
                 "exported kubeconfigs stay valid until `zooctl tenant "
                 "revoke`");
    add_dry_run(app, dry_run);
    add_format_option(app, format, k_object_formats);
    add_examples(app, "  zooctl tenant rotate foofoo\n"
                      "  zooctl tenant rotate foofoo --revoke-old");
  }

  Result<int> run(Context& context) override {
    ZOO_TRY(auto* client, context.client());
    ZOO_TRY(const auto tenant, client->rotate(id, revoke_old, dry_run));
    print_result(context, tenant, "rotated", dry_run, format_of(format));
    const auto list = client->certificates(id);
    if (!list) return 0; // it may go at any time, and the work is done
    std::size_t valid = 0;
    for (const auto& each : list->value("items", json::array()))
      valid += text_at(each, "/revoked") != "true" && text_at(each, "/source") != "administrator";
    if (valid > 0) {
      context.say(fmt::format("{} certificate{} that {} handed out stay{} valid: zooctl tenant "
                              "certificates {} lists them, zooctl tenant revoke takes them back",
                              valid, valid == 1 ? "" : "s", valid == 1 ? "was" : "were",
                              valid == 1 ? "s" : "", id));
    }
    return 0;
  }
};

struct TenantRevoke final : Command {
  std::string id, format;
  std::vector<std::string> serials;
  bool all = false, dry_run = false;

  void define(CLI::App& app) override {
    app.add_option("tenant", id, "The tenant's ID")->type_name("TENANT")->required();
    auto* one = add_repeated(app, "--serial", serials,
                             "The serial of a certificate, as `zooctl tenant certificates` shows "
                             "it; may be repeated",
                             "SERIAL");
    app.add_flag("--all", all,
                 "Every certificate, and every token of a ServiceAccount, that was made until now; "
                 "pods get new tokens when they are made anew")
        ->excludes(one);
    add_dry_run(app, dry_run);
    add_format_option(app, format, k_object_formats);
    add_examples(app, "  zooctl tenant revoke foofoo --serial 4f2b07c9a1\n"
                      "  zooctl tenant revoke foofoo --all");
  }

  Result<int> run(Context& context) override {
    if (all != serials.empty()) {
      return fail(Code::usage, "say which certificates with --serial, or --all");
    }
    ZOO_TRY(auto* client, context.client());
    ZOO_TRY(const auto tenant, client->revoke(id, serials, dry_run));
    print_result(
        context, tenant,
        all ? std::string("lost all its credentials")
            : fmt::format("lost {} certificate{}", serials.size(), serials.size() == 1 ? "" : "s"),
        dry_run, format_of(format));
    if (all) context.hint(fmt::format("Hand out a new one: zooctl kubeconfig export {}", id));
    return 0;
  }
};

struct TenantCertificates final : Command {
  std::string id, format;
  bool no_headers = false;

  void define(CLI::App& app) override {
    app.add_option("tenant", id, "The tenant's ID")->type_name("TENANT")->required();
    add_format_option(app, format, "table|json|yaml|name");
    add_no_headers(app, no_headers);
    add_examples(app, "  zooctl tenant certificates foofoo");
  }

  static std::string groups_of(const json& certificate) {
    std::string out;
    if (!certificate.contains("groups")) return out;
    for (const auto& group : certificate["groups"]) {
      if (!out.empty()) out += ',';
      out += group.is_string() ? group.get<std::string>() : group.dump();
    }
    return out;
  }

  Result<int> run(Context& context) override {
    ZOO_TRY(auto* client, context.client());
    ZOO_TRY(const auto list, client->certificates(id));
    const auto kind = format_of(format);
    if (kind == Format::json || kind == Format::yaml) {
      print_record(context, list, kind);
      return 0;
    }
    const auto items = list.value("items", json::array());
    Table table{{"SERIAL", "USER", "GROUPS", "SOURCE", "STATUS", "ISSUED", "EXPIRES"}, {}};
    for (const auto& each : items) {
      const auto serial = text_at(each, "/serial");
      if (kind == Format::name) {
        context.out << printable(serial) << '\n';
        continue;
      }
      const bool revoked = text_at(each, "/revoked") == "true";
      table.rows.push_back({{serial, Colour::none},
                            {text_at(each, "/user"), Colour::none},
                            {groups_of(each), Colour::none},
                            {text_at(each, "/source"), Colour::none},
                            {revoked ? "Revoked" : "Valid", revoked ? Colour::bad : Colour::good},
                            {text_at(each, "/issued"), Colour::none},
                            {text_at(each, "/expires"), Colour::none}});
    }
    if (!table.rows.empty()) print_table(context.out, table, {!no_headers, context.colours()});
    return 0;
  }
};

} // namespace

std::unique_ptr<Command> make_tenant_suspend() { return std::make_unique<TenantSuspend>(true); }
std::unique_ptr<Command> make_tenant_resume() { return std::make_unique<TenantSuspend>(false); }
std::unique_ptr<Command> make_tenant_rotate() { return std::make_unique<TenantRotate>(); }
std::unique_ptr<Command> make_tenant_revoke() { return std::make_unique<TenantRevoke>(); }
std::unique_ptr<Command> make_tenant_certificates() {
  return std::make_unique<TenantCertificates>();
}

} // namespace zoo::cli
