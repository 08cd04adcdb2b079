// SPDX-License-Identifier: Apache-2.0
#include "cli/cluster.hpp"
#include "cli/command.hpp"
#include "cli/manifest.hpp"
#include "cli/options.hpp"
#include "cli/output/account_printer.hpp"
#include "cli/output/printer.hpp"
#include "cli/output/result.hpp"
#include "cli/output/table.hpp"
#include "common/api/tenant.hpp"
#include "common/base/error_table.hpp"
#include "common/kube/client.hpp"
#include "common/kube/json_reads.hpp"
#include "common/kube/quantity.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>

namespace zoo::cli {
namespace {

using nlohmann::json;

constexpr std::string_view k_quotas_path = "/apis/config.kiosk.sh/v1alpha1/accountquotas";
constexpr std::string_view k_own_quotas_path = "/apis/tenancy.kiosk.sh/v1alpha1/accountquotas";

/// A row for each resource, and for each space of it.
Table table_of(const json& limits) {
  Table out;
  out.headers = {"RESOURCE", "LIMIT", "FROM", "USED", "FREE", "SPACE", "USED", "SLICE"};
  for (const auto& limit : limits)
    for (const auto& resource : kube::list_at(limit, "/resources")) {
      const bool full = text_at(resource, "/free") == "0";
      std::vector<Cell> head = {{text_at(resource, "/name")},
                                {text_at(resource, "/limit")},
                                {text_at(resource, "/from")},
                                {text_at(resource, "/used")},
                                {text_at(resource, "/free"), full ? Colour::bad : Colour::none}};
      const auto spaces = kube::list_at(resource, "/spaces");
      if (spaces.empty()) {
        auto row = head;
        row.resize(out.headers.size());
        out.rows.push_back(std::move(row));
      }
      for (const auto& space : spaces) {
        auto row = head;
        row.push_back({text_at(space, "/space")});
        row.push_back({text_at(space, "/used")});
        row.push_back({text_at(space, "/slice")});
        out.rows.push_back(std::move(row));
        for (auto& cell : head)
          cell = {" "}; // as above
      }
    }
  return out;
}

/// The AccountQuotas of an account that the caller may see, in the shape of zood's own answer.
Result<json> seen_quotas(Cluster& cluster, const std::string& account) {
  auto list = cluster.list(k_own_quotas_path);
  if (!list) list = cluster.list(k_quotas_path);
  if (!list) return fail(list.error());
  std::map<std::string, json> owners;
  for (const auto& quota : list->value("items", json::array())) {
    const auto owner = text_at(quota, "/spec/account");
    if (!account.empty() && owner != account) continue;
    const auto total = quota.value("/status/total/hard"_json_pointer, json::object());
    json resources = json::array();
    for (const auto& [name, limit] : total.items()) {
      const auto at = [&name = name](const json& from, const char* pointer) {
        const auto lists = from.value(json::json_pointer(pointer), json::object());
        return lists.contains(name) ? lists[name].get<std::string>() : std::string("0");
      };
      const auto hard = kube::Quantity::parse(at(quota, "/status/total/hard")),
                 used = kube::Quantity::parse(at(quota, "/status/total/used"));
      const auto free = hard && used ? *hard - *used : kube::Quantity{};
      json spaces = json::array();
      for (const auto& space : quota.value("/status/namespaces"_json_pointer, json::array()))
        spaces.push_back({{"space", text_at(space, "/namespace")},
                          {"used", at(space, "/status/used")},
                          {"slice", at(space, "/status/hard")}});
      resources.push_back({{"name", name},
                           {"limit", at(quota, "/status/total/hard")},
                           {"from", text_at(quota, "/metadata/name")},
                           {"used", at(quota, "/status/total/used")},
                           {"free", free.negative() ? "0" : free.text()},
                           {"spaces", std::move(spaces)}});
    }
    auto& one = owners[owner];
    one["owner"] = owner;
    one["title"] = "account " + owner;
    one["limits"].push_back({{"resources", std::move(resources)}});
  }
  json out = json::array();
  for (auto& [name, one] : owners)
    out.push_back(std::move(one));
  if (out.empty() && !account.empty())
    return fail(Code::not_found, "account \"{}\" has no quota that you may see", account);
  return json{{"items", std::move(out)}};
}

/// "tenant/ID" names a tenant; "": it is an account.
std::string tenant_in(const std::string& owner) {
  constexpr std::string_view k_tenant = "tenant/";
  return owner.starts_with(k_tenant) ? owner.substr(k_tenant.size()) : std::string();
}

/// What a tenant reads of itself ("all namespaces") says nothing among others.
std::string title_of(const json& quota) {
  const auto owner = text_at(quota, "/owner");
  return tenant_in(owner).empty() ? text_at(quota, "/title") : owner;
}

struct QuotaSet final : Command {
  std::string owner, name, format, context_name;
  std::vector<std::string> amounts;
  bool dry_run = false;

