// SPDX-License-Identifier: Apache-2.0
#include "common/api/network_peer.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace zoo::api {
namespace {

constexpr std::size_t k_most_word = 63, k_most_domain = 253;

bool alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/// The value of a label, and the name within its key (apimachinery/pkg/util/validation).
bool label_word(std::string_view text) {
  return text.size() <= k_most_word && !text.empty() && alphanumeric(text.front()) &&
         alphanumeric(text.back()) && std::all_of(text.begin(), text.end(), [](char c) {
           return alphanumeric(c) || c == '-' || c == '_' || c == '.';
         });
}

bool label_domain(std::string_view text) {
  return text.size() <= k_most_domain && !text.empty() && alphanumeric(text.front()) &&
         alphanumeric(text.back()) && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
         });
}

bool label_key(std::string_view text) {
  const auto slash = text.find('/');
  if (slash == std::string_view::npos) return label_word(text);
  return label_domain(text.substr(0, slash)) && label_word(text.substr(slash + 1));
}

bool is_cidr(std::string_view text) {
  const auto slash = text.find('/');
  if (slash == std::string_view::npos) return false;
  const std::string address(text.substr(0, slash));
  const auto digits = text.substr(slash + 1);
  unsigned bits = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bits);
  if (error != std::errc() || end != digits.data() + digits.size()) return false;
  if (digits.size() > 1 && digits.front() == '0') return false;
  constexpr unsigned k_v4 = 32, k_v6 = 128;
  std::array<unsigned char, 16> raw{};
  if (::inet_pton(AF_INET, address.c_str(), raw.data()) == 1) return bits <= k_v4;
  return ::inet_pton(AF_INET6, address.c_str(), raw.data()) == 1 && bits <= k_v6;
}

} // namespace

Result<NetworkPeer> network_peer(std::string_view text) {
  const auto equals = text.find('=');
  if (equals == std::string_view::npos) {
    if (is_cidr(text)) return NetworkPeer{std::string(text), "", ""};
  } else {
    const auto label = text.substr(0, equals), value = text.substr(equals + 1);
    if (label == "tenant.kubezoo.io/id")
      return fail(Code::invalid,
                  "'{}' would let in a tenant from all others: name namespaces of the platform",
                  text);
    if (label_key(label) && label_word(value))
      return NetworkPeer{"", std::string(label), std::string(value)};
  }
  return fail(Code::invalid,
              "'{}' says neither which addresses nor which namespaces: give a CIDR, as 10.0.0.0/8, "
              "or a label of namespaces, as kubernetes.io/metadata.name=ingress-nginx",
              text);
}

Result<void> check_network_peers(std::span<const std::string> all) {
  if (all.size() > k_most_network_peers)
    return fail(Code::invalid, "{} entries are more than {}: name larger networks, or a label",
                all.size(), k_most_network_peers);
  for (const auto& each : all) {
    if (auto peer = network_peer(each); !peer) return fail(std::move(peer).error());
  }
  return {};
}

} // namespace zoo::api
