// SPDX-License-Identifier: Apache-2.0
#include "cli/app.hpp"

#include "cli/command.hpp"
#include "cli/complete.hpp"
#include "cli/dump.hpp"
#include "cli/options.hpp"
#include "cli/output/table.hpp"
#include "cli/walk.hpp"
#include "common/base/error_table.hpp"
#include "common/base/file.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

namespace zoo::cli {
namespace {

void define_globals(CLI::App& app, Globals& globals) {
  app.add_option("--dir", globals.dir,
                 "zood's directory: its socket is DIR/zood.sock, its administrator's kubeconfig "
                 "DIR/admin.kubeconfig; else ZOO_DIR, else /var/lib/zood")
      ->type_name("DIR");
  app.add_option("--socket", globals.socket,
                 "zood's Unix socket; else zood.sock of --dir, else ZOO_SOCKET, else zood.sock of "
                 "ZOO_DIR, else /run/zood/zood.sock or /var/lib/zood/zood.sock")
      ->type_name("FILE");
  app.add_option(
         "--kubeconfig", globals.kubeconfig,
         "Ask zood over TLS with an administrator's kubeconfig; of account, space, template, "
         "quota set, quota show --me, kubeconfig account, whoami and can-i the kubeconfig "
         "of the cluster to ask, by default kubectl's")
      ->type_name("FILE");
  app.add_option("--server", globals.server,
                 "Ask zood over TLS at this URL, with --kubeconfig or DIR/admin.kubeconfig")
      ->type_name("URL");
  app.add_option("--request-timeout", globals.request_timeout,
                 "How long one request to zood may take; of doctor and status 60s")
      ->type_name("DURATION")
      ->each([&globals](const std::string&) { globals.request_timeout_given = true; })
      ->capture_default_str();
  app.add_flag("-q,--quiet", globals.quiet, "Say nothing but results and errors");
  app.set_version_flag("--version", "zooctl " ZOO_VERSION, "Print zooctl's version");
}

std::string full_name(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name()
                                     : full_name(*app.get_parent()) + " " + app.get_name();
}

int report(Context& context, const Error& error) {
  context.err << paint("zooctl:", Colour::bad, context.terminal.err && !context.env("NO_COLOR"))
              << ' ' << printable(error.text()) << '\n'
              << std::flush;
  return error_row(error.code()).exit_status;
}

int usage(Context& context, const CLI::App& app, const std::string& message) {
  const auto status = report(context, Error(Code::usage, message));
  context.err << fmt::format("See `{} --help`.\n", full_name(app)) << std::flush;
  return status;
}

const CLI::App& deepest(const CLI::App& root) {
  const auto chosen = root.get_subcommands();
  return chosen.empty() ? root : deepest(*chosen.back());
}

std::string help_of(const CLI::App& app) {
  return app.help(app.get_parent() == nullptr ? "" : full_name(*app.get_parent()));
}

/// The options that take a file, as "-o,--output FILE or --passphrase-file FILE"; "" if none does.
std::string file_options(const CLI::App& app) {
  std::vector<std::string> out;
  for (const auto* option : app.get_options()) {
    if (!option->nonpositional() || option->get_type_name() != "FILE") continue;
    const auto& shorts = option->get_snames();
    const auto& longs = option->get_lnames();
    out.push_back((shorts.empty() ? "--" + longs.front() : "-" + shorts.front()) + " FILE");
  }
  return fmt::format("{}", fmt::join(out, " or "));
}

/// The parser's words where they are its own and no user's.
std::string words_of(const CLI::App& app, const CLI::ParseError& error) {
  const std::string said = error.what();
  if (dynamic_cast<const CLI::ExtrasError*>(&error) == nullptr) return said;
  const auto colon = said.find(": ");
  const auto extra = colon == std::string::npos ? said : said.substr(colon + 2);
  const auto takes = positionals_of(app).empty() ? "takes no arguments" : "takes fewer arguments";
  const auto files = extra.starts_with('-') ? std::string() : file_options(app);
  return fmt::format("`{}` {}: what is '{}'?{}", full_name(app), takes, extra,
                     files.empty() ? "" : fmt::format(" A file is given with {}.", files));
}

/// What the parser said, or better: what was probably meant.
int refuse(Context& context, const CLI::App& root, const std::vector<std::string>& arguments,
           const CLI::ParseError& error) {
  const auto state = walk(root, arguments);
  if (!state.problem.empty()) return usage(context, *state.app, state.problem);
  const bool group = !state.app->get_subcommands([](const CLI::App*) { return true; }).empty();
  if (group) {
    context.err << help_of(*state.app) << std::flush;
    return error_row(Code::usage).exit_status;
  }
  return usage(context, *state.app, words_of(*state.app, error));
}

/// An argument that says nothing is a variable that was not set: it must not mean the default, nor
/// take the next word for its value.
std::string find_empty(const std::vector<std::string>& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto& word = arguments[i];
    if (word.starts_with("--") && word.size() > 3 && word.find('=') == word.size() - 1)
      return fmt::format("{} has no value", word.substr(0, word.size() - 1));
    if (!word.empty()) continue;
    const bool value = i > 0 && arguments[i - 1].starts_with("-");
    return value ? fmt::format("the value of {} is empty", arguments[i - 1])
                 : std::string("an argument is empty");
  }
  return {};
}

int dump(Context& context, CommandTree& tree, const std::vector<std::string>& arguments) {
  const auto value = dump_tree(tree.root());
  if (arguments.size() == 1) {
    context.out << value.dump(2) << '\n';
    return 0;
  }
  if (arguments.size() != 3 || arguments[1] != "--man") {
    return report(context, Error(Code::usage, "usage: zooctl __dump [--man TEMPLATE]"));
  }
  const auto page = file::read(arguments[2]);
  if (!page) return report(context, page.error());
  const auto text = render_man(*page, value);
  if (!text) return report(context, text.error());
  context.out << *text;
  return 0;
}

} // namespace