  void define(CLI::App& app) override {
    app.add_option("account", owner, "The account, or tenant/ID")->type_name("ACCOUNT")->required();
    app.add_option("amounts", amounts,
                   "How much of each, as pods=10 limits.cpu=4; limits.cpu- takes a limit away, and "
                   "what is not named stays as it is")
        ->type_name("RESOURCE=AMOUNT")
        ->required();
    app.add_option("--name", name, "The AccountQuota; else the account's name")->type_name("NAME");
    add_dry_run(app, dry_run);
    add_context_option(app, context_name);
    add_format_option(app, format, k_object_formats);
    add_examples(app, "  zooctl quota set blue pods=10 limits.cpu=4\n"
                      "  zooctl quota set blue requests.memory=8Gi --name memory\n"
                      "  zooctl quota set blue limits.cpu-\n"
                      "  zooctl quota set tenant/foofoo pods=100");
  }

  Result<int> run(Context& context) override {
    json hard = json::object(); // null: a limit that goes
    for (const auto& text : amounts) {
      if (text.size() > 1 && text.ends_with('-') && text.find('=') == text.npos) {
        hard[text.substr(0, text.size() - 1)] = nullptr;
        continue;
      }
      ZOO_TRY(const auto pair, option_pair("", text, "RESOURCE=AMOUNT, as pods=10"));
      const auto amount = kube::Quantity::parse(pair.second);
      if (!amount || amount->negative())
        return fail(Code::usage, "'{}' is no amount, as 10, 500m or 4Gi", pair.second);
      hard[pair.first] = pair.second;
    }
    if (const auto id = tenant_in(owner); !id.empty()) return set_tenant(context, id, hard);
    const auto title = name.empty() ? owner : name;
    const auto path = fmt::format("{}/{}", k_quotas_path, kube::percent_encode(title));
    ZOO_TRY(auto cluster, Cluster::open(context, context_name));
    // A quota of an account that is not there holds nobody.
    if (const auto account =
            cluster.get(fmt::format("{}/{}", k_accounts_path, kube::percent_encode(owner)));
        !account && account.error().code() == Code::not_found)
      return fail(suggest_name(cluster, account.error(), k_accounts_path, "account", owner,
                               "zooctl account list"));
    const auto before = cluster.get(path);
    if (!before && before.error().code() != Code::not_found) return fail(before.error());
    if (before && text_at(*before, "/spec/account") != owner)
      return fail(Code::conflict, "AccountQuota {} is of account {}: choose another --name", title,
                  text_at(*before, "/spec/account"));
    if (const auto gone = not_there(before ? hard_of(*before, "/spec/quota/hard") : json(), hard);
        !gone.empty())
      return fail(Code::not_found, "AccountQuota {} has no limit of {}", title, gone);
    ZOO_TRY(const auto made, write(cluster, path, title, hard, !before));
    if (format == "json" || format == "yaml") {
      print_record(context, made, format_of(format));
      return 0;
    }
    if (context.globals.quiet) return 0;
    context.out << "accountquota/" << title << ' ' << (before ? "configured" : "created")
                << (dry_run ? " (dry run)" : "") << '\n'
                << std::flush;
    return 0;
  }

private:
  Result<json> write(Cluster& cluster, const std::string& path, const std::string& title,
                     const json& hard, bool fresh) const {
    const json spec = {{"account", owner}, {"quota", {{"hard", hard}}}};
    if (!fresh) return cluster.merge_patch(path, {{"spec", spec}}, dry_run);
    return cluster.apply(path,
                         {{"apiVersion", "config.kiosk.sh/v1alpha1"},
                          {"kind", "AccountQuota"},
                          {"metadata", {{"name", title}}},
                          {"spec", spec}},
                         dry_run);
  }

