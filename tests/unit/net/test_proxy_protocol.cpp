// SPDX-License-Identifier: Apache-2.0
#include "daemon/net/listener.hpp"
#include "daemon/net/proxy_protocol.hpp"
#include "daemon/net/workers.hpp"
#include "fetch.hpp"

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

using namespace zoo;
using namespace zoo::net;
using namespace std::chrono_literals;

namespace {

const std::string k_signature("\r\n\r\n\0\r\nQUIT\n", 12);

/// A header of version 2, with a length that fits.
std::string second(int command, int family, const std::string& rest) {
  std::string out = k_signature;
  out += static_cast<char>(command);
  out += static_cast<char>(family);
  out += static_cast<char>(rest.size() >> 8);
  out += static_cast<char>(rest.size() & 0xff);
  return out + rest;
}

const std::string k_v4("\xc0\x00\x02\x01\x0a\x00\x00\x01\xcf\x84\x1d\x13", 12); // 192.0.2.1:53124
const std::string k_v6 = std::string("\x20\x01\x0d\xb8", 4) + std::string(11, '\0') + '\x07' +
                         std::string(15, '\0') + '\x01' + "\xcf\x84\x1d\x13";

/// Whole, whatever its pieces are, and with what follows left alone.
std::string client_of(const std::string& header) {
  for (std::size_t size = 0; size < header.size(); ++size) {
    const auto part = read_proxy_header(std::string_view(header).substr(0, size));
    REQUIRE(part);
    CHECK_FALSE(part->has_value());
  }
  const auto whole = read_proxy_header(header + "\x16\x03\x01");
  REQUIRE(whole);
  REQUIRE(whole->has_value());
  CHECK((*whole)->size == header.size());
  return (*whole)->client;
}

bool broken(const std::string& bytes) { return !read_proxy_header(bytes); }

/// Answers each request with who its client is.
class SaysPeer final : public http::Service {
  struct Handler final : http::StreamHandler {
    void on_data(std::string_view) override {}
    void on_end() override {}
    void on_reset() override {}
    void on_drained() override {}
  };
  std::unique_ptr<http::StreamHandler> on_request(http::RequestHead,
                                                  http::ServerStream& stream) override {
    stream.send_head({200, {}}, false);
    stream.send_data(stream.connection().peer, true);
    return std::make_unique<Handler>();
  }
};

std::unique_ptr<Listener> listen(Workers& workers, const ListenerLimits& limits) {
  auto made = Listener::tcp(workers.loops(), "127.0.0.1:0", nullptr, limits,
                            [](Loop&) { return std::make_unique<SaysPeer>(); });
  REQUIRE(made);
  return *std::move(made);
}

} // namespace

TEST_CASE("a PROXY header says who the client is") {
  CHECK(client_of("PROXY TCP4 192.0.2.1 10.0.0.1 53124 7443\r\n") == "192.0.2.1:53124");
  CHECK(client_of("PROXY TCP6 2001:db8::7 ::1 53124 7443\r\n") == "[2001:db8::7]:53124");
  CHECK(client_of("PROXY TCP4 255.255.255.255 0.0.0.0 0 65535\r\n") == "255.255.255.255:0");
  CHECK(client_of(second(0x21, 0x11, k_v4)) == "192.0.2.1:53124");
  CHECK(client_of(second(0x21, 0x21, k_v6)) == "[2001:db8::7]:53124");
  CHECK(client_of(second(0x21, 0x11, k_v4 + std::string("\x03\x00\x04\0\0\0\0", 7))) ==
        "192.0.2.1:53124"); // with a TLV
}

TEST_CASE("a balancer may speak for itself, or not say for whom") {
  CHECK(client_of("PROXY UNKNOWN\r\n").empty());
  CHECK(client_of("PROXY UNKNOWN ffff::1 ffff::2 1 2\r\n").empty());
  CHECK(client_of(second(0x20, 0x00, "")).empty());
  CHECK(client_of(second(0x20, 0x11, k_v4)).empty()); // its own check
  CHECK(client_of(second(0x21, 0x00, "")).empty());
  CHECK(client_of(second(0x21, 0x12, k_v4)).empty()); // UDP
  CHECK(client_of(second(0x21, 0x31, std::string(216, 'x'))).empty());
}

TEST_CASE("what is no PROXY header, or a broken one, is refused") {
  CHECK(broken("\x16\x03\x01\x02\x00")); // TLS
  CHECK(broken("GET / HTTP/1.1\r\n"));
  CHECK(broken("PROXX"));
  CHECK(broken("PROXY \r\n"));
  CHECK(broken("PROXY TCP4\r\n"));
  CHECK(broken("PROXY TCP4 192.0.2.1 10.0.0.1 53124\r\n"));
  CHECK(broken("PROXY TCP4 192.0.2.1 10.0.0.1 53124 7443 1\r\n"));
  CHECK(broken("PROXY TCP4 192.0.2.1 10.0.0.1 53124 7443 \r\n"));
  CHECK(broken("PROXY TCP4  192.0.2.1 10.0.0.1 53124 7443\r\n"));
  CHECK(broken("PROXY TCP4 192.0.2.1 10.0.0.1 53124 7443\n")); // no CR
  CHECK(broken("PROXY TCP4 192.0.2.1 10.0.0.1 65536 7443\r\n"));
  CHECK(broken("PROXY TCP4 192.0.2.1 10.0.0.1 -1 7443\r\n"));
  CHECK(broken("PROXY TCP4 192.0.2.1 10.0.0.1 01 7443\r\n"));
  CHECK(broken("PROXY TCP4 192.0.2.256 10.0.0.1 1 7443\r\n"));
  CHECK(broken("PROXY TCP4 2001:db8::7 ::1 1 7443\r\n")); // not of that family
  CHECK(broken("PROXY TCP6 192.0.2.1 10.0.0.1 1 7443\r\n"));
  CHECK(broken("PROXY TCP4 localhost 10.0.0.1 1 7443\r\n"));
  CHECK(broken("PROXY UDP4 192.0.2.1 10.0.0.1 1 7443\r\n"));
  CHECK(broken("PROXY " + std::string(101, 'x')));                 // its line does not end
  CHECK(broken("PROXY UNKNOWN " + std::string(92, 'x') + "\r\n")); // nor within the limit
  CHECK(broken(second(0x11, 0x11, k_v4)));                         // version 1, in binary
  CHECK(broken(second(0x22, 0x11, k_v4)));                         // no command of these
  CHECK(broken(second(0x21, 0x11, k_v4.substr(1))));               // too short for its addresses
  CHECK(broken(second(0x21, 0x21, k_v4)));
  CHECK(broken(second(0x21, 0x11, k_v4 + std::string(k_proxy_header_bytes, '\0')).substr(0, 16)));
  CHECK(broken(k_signature.substr(0, 11) + "x"));
}

