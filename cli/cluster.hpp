// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/context.hpp"
#include "common/kube/client.hpp"
#include "common/kube/kubeconfig.hpp"

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace CLI {
class App;
} // namespace CLI

namespace zoo::cli {

/// The collections of accounts, quotas and spaces, as paths.
inline constexpr std::string_view k_accounts_path = "/apis/config.kiosk.sh/v1alpha1/accounts";
inline constexpr std::string_view k_own_accounts_path = "/apis/tenancy.kiosk.sh/v1alpha1/accounts";
inline constexpr std::string_view k_templates_path = "/apis/config.kiosk.sh/v1alpha1/templates";
inline constexpr std::string_view k_spaces_path = "/apis/tenancy.kiosk.sh/v1alpha1/spaces";

/// What every write of zooctl asks for: its field manager, strict fields, and a dry run or not.
kube::Query write_query(bool dry_run);

/// A Kubernetes API as an ordinary client of it: the upstream, or zood's account door, whichever
/// the kubeconfig names. Each call is bounded by the request timeout. Errors are the server's
/// Status by its reason; Code::unavailable also where the server does not serve the group at all.
/// Warnings of the server are said on standard error. One thread.
class Cluster {
public:
  /// By --kubeconfig, else the file that kubectl uses; `context_name` empty: its current context.
  static Result<Cluster> open(Context& context, const std::string& context_name);
  static Result<Cluster> open_file(Context& context, const std::filesystem::path& file,
                                   const std::string& context_name);

  Result<nlohmann::json> get(std::string_view path, const kube::Query& query = {});
  /// All pages as one list object.
  Result<nlohmann::json> list(std::string_view path, const kube::Query& query = {});
  Result<nlohmann::json> create(std::string_view path, const nlohmann::json& object, bool dry_run);
  Result<nlohmann::json> update(std::string_view path, const nlohmann::json& object, bool dry_run);
  Result<nlohmann::json> merge_patch(std::string_view path, const nlohmann::json& patch,
                                     bool dry_run);
  /// Server-side apply, which takes fields from other managers.
  Result<nlohmann::json> apply(std::string_view path, const nlohmann::json& object, bool dry_run);
  Result<nlohmann::json> remove(std::string_view path, bool dry_run);
  /// Any request; an HTTP status is no error.
  Result<http_client::Response> raw(std::string_view method, std::string_view path,
                                    std::string_view content_type, std::string body);

  const kube::ClusterAccess& access() const { return access_; }
  const std::filesystem::path& file() const { return file_; }

private:
  Cluster(Context& context, kube::ClusterAccess access, std::filesystem::path file,
          std::chrono::milliseconds timeout);
  Result<nlohmann::json> send(std::string_view method, std::string_view path,
                              std::string_view content_type, const nlohmann::json* body);

  Context* context_;
  kube::ClusterAccess access_;
  std::filesystem::path file_;
  std::chrono::milliseconds timeout_;
  std::unique_ptr<Transport> transport_;
};

/// --context, of commands that use a Cluster.
void add_context_option(CLI::App& app, std::string& value);

/// The error, with the name that was probably meant if it is Code::not_found. `path`: the
/// collection; `command` lists what there is.
Error suggest_name(Cluster& cluster, Error error, std::string_view path, std::string_view what,
                   std::string_view name, std::string_view command);

} // namespace zoo::cli
