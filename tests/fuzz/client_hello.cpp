// SPDX-License-Identifier: Apache-2.0
// Any bytes at the beginning of a connection: what is found in them holds for every longer
// beginning, and a name is one that a certificate could have.
#include "daemon/http/client_hello.hpp"

#include "tests/fuzz/invariant.hpp"

#include <algorithm>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace zoo;
  using State = http::ClientHello::State;
  const std::string_view wire(reinterpret_cast<const char*>(data), size);
  const auto whole = http::read_client_hello(wire);
  invariant(whole.state == State::whole || whole.server_name.empty(), "a name of a whole one",
            wire);
  invariant(whole.server_name.size() <= 255, "of a length that names have", wire);
  invariant(std::all_of(whole.server_name.begin(), whole.server_name.end(),
                        [](char c) {
                          return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
                                 c == '.' || c == '_';
                        }),
            "of letters in lower case", wire);
  if (wire.size() >= http::k_most_client_hello)
    invariant(whole.state != State::need_more, "nobody waits for ever", wire);
  auto before = State::need_more;
  for (std::size_t length = 0; length <= std::min<std::size_t>(size, 2'048); ++length) {
    const auto now = http::read_client_hello(wire.substr(0, length));
    if (before != State::need_more)
      invariant(now.state == before, "what is known stays known", wire);
    before = now.state;
  }
  if (before == State::whole && size <= 2'048)
    invariant(whole.state == State::whole, "and is so of the whole", wire);
  return 0;
}
