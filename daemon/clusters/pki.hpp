// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "common/base/secret.hpp"
#include "common/kube/kubeconfig.hpp"
#include "daemon/clusters/authorities.hpp"
#include "daemon/net/tls.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

/// Keys and certificates of a virtual cluster, as files in `pki/` of its directory, for zood's user
/// and, where they have one of their own, its programs' (files.hpp). Three authorities of its own:
/// of clients and servers (ca), of etcd (etcd-ca), of the front proxy (front-proxy-ca); and the key
/// of ServiceAccounts' tokens (sa.key).
namespace zoo::clusters {

/// The group of a cluster's administrator. Not system:masters, whose members no cluster can refuse:
/// a binding makes it cluster-admin, and another epoch has another group. `mark` (see Place) is in
/// its name, so that nobody knows the group of an epoch that has not begun.
std::string administrators_group(std::uint32_t epoch, const std::string& mark);

struct PkiWish {
  std::string id;
  std::string address;            ///< its own of loopback
  std::vector<std::string> names; ///< names and IP addresses at which clients reach it
  std::uint32_t epoch = 1;        ///< see Place
  std::string mark = {};          ///< see Place
  std::uint32_t rotation = 0;     ///< see Place
  AuthorityStage authority = AuthorityStage::settled; ///< see Place
  std::uint32_t authority_turn = 0;                   ///< see Place
  std::chrono::seconds validity{365 * 24 * 3600};
  bool operator==(const PkiWish&) const = default;
};

/// One certificate, for `zooctl cluster certs check`.
struct CertificateFact {
  std::string name;                  ///< of its file, without .crt: "apiserver"
  std::int64_t begins = 0, ends = 0; ///< Unix seconds
  bool authority = false;
  std::string trouble; ///< why it is made anew; "": it is good
};

/// Makes what is missing, and makes anew the certificates that say something else than is wished or
/// are through two thirds of their life. Keys stay, but for the administrator's, which is new for
/// each epoch and rotation. Kubernetes and etcd read files again by themselves, so that nothing is
/// started anew. Level-triggered: may be repeated after any interruption. Adds the names of those
/// that were written to `written`, also where it fails in the end. Code::io.
Result<void> ensure_pki(const std::filesystem::path& directory, const PkiWish& wish,
                        std::chrono::system_clock::time_point now,
                        std::vector<std::string>& written);

/// How the certificates are, authorities first.
Result<std::vector<CertificateFact>> check_pki(const std::filesystem::path& directory,
                                               const PkiWish& wish,
                                               std::chrono::system_clock::time_point now);

/// zood's own access, as system:masters. For the controller alone; never handed out.
Result<kube::ClusterAccess> own_access(const std::filesystem::path& directory,
                                       const std::string& address);

/// Another text once own_access() is another one: for whoever keeps connections.
std::string own_access_print(const std::filesystem::path& directory);

/// What zood shows to the cluster's API server as a kubelet, as zood.internal and as k_usage_host:
/// a certificate of the cluster's authority, made anew each time and never in a file.
/// Code::not_found: there is no authority yet.
Result<net::TlsServerOptions> egress_identity(const std::filesystem::path& directory);

/// Where clients find the cluster.
struct Entrance {
  std::string server;      ///< https://host:port
  std::string server_name; ///< by which it is verified instead of the host's; "": that one
};

/// The administrator's kubeconfig: what spec.kubeconfig holds in base64. It is a secret.
Result<Secret> administrator_kubeconfig(const std::filesystem::path& directory, const PkiWish& wish,
                                        const Entrance& entrance, const std::string& name);

/// Has the certificates of all leaves made anew: removes nothing that is in use but their
/// certificates' files, which ensure_pki() then writes.
Result<void> drop_leaves(const std::filesystem::path& directory, const PkiWish& wish);

} // namespace zoo::clusters
