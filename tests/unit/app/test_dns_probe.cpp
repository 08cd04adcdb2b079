// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/dns_probe.hpp"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

using namespace zoo;
using namespace std::chrono_literals;
using Kind = app::DnsAnswer::Kind;

namespace {

constexpr std::uint16_t k_id = 0x1234;

std::string bytes(std::initializer_list<int> values) {
  std::string out;
  for (const int value : values)
    out += static_cast<char>(value);
  return out;
}

/// An answer to that question, with `answers` behind it.
std::string answer(int code, int count, const std::string& answers) {
  auto out = app::dns_question("a.b", false, k_id);
  out[2] = static_cast<char>(0x81);
  out[3] = static_cast<char>(0x80 | code);
  out[7] = static_cast<char>(count);
  return out + answers;
}

const std::string k_alias = bytes({0xc0, 12, 0, 5, 0, 1, 0, 0, 0, 30, 0, 2, 0xc0, 12});
const std::string k_address = bytes({0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 30, 0, 4, 10, 0, 0, 77});

} // namespace

TEST_CASE("a question names each label, and only names that there can be") {
  CHECK(app::dns_question("a.bc.", false, k_id) ==
        bytes({0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 'a', 2, 'b', 'c', 0, 0, 1, 0, 1}));
  CHECK(app::dns_question("a", true, k_id).ends_with(bytes({1, 'a', 0, 0, 28, 0, 1})));
  for (const auto& name : {std::string(), std::string("a..b"), std::string(64, 'a'),
                           std::string(300, '.'), std::string(".")})
    CHECK(app::dns_question(name, false, k_id).empty());
}

TEST_CASE("an answer is an address, no such name, or what the server says") {
  const auto found = app::read_dns_answer(answer(0, 2, k_alias + k_address), k_id);
  CHECK(found.kind == Kind::address);
  CHECK(found.text == "10.0.0.77");
  CHECK(app::read_dns_answer(answer(3, 0, ""), k_id).kind == Kind::no_such_name);
  CHECK(app::read_dns_answer(answer(0, 0, ""), k_id).kind == Kind::no_such_name);
  CHECK(app::read_dns_answer(answer(0, 1, k_alias), k_id).kind == Kind::no_such_name);
  const auto refused = app::read_dns_answer(answer(5, 0, ""), k_id);
  CHECK(refused.kind == Kind::refused);
  CHECK(refused.text.find("code 5") != std::string::npos);
}

TEST_CASE("what is no answer to the question is none, however it is cut") {
  const auto whole = answer(0, 2, k_alias + k_address);
  CHECK(app::read_dns_answer(whole, k_id + 1).kind == Kind::none);
  CHECK(app::read_dns_answer(app::dns_question("a.b", false, k_id), k_id).kind == Kind::none);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CAPTURE(size);
    CHECK(app::read_dns_answer(std::string_view(whole).substr(0, size), k_id).kind == Kind::none);
  }
}

TEST_CASE("a server that says nothing is not waited for") {
  const int silent = ::socket(AF_INET, SOCK_DGRAM, 0);
  REQUIRE(silent >= 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(53);
  REQUIRE(::inet_pton(AF_INET, "127.93.71.3", &address.sin_addr) == 1);
  // Where the port is taken or not ours, nothing answers there, either, or at once.
  static_cast<void>(::bind(silent, reinterpret_cast<const sockaddr*>(&address), sizeof(address)));
  CHECK(app::ask_dns("127.93.71.3", "a.b", false, 50ms).kind == Kind::none);
  CHECK(app::ask_dns("none", "a.b", false, 50ms).kind == Kind::none);
  CHECK(app::ask_dns("127.93.71.3", "a..b", false, 50ms).kind == Kind::none);
  ::close(silent);
}
