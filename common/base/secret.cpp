// SPDX-License-Identifier: Apache-2.0
#include "common/base/secret.hpp"

#include <string.h>

namespace zoo {

Secret::Secret(std::string&& bytes) noexcept : bytes_(std::move(bytes)) {
  // A short string is copied by the move (small-string buffer): wipe what stayed behind.
  bytes.resize(bytes.capacity());
  explicit_bzero(bytes.data(), bytes.size());
  bytes.clear();
}

Secret Secret::copy_of(std::string_view bytes) { return Secret(std::string(bytes)); }

Secret::Secret(Secret&& other) noexcept : Secret(std::move(other.bytes_)) {}

Secret& Secret::operator=(Secret&& other) noexcept {
  if (this != &other) {
    wipe();
    Secret moved(std::move(other));
    bytes_.swap(moved.bytes_);
  }
  return *this;
}

Secret::~Secret() { wipe(); }

void Secret::wipe() noexcept {
  bytes_.resize(bytes_.capacity());
  explicit_bzero(bytes_.data(), bytes_.size());
  bytes_.clear();
}

} // namespace zoo
