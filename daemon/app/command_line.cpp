// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/command_line.hpp"

#include "common/base/error_table.hpp"
#include "common/base/log.hpp"
#include "common/base/text.hpp"
#include "daemon/app/backup.hpp"
#include "daemon/app/joining.hpp"
#include "daemon/app/zood.hpp"
#include "daemon/keeper/keeper.hpp"
#include "daemon/translate/proof.hpp"
#include "daemon/upstream/accounts_manifests.hpp"
#include "daemon/upstream/inside_manifests.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>

namespace zoo::app {
namespace {

int complain(const Error& error) {
  fmt::print(stderr, "zood: {}\n", error.text());
  return error_row(error.code()).exit_status;
}

/// What the parser refuses, in zood's words: the option that was probably meant.
int refuse(const CLI::App& app, int argc, char** argv, const CLI::ParseError& error) {
  std::vector<std::string> names;
  for (const auto* option : app.get_options()) {
    for (const auto& name : option->get_lnames())
      names.push_back("--" + name);
  }
  const std::vector<std::string_view> known(names.begin(), names.end());
  for (int i = 1; i < argc; ++i) {
    const std::string_view word(argv[i]);
    const auto name = word.substr(0, word.find('='));
    if (!word.starts_with("-") || word == "-h" ||
        std::find(known.begin(), known.end(), name) != known.end())
      continue;
    const auto near = text::nearest(name, known);
    return complain(Error(
        Code::usage, near ? fmt::format("there is no option '{}', did you mean '{}'?", name, *near)
                          : fmt::format("there is no option '{}': zood --help lists them", name)));
  }
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    const std::string said = error.what();
    return complain(
        Error(Code::usage, fmt::format("zood takes options alone, not '{}': zood --help "
                                       "lists them",
                                       said.substr(said.rfind(' ') + 1))));
  }
  return complain(Error(Code::usage, error.what()));
}

/// Of a unit with RuntimeDirectory=, the first one (systemd.exec(5)); else "".
std::string runtime_directory() {
  const char* list = std::getenv("RUNTIME_DIRECTORY");
  const std::string_view all(list == nullptr ? "" : list);
  return std::string(all.substr(0, all.find(':')));
}

} // namespace

