// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

namespace zoo {

/// A deleter without size: `using SslPtr = std::unique_ptr<SSL, Deleter<SSL_free>>;`
template <auto Function>
struct Deleter {
  template <class T>
  void operator()(T* pointer) const noexcept {
    Function(pointer);
  }
};

} // namespace zoo
