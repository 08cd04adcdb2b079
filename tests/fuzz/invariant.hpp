// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string_view>

/// Ends the process with the invariant that does not hold, so that libFuzzer keeps the input.
inline void invariant(bool holds, const char* what, std::string_view detail = "") {
  if (holds) return;
  std::fprintf(stderr, "invariant broken: %s\n%.*s\n", what, static_cast<int>(detail.size()),
               detail.data());
  std::abort();
}
