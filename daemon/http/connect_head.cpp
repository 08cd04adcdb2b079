// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/connect_head.hpp"

#include "common/base/text.hpp"
#include "daemon/http/syntax.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace zoo::http {
namespace {

constexpr std::string_view k_line_end = "\r\n";
constexpr std::size_t k_most_host = 253; ///< of a host (RFC 1035 2.3.4)

ConnectHead refusal(int status, std::string_view trouble) {
  ConnectHead out;
  out.state = ConnectHead::State::refused;
  out.status = status;
  out.trouble = trouble;
  return out;
}

bool is_text(char c) { return c == '\t' || (c >= 0x20 && c < 0x7f); }

/// Where the head ends, behind its empty line; npos: it does not yet. Nothing: there is a byte that
/// no head has, or an end of a line that is none.
std::optional<std::size_t> end_of_head(std::string_view bytes) {
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    if (is_text(bytes[at])) continue;
    if (bytes[at] != '\r') return std::nullopt;
    if (at + 1 == bytes.size()) break;
    if (bytes[at + 1] != '\n') return std::nullopt;
    if (bytes.substr(0, at).ends_with(k_line_end)) return at + 2;
    ++at;
  }
  return std::string_view::npos;
}

bool is_name(std::string_view host) {
  return !host.empty() && host.size() <= k_most_host &&
         std::all_of(host.begin(), host.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
                  c == '_';
         });
}

bool is_six(std::string_view host) {
  return host.size() <= 45 && host.find(':') != host.npos &&
         std::all_of(host.begin(), host.end(), [](char c) {
           return (c >= 'a' && c <= 'f') || (c >= '0' && c <= '9') || c == ':' || c == '.';
         });
}

/// "host:port", with a port that has no second spelling.
bool read_authority(std::string_view text, ConnectHead& out) {
  const auto colon = text.rfind(':');
  if (colon == text.npos) return false;
  const auto digits = text.substr(colon + 1);
  if (digits.empty() || digits.front() == '0') return false;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), out.port);
  if (parsed.ec != std::errc() || parsed.ptr != digits.data() + digits.size()) return false;
  auto host = text.substr(0, colon);
  const bool six = host.starts_with('[') && host.ends_with(']');
  if (six) host = host.substr(1, host.size() - 2);
  out.host = text::lower(host);
  return six ? is_six(out.host) : is_name(out.host);
}

/// The first line; "" or what is wrong with it, and then the status.
std::string_view read_request_line(std::string_view line, ConnectHead& out) {
  const auto space = line.find(' ');
  if (line.substr(0, space) != "CONNECT") {
    out.status = 405;
    return "only CONNECT is answered here, to an address and a port";
  }
  const auto rest = line.substr(space + 1);
  const auto second = rest.find(' ');
  if (space == line.npos || second == rest.npos) return "the request line is not whole";
  if (rest.substr(second + 1) != "HTTP/1.1") {
    out.status = 505;
    return "the request is not in HTTP/1.1";
  }
  if (!read_authority(rest.substr(0, second), out))
    return "CONNECT names no host and port, such as 192.0.2.1:443";
  return {};
}

std::string_view check_field(std::string_view line, std::size_t& hosts) {
  const auto colon = line.find(':');
  const auto name = line.substr(0, colon);
  if (colon == line.npos || !is_token(name)) return "a header field is not one";
  if (text::iequals(name, "content-length") || text::iequals(name, "transfer-encoding"))
    return "CONNECT has no body";
  if (text::iequals(name, "host") && ++hosts > 1) return "there are several Host fields";
  return {};
}

} // namespace

std::string ConnectHead::authority() const {
  const bool six = host.find(':') != std::string::npos;
  return fmt::format("{}{}{}:{}", six ? "[" : "", host, six ? "]" : "", port);
}

ConnectHead read_connect_head(std::string_view bytes) {
  const auto end = end_of_head(bytes.substr(0, k_most_connect_head));
  if (!end) return refusal(400, "the request has a byte that no head has");
  if (*end == std::string_view::npos)
    return bytes.size() < k_most_connect_head ? ConnectHead()
                                              : refusal(431, "the request's head is too long");
  ConnectHead out;
  out.status = 400;
  std::size_t fields = 0, hosts = 0;
  auto rest = bytes.substr(0, *end);
  for (bool first = true;; first = false) {
    const auto stop = rest.find(k_line_end);
    const auto line = rest.substr(0, stop);
    rest.remove_prefix(stop + k_line_end.size());
    if (line.empty() && !first) break;
    const auto trouble = first ? read_request_line(line, out) : check_field(line, hosts);
    if (!trouble.empty()) return refusal(out.status, trouble);
    if (!first && ++fields > k_most_connect_fields)
      return refusal(431, "the request has too many header fields");
  }
  out.status = 0;
  out.state = ConnectHead::State::whole;
  out.size = *end;
  return out;
}

} // namespace zoo::http