CommandLine parse_command_line(int argc, char** argv) {
  CommandLine out;
  CLI::App app("zood: gives each tenant of one Kubernetes cluster an API of its own", "zood");
  std::string dir, upstream, listen, advertise, admin_listen, log_level, config_file, backup_file,
      passphrase_file, invitation_file, binaries, uid_base;
  bool check = false, print_config = false, print_rbac = false, print_accounts = false,
       print_inside = false, revoke_all = false;
  keeper::KeeperRole role;
  bool keeper = false;
  app.set_help_flag("-h,--help", "Print this help");
  app.add_option("--dir", dir,
                 "Everything that zood owns: database, keys, PKI, socket; by default /var/lib/zood")
      ->type_name("DIR");
  app.add_option("--upstream", upstream, "Kubeconfig of the upstream cluster")->type_name("FILE");
  app.add_option("--listen", listen,
                 "Where tenants connect, IP:PORT; port 0: the system's choice; by default "
                 "127.0.0.1:7443")
      ->type_name("ADDRESS");
  app.add_option("--advertise", advertise,
                 "What tenants' kubeconfigs name as the server, HOST:PORT; by default --listen")
      ->type_name("ADDRESS");
  app.add_option("--admin-listen", admin_listen,
                 "Where administrators connect by mutual TLS, IP:PORT")
      ->type_name("ADDRESS");
  app.add_option("--log-level", log_level, "debug, info, warning or error; by default info")
      ->type_name("LEVEL");
  app.add_option("--config", config_file, "Configuration file, see zood.yaml(5)")
      ->type_name("FILE");
  app.add_flag("--check-config", check,
               "Read the configuration and what it names, say what is wrong, and end");
  app.add_flag("--print-config", print_config, "Print a configuration file with every key");
  app.add_flag("--print-upstream-rbac", print_rbac,
               "Print what zood needs in the upstream cluster");
  app.add_flag("--print-upstream-accounts", print_accounts,
               "Print what accounts and spaces need there beside that");
  app.add_option("--restore", backup_file,
                 "Put a backup of zooctl's into an empty directory, and end")
      ->type_name("FILE");
  app.add_option("--passphrase-file", passphrase_file,
                 "The passphrase of that backup: the first line of this file")
      ->type_name("FILE");
  app.add_option("--join", invitation_file,
                 "Make an empty directory that of one more zood with the store of others, by an "
                 "invitation of zooctl's, and end")
      ->type_name("FILE");
  app.add_flag("--revoke-all", revoke_all,
               "With --restore: make all certificates of all tenants void")
      ->needs("--restore");
  app.add_flag("--print-upstream-inside", print_inside,
               "Print the policy that makes zood the API server inside tenants' pods");
  app.add_flag("--keeper", keeper,
               "Supervise the control planes of virtual clusters, and nothing else");
  app.add_option("--binaries", binaries, "The programs of control planes, for --keeper")
      ->type_name("DIR");
  app.add_option("--uid-base", uid_base, "clusters.uid_base, for --keeper")->type_name("NUMBER");
  app.add_flag("--detach", role.detach, "With --keeper: in the background");
  app.add_flag("--delegated", role.delegated,
               "With --keeper: its cgroup is its alone (Delegate= of systemd), and control planes "
               "are bounded in it");
  app.add_flag("--release", role.release,
               "With --keeper: make that cgroup ready for the next keeper, and end");
  app.set_version_flag("--version", translate::k_proves ? "zood " ZOO_VERSION
                                                        : "zood " ZOO_VERSION
                                                          " (test program, proves nothing)");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) { // --help, --version
    out.exit_status = app.exit(asked);
    return out;
  } catch (const CLI::ParseError& error) {
    out.exit_status = refuse(app, argc, argv, error);
    return out;
  }
  if (print_config || print_rbac || print_accounts || print_inside) {
    const auto text = print_config     ? config::example()
                      : print_rbac     ? upstream::upstream_rbac_yaml()
                      : print_accounts ? upstream::account_manifests_yaml()
                                       : upstream::inside_manifests_yaml();
    std::fwrite(text.data(), 1, text.size(), stdout);
    out.exit_status = 0;
    return out;
  }
  if (config_file.empty() && dir.empty()) {
    out.exit_status = complain(
        Error(Code::usage,
              "say where to keep things: zood --dir D --upstream KUBECONFIG, or --config FILE"));
    return out;
  }
  if (!translate::k_proves) {
    fmt::print(stderr, "zood: THIS TEST PROGRAM PROVES NO REQUEST: what isolates tenants is the "
                       "upstream alone. It must never serve anybody.\n");
  }
  for (const auto& [given, name] : {std::pair(role.detach, "--detach"),
                                    {role.delegated, "--delegated"},
                                    {role.release, "--release"}})
    if (given && !keeper) {
      out.exit_status = complain(Error(Code::usage, std::string(name) + " goes with --keeper"));
      return out;
    }
  // Without a file zood is somebody's first try: the door for kubectl stands open, on loopback.
  if (config_file.empty() && admin_listen.empty()) admin_listen = "127.0.0.1:0";
  const std::vector<std::pair<std::string, std::string>> given{{"dir", dir},
                                                               {"upstream.kubeconfig", upstream},
                                                               {"listen", listen},
                                                               {"advertise", advertise},
                                                               {"admin.listen", admin_listen},
                                                               {"clusters.binaries", binaries},
                                                               {"clusters.uid_base", uid_base},
                                                               {"log.level", log_level}};
  const auto runtime = runtime_directory();
  out.read = [config_file, dir, given, runtime]() -> Result<config::Values> {
    config::Values values;
    if (!config_file.empty()) {
      ZOO_TRY(values, config::load_file(config_file));
    }
    for (const auto& [key, text] : given) {
      if (!text.empty()) ZOO_TRY_VOID(values.set(key, text));
    }
    // A service: members of its group may pass its runtime directory, and its state's they may not.
    // With --dir everything is there.
    if (dir.empty() && !values.is_set("admin.socket") && !runtime.empty())
      ZOO_TRY_VOID(values.set("admin.socket", runtime + "/zood.sock"));
    return values;
  };
  auto values = out.read();
  if (!values) {
    out.exit_status = complain(values.error());
    return out;
  }
  out.values = *std::move(values);
  if (keeper) {
    log::set_level(out.values.string("log.level"));
    keeper::KeeperOptions options;
    options.directory = std::filesystem::absolute(out.values.path("dir")) / "clusters";
    options.binaries = std::filesystem::absolute(out.values.path("clusters.binaries"));
    options.uid_base = static_cast<std::uint32_t>(out.values.integer("clusters.uid_base"));
    options.starts = std::max(1U, std::thread::hardware_concurrency());
    out.exit_status = keeper::run_keeper(std::move(options), role);
    return out;
  }
  if (!backup_file.empty()) {
    const auto done = restore(out.values, {backup_file, passphrase_file, revoke_all});
    if (done) fmt::print("{}\n", *done);
    out.exit_status = done ? 0 : complain(done.error());
    return out;
  }
  if (!invitation_file.empty()) {
    const auto done = join(out.values, invitation_file);
    if (done) fmt::print("{}\n", *done);
    out.exit_status = done ? 0 : complain(done.error());
    return out;
  }
  if (check) {
    if (const auto startable = check_startable(out.values); !startable) {
      out.exit_status = complain(startable.error());
      return out;
    }
    fmt::print("{}: good\n", config_file.empty() ? "the command line" : config_file);
    out.exit_status = 0;
  }
  return out;
}

} // namespace zoo::app
