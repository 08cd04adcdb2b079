// SPDX-License-Identifier: Apache-2.0
#include "daemon/audit/entry.hpp"

#include "common/base/json_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <ctime>
#include <iterator>

namespace zoo::audit {
namespace {

constexpr std::size_t k_longest = 256; ///< bytes of one value
constexpr std::size_t k_longest_agent = 128;
constexpr std::size_t k_most_groups = 16;

std::string_view shortened(std::string_view text, std::size_t longest) {
  if (text.size() <= longest) return text;
  // Not inside a character of UTF-8 (RFC 3629 3).
  while (longest > 0 && (static_cast<unsigned char>(text[longest]) & 0xc0) == 0x80)
    --longest;
  return text.substr(0, longest);
}

std::string_view word(Decision decision) {
  switch (decision) {
  case Decision::none:
    return "none";
  case Decision::allow:
    return "allow";
  case Decision::forbid:
    return "forbid";
  case Decision::unauthenticated:
    return "unauthenticated";
  }
  return "none";
}

/// `key` with what stands around it: `,"name":`.
void put(std::string& out, std::string_view key, std::string_view value,
         std::size_t longest = k_longest) {
  if (value.empty()) return;
  out += key;
  append_json_quoted(out, shortened(value, longest));
}

void append_time(std::string& out, std::chrono::system_clock::time_point time) {
  // Many lines come in one second.
  thread_local std::time_t second = -1;
  thread_local std::string text;
  const auto micros =
      std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count();
  const auto seconds = static_cast<std::time_t>(micros / 1'000'000);
  if (seconds != second) {
    std::tm parts{};
    gmtime_r(&seconds, &parts);
    text = fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.", parts.tm_year + 1900,
                       parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
    second = seconds;
  }
  out += text;
  char digits[6];
  auto rest = micros % 1'000'000;
  for (auto* at = std::end(digits); at != digits; rest /= 10)
    *--at = static_cast<char>('0' + rest % 10);
  out.append(digits, sizeof(digits));
  out += 'Z';
}

void put_number(std::string& out, std::string_view key, auto value) {
  char digits[24];
  const auto end = std::to_chars(digits, std::end(digits), value).ptr;
  out += key;
  out.append(digits, end);
}

bool reads(std::string_view verb) { return verb == "get" || verb == "list" || verb == "watch"; }

/// exec, attach, port-forward and proxies change things whatever their verb is.
bool connects(std::string_view subresource) {
  return subresource == "exec" || subresource == "attach" || subresource == "portforward" ||
         subresource == "proxy";
}

} // namespace

void append_line(std::string& out, const Entry& entry, std::string_view replica) {
  out += R"({"time":")";
  append_time(out, entry.time);
  out += '"';
  put(out, R"(,"replica":)", replica);
  put(out, R"(,"door":)", entry.door);
  put(out, R"(,"tenant":)", entry.tenant);
  put(out, R"(,"user":)", entry.user);
  if (!entry.groups.empty()) {
    out += R"(,"groups":[)";
    for (std::size_t i = 0; i < std::min(entry.groups.size(), k_most_groups); ++i) {
      if (i > 0) out += ',';
      append_json_quoted(out, shortened(entry.groups[i], k_longest / 2));
    }
    out += ']';
  }
  put(out, R"(,"impersonatedBy":)", entry.impersonator);
  put(out, R"(,"credential":)", entry.credential);
  put(out, R"(,"peer":)", entry.peer);
  put(out, R"(,"userAgent":)", entry.user_agent, k_longest_agent);
  put(out, R"(,"verb":)", entry.verb);
  put(out, R"(,"apiGroup":)", entry.group);
  put(out, R"(,"apiVersion":)", entry.version);
  put(out, R"(,"resource":)", entry.resource);
  put(out, R"(,"subresource":)", entry.subresource);
  put(out, R"(,"namespace":)", entry.name_space);
  put(out, R"(,"name":)", entry.name);
  put(out, R"(,"path":)", entry.path.substr(0, entry.path.find('?')));
  put_number(out, R"(,"code":)", entry.code);
  put_number(out, R"(,"latencyMicros":)", entry.took.count());
  put_number(out, R"(,"requestBytes":)", entry.bytes_in);
  put_number(out, R"(,"responseBytes":)", entry.bytes_out);
  put(out, R"(,"traceId":)", entry.trace_id);
  put(out, R"(,"decision":)", word(entry.decision));
  put(out, R"(,"reason":)", entry.reason);
  out += '}';
}

bool denied(const Entry& entry) {
  return entry.code == 401 || entry.code == 403 || entry.decision == Decision::forbid ||
         entry.decision == Decision::unauthenticated;
}

bool wants(api::AuditLevel level, const Entry& entry) {
  switch (level) {
  case api::AuditLevel::none:
    return false;
  case api::AuditLevel::denied:
    return denied(entry);
  case api::AuditLevel::writes:
    return !reads(entry.verb) || connects(entry.subresource) || denied(entry);
  case api::AuditLevel::all:
    return true;
  }
  return true;
}

} // namespace zoo::audit
