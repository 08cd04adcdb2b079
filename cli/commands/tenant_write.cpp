// SPDX-License-Identifier: Apache-2.0
#include "cli/command.hpp"
#include "cli/manifest.hpp"
#include "cli/options.hpp"
#include "cli/output/printer.hpp"
#include "cli/output/result.hpp"
#include "cli/output/table.hpp"
#include "cli/wait.hpp"
#include "common/api/tenant.hpp"
#include "common/base/text.hpp"
#include "common/kube/json_reads.hpp"
#include "common/kube/quantity.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <functional>
#include <map>

namespace zoo::cli {
namespace {

using nlohmann::json;

Result<std::map<std::string, std::string>> labels_of(const std::vector<std::string>& texts) {
  std::map<std::string, std::string> labels;
  for (const auto& text : texts) {
    ZOO_TRY(auto pair, option_pair("--label", text, "KEY=VALUE"));
    const auto key = pair.first;
    if (!labels.insert(std::move(pair)).second)
      return fail(Code::usage, "--label '{}' is given twice", key);
  }
  return labels;
}

Result<api::Inside> inside_of(const std::string& text) {
  if (text == "all") return api::Inside{};
  if (text == "api") return api::Inside{true, false};
  if (text == "dns") return api::Inside{false, true};
  if (text == "none") return api::Inside{false, false};
  return fail(Code::usage, "--inside is all, api, dns or none, not '{}'", text);
}

/// "pods=10" of --quota, several of them by commas.
Result<json> hard_of(const std::vector<std::string>& texts) {
  json out = json::object();
  for (const auto& text : texts)
    for (const auto part : text::split(text, ',')) {
      ZOO_TRY(const auto pair, option_pair("--quota", std::string(part), "RESOURCE=AMOUNT"));
      const auto amount = kube::Quantity::parse(pair.second);
      if (!amount || amount->negative())
        return fail(Code::usage, "--quota: '{}' is no amount, as 10, 500m or 4Gi", pair.second);
      out[pair.first] = pair.second;
    }
  return out;
}

/// A tenant is Ready although its quota, account or templates do not hold in its namespaces.
void say_unfurnished(Context& context, const json& tenant) {
  for (const auto& condition : kube::list_at(tenant, "/status/conditions"))
    if (text_at(condition, "/type") == "Furnished" && text_at(condition, "/status") == "False")
      context.say(fmt::format("warning: {}", printable(text_at(condition, "/message"))));
}

struct TenantCreate final : Command {
  std::string id, display_name, webhooks, inside, account, file, format;
  std::vector<std::string> labels, quota, templates;
  bool dry_run = false;
  WaitOptions wait{true, "60s"};

  void define(CLI::App& app) override {
    app.add_option("id", id, "The new tenant's ID: six characters of a-z and 0-9")->type_name("ID");
    app.add_option("--display-name", display_name, "A name for people")->type_name("TEXT");
    add_choice(app, "--inside", inside, "all|api|dns|none",
               "What zood does inside its pods: all (the default), api, dns or none");
    add_repeated(app, "--label", labels, "A label of the Tenant; may be repeated", "KEY=VALUE");
    add_choice(app, "--webhooks", webhooks, "relay|direct",
               "How upstream calls the tenant's webhooks: relay, the default, or direct");
    app.add_option("--account", account,
                   "Whose it is: the account's quotas and templates hold in its namespaces")
        ->type_name("ACCOUNT");
    add_repeated(app, "--quota", quota,
                 "What all its namespaces together may use, as pods=10; may be repeated",
                 "RESOURCE=AMOUNT");
    add_repeated(app, "--template", templates,
                 "A template that each of its namespaces has; may be repeated", "T[:k=v,...]");
    app.add_option("-f,--filename", file,
                   "Create the Tenants of a manifest; - reads standard input")
        ->type_name("FILE");
    add_dry_run(app, dry_run);
    add_wait_options(app, wait, "the tenant is Ready");
    add_format_option(app, format, k_object_formats);
    add_examples(app, "  zooctl tenant create foofoo --display-name \"Foo Inc.\"\n"
                      "  zooctl tenant create -f tenants.yaml --no-wait");
  }