std::vector<GroupEntry> all_groups() {
  return {{"tenant", "Make, show and remove tenants"},
          {"account", "Look after accounts and their members"},
          {"space", "Make, use and remove the spaces of accounts"},
          {"template", "Look at templates, and make their objects in spaces"},
          {"quota", "Limit what accounts and tenants use, and show what they use"},
          {"cluster", "Make, use and remove virtual clusters"},
          {"kubeconfig", "Hand out credentials"},
          {"backup", "Copy zood's state, and look at copies"},
          {"store", "Move zood's records to another place"},
          {"replica", "Let several zoods serve the same tenants"},
          {"dns", "Print the DNS rules by which pods find their tenant's Services"}};
}

std::vector<CommandEntry> all_commands() {
  std::vector<CommandEntry> all;
  const auto add = [&](std::string_view group, std::string_view name, std::string_view summary,
                       std::unique_ptr<Command> command) {
    all.push_back({group, name, summary, std::move(command)});
  };
  add("tenant", "create", "Create a tenant and wait until it is Ready", make_tenant_create());
  add("tenant", "apply", "Create or change tenants as a manifest says", make_tenant_apply());
  add("tenant", "get", "Show tenants", make_tenant_get());
  add("tenant", "list", "List all tenants", make_tenant_list());
  add("tenant", "describe", "Show everything about tenants", make_tenant_describe());
  add("tenant", "delete", "Delete tenants with all they own, and wait until they are gone",
      make_tenant_delete());
  add("tenant", "suspend", "Refuse all requests of tenants, keep what they have",
      make_tenant_suspend());
  add("tenant", "resume", "Let suspended tenants in again", make_tenant_resume());
  add("tenant", "rotate", "Make a new certificate for a tenant's administrator",
      make_tenant_rotate());
  add("tenant", "revoke", "Take back certificates of a tenant, or all its credentials",
      make_tenant_revoke());
  add("tenant", "certificates", "List the certificates that a tenant has been given",
      make_tenant_certificates());
  add("account", "create", "Create an account", make_account_create());
  add("account", "apply", "Create an account, or change it to what is said", make_account_apply());
  add("account", "get", "Show accounts", make_account_get());
  add("account", "list", "List the accounts that you may see", make_account_list());
  add("account", "describe", "Show everything about accounts", make_account_describe());
  add("account", "delete",
      "Delete accounts; spec.deletionPolicy of each says what becomes of its spaces",
      make_account_delete());
  add("account", "add-member", "Let users into the spaces of an account",
      make_account_add_member());
  add("account", "remove-member", "Take users out of the spaces of an account",
      make_account_remove_member());
  add("account", "aggregated", "Switch tenancy.kiosk.sh of the upstream on or off, or show it",
      make_account_aggregated());
  add("account", "uninstall", "Remove from the upstream what zood has installed for accounts",
      make_account_uninstall());
  add("space", "create", "Create a space", make_space_create());
  add("space", "list", "List the spaces that you may see", make_space_list());
  add("space", "describe", "Show everything about spaces", make_space_describe());
  add("space", "delete", "Delete spaces with all that is in them", make_space_delete());
  add("space", "use", "Let kubectl work in a space from now on", make_space_use());
  add("space", "adopt", "Give a namespace that nobody owns to an account", make_space_adopt());
  add("space", "transfer", "Give a space to another account", make_space_transfer());
  add("template", "list", "List templates", make_template_list());
  add("template", "render", "Print the objects that a template stands for in a space",
      make_template_render());
  add("template", "diff",
      "Print what a template would change in a space; exit status 1 if anything",
      make_template_diff());
  add("template", "instantiate", "Make the objects of a template in a space",
      make_template_instantiate());
  add("template", "status", "Show what has become of the templates of spaces",
      make_template_status());
  add("quota", "set",
      "Limit what all spaces of an account, or all namespaces of a tenant, may use together",
      make_quota_set());
  add("quota", "show", "Show what is used of quotas", make_quota_show());
  add("quota", "explain", "Show what is full, by what, and whether a file would fit",
      make_quota_explain());
  add("quota", "recount", "Put right what upstream has counted wrong", make_quota_recount());
  add("cluster", "create", "Create a virtual cluster and wait until it is Initialized",
      make_cluster_create());
  add("cluster", "list", "List virtual clusters", make_cluster_list());
  add("cluster", "get", "Show virtual clusters", make_cluster_get());
  add("cluster", "describe", "Show everything about virtual clusters", make_cluster_describe());
  add("cluster", "connect", "Use a virtual cluster: by kubectl's own file, or for one command",
      make_cluster_connect());
  add("cluster", "disconnect", "Take a virtual cluster out of kubectl's own file again",
      make_cluster_disconnect());
  add("cluster", "kubectl", "Run kubectl in a virtual cluster", make_cluster_kubectl());
  add("cluster", "pause", "Stop the control planes of virtual clusters", make_cluster_pause());
  add("cluster", "resume", "Start the control planes of paused virtual clusters again",
      make_cluster_resume());
  add("cluster", "limit", "Change how many Services and nodePorts virtual clusters may have",
      make_cluster_limit());
  add("cluster", "certs", "Show the certificates of a virtual cluster, or make them anew",
      make_cluster_certs());
  add("cluster", "logs", "Print the log of a component of a virtual cluster", make_cluster_logs());
  add("cluster", "delete", "Delete virtual clusters with all that is in them",
      make_cluster_delete());
  add("kubeconfig", "account", "Make a kubeconfig for users of accounts",
      make_kubeconfig_account());
  add("kubeconfig", "export", "Issue a kubeconfig for a tenant", make_kubeconfig_export());
  add("backup", "create", "Copy zood's state into a file, while zood runs", make_backup_create());
  add("backup", "verify", "Find out whether a backup is whole and can be restored",
      make_backup_verify());
  add("backup", "show", "Show what a backup says of itself", make_backup_show());
  add("backup", "acknowledge", "Say that what a restored state does not know has been seen to",
      make_backup_acknowledge());
  add("store", "migrate", "Move the records of the running zood into another store",
      make_store_migrate());
  add("replica", "invite", "Write what another zood needs to serve the same tenants",
      make_replica_invite());
  add("replica", "list", "Show which zoods serve the same tenants", make_replica_list());
  add("dns", "corefile", "Print the rules that CoreDNS of the upstream needs", make_dns_corefile());
  add("", "kubectl", "Run kubectl as a tenant", make_kubectl());
  add("", "whoami", "Show whom the cluster takes you for, and your accounts", make_whoami());
  add("", "can-i", "Show whether you may do something; exit status 1 if not", make_can_i());
  add("", "audit", "Show which requests came, and what became of them", make_audit());
  add("", "top", "Show what tenants use of their shares and ceilings", make_top());
  add("", "status", "Show how zood is", make_status());
  add("", "doctor", "Find out what is wrong; exit status 1 if something is", make_doctor());
  add("", "version", "Print the versions of zooctl and zood", make_version());
  add("", "completion", "Print the completion script of a shell", make_completion());
  return all;
}

