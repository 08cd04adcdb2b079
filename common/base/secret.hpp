// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace zoo {

/// Bytes that must not survive their use: a private key, a token. Wiped on destruction and on
/// move-from; cannot be copied by accident (clone() says so). Never formatted: it has no
/// conversion to std::string, and its bytes are reached only through view().
class Secret {
public:
  Secret() = default;
  explicit Secret(std::string&& bytes) noexcept;
  static Secret copy_of(std::string_view bytes);
  Secret(Secret&& other) noexcept;
  Secret& operator=(Secret&& other) noexcept;
  Secret(const Secret&) = delete;
  Secret& operator=(const Secret&) = delete;
  ~Secret();

  std::string_view view() const { return bytes_; }
  bool empty() const { return bytes_.empty(); }
  Secret clone() const { return copy_of(bytes_); }

private:
  void wipe() noexcept;
  std::string bytes_;
};

} // namespace zoo
