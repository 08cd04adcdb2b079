// SPDX-License-Identifier: Apache-2.0
#include "common/base/text.hpp"
#include "daemon/http/h1_reader.hpp"
#include "daemon/http/syntax.hpp"

namespace zoo::http {
namespace {

constexpr std::size_t k_method_limit = 32;

bool is_version(std::string_view text) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return text.size() == 8 && text.starts_with("HTTP/") && digit(text[5]) && text[6] == '.' &&
         digit(text[7]);
}

/// The fields named by Connection are this hop's, whatever they are (RFC 9110 section 7.6.1).
void remove_hop_by_hop(Headers& headers) {
  std::vector<std::string> named;
  for (const auto value : headers.all("connection")) {
    for (const auto part : text::split(value, ','))
      named.emplace_back(text::trim(part));
  }
  for (const auto& name : named) {
    if (!text::iequals(name, "close") && !text::iequals(name, "host")) headers.remove(name);
  }
  headers.erase_if([](const Header& each) { return is_hop_by_hop(each.name); });
}

} // namespace

bool RequestReader::parse_target(std::string_view target) {
  if (target.size() > limits_.target_bytes) {
    fail(414, "the path and query are too long");
    return false;
  }
  if (request_.method == "CONNECT") {
    fail(405, "CONNECT is not served here");
    return false;
  }
  if (target == "*" && request_.method == "OPTIONS") {
    request_.target = "*";
    return true;
  }
  if (is_origin_form(target)) {
    request_.target = target;
    return true;
  }
  // Absolute-form, as clients send it to a proxy (RFC 9112 section 3.2.2): its authority counts.
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (target.size() <= scheme.size() || !text::iequals(target.substr(0, scheme.size()), scheme))
      continue;
    target.remove_prefix(scheme.size());
    const auto end = target.find_first_of("/?");
    const auto authority = target.substr(0, end);
    auto path = end == target.npos ? std::string("/") : std::string(target.substr(end));
    if (path.front() == '?') path.insert(0, 1, '/');
    if (!is_authority(authority) || !is_origin_form(path)) break;
    request_.authority = authority;
    request_.target = std::move(path);
    return true;
  }
  fail(400, "the request's target is not a path");
  return false;
}

bool RequestReader::parse_request_line(std::string_view line) {
  const auto first = line.find(' ');
  const auto last = line.rfind(' ');
  if (first == line.npos || first == last) {
    fail(400, "the request line has not three parts");
    return false;
  }
  const auto method = line.substr(0, first);
  const auto version = line.substr(last + 1);
  if (!is_token(method) || method.size() > k_method_limit) {
    fail(400, "the method is not a token");
    return false;
  }
  if (!is_version(version)) {
    fail(400, "the request line does not end with a version of HTTP");
    return false;
  }
  if (version != "HTTP/1.1" && version != "HTTP/1.0") {
    fail(505, "this version of HTTP is not spoken here");
    return false;
  }
  request_.method = method;
  request_.version = version == "HTTP/1.1" ? 11 : 10;
  return parse_target(line.substr(first + 1, last - first - 1));
}

ReadEvent RequestReader::parse_head() {
  request_ = {};
  extra_ = {};
  const std::string_view head(head_);
  const auto line_end = head.find("\r\n");
  auto& headers = request_.headers;
  if (!parse_request_line(head.substr(0, line_end)) ||
      !parse_fields(head.substr(line_end + 2), headers) ||
      !parse_framing(headers, request_.version))
    return ReadEvent::failed;

  const auto hosts = headers.all("host");
  if (hosts.size() > 1) return fail(400, "more than one Host");
  if (hosts.empty() && request_.version == 11) return fail(400, "no Host");
  if (!hosts.empty()) {
    if (!is_authority(hosts.front())) return fail(400, "a Host that is not a host");
    if (request_.authority.empty()) request_.authority = hosts.front();
  }
  headers.remove("host");

  extra_.has_body = chunked_ || length_.value_or(0) > 0;
  if (request_.version == 11) {
    if (const auto expect = headers.find("expect")) {
      if (!text::iequals(*expect, "100-continue"))
        return fail(417, "an expectation other than 100-continue");
      extra_.expects_continue = extra_.has_body;
    }
  }
  headers.remove("expect");

  extra_.keep_alive = request_.version == 11 && !list_has(headers, "connection", "close");
  const std::string upgrade(headers.get("upgrade"));
  request_.upgrade = request_.version == 11 && !upgrade.empty() && !text::iequals(upgrade, "h2c") &&
                     list_has(headers, "connection", "upgrade");
  remove_hop_by_hop(headers);
  if (request_.upgrade) {
    headers.add("Connection", "Upgrade");
    headers.add("Upgrade", upgrade);
  }

  head_.clear();
  remaining_ = length_.value_or(0);
  state_ = chunked_ ? State::size_line : State::length;
  return ReadEvent::head;
}

ReadEvent RequestReader::next(std::string_view& input) {
  if (state_ == State::failed) return ReadEvent::failed;
  if (state_ != State::head) return read_body(input);
  const auto event = collect_head(input);
  return event == ReadEvent::head ? parse_head() : event;
}

} // namespace zoo::http
