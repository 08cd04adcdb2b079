// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

/// One question to one DNS server, for doctor (RFC 1035). Any thread.
namespace zoo::app {

struct DnsAnswer {
  enum class Kind : std::uint8_t {
    address,      ///< of the name: `text`
    no_such_name, ///< NXDOMAIN, or a name without an address
    refused,      ///< the server says something else: `text` is why, in words
    none,         ///< no answer in time, or no way to the server: `text` is why, in words
  } kind = Kind::none;
  std::string text;
};

/// The bytes of a question for the addresses of `name`, IPv4 or IPv6; "": the name is none.
std::string dns_question(std::string_view name, bool v6, std::uint16_t id);
/// What the bytes of an answer say to the question of this ID. Whatever they are, nothing is read
/// beyond them; bytes that are no answer to it are Kind::none.
DnsAnswer read_dns_answer(std::string_view bytes, std::uint16_t id);

/// Asks by UDP, port 53. `server` is an IP address. Blocks, not longer than `timeout`.
DnsAnswer ask_dns(const std::string& server, std::string_view name, bool v6,
                  std::chrono::milliseconds timeout);

} // namespace zoo::app
