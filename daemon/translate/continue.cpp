// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/continue.hpp"

#include "common/base/json_text.hpp"
#include "daemon/translate/discovery_json.hpp"

#include <array>
#include <charconv>

namespace zoo::translate {
namespace {

constexpr std::string_view k_alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr char k_version = '1';
constexpr std::size_t k_max_token = 16 * 1024;

/// RFC 4648 5, without padding.
std::string base64url(std::string_view bytes) {
  std::string out;
  std::uint32_t window = 0;
  int bits = 0;
  for (const char c : bytes) {
    window = (window << 8) | static_cast<unsigned char>(c);
    for (bits += 8; bits >= 6; bits -= 6)
      out += k_alphabet[(window >> (bits - 6)) & 63];
  }
  if (bits > 0) out += k_alphabet[(window << (6 - bits)) & 63];
  return out;
}

std::optional<std::string> base64url_decode(std::string_view text) {
  if (text.size() % 4 == 1) return std::nullopt;
  std::string out;
  std::uint32_t window = 0;
  int bits = 0;
  for (const char c : text) {
    const auto value = k_alphabet.find(c);
    if (value == std::string_view::npos) return std::nullopt;
    window = (window << 6) | static_cast<std::uint32_t>(value);
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      out += static_cast<char>((window >> bits) & 0xff);
    }
  }
  return out;
}

tl::unexpected<Error> bad_token() {
  return fail(Code::bad_request, "invalid continue token: continue key is not valid");
}

} // namespace

std::string upstream_token(const UpstreamPosition& position) {
  std::string json = "{\"v\":\"meta.k8s.io/v1\",\"rv\":";
  json += std::to_string(position.revision);
  json += ",\"start\":";
  append_json_quoted(json, position.start);
  json += '}';
  return base64url(json);
}

std::string range_start_token(std::string_view prefix, std::int64_t revision) {
  UpstreamPosition position{revision, std::string(prefix)};
  position.start += '\0';
  return upstream_token(position);
}

Result<UpstreamPosition> parse_upstream_token(std::string_view token) {
  if (token.size() > k_max_token) return bad_token();
  const auto json = base64url_decode(token);
  if (!json) return bad_token();
  const auto tree = JsonTree::parse(*json);
  if (!tree || !tree->root().is(JsonType::object)) return bad_token();
  const auto root = tree->root();
  UpstreamPosition out;
  const auto revision = root["rv"].integer();
  out.start = root["start"].string();
  if (!out.start.empty() && out.start.front() == '/') out.start.erase(0, 1);
  if (root["v"].string() != "meta.k8s.io/v1" || !revision || *revision == 0 || out.start.empty())
    return bad_token();
  out.revision = *revision;
  return out;
}

std::optional<std::string> tenant_key(const Mapping& mapping, std::string_view start) {
  if (!start.empty() && start.front() == '/') start.remove_prefix(1);
  if (!start.empty() && start.back() == '\0') start.remove_suffix(1);
  if (!start.starts_with(mapping.prefix())) return std::nullopt;
  return std::string(start.substr(mapping.prefix().size()));
}

std::string format_record(const ContinueRecord& record) {
  std::string out(1, k_version);
  const auto revision = std::to_string(record.revision);
  for (const std::string_view field :
       {std::string_view(record.tenant), std::string_view(record.uid),
        std::string_view(record.path_hash), std::string_view(record.selector_hash),
        std::string_view(revision), std::string_view(record.start)}) {
    out += std::to_string(field.size());
    out += ':';
    out += field;
  }
  return out;
}

Result<ContinueRecord> parse_record(std::string_view bytes) {
  if (bytes.empty() || bytes.front() != k_version) return bad_token();
  bytes.remove_prefix(1);
  std::array<std::string, 6> fields;
  for (auto& field : fields) {
    std::size_t length = 0;
    const auto* const end = bytes.data() + bytes.size();
    const auto parsed = std::from_chars(bytes.data(), end, length);
    const auto digits = static_cast<std::size_t>(parsed.ptr - bytes.data());
    if (parsed.ec != std::errc() || parsed.ptr == end || *parsed.ptr != ':') return bad_token();
    if (digits > 1 && bytes.front() == '0') return bad_token();
    bytes.remove_prefix(digits + 1);
    if (length > bytes.size()) return bad_token();
    field = bytes.substr(0, length);
    bytes.remove_prefix(length);
  }
  if (!bytes.empty()) return bad_token();
  ContinueRecord out;
  const auto& revision = fields[4];
  const auto* const end = revision.data() + revision.size();
  const auto parsed = std::from_chars(revision.data(), end, out.revision);
  if (parsed.ec != std::errc() || parsed.ptr != end) return bad_token();
  if (std::to_string(out.revision) != revision) return bad_token(); // "01", "-0"
  out.tenant = std::move(fields[0]);
  out.uid = std::move(fields[1]);
  out.path_hash = std::move(fields[2]);
  out.selector_hash = std::move(fields[3]);
  out.start = std::move(fields[5]);
  return out;
}

} // namespace zoo::translate
