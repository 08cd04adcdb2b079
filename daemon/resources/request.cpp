// SPDX-License-Identifier: Apache-2.0
#include "daemon/resources/request.hpp"

#include "common/base/error_table.hpp"
#include "common/base/text.hpp"
#include "daemon/resources/watch.hpp"

#include <nlohmann/json.hpp>

#include <charconv>

namespace zoo::resources {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

Result<std::string> decode(std::string_view text, bool plus_is_space) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus_is_space) {
      out += ' ';
    } else if (text[i] != '%') {
      out += text[i];
    } else {
      const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
      if (high < 0 || low < 0)
        return fail(Code::bad_request, "'{}' is not valid percent-encoding",
                    std::string(text.substr(i, 3)));
      out += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  if (out.find('\0') != std::string::npos)
    return fail(Code::bad_request, "a NUL character is not allowed in a URL");
  return out;
}

} // namespace

std::string Request::path() const {
  std::string out;
  for (const auto& segment : segments)
    out.append("/").append(segment);
  return out.empty() ? "/" : out;
}

std::string_view Request::parameter(std::string_view name) const {
  for (const auto& [key, value] : query)
    if (key == name) return value;
  return {};
}

bool Request::has(std::string_view name) const {
  for (const auto& [key, value] : query)
    if (key == name) return true;
  return false;
}

Result<bool> Request::flag(std::string_view name) const {
  const auto value = parameter(name);
  if (value == "true" || value == "1" || value == "True" || value == "t") return true;
  if (value.empty() || value == "false" || value == "0" || value == "False" || value == "f")
    return false;
  return fail(Code::bad_request, "parameter {} must be true or false, not '{}'", name, value);
}

Result<std::int64_t> Request::number(std::string_view name) const {
  const auto value = parameter(name);
  if (value.empty()) return 0;
  std::int64_t out = 0;
  const auto* end = value.data() + value.size();
  const auto [at, problem] = std::from_chars(value.data(), end, out);
  if (problem != std::errc() || at != end || out < 0)
    return fail(Code::bad_request,
                "parameter {} must be a whole number that is not negative, not '{}'", name, value);
  return out;
}

Result<Request> parse_request(const http::RequestHead& head) {
  Request out;
  out.method = head.method;
  out.target = head.target;
  out.headers = head.headers;
  const std::string_view target = head.target;
  const auto mark = target.find('?');
  auto path = target.substr(0, mark);
  if (path.empty() || path.front() != '/')
    return fail(Code::bad_request, "the path must start with '/'");
  path.remove_prefix(1);
  if (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  if (!path.empty()) {
    for (const auto raw : text::split(path, '/')) {
      ZOO_TRY(auto segment, decode(raw, false));
      if (segment.empty() || segment == "." || segment == ".." ||
          segment.find('/') != std::string::npos)
        return fail(Code::bad_request,
                    "the path must not contain empty segments, '.', '..' or an encoded '/'");
      out.segments.push_back(std::move(segment));
    }
  }
  if (mark == std::string_view::npos) return out;
  for (const auto pair : text::split(target.substr(mark + 1), '&')) {
    if (pair.empty()) continue;
    const auto equals = pair.find('=');
    ZOO_TRY(auto key, decode(pair.substr(0, equals), true));
    ZOO_TRY(auto value,
            decode(equals == std::string_view::npos ? "" : pair.substr(equals + 1), true));
    out.query.emplace_back(std::move(key), std::move(value));
  }
  return out;
}

std::string dump(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Answer json_answer(int status, const nlohmann::json& body) {
  Answer answer;
  answer.status = status;
  answer.body = dump(body) + "\n";
  return answer;
}

Answer failure(const Error& error, const kube::StatusDetails& details) {
  const auto& row = error_row(error.code());
  auto shown = details;
  Answer answer;
  answer.status = row.http_status;
  if (error.code() == Code::too_many_requests || error.code() == Code::unavailable) {
    if (shown.retry_after_seconds == 0) shown.retry_after_seconds = 1;
    answer.headers.add("Retry-After", std::to_string(shown.retry_after_seconds));
  }
  answer.body = kube::status_json(error, shown);
  answer.log_note = error.text();
  return answer;
}

Answer wrong_method(const Request& request, std::string_view allowed) {
  auto answer = failure(Error(Code::method_not_allowed,
                              fmt::format("the server does not allow {} on {}; it allows {}",
                                          request.method, request.path(), allowed)));
  answer.headers.add("Allow", allowed);
  return answer;
}

Answer nothing_here(std::string_view api, std::string_view what, std::string_view word,
                    std::span<const std::string_view> known) {
  auto words = fmt::format("the server could not find the requested resource: {} has no {} \"{}\"",
                           api, what, word);
  if (const auto meant = text::nearest(word, known))
    words += fmt::format("; did you mean \"{}\"?", *meant);
  return failure(Error(Code::not_found, words));
}

bool reads(const Request& request) { return request.method == "GET" || request.method == "HEAD"; }

std::string warning_value(std::string_view text) {
  std::string out = "299 - \"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
  }
  return out + "\"";
}

} // namespace zoo::resources
