// SPDX-License-Identifier: Apache-2.0
#include "daemon/accounts/quota_servers.hpp"
#include "daemon/upstream/upstream.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

using namespace zoo;

namespace {

/// Nobody listens there.
std::vector<accounts::QuotaServers::Address> closed_ports(std::uint16_t first) {
  return {{"127.0.0.1", first}, {"127.0.0.1", static_cast<std::uint16_t>(first + 1)}};
}

} // namespace

TEST_CASE("API servers of the upstream that were before are let go") {
  net::Loop loop;
  const auto endpoint = std::make_shared<upstream::UpstreamEndpoint>();
  endpoint->tls = false;
  upstream::Upstream upstream{endpoint, {&loop}, {}};
  accounts::QuotaBroker broker(
      {.loop = loop, .move = [](const std::string&) {}, .doubt = [](const std::string&) {}});
  accounts::QuotaServers servers(upstream, loop, broker, {});
  constexpr std::uint16_t k_times = 8;
  std::size_t most = 0, left = 0;
  loop.post([&] {
    // All in one turn: those that go have not begun yet.
    for (std::uint16_t i = 0; i < k_times; ++i) {
      servers.open(closed_ports(static_cast<std::uint16_t>(2 * i + 1)));
      most = servers.held();
    }
    servers.open(closed_ports(static_cast<std::uint16_t>(2 * k_times - 1))); // the same ones
    loop.post([&] {
      left = servers.held();
      // And one turn after the other.
      servers.open({});
      loop.post([&] {
        CHECK(servers.held() == 0);
        loop.stop();
      });
    });
  });
  loop.run();
  CHECK(most == 2 * k_times);
  CHECK(left == 2);
}