  static json hard_of(const json& object, const char* at) {
    const json::json_pointer place(at);
    return object.contains(place) ? object.at(place) : json();
  }

  /// A limit that is to go, and that there is not; "": there is none of those.
  static std::string not_there(const json& has, const json& wished) {
    for (const auto& [name, amount] : wished.items())
      if (amount.is_null() && !(has.is_object() && has.contains(name))) return name;
    return {};
  }

  Result<int> set_tenant(Context& context, const std::string& id, const json& hard) const {
    if (!name.empty() || !context_name.empty())
      return fail(Code::usage, "--name and --context are of the quotas of accounts: a tenant has "
                               "one, which zood keeps in its Tenant");
    ZOO_TRY_VOID(api::validate_id(id));
    ZOO_TRY(auto* client, context.client());
    ZOO_TRY(const auto before, client->tenant(id));
    if (const auto gone = not_there(hard_of(before, "/spec/quota/hard"), hard); !gone.empty())
      return fail(Code::not_found, "the quota of tenant '{}' has no limit of {}", id, gone);
    const json wish = {{"metadata", {{"uid", text_at(before, "/metadata/uid")}}},
                       {"spec", {{"quota", {{"hard", hard}}}}}};
    ZOO_TRY(const auto made, client->patch(id, wish, dry_run));
    print_result(context, made, "configured", dry_run, format_of(format));
    return 0;
  }
};

struct QuotaShow final : Command {
  std::string owner, format, context_name;
  bool me = false, no_headers = false;

  void define(CLI::App& app) override {
    app.add_option("account", owner, "The account, or tenant/ID; else all")->type_name("ACCOUNT");
    app.add_flag(
        "--me", me,
        "Show the quotas of your own accounts, as the user of the kubeconfig; without it zood's "
        "admin API is asked");
    add_no_headers(app, no_headers);
    add_context_option(app, context_name);
    add_format_option(app, format, "table|json|yaml");
    add_examples(app, "  zooctl quota show blue\n"
                      "  zooctl quota show --me");
  }

  Result<json> quotas(Context& context) const {
    if (me || !context_name.empty()) {
      ZOO_TRY(auto cluster, Cluster::open(context, context_name));
      return seen_quotas(cluster, owner);
    }
    ZOO_TRY(auto* client, context.client());
    return client->quotas(owner);
  }

  Result<int> run(Context& context) override {
    ZOO_TRY(const auto list, quotas(context));
    if (format == "json" || format == "yaml") {
      print_record(context, list, format_of(format));
      return 0;
    }
    const auto items = kube::list_at(list, "/items");
    if (items.empty())
      context.hint("Nobody has a quota. Make one: zooctl quota set ACCOUNT pods=10");
    bool first = true;
    for (const auto& item : items) {
      if (items.size() > 1) context.out << (first ? "" : "\n") << printable(title_of(item)) << '\n';
      first = false;
      print_table(context.out, table_of(kube::list_at(item, "/limits")),
                  {!no_headers, context.colours()});
    }
    context.out << std::flush;
    return 0;
  }
};

struct QuotaExplain final : Command {
  std::string owner, space, file, format;

