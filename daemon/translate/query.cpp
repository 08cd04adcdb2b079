// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/query.hpp"

#include "common/base/json_text.hpp"
#include "common/base/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

namespace zoo::translate {
namespace {

constexpr std::size_t k_max_params = 1'000;

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// RFC 3986 section 2.3.
constexpr auto k_unreserved = [] {
  std::array<bool, 256> table{};
  for (unsigned c = '0'; c <= '9'; ++c)
    table[c] = true;
  for (unsigned c = 'a'; c <= 'z'; ++c)
    table[c] = table[c - 'a' + 'A'] = true;
  for (const unsigned char c : {'-', '_', '.', '~'})
    table[c] = true;
  return table;
}();

/// Absence, "false" and "0" are false; anything else, "" included, is true (runtime/conversion.go).
bool truth(const std::string* value) {
  return value != nullptr && *value != "0" && !text::iequals(*value, "false");
}

Result<std::int64_t> number(std::string_view value) {
  std::int64_t out = 0;
  auto digits = value;
  if (digits.size() > 1 && digits.front() == '+') digits.remove_prefix(1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out);
  if (error == std::errc::result_out_of_range)
    return fail(Code::bad_request, "strconv.ParseInt: parsing {}: value out of range",
                json_quote(value));
  if (error != std::errc() || end != digits.data() + digits.size())
    return fail(Code::bad_request, "strconv.ParseInt: parsing {}: invalid syntax",
                json_quote(value));
  return out;
}

tl::unexpected<Error> invalid_list(std::string_view field, std::string_view what) {
  return fail(Code::invalid, "ListOptions.meta.k8s.io \"\" is invalid: {}: {}", field, what);
}

Result<void> check_match(const ListOptions& options, std::string_view match) {
  constexpr std::string_view k_field = "resourceVersionMatch";
  const bool known = options.match != VersionMatch::none;
  if (options.watch) {
    if (options.send_initial_events && options.match != VersionMatch::not_older_than)
      return invalid_list(k_field, "Forbidden: sendInitialEvents requires setting "
                                   "resourceVersionMatch to NotOlderThan");
    if (match.empty()) return {};
    if (!options.send_initial_events)
      return invalid_list(k_field, "Forbidden: resourceVersionMatch is forbidden for watch unless "
                                   "sendInitialEvents is provided");
    if (!options.continue_token.empty())
      return invalid_list(k_field,
                          "Forbidden: resourceVersionMatch is forbidden when continue is provided");
    return {};
  }
  if (options.send_initial_events)
    return invalid_list("sendInitialEvents", "Forbidden: sendInitialEvents is forbidden for list");
  if (match.empty()) return {};
  if (options.resource_version.empty())
    return invalid_list(k_field, "Forbidden: resourceVersionMatch is forbidden unless "
                                 "resourceVersion is provided");
  if (!options.continue_token.empty())
    return invalid_list(k_field,
                        "Forbidden: resourceVersionMatch is forbidden when continue is provided");
  if (!known)
    return invalid_list(k_field, fmt::format("Unsupported value: {}: supported values: \"Exact\", "
                                             "\"NotOlderThan\", \"\"",
                                             json_quote(match)));
  if (options.match == VersionMatch::exact && options.resource_version == "0")
    return invalid_list(k_field, "Forbidden: resourceVersionMatch \"exact\" is forbidden for "
                                 "resourceVersion \"0\"");
  return {};
}

} // namespace

std::optional<std::string> percent_decode(std::string_view text, bool plus) {
  if (text.find('%') == text.npos && (!plus || text.find('+') == text.npos))
    return std::string(text);
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      if (i + 2 >= text.size() || hex_value(text[i + 1]) < 0 || hex_value(text[i + 2]) < 0)
        return std::nullopt;
      out += static_cast<char>(hex_value(text[i + 1]) * 16 + hex_value(text[i + 2]));
      i += 2;
    } else {
      out += plus && text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}

std::string percent_encode(std::string_view text, std::string_view keep) {
  std::string out;
  append_percent_encoded(out, text, keep);
  return out;
}

void append_percent_encoded(std::string& out, std::string_view text, std::string_view keep) {
  static constexpr char k_hex[] = "0123456789ABCDEF";
  while (!text.empty()) {
    std::size_t plain = 0; // most of it
    while (plain < text.size() && k_unreserved[static_cast<unsigned char>(text[plain])])
      ++plain;
    out.append(text.substr(0, plain));
    text.remove_prefix(plain);
    if (text.empty()) return;
    const char c = text.front();
    const auto byte = static_cast<unsigned char>(c);
    text.remove_prefix(1);
    if (keep.find(c) != std::string_view::npos) {
      out += c;
    } else {
      out += '%';
      out += k_hex[byte >> 4];
      out += k_hex[byte & 15];
    }
  }
}

Result<Params> parse_query(std::string_view raw) {
  Params out;
  while (!raw.empty()) {
    const auto at = raw.find('&');
    const auto pair = raw.substr(0, at);
    raw.remove_prefix(at == std::string_view::npos ? raw.size() : at + 1);
    if (pair.empty()) continue;
    if (pair.find(';') != std::string_view::npos)
      return fail(Code::bad_request, "invalid semicolon separator in query");
    const auto equals = pair.find('=');
    auto key = percent_decode(pair.substr(0, equals), true);
    auto value = equals == std::string_view::npos ? std::optional<std::string>("")
                                                  : percent_decode(pair.substr(equals + 1), true);
    if (!key || !value)
      return fail(Code::bad_request, "the query of the URL has an invalid percent escape");
    if (!is_utf8(*key) || !is_utf8(*value) || key->find('\0') != std::string::npos ||
        value->find('\0') != std::string::npos)
      return fail(Code::bad_request, "the query of the URL is not valid UTF-8 text");
    if (out.size() >= k_max_params)
      return fail(Code::bad_request, "the query of the URL has more than {} parameters",
                  k_max_params);
    out.push_back({std::move(*key), std::move(*value)});
  }
  return out;
}

std::string serialize_query(const Params& params) {
  const auto escape = [](std::string_view text) {
    auto out = percent_encode(text, " ");
    std::replace(out.begin(), out.end(), ' ', '+');
    return out;
  };
  std::string out;
  for (const auto& [key, value] : params) {
    if (!out.empty()) out += '&';
    out += escape(key);
    out += '=';
    out += escape(value);
  }
  return out;
}

const std::string* find_param(const Params& params, std::string_view key) {
  for (const auto& param : params) {
    if (param.key == key) return &param.value;
  }
  return nullptr;
}

void set_param(Params& params, std::string_view key, std::string_view value) {
  for (auto at = params.begin(); at != params.end(); ++at) {
    if (at->key != key) continue;
    at->value = value;
    params.erase(std::remove_if(at + 1, params.end(), [&](const Param& p) { return p.key == key; }),
                 params.end());
    return;
  }
  params.push_back({std::string(key), std::string(value)});
}

void remove_param(Params& params, std::string_view key) {
  std::erase_if(params, [&](const Param& param) { return param.key == key; });
}

Result<ListOptions> parse_list_options(const Params& params, bool force_watch) {
  ListOptions out;
  const auto text = [&](std::string_view key) {
    const auto* value = find_param(params, key);
    return value == nullptr ? std::string() : *value;
  };
  out.watch = force_watch || truth(find_param(params, "watch"));
  out.allow_watch_bookmarks = truth(find_param(params, "allowWatchBookmarks"));
  if (const auto* value = find_param(params, "sendInitialEvents"))
    out.send_initial_events = truth(value);
  if (const auto* value = find_param(params, "limit")) {
    ZOO_TRY(out.limit, number(*value));
    // A negative limit means none, as to the API server.
    out.limit = std::max<std::int64_t>(out.limit, 0);
  }
  if (const auto* value = find_param(params, "timeoutSeconds")) {
    ZOO_TRY(out.timeout_seconds, number(*value));
  }
  out.continue_token = text("continue");
  out.label_selector = text("labelSelector");
  out.field_selector = text("fieldSelector");
  out.resource_version = text("resourceVersion");
  // From the server's cache, which gives all that it has (apiserver storage/cacher/cacher.go,
  // computeListLimit).
  if (out.resource_version == "0" && out.continue_token.empty()) out.limit = 0;
  if (!out.resource_version.empty()) {
    std::uint64_t revision = 0;
    const auto& raw = out.resource_version;
    const auto [end, error] = std::from_chars(raw.data(), raw.data() + raw.size(), revision);
    if (error != std::errc() || end != raw.data() + raw.size())
      return fail(Code::bad_request, "Invalid value: {}: strconv.ParseUint: parsing {}: {}",
                  json_quote(raw), json_quote(raw),
                  error == std::errc::result_out_of_range ? "value out of range"
                                                          : "invalid syntax");
    // No revision is as large; what follows counts with a sign, and any such one is too large.
    revision = std::min<std::uint64_t>(revision, std::numeric_limits<std::int64_t>::max());
    // One spelling for each revision: what is compared or forwarded later is unambiguous.
    out.resource_version = std::to_string(revision);
  }
  const auto match = text("resourceVersionMatch");
  if (match == "Exact") out.match = VersionMatch::exact;
  if (match == "NotOlderThan") out.match = VersionMatch::not_older_than;
  ZOO_TRY_VOID(check_match(out, match));
  if (!out.watch && !out.continue_token.empty() && !out.resource_version.empty() &&
      out.resource_version != "0")
    return fail(Code::bad_request,
                "specifying resource version is not allowed when using continue");
  // The page that begins at a version is of that version (apiserver storage/etcd3/store.go,
  // GetList: the legacy case).
  const bool of_version = !out.resource_version.empty() && out.resource_version != "0";
  if (!out.watch && out.match == VersionMatch::none && out.limit > 0 && of_version)
    out.match = VersionMatch::exact;
  return out;
}

Result<WriteOptions> parse_write_options(const Params& params, bool patch, bool apply) {
  WriteOptions out;
  for (const auto& [key, value] : params) {
    if (key != "dryRun") continue;
    if (value != "All")
      return fail(Code::invalid, "dryRun: Unsupported value: {}: supported values: \"All\"",
                  json_quote(value));
    out.dry_run = true;
  }
  out.force = truth(find_param(params, "force"));
  if (const auto* value = find_param(params, "fieldManager")) out.field_manager = *value;
  if (const auto* value = find_param(params, "fieldValidation")) out.field_validation = *value;
  if (out.field_manager.size() > 128)
    return fail(Code::invalid, "fieldManager: Too long: may not be more than 128 bytes");
  for (const char c : out.field_manager) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      return fail(Code::invalid,
                  "fieldManager: Invalid value: should only contain printable characters");
  }
  if (!out.field_validation.empty() && out.field_validation != "Ignore" &&
      out.field_validation != "Warn" && out.field_validation != "Strict")
    return fail(Code::invalid,
                "fieldValidation: Unsupported value: {}: supported values: \"Ignore\", \"Strict\", "
                "\"Warn\"",
                json_quote(out.field_validation));
  if (apply && out.field_manager.empty())
    return fail(Code::invalid, "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required "
                               "value: is required for apply patch");
  if (patch && !apply && out.force)
    return fail(Code::invalid, "PatchOptions.meta.k8s.io \"\" is invalid: force: Forbidden: may "
                               "not be specified for non-apply patch");
  return out;
}

} // namespace zoo::translate
