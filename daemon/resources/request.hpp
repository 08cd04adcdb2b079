// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "common/kube/status.hpp"
#include "daemon/http/message.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// One request to an API that zood serves itself, parsed, and its answer. Values: they travel
/// between an event loop and a worker thread, one thread at a time.
namespace zoo::resources {

class WatchFeed;

/// Who asks, as the door found out: an administrator, or a user of the upstream.
struct Who {
  std::string name; ///< "unix:root", "jane"
  std::vector<std::string> groups;
  std::string uid = {};
  std::vector<std::pair<std::string, std::vector<std::string>>> extra = {};
};

struct Request {
  std::string method;
  std::string target;                ///< as received: for the log
  std::vector<std::string> segments; ///< of the path, percent-decoded, none empty
  std::vector<std::pair<std::string, std::string>> query;
  http::Headers headers;
  std::string body;
  Who who;

  std::string path() const;                                ///< "/apis/tenant.kubezoo.io", decoded
  std::string_view parameter(std::string_view name) const; ///< "" if absent
  bool has(std::string_view name) const;
  /// "true", "1" are true; "false", "0", "" false; else Code::bad_request that names it.
  Result<bool> flag(std::string_view name) const;
  Result<std::int64_t> number(std::string_view name) const; ///< 0 if absent; never negative
};

/// Fills method, target, segments, query and headers. Code::bad_request for `..`, `.`, empty
/// segments (one trailing slash is forgiven), %2F, %00 and broken percent-encoding.
Result<Request> parse_request(const http::RequestHead& head);

struct Answer {
  int status = 200;
  http::Headers headers; ///< beside Content-Type
  std::string content_type = "application/json";
  std::string body;
  std::vector<std::string> warnings; ///< each becomes `Warning: 299 - "..."` (RFC 7234 5.5)
  std::shared_ptr<WatchFeed> watch;  ///< set: the body is this stream, `body` is empty
  std::int64_t revision = 0;         ///< of a list: its resourceVersion; else 0
  std::string object;                ///< name of the object it shows; empty: of none or of many
  std::string log_note;              ///< what went wrong, with its frames, for zood's log
};

Answer json_answer(int status, const nlohmann::json& body);
/// A metav1.Status with code and reason of the error table; Retry-After for 429 and 503.
Answer failure(const Error& error, const kube::StatusDetails& details = {});
/// JSON text that is always valid: what is not UTF-8 becomes U+FFFD.
std::string dump(const nlohmann::json& value);

/// 405: `allowed` is "GET, POST".
Answer wrong_method(const Request& request, std::string_view allowed);
/// 404 for a path that leads nowhere: `api` (what is asked: "zood's admin API") has no `what` named
/// `word`; of those that are `known` one may have been meant.
Answer nothing_here(std::string_view api, std::string_view what, std::string_view word,
                    std::span<const std::string_view> known);
bool reads(const Request& request); ///< GET or HEAD

/// The value of a Warning header; quotes, backslashes and control characters are escaped.
std::string warning_value(std::string_view text);

} // namespace zoo::resources