  Result<std::vector<json>> wanted(Context& context) const {
    if (!file.empty()) {
      if (!id.empty() || !display_name.empty() || !webhooks.empty() || !inside.empty() ||
          !labels.empty() || !account.empty() || !quota.empty() || !templates.empty()) {
        return fail(Code::usage,
                    "-f excludes an ID, --display-name, --webhooks, --inside, --account, --quota, "
                    "--template and --label: the manifest says them");
      }
      return read_manifests(file, context.in);
    }
    if (id.empty())
      return fail(Code::usage, "give the new tenant's ID, or a manifest with -f FILE");
    ZOO_TRY(const auto pairs, labels_of(labels));
    json tenant = {{"apiVersion", std::string(api::k_tenant_api_version)},
                   {"kind", std::string(api::k_tenant_kind)},
                   {"metadata", {{"name", id}}},
                   {"spec", json::object()}};
    if (!pairs.empty()) tenant["metadata"]["labels"] = pairs;
    if (!display_name.empty()) tenant["spec"]["displayName"] = display_name;
    if (!webhooks.empty()) tenant["spec"]["webhooks"] = webhooks;
    if (!account.empty()) tenant["spec"]["account"] = account;
    if (!quota.empty()) {
      ZOO_TRY(tenant["spec"]["quota"]["hard"], hard_of(quota));
    }
    for (const auto& text : templates) {
      ZOO_TRY(auto wish, option_template(text));
      tenant["spec"]["templates"].push_back(std::move(wish));
    }
    if (!inside.empty()) {
      ZOO_TRY(const auto wish, inside_of(inside));
      if (!wish.api) tenant["spec"]["inside"]["api"] = false;
      if (!wish.dns) tenant["spec"]["inside"]["dns"] = false;
    }
    return std::vector<json>{std::move(tenant)};
  }

  Result<int> run(Context& context) override {
    ZOO_TRY(const auto timeout, option_duration("--timeout", wait.timeout));
    ZOO_TRY(const auto tenants, wanted(context));
    for (const auto& tenant : tenants)
      ZOO_TRY_VOID(api::validate_id(tenant_id(tenant)));
    ZOO_TRY(auto* client, context.client());
    const auto kind = format_of(format);
    const bool waits = wait.wait && !dry_run;
    std::vector<json> made;
    auto status = for_all<json>(context, tenants, [&](const json& tenant) -> Result<void> {
      ZOO_TRY(auto object, client->create(tenant, dry_run));
      if (kind == Format::standard || !waits)
        print_result(context, object, "created", dry_run, kind);
      made.push_back(std::move(object));
      return {};
    });
    if (!waits) return status;
    auto ready = for_all<json>(context, made, [&](const json& tenant) -> Result<void> {
      ZOO_TRY(const auto object, wait_until_ready(context, tenant_id(tenant), timeout));
      if (kind != Format::standard) {
        print_result(context, object, "", false, kind);
      } else {
        context.say(
            fmt::format("tenant {} is {}", tenant_id(tenant), text_at(object, "/status/phase")));
        say_unfurnished(context, object);
      }
      return {};
    });
    if (status && ready && made.size() == 1) {
      const auto name = tenant_id(made.front());
      context.hint(fmt::format("Hand out its kubeconfig: zooctl kubeconfig export {}", name));
    }
    if (!status && !ready) context.err << "zooctl: " << ready.error().text() << '\n';
    return status ? ready : status;
  }
};

/// Whether applying changed nothing. A dry run stores nothing, so revisions cannot tell.
bool same(const json& before, json after) {
  drop_kubeconfig(after);
  for (const auto* pointer : {"/spec", "/metadata/labels", "/metadata/annotations"}) {
    if (text_at(before, pointer) != text_at(after, pointer)) return false;
  }
  return true;
}

struct TenantApply final : Command {
  std::string file, format;
  bool dry_run = false;
  WaitOptions wait{false, "60s"};

  void define(CLI::App& app) override {
    app.add_option("-f,--filename", file, "The manifest: YAML or JSON; - reads standard input")
        ->type_name("FILE")
        ->required();
    add_dry_run(app, dry_run);
    add_wait_options(app, wait, "the tenants are Ready");
    add_format_option(app, format, k_object_formats);
    add_examples(app, "  zooctl tenant apply -f tenants.yaml\n"
                      "  zooctl tenant list -o yaml | zooctl tenant apply -f - --dry-run");
  }