CommandTree::CommandTree(Globals& globals)
    : entries_(all_commands()),
      root_(std::make_unique<CLI::App>("Administers zood: many tenants in one Kubernetes cluster",
                                       "zooctl")) {
  root_->fallthrough();
  root_->require_subcommand(1);
  root_->set_help_flag("-h,--help", "Print help");
  root_->get_formatter()->column_width(34);
  define_globals(*root_, globals);
  std::map<std::string_view, CLI::App*> groups = {{"", root_.get()}};
  for (const auto& group : all_groups()) {
    groups[group.name] = root_->add_subcommand(std::string(group.name), std::string(group.summary));
    groups[group.name]->require_subcommand(1);
  }
  for (auto& entry : entries_) {
    auto* app =
        groups.at(entry.group)->add_subcommand(std::string(entry.name), std::string(entry.summary));
    entry.command->define(*app);
    for (auto* option : app->get_options())
      if (option->get_type_name() == "TENANT") option->transform(without_kind);
    apps_.push_back(app);
  }
}

CommandTree::~CommandTree() = default;

Command* CommandTree::command_of(const CLI::App* app) const {
  for (std::size_t i = 0; i < apps_.size(); ++i) {
    if (apps_[i] == app) return entries_[i].command.get();
  }
  return nullptr;
}

