// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "common/http_client/client.hpp"

#include <chrono>
#include <string>
#include <string_view>

namespace zoo::cli {

class Context;

/// Where zood is asked: its Unix socket, or its TLS listener for administrators.
struct Door {
  std::string url;    ///< scheme and authority, no slash at the end
  std::string socket; ///< empty: TLS
  http_client::Credentials credentials;
  std::string name() const; ///< for people: "the socket /run/zood/zood.sock", "https://..."
};

/// By --kubeconfig or --server (with DIR/admin.kubeconfig), --socket, --dir, ZOO_SOCKET, ZOO_DIR,
/// in this order; else /run/zood/zood.sock if it is there, else /var/lib/zood/zood.sock. Options
/// win over the environment. Code::usage where they exclude each other, else what a kubeconfig's
/// reading says.
Result<Door> find_door(const Context& context);

/// The credential of an administrator for any TLS door of zoods with one store: that of the options
/// or, where a socket is asked, of admin.kubeconfig in the directory that --dir or ZOO_DIR names,
/// else in /var/lib/zood. Errors say what is missing.
Result<http_client::Credentials> administrators_credentials(const Context& context);

/// After a failed connection to a Unix socket: what is wrong with it and what to do next. The
/// error itself if the socket is well.
Error explain_socket(const std::string& socket, Error error);

/// A duration given on the command line ("90s", "5m"). Code::usage, naming the option.
Result<std::chrono::milliseconds> option_duration(std::string_view option, std::string_view text);
/// --ttl of a certificate: whole seconds, one at least. Code::usage.
Result<std::chrono::seconds> option_ttl(std::string_view text);

} // namespace zoo::cli
