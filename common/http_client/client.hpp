// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "common/base/secret.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// The blocking HTTP client of the control plane (zooctl, tenant controllers), over libcurl. Never
/// on the data path. HTTP/1.1; a POST or PATCH has a connection of its own and is sent only once.
namespace zoo::http_client {

using Headers = std::vector<std::pair<std::string, std::string>>;

struct Request {
  std::string method = "GET";
  std::string url; ///< absolute, http or https; no user and password in it
  Headers headers;
  std::string body; ///< sent, even when empty, for POST, PUT and PATCH
  /// perform(): for the whole exchange. stream(): until the answer's head is there.
  std::chrono::milliseconds timeout{30'000};
  /// Silence longer than this ends it with Code::timeout. Zero: a minute, or for ever in stream().
  std::chrono::milliseconds idle_timeout{0};
  std::size_t max_body = 64u << 20; ///< of the answer; larger is Code::too_large
  std::string unix_socket;          ///< connect here instead of the URL's host
  /// A POST, PUT or PATCH too may be sent again when a kept connection turns out to be dead, though
  /// the first may have been acted on: it is repeatable as it is. Else it gets a connection of its
  /// own.
  bool repeatable = false;
  std::stop_token stop; ///< ends it within moments, Code::cancelled
};

/// Who we are and whom we trust. PEM texts, never files.
struct Credentials {
  std::string ca_pem; ///< empty: the system's
  std::string client_cert_pem;
  Secret client_key_pem;
  Secret bearer_token;
  bool insecure = false;       ///< do not verify the server
  bool direct = false;         ///< by no proxy of the environment
  std::string tls_server_name; ///< name to verify and to send as SNI instead of the URL's host

  Credentials clone() const;
};

struct Response {
  int status = 0;
  Headers headers; ///< names as received, values trimmed
  std::string body;

  /// The first value of that name (any case); empty if there is none.
  std::string_view header(std::string_view name) const;
};

/// One client: one set of credentials, kept-alive connections. One thread at a time;
/// Request::stop is asked for from any thread.
///
/// An HTTP status is never an error here. What fails: no connection, TLS, broken answer
/// (Code::unavailable), no answer in time (timeout), an answer above max_body (too_large), a bad
/// URL or header (usage), a certificate or key that cannot be used (invalid). The message names
/// the URL without its query, and never credentials. Redirects are not followed; proxies of the
/// environment are used except for loopback, for Unix sockets and by Credentials::direct.
class Client {
public:
  explicit Client(Credentials credentials);
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;
  ~Client();

  Result<Response> perform(const Request& request);

  /// Hands over the body of a 2xx answer as it comes, decoded; other answers come back whole in
  /// Response::body. Ends with the answer, with `false` from on_data (no error), or with
  /// Request::stop. on_data must not call this client.
  Result<Response> stream(const Request& request,
                          const std::function<bool(std::string_view bytes)>& on_data);

private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// The URL as shown to people: without user, password, query and fragment.
std::string display_url(std::string_view url);

} // namespace zoo::http_client
