// SPDX-License-Identifier: Apache-2.0
#include "common/base/result.hpp"

namespace zoo {

struct Error::Parts {
  Code code;
  std::string message;
  std::vector<std::string> frames;
};

Error::Error(Code code, std::string message) : parts_(new Parts{code, std::move(message), {}}) {}

Error::Error(const Error& other) : parts_(new Parts(other.parts())) {}

Error& Error::operator=(const Error& other) {
  if (this != &other) *this = Error(other);
  return *this;
}

void Error::destroy() noexcept { delete parts_; }

const Error::Parts& Error::parts() const {
  static const Parts k_moved{Code::internal, "a failure that was handed on", {}};
  return parts_ != nullptr ? *parts_ : k_moved;
}

Code Error::code() const { return parts().code; }
const std::string& Error::message() const { return parts().message; }
const std::vector<std::string>& Error::frames() const { return parts().frames; }

void Error::add_frame(std::string frame) {
  if (parts_ != nullptr) parts_->frames.push_back(std::move(frame));
}

std::string Error::text() const {
  std::string out = message();
  for (const auto& frame : frames()) {
    out += " (";
    out += frame;
    out += ')';
  }
  return out;
}

} // namespace zoo
