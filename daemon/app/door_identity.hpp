// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "common/crypto/certificate.hpp"
#include "daemon/net/tls.hpp"

#include <string>

namespace zoo::tenants {
class Pki;
}

namespace zoo::app {

/// What a door of zood's own shows that kube-apiserver alone connects to.
struct DoorIdentity {
  net::TlsServerOptions options; ///< the certificate and its key; no authority of clients
  crypto::Certificate certificate;
};

/// Issues a certificate by the tenants' CA, good for `host` (a name or an IP address) for a year.
/// The key is new each time and kept in memory alone. Blocks for the time of a signature.
Result<DoorIdentity> issue_door_identity(const tenants::Pki& pki, std::string common_name,
                                         const std::string& host);

} // namespace zoo::app
