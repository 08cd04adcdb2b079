// SPDX-License-Identifier: Apache-2.0
#include "cli/cluster.hpp"
#include "cli/command.hpp"
#include "cli/options.hpp"
#include "cli/output/account_printer.hpp"
#include "cli/output/result.hpp"
#include "common/kube/client.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>

namespace zoo::cli {
namespace {

using nlohmann::json;

constexpr std::string_view k_rbac_group = "rbac.authorization.k8s.io";
constexpr int k_most_tries = 5; ///< when others change the account at the same time

std::string path_of(std::string_view name) {
  return fmt::format("{}/{}", k_accounts_path, kube::percent_encode(name));
}

/// --user, --group and --sa as they are given.
struct Members {
  std::vector<std::string> users, groups, service_accounts;

  void define(CLI::App& app) {
    add_repeated(app, "--user", users, "A user; may be repeated", "USER");
    add_repeated(app, "--group", groups, "A group of users; may be repeated", "GROUP");
    add_repeated(app, "--sa", service_accounts, "A ServiceAccount; may be repeated", "NS/NAME");
  }

  bool empty() const { return users.empty() && groups.empty() && service_accounts.empty(); }

  Result<json> subjects() const {
    json out = json::array();
    for (const auto& name : users)
      out.push_back({{"kind", "User"}, {"name", name}, {"apiGroup", k_rbac_group}});
    for (const auto& name : groups)
      out.push_back({{"kind", "Group"}, {"name", name}, {"apiGroup", k_rbac_group}});
    for (const auto& text : service_accounts) {
      const auto slash = text.find('/');
      if (slash == 0 || slash == std::string::npos || slash + 1 == text.size())
        return fail(Code::usage, "--sa '{}' is not NAMESPACE/NAME", text);
      out.push_back({{"kind", "ServiceAccount"},
                     {"name", text.substr(slash + 1)},
                     {"namespace", text.substr(0, slash)}});
    }
    return out;
  }
};

/// An account for a reader: as the administrator sees it, or as a member does.
Result<json> read_account(Cluster& cluster, const std::string& name) {
  auto account = cluster.get(path_of(name));
  if (account) return account;
  if (account.error().code() == Code::forbidden) {
    auto own = cluster.get(fmt::format("{}/{}", k_own_accounts_path, kube::percent_encode(name)));
    if (own) return own;
    return fail(own.error().code() == Code::unavailable ? account.error() : own.error());
  }
  return fail(suggest_name(cluster, account.error(), k_accounts_path, "account", name,
                           "zooctl account list"));
}

/// What an account is to be, as options say it.
struct AccountOptions : Command {
  std::string name, role, policy, format, context_name;
  std::vector<std::string> labels, templates;
  std::string limit;
  Members members;
  bool dry_run = false;

  void define_wanted(CLI::App& app) {
    members.define(app);
    app.add_option("--role", role,
                   "The ClusterRole that members have in their spaces, or \"none\"; else "
                   "accounts.default_cluster_role of zood.yaml")
        ->type_name("CLUSTERROLE");
    app.add_option("--limit", limit, "How many spaces it may have")->type_name("N");
    add_repeated(app, "--space-label", labels, "A label of all its spaces; may be repeated",
                 "KEY=VALUE");
    add_repeated(app, "--template", templates,
                 "A template that each of its spaces has; may be repeated", "T[:k=v,...]");
    add_choice(app, "--deletion-policy", policy, "Orphan|Delete|Refuse",
               "What becomes of its spaces when it is deleted: by default Orphan");
    add_dry_run(app, dry_run);
    add_context_option(app, context_name);
    add_format_option(app, format, k_object_formats);
  }