int run(const std::vector<std::string>& arguments, Context& context) {
  CommandTree tree(context.globals);
  auto& root = tree.root();
  if (!arguments.empty() && arguments.front() == "__dump") return dump(context, tree, arguments);
  if (!arguments.empty() && arguments.front() == "__complete") {
    complete(context, root, {arguments.begin() + 1, arguments.end()});
    return 0;
  }

  auto own = arguments;
  const auto state = walk(root, arguments);
  if (auto* command = tree.command_of(state.app);
      command != nullptr && command->takes_foreign() && !state.words.empty()) {
    const auto end = arguments.begin() + static_cast<std::ptrdiff_t>(state.words.front()) + 1;
    own.assign(arguments.begin(), end);
    std::vector<std::string> foreign(end, arguments.end());
    command->set_foreign(std::move(foreign));
  }
  if (const auto empty = find_empty(own); !empty.empty()) return usage(context, *state.app, empty);
  try {
    root.parse(std::vector<std::string>(own.rbegin(), own.rend()));
  } catch (const CLI::CallForHelp&) {
    if (!state.problem.empty()) return usage(context, *state.app, state.problem);
    context.out << help_of(deepest(root));
    return 0;
  } catch (const CLI::CallForVersion& version) {
    context.out << version.what() << '\n';
    return 0;
  } catch (const CLI::ParseError& error) {
    return refuse(context, root, own, error);
  }
  const auto& chosen = deepest(root);
  const auto status = tree.command_of(&chosen)->run(context);
  if (status) return *status;
  context.out.flush();
  return report(context, status.error());
}

} // namespace zoo::cli
