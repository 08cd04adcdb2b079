// SPDX-License-Identifier: Apache-2.0
// The first bytes of a load balancer's connection: read without harm, the same in whatever pieces
// they come, never more taken than the header has, and a client that is an address and a port.
#include "daemon/net/address.hpp"
#include "daemon/net/proxy_protocol.hpp"
#include "tests/fuzz/invariant.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

using namespace zoo;
using namespace zoo::net;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const auto whole = read_proxy_header(all);
  if (whole && *whole) {
    const auto& header = **whole;
    invariant(header.size <= all.size() && header.size <= k_proxy_header_bytes,
              "a header is no longer than what there is", all);
    // What stands behind it changes nothing, and of less it is not known yet.
    for (std::size_t end = 0; end < header.size; ++end) {
      const auto part = read_proxy_header(all.substr(0, end));
      invariant(part && !*part, "a part of a header is awaited", all);
    }
    const auto alone = read_proxy_header(all.substr(0, header.size));
    invariant(alone && *alone && (*alone)->client == header.client,
              "what follows says nothing of the client", all);
    invariant(header.client.empty() || parse_listen_address(header.client).has_value(),
              "a client is an address and a port", all);
  } else if (whole) {
    invariant(all.size() < k_proxy_header_bytes, "a header that does not end is refused", all);
  } else {
    // What is refused is refused whatever comes.
    auto longer = std::string(all) + "\r\n";
    invariant(!read_proxy_header(longer), "a refusal stays one", all);
  }
  return 0;
}