  Result<json> wanted() const {
    ZOO_TRY(auto subjects, members.subjects());
    json out = {{"apiVersion", "config.kiosk.sh/v1alpha1"},
                {"kind", "Account"},
                {"metadata", {{"name", name}}},
                {"spec", json::object()}};
    auto& spec = out["spec"];
    if (!subjects.empty()) spec["subjects"] = std::move(subjects);
    if (!role.empty()) spec["space"]["clusterRole"] = role == "none" ? "" : role;
    if (!limit.empty()) {
      std::int64_t number = 0;
      const auto [end, error] = std::from_chars(limit.data(), limit.data() + limit.size(), number);
      if (error != std::errc() || end != limit.data() + limit.size() || number < 0)
        return fail(Code::usage, "--limit '{}' is not a number of spaces", limit);
      spec["space"]["limit"] = number;
    }
    for (const auto& text : labels) {
      ZOO_TRY(const auto pair, option_pair("--space-label", text, "KEY=VALUE"));
      spec["space"]["spaceTemplate"]["metadata"]["labels"][pair.first] = pair.second;
    }
    for (const auto& text : templates) {
      ZOO_TRY(auto wish, option_template(text));
      spec["space"]["templateInstances"].push_back({{"spec", std::move(wish)}});
    }
    if (!policy.empty()) spec["deletionPolicy"] = policy;
    return out;
  }
};

struct AccountCreate final : AccountOptions {
  void define(CLI::App& app) override {
    app.add_option("account", name, "The new account's name")->type_name("NAME")->required();
    define_wanted(app);
    add_examples(app, "  zooctl account create blue --user john --group blue-team --limit 5\n"
                      "  zooctl account create robots --sa ci/deployer --role edit");
  }

  Result<int> run(Context& context) override {
    ZOO_TRY(const auto account, wanted());
    ZOO_TRY(auto cluster, Cluster::open(context, context_name));
    ZOO_TRY(const auto made, cluster.create(k_accounts_path, account, dry_run));
    print_account_result(context, made, "created", dry_run, format_of(format));
    if (members.empty())
      context.hint(
          fmt::format("It has no members yet: zooctl account add-member {} --user USER", name));
    return 0;
  }
};

/// Makes the account, or changes it to what the options say: what an earlier apply has set and this
/// one does not say goes, and what others have set beside it stays.
struct AccountApply final : AccountOptions {
  void define(CLI::App& app) override {
    app.add_option("account", name, "The account's name")->type_name("NAME")->required();
    define_wanted(app);
    add_examples(app, "  zooctl account apply blue --user john --user jane --limit 5\n"
                      "  zooctl account apply blue --group blue-team --dry-run -o yaml");
  }

  Result<int> run(Context& context) override {
    ZOO_TRY(const auto account, wanted());
    ZOO_TRY(auto cluster, Cluster::open(context, context_name));
    const auto before = cluster.get(path_of(name));
    if (!before && before.error().code() != Code::not_found) return fail(before.error());
    ZOO_TRY(const auto made, cluster.apply(path_of(name), account, dry_run));
    const auto version = [](const json& object) {
      return text_at(object, "/metadata/resourceVersion");
    };
    print_account_result(context, made,
                         !before                             ? "created"
                         : version(*before) == version(made) ? "unchanged"
                                                             : "configured",
                         dry_run, format_of(format));
    return 0;
  }
};

struct AccountGet final : Command {
  std::vector<std::string> names;
  std::string format, context_name;
  bool no_headers = false;

  void define(CLI::App& app) override {
    app.add_option("account", names, "Names of accounts")->type_name("ACCOUNT")->required();
    add_format_option(app, format, k_object_formats);
    add_no_headers(app, no_headers);
    add_context_option(app, context_name);
    add_examples(app, "  zooctl account get blue\n  zooctl account get blue -o yaml");
  }

  Result<int> run(Context& context) override {
    ZOO_TRY(auto cluster, Cluster::open(context, context_name));
    json list = {{"apiVersion", "v1"}, {"kind", "List"}, {"items", json::array()}};
    auto status =
        for_all<std::string>(context, names, [&](const std::string& name) -> Result<void> {
          ZOO_TRY(auto account, read_account(cluster, name));
          list["items"].push_back(std::move(account));
          return {};
        });
    const auto kind = format_of(format);
    const bool one = names.size() == 1 && !list["items"].empty();
    if (one && (kind == Format::json || kind == Format::yaml)) {
      print_record(context, list["items"][0], kind);
    } else if (!list["items"].empty()) {
      print_accounts(context, list, {kind, !no_headers});
    }
    return status;
  }
};

struct AccountList final : Command {
  std::string selector, format, context_name;
  bool no_headers = false;

