// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "test_pki.hpp"

#include <string>

namespace zoo::test {

struct Fetch {
  std::string url;
  std::string ca;          ///< PEM
  Identity client;         ///< empty: none
  std::string unix_socket; ///< path
  bool http2 = false;
  std::string body; ///< not empty: POST
};

struct Fetched {
  int error = 0; ///< CURLcode
  long status = 0;
  long version = 0; ///< CURL_HTTP_VERSION_*: 2 is 1.1, 3 is 2
  std::string body;
};

/// One request by libcurl: a client that is not ours.
Fetched fetch(const Fetch& what);

/// Sends `bytes` to 127.0.0.1:port in the clear and returns all that comes back until the end.
std::string talk(int port, const std::string& bytes);
int connect_to(int port);
int port_of(const std::string& address);

} // namespace zoo::test
