// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/admin/api_types.hpp"
#include "daemon/http/stream.hpp"

#include <optional>
#include <string>

namespace zoo::admin {

inline constexpr std::string_view k_administrators = "zoo:administrators";

struct DoorOptions {
  std::string unix_group = "zoo"; ///< its members may use the socket; "" = nobody but root and zood
};

/// Who stands at the door. Unix socket (peer_uid >= 0): root, zood's own user, or a member of the
/// group, by SO_PEERCRED; supplementary groups are those of the user data base, since the kernel
/// tells only the primary one. Else mutual TLS: a verified certificate with O=zoo:administrators;
/// the listener verifies against the admin CA alone. Code::unauthorized, Code::forbidden, with
/// what to do. Asks NSS: blocks, worker threads only.
Result<Who> identify(const http::ConnectionInfo& peer, const DoorOptions& options);

/// Is this a peer by TLS that identify() would refuse? Any thread, does not block: a stranger's
/// bodies are not kept until a worker has looked at him.
std::optional<Error> stranger(const http::ConnectionInfo& peer);

} // namespace zoo::admin