  Result<int> run(Context& context) override {
    ZOO_TRY(const auto timeout, option_duration("--timeout", wait.timeout));
    ZOO_TRY(const auto tenants, read_manifests(file, context.in));
    for (const auto& tenant : tenants)
      ZOO_TRY_VOID(api::validate_id(tenant_id(tenant)));
    ZOO_TRY(auto* client, context.client());
    // What was there before tells created, configured and unchanged apart.
    ZOO_TRY(const auto list, client->tenants());
    std::map<std::string, json> before;
    for (const auto& item : list["items"])
      before[tenant_id(item)] = item;
    const auto kind = format_of(format);
    return for_all<json>(context, tenants, [&](const json& tenant) -> Result<void> {
      const auto id = tenant_id(tenant);
      ZOO_TRY(auto object, client->apply(tenant, dry_run));
      const auto was = before.find(id);
      const auto what = was == before.end()         ? "created"
                        : same(was->second, object) ? "unchanged"
                                                    : "configured";
      before[id] = object;
      if (wait.wait && !dry_run) {
        ZOO_TRY(object, wait_until_ready(context, id, timeout));
      }
      print_result(context, object, what, dry_run, kind);
      return {};
    });
  }
};

struct TenantDelete final : Command {
  std::vector<std::string> ids;
  std::string file, format;
  bool dry_run = false, ignore_not_found = false;
  WaitOptions wait{true, "300s"};

  void define(CLI::App& app) override {
    app.add_option("tenant", ids, "IDs of tenants")->type_name("TENANT");
    app.add_option("-f,--filename", file,
                   "Delete the Tenants of a manifest; - reads standard input")
        ->type_name("FILE");
    app.add_flag("--ignore-not-found", ignore_not_found, "A tenant that is not there is no error");
    add_dry_run(app, dry_run);
    add_wait_options(app, wait, "all that the tenant has upstream is gone");
    add_format_option(app, format, "name");
    add_examples(app, "  zooctl tenant delete foofoo\n"
                      "  zooctl tenant delete foofoo barbar --no-wait");
  }

  /// Asks for it; what is to be waited for goes to `going`.
  Result<void> remove(Context& context, AdminClient& client, const std::string& id,
                      std::vector<json>& going) const {
    auto tenant = client.tenant(id);
    if (!tenant && ignore_not_found && tenant.error().code() == Code::not_found) return {};
    if (!tenant) return fail(std::move(tenant).error());
    ZOO_TRY_VOID(client.remove(id, text_at(*tenant, "/metadata/uid"), dry_run));
    if (wait.wait && !dry_run) {
      going.push_back(*std::move(tenant));
    } else {
      print_result(context, *tenant, dry_run ? "deleted" : "is being deleted", dry_run,
                   format_of(format));
    }
    return {};
  }

  Result<int> run(Context& context) override {
    ZOO_TRY(const auto timeout, option_duration("--timeout", wait.timeout));
    auto names = ids;
    if (file.empty() == ids.empty()) {
      return fail(Code::usage, "give IDs of tenants, or a manifest with -f FILE");
    }
    if (!file.empty()) {
      ZOO_TRY(const auto tenants, read_manifests(file, context.in));
      for (const auto& tenant : tenants)
        names.push_back(tenant_id(tenant));
    }
    ZOO_TRY(auto* client, context.client());
    std::vector<json> going; // all at once, then one after the other
    auto asked = for_all<std::string>(
        context, names, [&](const std::string& id) { return remove(context, *client, id, going); });
    auto gone = for_all<json>(context, going, [&](const json& tenant) -> Result<void> {
      ZOO_TRY_VOID(wait_until_gone(context, text_at(tenant, "/metadata/name"),
                                   text_at(tenant, "/metadata/uid"), timeout));
      print_result(context, tenant, "deleted", false, format_of(format));
      return {};
    });
    if (!asked && !gone) context.err << "zooctl: " << gone.error().text() << '\n';
    return asked ? gone : asked;
  }
};

} // namespace

std::unique_ptr<Command> make_tenant_create() { return std::make_unique<TenantCreate>(); }
std::unique_ptr<Command> make_tenant_apply() { return std::make_unique<TenantApply>(); }
std::unique_ptr<Command> make_tenant_delete() { return std::make_unique<TenantDelete>(); }

} // namespace zoo::cli
