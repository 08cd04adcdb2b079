// SPDX-License-Identifier: Apache-2.0
#include "common/base/result.hpp"

namespace zoo {

std::string Error::text() const {
  std::string out = message_;
  for (const auto& frame : frames_) {
    out += " (";
    out += frame;
    out += ')';
  }
  return out;
}

} // namespace zoo
