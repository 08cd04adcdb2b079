// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace zoo::http {

/// A first-in first-out run of bytes that gives its memory back when it is empty. Appending and
/// taking cost their bytes only. No limit of its own: its user watches size().
class ByteQueue {
public:
  void push(std::string_view bytes) { bytes_.append(bytes); }
  void push(std::string&& bytes) {
    if (empty()) {
      bytes_ = std::move(bytes);
      start_ = 0;
    } else {
      bytes_.append(bytes);
    }
  }
  std::string_view view() const { return std::string_view(bytes_).substr(start_); }
  std::size_t size() const { return bytes_.size() - start_; }
  bool empty() const { return size() == 0; }

  void drop(std::size_t count) {
    start_ += std::min(count, size());
    if (start_ == bytes_.size()) {
      clear();
    } else if (start_ > k_compact && start_ > bytes_.size() / 2) {
      bytes_.erase(0, start_);
      start_ = 0;
    }
  }
  void clear() {
    start_ = 0;
    if (bytes_.capacity() > k_compact) {
      std::string().swap(bytes_);
    } else {
      bytes_.clear();
    }
  }
  /// Moves at most `max` bytes to the end of `out`.
  std::size_t take(std::string& out, std::size_t max) {
    const auto count = std::min(max, size());
    if (count == 0) return 0;
    if (out.empty() && start_ == 0 && count == bytes_.size()) {
      out.swap(bytes_);
      bytes_.clear();
      return count;
    }
    out.append(view().substr(0, count));
    drop(count);
    return count;
  }

private:
  static constexpr std::size_t k_compact = 16 * 1024;
  std::string bytes_;
  std::size_t start_ = 0;
};

} // namespace zoo::http
