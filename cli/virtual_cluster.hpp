// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/context.hpp"
#include "cli/output/printer.hpp"
#include "common/base/result.hpp"
#include "common/kube/client.hpp"

#include <nlohmann/json_fwd.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Virtual clusters of zood's admin API as commands use them. Errors: those of AdminClient; a name
/// that is not there comes with the one that was probably meant. One thread.
namespace zoo::cli {

class VirtualClusters {
public:
  /// `name_space`: of all that is asked; "": of all namespaces, for list() alone.
  static Result<VirtualClusters> open(Context& context, std::string name_space);

  Result<nlohmann::json> list(std::string_view selector = {});
  Result<nlohmann::json> get(const std::string& name);
  Result<nlohmann::json> create(const nlohmann::json& cluster, bool dry_run);
  Result<nlohmann::json> patch(const std::string& name, const nlohmann::json& merge, bool dry_run);
  Result<void> remove(const std::string& name, const std::string& uid, bool dry_run);
  Result<nlohmann::json> certificates(const std::string& name);
  /// `how`: "rotate" or "revoke".
  Result<nlohmann::json> renew(const std::string& name, const std::string& how);
  /// To that stage of one authority following another: "announced", "used" or "settled".
  Result<nlohmann::json> turn_authority(const std::string& name, const std::string& stage);
  Result<void> wake(const std::string& name); ///< one that sleeps
  Result<std::string> log(const std::string& name, const std::string& component, unsigned lines);
  struct LogPart {
    std::string text; ///< whole lines
    std::uint64_t position = 0;
  };
  /// What came behind a position; without one the last lines.
  Result<LogPart> log_part(const std::string& name, const std::string& component, unsigned lines,
                           std::optional<std::uint64_t> position);
  /// The administrator's kubeconfig; Code::unavailable with what zood waits for if it has none.
  Result<std::string> kubeconfig(const nlohmann::json& cluster) const;

  /// Until status.phase is `phase`, or with "" until the cluster of that UID is gone. A line of
  /// progress on a terminal. Code::timeout with what zood waits for; it goes on.
  Result<nlohmann::json> wait(const std::string& name, const std::string& phase,
                              const std::string& uid, std::chrono::milliseconds timeout);

private:
  VirtualClusters(Context& context, AdminClient& client, std::string name_space)
      : context_(context), client_(client), space_(std::move(name_space)) {}
  std::string path(std::string_view name = {}, std::string_view sub = {}) const;
  Result<nlohmann::json> ask(const AdminClient::Call& call, const std::string& name);
  Result<std::string> ask_for_log(const std::string& name, const kube::Query& query);
  Error explain(Error error, const std::string& name);

  Context& context_;
  AdminClient& client_;
  std::string space_;
};

/// Table, wide, json, yaml or name; json and yaml without spec.kubeconfig, which is a secret.
void print_cluster(Context& context, nlohmann::json cluster, const PrintOptions& options);
void print_clusters(Context& context, nlohmann::json list, const PrintOptions& options,
                    bool namespaces);
/// "virtualcluster/t1 created", or the object in the format asked for.
void print_cluster_result(Context& context, const nlohmann::json& cluster, std::string_view what,
                          bool dry_run, Format format);
void describe_cluster(Context& context, const nlohmann::json& cluster);
void print_certificates(Context& context, const nlohmann::json& list);

} // namespace zoo::cli
