// SPDX-License-Identifier: Apache-2.0
#include "common/base/text.hpp"
#include "daemon/http/h1_reader.hpp"
#include "daemon/http/syntax.hpp"

namespace zoo::http {
namespace {

constexpr int k_interim_limit = 16;

} // namespace

void ResponseReader::start_next(bool head_request) {
  restart();
  response_ = {};
  head_request_ = head_request;
  keep_alive_ = true;
  interim_ = 0;
}

ReadEvent ResponseReader::parse_head() {
  response_ = {};
  const std::string_view head(head_);
  const auto line_end = head.find("\r\n");
  const auto line = head.substr(0, line_end);
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  // status-line = HTTP-version SP status-code SP [ reason-phrase ]; the last SP is often forgotten.
  if (line.size() < 12 || !line.starts_with("HTTP/1.") || (line[7] != '1' && line[7] != '0') ||
      line[8] != ' ' || !digit(line[9]) || !digit(line[10]) || !digit(line[11]) ||
      (line.size() > 12 && line[12] != ' ') || !is_field_value(line))
    return fail(502, "the answer does not begin with a status line");
  response_.status = (line[9] - '0') * 100 + (line[10] - '0') * 10 + (line[11] - '0');
  if (response_.status < 100) return fail(502, "the answer's status is below 100");
  const int version = line[7] == '1' ? 11 : 10;

  auto& headers = response_.headers;
  if (!parse_fields(head.substr(line_end + 2), headers)) return ReadEvent::failed;
  if (status_forbids_body(response_.status)) {
    headers.remove("transfer-encoding");
    if (response_.status != 304) headers.remove("content-length");
  }
  if (!parse_framing(headers, version)) return ReadEvent::failed;

  if (response_.status < 200 && response_.status != 101) {
    if (++interim_ > k_interim_limit) return fail(502, "too many interim answers");
    head_.clear();
    length_.reset();
    chunked_ = false;
    return ReadEvent::need_more;
  }

  keep_alive_ =
      version == 11 && response_.status != 101 && !list_has(headers, "connection", "close");
  const std::string upgrade(headers.get("upgrade"));
  headers.erase_if([](const Header& each) { return is_hop_by_hop(each.name); });
  if (response_.status == 101) {
    headers.add("Connection", "Upgrade");
    headers.add("Upgrade", upgrade);
  }

  head_.clear();
  if (response_.status == 101) {
    state_ = State::until_close;
  } else if (head_request_ || status_forbids_body(response_.status)) {
    state_ = State::length;
    remaining_ = 0;
  } else if (chunked_) {
    state_ = State::size_line;
  } else if (length_) {
    state_ = State::length;
    remaining_ = *length_;
  } else {
    state_ = State::until_close;
    keep_alive_ = false;
  }
  return ReadEvent::head;
}

ReadEvent ResponseReader::next(std::string_view& input) {
  if (state_ == State::failed) return ReadEvent::failed;
  while (state_ == State::head) {
    auto event = collect_head(input);
    if (event == ReadEvent::head) event = parse_head();
    if (event != ReadEvent::need_more) return event;
    if (state_ == State::head && input.empty()) return ReadEvent::need_more;
  }
  return read_body(input);
}

} // namespace zoo::http
