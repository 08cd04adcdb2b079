// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"

#include <optional>
#include <span>
#include <string_view>

namespace zoo {

enum class LogLevel { debug, info, warning, error };

/// One row for each Code: the only place where a failure becomes an exit status, a Kubernetes
/// Status or a log level. docs/errors.md and zooctl(1) are checked against it by a test.
struct ErrorRow {
  Code code;
  std::string_view name; ///< enumerator, for logs and tests
  int exit_status;       ///< of zooctl; sysexits(3) where one fits
  int http_status;
  std::string_view reason; ///< metav1.StatusReason
  LogLevel level;
};

std::span<const ErrorRow> error_table();
const ErrorRow& error_row(Code code);

/// Of a failure that upstream, or the way to it, is the cause of and that may be over soon: the
/// same step may succeed when it is tried again. Any other failure is an answer.
bool may_pass(Code code);

/// The Code for a Status received from a server: by reason, else by HTTP status.
Code code_from_status(int http_status, std::string_view reason);

} // namespace zoo
