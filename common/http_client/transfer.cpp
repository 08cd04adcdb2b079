// SPDX-License-Identifier: Apache-2.0
#include "common/http_client/transfer.hpp"

#include "common/base/text.hpp"

#include <algorithm>

namespace zoo::http_client {
namespace {

bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  });
}

} // namespace

Credentials Credentials::clone() const {
  Credentials out;
  out.ca_pem = ca_pem;
  out.client_cert_pem = client_cert_pem;
  out.client_key_pem = client_key_pem.clone();
  out.bearer_token = bearer_token.clone();
  out.insecure = insecure;
  out.direct = direct;
  out.tls_server_name = tls_server_name;
  return out;
}

std::string_view Response::header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (text::iequals(key, name)) return value;
  }
  return {};
}

std::string display_url(std::string_view url) {
  std::string out(url.substr(0, url.find_first_of("?#")));
  const auto scheme = out.find("://");
  const auto begin = scheme == std::string::npos ? 0 : scheme + 3;
  const auto end = std::min(out.find('/', begin), out.size());
  if (const auto at = out.rfind('@', end); at != std::string::npos && at >= begin && at < end) {
    out.erase(begin, at - begin + 1);
  }
  return out;
}

bool is_loopback(std::string_view host) {
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (text::iequals(host, "localhost") || host == "::1") return true;
  if (host.size() > 10 && text::iequals(host.substr(host.size() - 10), ".localhost")) return true;
  return host.starts_with("127.") &&
         host.find_first_not_of("0123456789.") == std::string_view::npos;
}

Result<void> check_request(const Request& request) {
  if (!is_token(request.method)) return fail(Code::usage, "the HTTP method is not a token");
  for (const auto& [name, value] : request.headers) {
    if (!is_token(name)) return fail(Code::usage, "a header's name is not a token");
    const bool clean = std::all_of(value.begin(), value.end(), [](char c) {
      return c == '\t' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
    });
    if (!clean) return fail(Code::usage, "the value of header {} has control characters", name);
  }
  return {};
}

bool Receiver::on_header_line(std::string_view line) {
  head_size_ += line.size();
  if (head_size_ > k_max_head) {
    failure_ = Error(Code::too_large, "the answer's head is too large");
    return false;
  }
  line = text::trim(line);
  if (line.starts_with("HTTP/")) {
    response_.headers.clear();
    head_complete_ = false;
  } else if (line.empty()) {
    head_complete_ = true;
  } else if (const auto colon = line.find(':'); colon != std::string_view::npos) {
    response_.headers.emplace_back(std::string(line.substr(0, colon)),
                                   std::string(text::trim(line.substr(colon + 1))));
  }
  return true;
}

bool Receiver::on_body(std::string_view bytes, int status) {
  head_complete_ = true;
  if (on_data_ != nullptr && status >= 200 && status < 300) {
    wanted_end_ = !(*on_data_)(bytes);
    return !wanted_end_;
  }
  if (bytes.size() > max_body_ - response_.body.size()) {
    failure_ = Error(Code::too_large,
                     fmt::format("the answer is larger than the limit of {} bytes", max_body_));
    return false;
  }
  response_.body += bytes;
  return true;
}

Response Receiver::take(int status) {
  response_.status = status;
  return std::move(response_);
}

} // namespace zoo::http_client