TEST_CASE("networks hold addresses, and IPv4 ones that IPv6 maps") {
  const auto holds = [](const std::vector<std::string>& texts, const char* address) {
    const auto networks = Networks::parse(texts);
    REQUIRE(networks);
    return networks->contain(numeric_address(address, 1).front());
  };
  CHECK(holds({"10.0.0.0/8"}, "10.255.0.1"));
  CHECK(holds({"10.0.0.0/8"}, "::ffff:10.1.2.3"));
  CHECK_FALSE(holds({"10.0.0.0/8"}, "11.0.0.1"));
  CHECK(holds({"192.0.2.128/25"}, "192.0.2.129"));
  CHECK_FALSE(holds({"192.0.2.128/25"}, "192.0.2.127"));
  CHECK(holds({"127.0.0.1"}, "127.0.0.1"));
  CHECK_FALSE(holds({"127.0.0.1"}, "127.0.0.2"));
  CHECK(holds({"fd00::/8", "10.0.0.0/8"}, "fd12::1"));
  CHECK_FALSE(holds({"fd00::/8"}, "10.0.0.1"));
  CHECK(holds({"0.0.0.0/0"}, "203.0.113.9"));
  CHECK_FALSE(holds({"0.0.0.0/0"}, "2001:db8::1"));
  CHECK(holds({"::/0"}, "203.0.113.9"));
  CHECK_FALSE(Networks{}.contain(numeric_address("10.0.0.1", 1).front()));
  Address unix_socket;
  unix_socket.storage.ss_family = AF_UNIX;
  CHECK_FALSE(Networks::parse(std::vector<std::string>{"::/0"})->contain(unix_socket));
  for (const auto* wrong : {"", "10.0.0.1/8", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/8x", "name",
                            "10.0.0.0/-1", "fd00::/129", "fd00::1/8", "/8"}) {
    CAPTURE(wrong);
    const auto parsed = Networks::parse(std::vector<std::string>{wrong});
    REQUIRE_FALSE(parsed);
    CHECK(parsed.error().code() == Code::invalid);
  }
}

TEST_CASE("a balancer says whom it speaks for, and nobody else may") {
  const std::string request = "GET /peer HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
  const std::string header = "PROXY TCP4 192.0.2.1 10.0.0.1 53124 7443\r\n";
  ListenerLimits limits;
  limits.proxy_header = 200ms;
  limits.balancers = *Networks::parse(std::vector<std::string>{"127.0.0.1/32"});
  Workers workers(1, "test");
  const auto listener = listen(workers, limits);
  CHECK(test::talk(test::port_of(listener->address()), header + request).find("192.0.2.1:53124") !=
        std::string::npos);
  CHECK(test::talk(test::port_of(listener->address()), "PROXY UNKNOWN\r\n" + request)
            .find("127.0.0.1:") != std::string::npos);
  CHECK(test::talk(test::port_of(listener->address()), request).empty()); // it must not guess
  CHECK(
      test::talk(test::port_of(listener->address()), "PROXY TCP4 192.0.2.1\r\n" + request).empty());
  // In pieces, and the last one with what follows.
  const int slow = test::connect_to(test::port_of(listener->address()));
  for (const auto& piece :
       {header.substr(0, 3), header.substr(3, 20), header.substr(23) + request}) {
    ::send(slow, piece.data(), piece.size(), 0);
    std::this_thread::sleep_for(5ms); // for the pieces to be pieces; either way it is read
  }
  std::string answer;
  char bytes[1024];
  for (ssize_t count = 0; (count = ::recv(slow, bytes, sizeof(bytes), 0)) > 0;)
    answer.append(bytes, static_cast<std::size_t>(count));
  ::close(slow);
  CHECK(answer.find("192.0.2.1:53124") != std::string::npos);
  // One that says nothing, or not all, goes.
  for (const auto& begun : {std::string(), header.substr(0, 10)}) {
    const int silent = test::connect_to(test::port_of(listener->address()));
    ::send(silent, begun.data(), begun.size(), 0);
    CHECK(::recv(silent, bytes, sizeof(bytes), 0) <= 0);
    ::close(silent);
  }

  limits.balancers = *Networks::parse(std::vector<std::string>{"10.0.0.0/8"});
  const auto others = listen(workers, limits);
  CHECK(test::talk(test::port_of(others->address()), header + request).starts_with("HTTP/1.1 400"));
  CHECK(test::talk(test::port_of(others->address()), request).find("127.0.0.1:") !=
        std::string::npos);
}
