// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "common/base/secret.hpp"
#include "common/http_client/client.hpp"

#include <filesystem>
#include <string>
#include <string_view>

/// Kubeconfig files: client-go's tools/clientcmd/api/v1/types.go, read strictly.
namespace zoo::kube {

/// One context of a kubeconfig, resolved: every file it names has been read.
struct ClusterAccess {
  std::string server; ///< https://host:port[/path], no trailing slash
  http_client::Credentials credentials;
  std::string context, cluster, user;
  std::string default_namespace; ///< empty if the context names none
  std::string token_file;        ///< read again when it rotates; empty if the token is inline

  ClusterAccess clone() const;
};

/// Resolves `context` (empty: current-context). References to files are relative to `directory`.
/// Code::invalid for a text that is broken (the message says where and what), Code::not_found for
/// a context, cluster, user or file that is not there; exec and auth-provider plugins are refused.
Result<ClusterAccess> parse_kubeconfig(std::string_view yaml,
                                       const std::filesystem::path& directory = ".",
                                       std::string_view context = {});

/// Reads the file and parses it; errors name the file.
Result<ClusterAccess> load_kubeconfig(const std::filesystem::path& file,
                                      std::string_view context = {});

/// What write_kubeconfig() writes: one cluster, one user, one context, which is current.
struct KubeconfigParts {
  std::string cluster, server, ca_pem, tls_server_name;
  std::string user, client_cert_pem;
  Secret client_key_pem;
  Secret token;
  std::string context, default_namespace; ///< the context's name; empty: "<user>@<cluster>"
};

/// Canonical YAML, PEM texts as *-data. Strings that look like something else are quoted.
std::string write_kubeconfig(const KubeconfigParts& parts);

/// `existing` with the entries of `added`: those of equal names replaced, all else kept in its
/// order (comments are not), current-context taken from `added`. An empty `existing` gives
/// `added`. Code::invalid if either is not a kubeconfig.
Result<std::string> merge_kubeconfig(std::string_view existing_yaml, std::string_view added_yaml);

} // namespace zoo::kube