  void define(CLI::App& app) override {
    app.add_option("account", owner, "The account, or tenant/ID")->type_name("ACCOUNT");
    app.add_option(
           "-n,--namespace", space,
           "A namespace, in place of ACCOUNT: the quotas of the account or tenant that owns it")
        ->type_name("SPACE");
    app.add_option("--for", file, "Whether the objects of this file (- for standard input) fit")
        ->type_name("FILE");
    add_format_option(app, format, "table|json|yaml");
    add_examples(app, "  zooctl quota explain blue\n"
                      "  zooctl quota explain -n web --for deployment.yaml");
  }

  static std::string list_of(const json& words) {
    std::string out;
    for (const auto& word : words)
      out += (out.empty() ? "" : ", ") + printable(word.get<std::string>());
    return out;
  }

  /// "pods is full. johns-space: pods/web-1, pods/web-2."
  static void say_full(Context& context, const json& full) {
    for (const auto& one : full) {
      context.out << printable(text_at(one, "/resource")) << " of quota "
                  << printable(text_at(one, "/quota")) << " is full.";
      for (const auto& holder : kube::list_at(one, "/holders"))
        context.out << ' ' << printable(text_at(holder, "/space")) << ": "
                    << list_of(kube::list_at(holder, "/objects"))
                    << (holder.value("more", false) ? ", ..." : "") << '.';
      context.out << '\n';
    }
  }

  Result<int> run(Context& context) override {
    if (owner.empty() == space.empty())
      return fail(Code::usage, "name an account or a tenant (tenant/ID), or a namespace with -n");
    json objects = json::array();
    if (!file.empty()) {
      ZOO_TRY(objects, read_objects(file, context.in));
    }
    ZOO_TRY(auto* client, context.client());
    ZOO_TRY(const auto said, client->explain_quota(owner, space, objects));
    const bool fits = said.value("fits", true);
    const int status = fits ? 0 : error_row(Code::forbidden).exit_status;
    if (format == "json" || format == "yaml") {
      print_record(context, said, format_of(format));
      return status;
    }
    print_table(context.out, table_of(kube::list_at(said, "/limits")), {true, context.colours()});
    if (!file.empty()) {
      std::string needs;
      const auto needed = said.value("needs", json::object());
      for (const auto& [name, amount] : needed.items())
        needs += (needs.empty() ? "" : ", ") + name + "=" + amount.get<std::string>();
      context.out << printable(file) << " (" << (needs.empty() ? "nothing that counts" : needs)
                  << (fits ? ") fits.\n" : ") does not fit:\n");
      say_full(context, kube::list_at(said, "/full"));
      if (const auto unset = kube::list_at(said, "/unset"); !unset.empty())
        context.out << "Each container must say " << list_of(unset) << ".\n";
      for (const auto& word : kube::list_at(said, "/unknown"))
        context.out << "Not counted: " << printable(word.get<std::string>()) << ".\n";
    }
    context.out << std::flush;
    return status;
  }
};

struct QuotaRecount final : Command {
  std::string owner;

  void define(CLI::App& app) override {
    app.add_option("account", owner, "The account, or tenant/ID")->type_name("ACCOUNT")->required();
    add_examples(app, "  zooctl quota recount blue");
  }

  Result<int> run(Context& context) override {
    ZOO_TRY(auto* client, context.client());
    ZOO_TRY_VOID(client->recount_quota(owner));
    context.say(fmt::format("{}{} is counted anew", tenant_in(owner).empty() ? "account/" : "",
                            printable(owner)));
    return 0;
  }
};

} // namespace

std::unique_ptr<Command> make_quota_set() { return std::make_unique<QuotaSet>(); }
std::unique_ptr<Command> make_quota_show() { return std::make_unique<QuotaShow>(); }
std::unique_ptr<Command> make_quota_explain() { return std::make_unique<QuotaExplain>(); }
std::unique_ptr<Command> make_quota_recount() { return std::make_unique<QuotaRecount>(); }

} // namespace zoo::cli
