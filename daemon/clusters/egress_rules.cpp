// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/egress_rules.hpp"

#include "common/base/text.hpp"

#include <netinet/in.h>

#include <array>
#include <charconv>
#include <vector>

namespace zoo::clusters {
namespace {

/// Addresses that are nobody's own, or this machine's only (RFC 6890), and those of the services
/// that tell machines of a cloud who they are.
struct Never {
  std::string_view why;
  std::vector<std::string> networks;
};
const std::array<Never, 6>& never() {
  static const std::array<Never, 6> all = {{
      {"is unspecified", {"0.0.0.0/8", "::/128"}},
      {"is of loopback", {"127.0.0.0/8", "::1/128"}},
      {"is link-local", {"169.254.0.0/16", "fe80::/10", "fec0::/10"}},
      {"is of a group, not of a host", {"224.0.0.0/4", "240.0.0.0/4", "ff00::/8"}},
      // IPv4 within IPv6: what is dialled is another address than what stands there.
      {"has another address in it",
       {"::/96", "64:ff9b::/96", "64:ff9b:1::/48", "2001::/32", "2002::/16"}},
      // Those that are not link-local: of Azure, Alibaba, Volcengine, UCloud, Oracle, Equinix
      // Metal; AWS, Google, Oracle, Scaleway, Linode, Alibaba.
      {"tells machines of a cloud who they are",
       {"168.63.129.16", "100.100.100.200", "100.96.0.96", "100.80.80.80", "192.0.0.0/24",
        "192.80.8.124", "fd00:ec2::/32", "fd20:ce::254", "fd00:c1::a9fe:a9fe", "fd00:42::42",
        "fd00:a9fe:a9fe::1", "fd00:100::100:200"}},
  }};
  return all;
}

struct NeverNetworks {
  std::string_view why;
  net::Networks networks;
};
const std::vector<NeverNetworks>& never_networks() {
  static const std::vector<NeverNetworks> all = [] {
    std::vector<NeverNetworks> out;
    for (const auto& each : never())
      out.push_back({each.why, net::Networks::parse(each.networks).value()});
    return out;
  }();
  return all;
}

/// An IPv4 address that is written as an IPv6 one.
bool is_mapped(const net::Address& address) {
  if (address.family() != AF_INET6) return false;
  const auto* const six = reinterpret_cast<const sockaddr_in6*>(address.get());
  return IN6_IS_ADDR_V4MAPPED(&six->sin6_addr) != 0;
}

/// "host:port"; "": it is none.
std::string target_of(std::string_view text) {
  const auto colon = text.rfind(':');
  if (colon == text.npos || colon == 0) return {};
  std::uint16_t port = 0;
  const auto digits = text.substr(colon + 1);
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (parsed.ec != std::errc() || parsed.ptr != digits.data() + digits.size() || port == 0)
    return {};
  const auto host = text.substr(0, colon);
  const bool six = host.find(':') != host.npos;
  if (six && !(host.front() == '[' && host.back() == ']')) return {};
  if (host.find_first_of("/ @") != host.npos) return {};
  return text::lower(text);
}

tl::unexpected<Error> refused(std::string_view what, std::string_view why) {
  return fail(Code::forbidden,
              "{} {}: the API server of a virtual cluster is not connected to it "
              "(clusters.egress_allow)",
              what, why);
}

std::string host_text(const net::Address& address) {
  const auto text = address.text();
  return text.substr(0, text.rfind(':'));
}

} // namespace

Result<EgressAllowed> parse_egress_allow(std::span<const std::string> texts) {
  EgressAllowed out;
  std::vector<std::string> networks;
  for (const auto& text : texts) {
    if (net::Networks::parse(std::span(&text, 1))) {
      networks.push_back(text);
      continue;
    }
    auto target = target_of(text);
    if (target.empty())
      return fail(Code::usage,
                  "clusters.egress_allow: '{}' is neither a network such as 10.1.0.0/16 nor a host "
                  "and a port such as hooks.example.com:443",
                  text);
    out.targets.insert(std::move(target));
  }
  ZOO_TRY(out.networks, net::Networks::parse(networks));
  return out;
}

Result<void> judge_name(std::string_view host, const EgressPlaces& places) {
  // A name with its last dot is the same one.
  if (host.ends_with('.')) host.remove_suffix(1);
  if (host == k_inside_name || host.ends_with(".zood.internal"))
    return refused(host, "is answered by zood alone, at port 443");
  if (host == "localhost" || host.ends_with(".localhost")) return refused(host, "is of loopback");
  if (places.names.contains(host)) return refused(host, "is of zood, or of the upstream's API");
  return {};
}

Result<void> judge_address(const net::Address& address, const EgressAllowed& allowed,
                           const EgressPlaces& places, const net::Networks& machine) {
  const auto text = host_text(address);
  if (address.family() != AF_INET && address.family() != AF_INET6)
    return refused(text, "is no address of IP");
  if (is_mapped(address)) return refused(text, "has another address in it");
  if (allowed.networks.contain(address) || allowed.targets.contains(address.text())) return {};
  for (const auto& each : never_networks())
    if (each.networks.contain(address)) return refused(text, each.why);
  if (machine.contain(address) || places.advertised.contain(address))
    return refused(text, "is of zood's own machine");
  if (places.upstream.contain(address))
    return refused(text, "is of the upstream's API or of one of its nodes");
  if (places.services.contain(address))
    return refused(text, "is of a Service that is not the virtual cluster's");
  if (places.pods.contain(address))
    return refused(text, "is of a pod that is not the virtual cluster's");
  return {};
}

} // namespace zoo::clusters
