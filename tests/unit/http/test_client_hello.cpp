// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/client_hello.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace zoo::http;
using State = ClientHello::State;

namespace {

std::string big_endian(std::size_t value, std::size_t size) {
  std::string out(size, '\0');
  for (std::size_t i = 0; i < size; ++i)
    out[size - 1 - i] = static_cast<char>(value >> (8 * i) & 255U);
  return out;
}

std::string counted(const std::string& bytes, std::size_t size) {
  return big_endian(bytes.size(), size) + bytes;
}

std::string extension(unsigned type, const std::string& data) {
  return big_endian(type, 2) + counted(data, 2);
}

std::string server_name(const std::string& name) {
  return extension(0, counted('\0' + counted(name, 2), 2));
}

/// A handshake message, without the head of a record.
std::string hello(const std::string& extensions, bool has_extensions = true) {
  std::string body = "\x03\x03" + std::string(32, 'r') + counted(std::string(32, 's'), 1) +
                     counted("\x13\x01\x13\x02", 2) + counted(std::string(1, '\0'), 1);
  if (has_extensions) body += counted(extensions, 2);
  return "\x01" + counted(body, 3);
}

std::string record(const std::string& bytes) { return "\x16\x03\x01" + counted(bytes, 2); }

/// GREASE (RFC 8701), a key share as large as a hybrid one, and the name between them.
std::string usual(const std::string& name) {
  return hello(extension(0x0a0a, "") + extension(51, std::string(1'300, 'k')) + server_name(name) +
               extension(43, "\x02\x03\x04"));
}

} // namespace

TEST_CASE("the server name of a ClientHello is found, however it is cut") {
  const auto message = usual("ABC123.vc.Zood.internal");
  std::string wire;
  SUBCASE("one record") { wire = record(message); }
  SUBCASE("several records") {
    for (std::size_t at = 0; at < message.size(); at += 100)
      wire += record(message.substr(at, 100));
  }
  SUBCASE("records of one byte") {
    for (const char byte : message)
      wire += record(std::string(1, byte));
  }
  SUBCASE("something behind it") { wire = record(message) + "\x14\x03\x03"; }
  const auto whole = read_client_hello(wire);
  CHECK(whole.state == State::whole);
  CHECK(whole.server_name == "abc123.vc.zood.internal");
  bool was_whole = false;
  for (std::size_t size = 0; size <= wire.size(); ++size) {
    const auto read = read_client_hello(std::string_view(wire).substr(0, size));
    CHECK((read.state == State::need_more || read.state == State::whole));
    CHECK((!was_whole || read.state == State::whole)); // it never changes its mind
    was_whole = read.state == State::whole;
  }
}

TEST_CASE("a ClientHello may name nobody") {
  const auto without = read_client_hello(record(hello("", false)));
  CHECK(without.state == State::whole);
  CHECK(without.server_name.empty());
  const auto others = read_client_hello(record(hello(extension(43, "x"))));
  CHECK(others.state == State::whole);
  CHECK(others.server_name.empty());
}

TEST_CASE("what is none is seen at once") {
  const auto state = [](std::string_view bytes) { return read_client_hello(bytes).state; };
  CHECK(state("") == State::need_more);
  CHECK(state("\x16\x03") == State::need_more);
  CHECK(state("GET / HTTP/1.1\r\n") == State::other);
  CHECK(state("\x16\x02") == State::other);
  CHECK(state(std::string("\x16\x03\x01\x00\x00", 5)) == State::other); // an empty record
  CHECK(state(record("\x02" + counted("", 3))) == State::other);        // another message
  CHECK(state(record("\x01\xff\xff\xff")) == State::other);             // longer than is taken
  CHECK(state(record(hello(server_name("a b")))) == State::other);
  CHECK(state(record(hello(server_name(std::string("a\0b", 3))))) == State::other);
  CHECK(state(record(hello(server_name("")))) == State::other);
  CHECK(state(record(hello(server_name(std::string(256, 'a'))))) == State::other);
  CHECK(state(record(hello(server_name("a") + server_name("b")))) == State::other);
  CHECK(state(record(hello(big_endian(0, 2) + big_endian(9, 2)))) == State::other);
}

TEST_CASE("no more is waited for than is taken") {
  const auto head = "\x16\x03\x01" + big_endian(16'384, 2) + "\x01" + big_endian(16'380, 3);
  const auto bytes = head + std::string(k_most_client_hello - head.size(), 'x');
  CHECK(read_client_hello(bytes).state == State::other);
  CHECK(read_client_hello(bytes.substr(0, bytes.size() - 1)).state == State::need_more);
}
