// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/context.hpp"
#include "common/base/result.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
} // namespace CLI

namespace zoo::cli {

/// One leaf of the command tree: an object of its own with its options' values. define() tells the
/// parser of them once, run() does the work and returns the exit status.
///
/// The types shown for values also drive completion: TENANT, ACCOUNT, SPACE, CLUSTER, FILE, DIR,
/// DURATION, or the choices themselves ("json|yaml").
class Command {
public:
  virtual ~Command() = default;
  virtual void define(CLI::App& app) = 0;
  virtual Result<int> run(Context& context) = 0;
  /// True for the command whose words after its first are another program's; they come here and
  /// are not parsed.
  virtual bool takes_foreign() const { return false; }
  virtual void set_foreign(std::vector<std::string> arguments) { (void)arguments; }
};

/// Where a command hangs: "tenant create", with its sentence.
struct CommandEntry {
  std::string_view group; ///< empty: at the top
  std::string_view name;
  std::string_view summary;
  std::unique_ptr<Command> command;
};

struct GroupEntry {
  std::string_view name, summary;
};

/// The whole of zooctl, in the order of its help: cli/app.cpp.
std::vector<CommandEntry> all_commands();
std::vector<GroupEntry> all_groups();

// cli/commands/*.cpp, a group each.
std::unique_ptr<Command> make_tenant_create();
std::unique_ptr<Command> make_tenant_apply();
std::unique_ptr<Command> make_tenant_get();
std::unique_ptr<Command> make_tenant_list();
std::unique_ptr<Command> make_tenant_describe();
std::unique_ptr<Command> make_tenant_delete();
std::unique_ptr<Command> make_tenant_suspend();
std::unique_ptr<Command> make_tenant_resume();
std::unique_ptr<Command> make_tenant_rotate();
std::unique_ptr<Command> make_tenant_revoke();
std::unique_ptr<Command> make_tenant_certificates();
std::unique_ptr<Command> make_kubeconfig_export();
std::unique_ptr<Command> make_account_aggregated();
std::unique_ptr<Command> make_account_apply();
std::unique_ptr<Command> make_account_create();
std::unique_ptr<Command> make_account_get();
std::unique_ptr<Command> make_account_list();
std::unique_ptr<Command> make_account_describe();
std::unique_ptr<Command> make_account_delete();
std::unique_ptr<Command> make_account_add_member();
std::unique_ptr<Command> make_account_remove_member();
std::unique_ptr<Command> make_account_uninstall();
std::unique_ptr<Command> make_quota_set();
std::unique_ptr<Command> make_quota_show();
std::unique_ptr<Command> make_quota_explain();
std::unique_ptr<Command> make_quota_recount();
std::unique_ptr<Command> make_space_create();
std::unique_ptr<Command> make_space_list();
std::unique_ptr<Command> make_space_describe();
std::unique_ptr<Command> make_space_delete();
std::unique_ptr<Command> make_space_use();
std::unique_ptr<Command> make_space_adopt();
std::unique_ptr<Command> make_space_transfer();
std::unique_ptr<Command> make_template_list();
std::unique_ptr<Command> make_template_render();
std::unique_ptr<Command> make_template_diff();
std::unique_ptr<Command> make_template_instantiate();
std::unique_ptr<Command> make_template_status();
std::unique_ptr<Command> make_cluster_create();
std::unique_ptr<Command> make_cluster_list();
std::unique_ptr<Command> make_cluster_get();
std::unique_ptr<Command> make_cluster_describe();
std::unique_ptr<Command> make_cluster_delete();
std::unique_ptr<Command> make_cluster_pause();
std::unique_ptr<Command> make_cluster_resume();
std::unique_ptr<Command> make_cluster_limit();
std::unique_ptr<Command> make_cluster_certs();
std::unique_ptr<Command> make_cluster_logs();
std::unique_ptr<Command> make_cluster_connect();
std::unique_ptr<Command> make_cluster_disconnect();
std::unique_ptr<Command> make_cluster_kubectl();
std::unique_ptr<Command> make_kubeconfig_account();
std::unique_ptr<Command> make_whoami();
std::unique_ptr<Command> make_can_i();
std::unique_ptr<Command> make_kubectl();
std::unique_ptr<Command> make_top();
std::unique_ptr<Command> make_status();
std::unique_ptr<Command> make_dns_corefile();
std::unique_ptr<Command> make_doctor();
std::unique_ptr<Command> make_audit();
std::unique_ptr<Command> make_backup_create();
std::unique_ptr<Command> make_backup_verify();
std::unique_ptr<Command> make_backup_show();
std::unique_ptr<Command> make_backup_acknowledge();
std::unique_ptr<Command> make_store_migrate();
std::unique_ptr<Command> make_replica_invite();
std::unique_ptr<Command> make_replica_list();
std::unique_ptr<Command> make_version();
std::unique_ptr<Command> make_completion();

} // namespace zoo::cli
