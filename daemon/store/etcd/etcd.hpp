// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/secret.hpp"
#include "daemon/store/store.hpp"

#include <memory>
#include <string>
#include <vector>

namespace zoo::store {

struct EtcdOptions {
  std::vector<std::string> endpoints; ///< client URLs of the members; http:// on loopback alone
  std::string ca_pem;                 ///< that signed the members' certificates
  std::string certificate_pem;        ///< of zood as a client; ""
  Secret key_pem;
  std::string server_name; ///< to verify instead of the endpoints' hosts; ""
  std::string username;    ///< of etcd's own users; ""
  Secret password;
  std::string prefix = "/zood/default/"; ///< of every key; ends with a slash
};

/// Opens the store that several hosts share: etcd 3.4 or later, by its JSON gateway. Calls block
/// for at most six seconds; connections are kept. One thread follows what is written under the
/// prefix and delivers to the watches, another sees to it that a silent member is noticed.
///
/// A write is done once or not at all, whatever becomes of connections and members (decision 260).
///
/// Code::unavailable: no member answers, or one that cannot be used as it is configured (the
/// message says which flag of etcd's or key of zood.yaml to change). Code::forbidden: the user may
/// not. Code::invalid: an option cannot be used. Code::conflict: the prefix holds what a migration
/// left unfinished.
Result<std::unique_ptr<Store>> open_etcd(EtcdOptions options);

/// Removes everything under the prefix but what holds leadership. For a target that a migration
/// left unfinished; nobody may have it open.
Result<void> clear_etcd(EtcdOptions options);

} // namespace zoo::store
