// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/address.hpp"

#include <arpa/inet.h>
#include <grp.h>
#include <netinet/in.h>
#include <unistd.h>

#include <charconv>

namespace zoo::app {

std::string Address::text() const {
  const bool brackets = host.find(':') != std::string::npos;
  return (brackets ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

Result<Address> parse_address(std::string_view text) {
  const auto colon = text.rfind(':');
  const auto wrong = [&] {
    return fail(Code::usage, "'{}' is no address: host:port is, as 127.0.0.1:7443 or [::1]:7443",
                text);
  };
  if (colon == std::string_view::npos) return wrong();
  Address out;
  auto host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const auto digits = text.substr(colon + 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out.port);
  if (error != std::errc() || end != digits.data() + digits.size()) return wrong();
  out.host = host;
  return out;
}

Result<Address> parse_server_url(std::string_view url) {
  constexpr std::string_view k_scheme = "https://";
  if (!url.starts_with(k_scheme)) {
    return fail(Code::invalid, "the upstream's server is '{}': https:// is needed", url);
  }
  const auto rest = url.substr(k_scheme.size());
  if (rest.find('/') != std::string_view::npos) {
    return fail(Code::invalid,
                "the upstream's server is '{}': a path behind the host is not served", url);
  }
  const auto bracket = rest.rfind(']');
  const bool has_port = rest.rfind(':') != std::string_view::npos &&
                        (bracket == std::string_view::npos || rest.rfind(':') > bracket);
  return parse_address(has_port ? std::string(rest) : std::string(rest) + ":443");
}

bool unspecified(const Address& address) {
  in_addr v4{};
  in6_addr v6{};
  if (::inet_pton(AF_INET, address.host.c_str(), &v4) == 1) return v4.s_addr == INADDR_ANY;
  if (::inet_pton(AF_INET6, address.host.c_str(), &v6) != 1) return address.host.empty();
  return IN6_IS_ADDR_UNSPECIFIED(&v6);
}

Address reachable(Address address) {
  if (address.host.empty() || address.host == "0.0.0.0") address.host = "127.0.0.1";
  if (address.host == "::") address.host = "::1";
  return address;
}

Address reachable_from_elsewhere(Address address) {
  char host[256] = {};
  if (unspecified(address) && ::gethostname(host, sizeof host - 1) == 0) address.host = host;
  return address;
}

bool group_exists(const char* name) { return ::getgrnam(name) != nullptr; }

} // namespace zoo::app
