// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"

#include <string>
#include <string_view>

/// For the sources of this folder only.
namespace zoo::crypto {

/// Empties this thread's OpenSSL error queue into one Error: "cannot <what>: <reason>; <reason>".
Error openssl_error(Code code, std::string_view what);

/// Forgets what OpenSSL recorded about failures that were expected.
void clear_openssl_errors();

/// UTF-8 without control characters (C0, DEL, C1): fit to be a name.
bool is_clean_name(std::string_view text);

} // namespace zoo::crypto