  void define(CLI::App& app) override {
    app.add_option("-l,--selector", selector, "Only accounts with these labels: key=value,...")
        ->type_name("SELECTOR");
    add_format_option(app, format, k_object_formats);
    add_no_headers(app, no_headers);
    add_context_option(app, context_name);
    add_examples(app, "  zooctl account list -o wide");
  }

  Result<int> run(Context& context) override {
    ZOO_TRY(auto cluster, Cluster::open(context, context_name));
    kube::Query query;
    if (!selector.empty()) query.emplace_back("labelSelector", selector);
    auto list = cluster.list(k_accounts_path, query);
    // Members may not read all accounts: they have a view of their own.
    if (!list && list.error().code() == Code::forbidden) {
      auto own = cluster.list(k_own_accounts_path, query);
      if (own || own.error().code() != Code::unavailable) list = std::move(own);
    }
    if (!list) return fail(std::move(list).error());
    print_accounts(context, *list, {format_of(format), !no_headers});
    if ((*list)["items"].empty())
      context.hint(selector.empty()
                       ? "There are no accounts yet. Make one: zooctl account create NAME"
                       : "No account has these labels.");
    return 0;
  }
};

struct AccountDescribe final : Command {
  std::vector<std::string> names;
  std::string context_name;

  void define(CLI::App& app) override {
    app.add_option("account", names, "Names of accounts")->type_name("ACCOUNT")->required();
    add_context_option(app, context_name);
    add_examples(app, "  zooctl account describe blue");
  }

  Result<int> run(Context& context) override {
    ZOO_TRY(auto cluster, Cluster::open(context, context_name));
    for (std::size_t i = 0; i < names.size(); ++i) {
      ZOO_TRY(const auto account, read_account(cluster, names[i]));
      if (i > 0) context.out << "\n\n";
      describe_account(context, account);
    }
    return 0;
  }
};

struct AccountDelete final : Command {
  std::vector<std::string> names;
  std::string format, context_name;
  bool dry_run = false, ignore_not_found = false;

  void define(CLI::App& app) override {
    app.add_option("account", names, "Names of accounts")->type_name("ACCOUNT")->required();
    app.add_flag("--ignore-not-found", ignore_not_found,
                 "An account that is not there is no error");
    add_dry_run(app, dry_run);
    add_context_option(app, context_name);
    add_format_option(app, format, "name");
    add_examples(app, "  zooctl account delete blue");
  }

  Result<int> run(Context& context) override {
    ZOO_TRY(auto cluster, Cluster::open(context, context_name));
    return for_all<std::string>(context, names, [&](const std::string& name) -> Result<void> {
      auto account = read_account(cluster, name);
      if (!account && ignore_not_found && account.error().code() == Code::not_found) return {};
      if (!account) return fail(std::move(account).error());
      ZOO_TRY(const auto answer, cluster.remove(path_of(name), dry_run));
      const bool goes = !text_at(answer, "/metadata/deletionTimestamp").empty();
      print_account_result(context, *account, goes && !dry_run ? "is being deleted" : "deleted",
                           dry_run, format_of(format));
      return {};
    });
  }
};

/// add-member and remove-member.
struct AccountMembers final : Command {
  explicit AccountMembers(bool to_add) : adds(to_add) {}

  bool adds;
  std::string name, format, context_name;
  Members members;
  bool dry_run = false;

  void define(CLI::App& app) override {
    app.add_option("account", name, "The account's name")->type_name("ACCOUNT")->required();
    members.define(app);
    add_dry_run(app, dry_run);
    add_context_option(app, context_name);
    add_format_option(app, format, k_object_formats);
    add_examples(app, adds ? "  zooctl account add-member blue --user jane --group blue-team"
                           : "  zooctl account remove-member blue --user jane");
  }

