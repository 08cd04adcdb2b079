// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/http_client/client.hpp"

#include <optional>
#include <string>
#include <string_view>

/// The parts of client.cpp that need no libcurl: what is received, and the texts of failures.
namespace zoo::http_client {

/// Gathers one answer; fed by libcurl's callbacks, on the caller's thread.
class Receiver {
public:
  using OnData = std::function<bool(std::string_view)>;
  Receiver(std::size_t max_body, const OnData* on_data) : max_body_(max_body), on_data_(on_data) {}

  /// One line of a head with its line end. A new status line (after 1xx) begins anew.
  bool on_header_line(std::string_view line);
  /// False: stop the transfer; failure() or wanted_end() tells why.
  bool on_body(std::string_view bytes, int status);

  bool head_complete() const { return head_complete_; }
  bool wanted_end() const { return wanted_end_; }
  const std::optional<Error>& failure() const { return failure_; }
  void set_failure(Error error) { failure_ = std::move(error); }
  Response take(int status);

private:
  static constexpr std::size_t k_max_head = 256u << 10;
  std::size_t max_body_;
  const OnData* on_data_;
  Response response_;
  std::size_t head_size_ = 0;
  bool head_complete_ = false, wanted_end_ = false;
  std::optional<Error> failure_;
};

/// Code::usage unless method and headers are what RFC 9110 5.1, 5.5 and 9.1 allow: nothing of a
/// caller's can end a line.
Result<void> check_request(const Request& request);

bool is_loopback(std::string_view host); ///< localhost, *.localhost, 127.x.y.z, ::1 (in [] or not)

} // namespace zoo::http_client
