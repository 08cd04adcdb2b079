// SPDX-License-Identifier: Apache-2.0
// The head of a CONNECT: read without harm, the same in whatever pieces it comes, and a target that
// has one spelling alone.
#include "daemon/http/connect_head.hpp"

#include "tests/fuzz/invariant.hpp"

#include <cstdint>
#include <string>
#include <string_view>

using namespace zoo::http;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using State = ConnectHead::State;
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const auto head = read_connect_head(all);
  for (std::size_t end = 0; end < all.size(); ++end) {
    const auto part = read_connect_head(all.substr(0, end));
    invariant(part.state != State::refused || head.state == State::refused, "a refusal stays one",
              all);
    invariant(part.state != State::whole ||
                  (head.size == part.size && head.host == part.host && head.port == part.port),
              "what follows changes nothing", all);
  }
  if (head.state == State::need_more) {
    invariant(size < k_most_connect_head, "a head that does not end is refused", all);
    return 0;
  }
  if (head.state == State::refused) {
    invariant(head.status >= 400 && !head.trouble.empty(), "a refusal has its reason", all);
    return 0;
  }
  invariant(head.size <= size && head.size <= k_most_connect_head, "a head is bounded", all);
  invariant(all.substr(0, head.size).ends_with("\r\n\r\n"), "it ends with an empty line", all);
  invariant(head.port != 0 && !head.host.empty(), "it says where to", all);
  const auto again = read_connect_head("CONNECT " + head.authority() + " HTTP/1.1\r\n\r\n");
  invariant(again.state == State::whole && again.host == head.host && again.port == head.port,
            "a target has one spelling", all);
  return 0;
}