  static bool same(const json& one, const json& other) {
    return text_at(one, "/kind") == text_at(other, "/kind") &&
           text_at(one, "/name") == text_at(other, "/name") &&
           text_at(one, "/namespace") == text_at(other, "/namespace");
  }

  /// Takes them out of all bindings that give a role of their own; a binding of nobody goes. False:
  /// it stands in none.
  static bool unbind(json& account, const json& subject) {
    const json::json_pointer at("/spec/space/bindings");
    if (!account.contains(at) || !account.at(at).is_array()) return false;
    bool any = false;
    auto& bindings = account.at(at);
    for (auto binding = bindings.begin(); binding != bindings.end();) {
      if (!binding->is_object() || !(*binding)["subjects"].is_array()) {
        ++binding;
        continue;
      }
      auto& subjects = (*binding)["subjects"];
      const auto gone = std::remove_if(subjects.begin(), subjects.end(),
                                       [&](const json& each) { return same(each, subject); });
      any = any || gone != subjects.end();
      subjects.erase(gone, subjects.end());
      binding = subjects.empty() ? bindings.erase(binding) : binding + 1;
    }
    return any;
  }

  /// Changes the account's subjects; false: they are as they should be already.
  Result<bool> change(json& account, const json& wanted) const {
    auto& subjects = account["spec"]["subjects"];
    if (!subjects.is_array()) subjects = json::array();
    bool changed = false;
    for (const auto& subject : wanted) {
      const auto found = std::find_if(subjects.begin(), subjects.end(),
                                      [&](const json& each) { return same(each, subject); });
      const bool there = found != subjects.end();
      if (adds && there) continue;
      const bool unbound = !adds && unbind(account, subject);
      if (!adds && !there && !unbound)
        return fail(Code::not_found, "{} is no member of account '{}'", member_text(subject), name);
      if (adds) {
        subjects.push_back(subject);
      } else if (there) {
        subjects.erase(found);
      }
      changed = true;
    }
    return changed;
  }

  Result<int> run(Context& context) override {
    ZOO_TRY(const auto wanted, members.subjects());
    if (wanted.empty())
      return fail(Code::usage, "say whom: --user USER, --group GROUP or --sa NS/NAME");
    ZOO_TRY(auto cluster, Cluster::open(context, context_name));
    for (int tries = 1;; ++tries) {
      auto account = cluster.get(path_of(name));
      if (!account)
        return fail(suggest_name(cluster, account.error(), k_accounts_path, "account", name,
                                 "zooctl account list"));
      ZOO_TRY(const auto changed, change(*account, wanted));
      if (changed) {
        auto stored = cluster.update(path_of(name), *account, dry_run);
        if (!stored && stored.error().code() == Code::conflict && tries < k_most_tries) continue;
        if (!stored) return fail(std::move(stored).error());
        account = std::move(stored);
      }
      print_account_result(context, *account, changed ? "configured" : "unchanged", dry_run,
                           format_of(format));
      return 0;
    }
  }
};

} // namespace

std::unique_ptr<Command> make_account_apply() { return std::make_unique<AccountApply>(); }
std::unique_ptr<Command> make_account_create() { return std::make_unique<AccountCreate>(); }
std::unique_ptr<Command> make_account_get() { return std::make_unique<AccountGet>(); }
std::unique_ptr<Command> make_account_list() { return std::make_unique<AccountList>(); }
std::unique_ptr<Command> make_account_describe() { return std::make_unique<AccountDescribe>(); }
std::unique_ptr<Command> make_account_delete() { return std::make_unique<AccountDelete>(); }
std::unique_ptr<Command> make_account_add_member() {
  return std::make_unique<AccountMembers>(true);
}
std::unique_ptr<Command> make_account_remove_member() {
  return std::make_unique<AccountMembers>(false);
}

} // namespace zoo::cli
