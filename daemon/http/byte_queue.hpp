// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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
  /// So many are about to be pushed, in pieces.
  void reserve(std::size_t more) { bytes_.reserve(bytes_.size() + more); }
  std::string_view view() const { return std::string_view(bytes_).substr(start_); }
  std::size_t size() const { return bytes_.size() - start_; }
  bool empty() const { return size() == 0; }

  void drop(std::size_t count) {
    start_ += std::min(count, size());
    if (start_ == bytes_.size()) {
      clear();
    } else if (start_ > k_compact && start_ > bytes_.size() / 2) {
      std::string(view()).swap(bytes_); // what was large once does not stay so
      start_ = 0;
    }
  }
  void clear() { // the next answer comes with memory of its own, and may be long in coming
    start_ = 0;
    std::string().swap(bytes_);
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

/// The same for what is given whole and taken in order: large pieces are kept as they come instead
/// of being copied together. No limit of its own.
class ChunkQueue {
public:
  void push(std::string&& bytes) {
    const bool loose = bytes.capacity() - bytes.size() > k_slack;
    if (bytes.size() < k_small || loose) return push(std::string_view(bytes));
    size_ += bytes.size();
    chunks_.push_back(std::move(bytes));
  }
  void push(std::string_view bytes) {
    if (bytes.empty()) return;
    size_ += bytes.size();
    const bool fits =
        !chunks_.empty() && chunks_.back().capacity() - chunks_.back().size() >= bytes.size();
    if (!fits) chunks_.emplace_back();
    chunks_.back().append(bytes);
  }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::size_t room() const { ///< bytes that its pieces have in memory
    std::size_t out = 0;
    for (const auto& chunk : chunks_)
      out += chunk.capacity() > k_inside ? chunk.capacity() : 0;
    return out;
  }

  /// Moves `count` bytes, at most size(), to the end of `out`.
  void take(std::string& out, std::size_t count) {
    count = std::min(count, size_);
    size_ -= count;
    while (count > 0) {
      const auto part = std::string_view(chunks_[first_]).substr(start_, count);
      out.append(part);
      count -= part.size();
      start_ += part.size();
      if (auto& chunk = chunks_[first_]; start_ < chunk.size()) {
        if (start_ > k_large && start_ > chunk.size() / 2) { // its room goes as it is read
          std::string(std::string_view(chunk).substr(start_)).swap(chunk);
          start_ = 0;
        }
        break;
      }
      std::string().swap(chunks_[first_++]);
      start_ = 0;
    }
    if (size_ == 0) {
      clear();
    } else if (first_ >= k_compact) {
      chunks_.erase(chunks_.begin(), chunks_.begin() + static_cast<std::ptrdiff_t>(first_));
      first_ = 0;
    }
  }
  void clear() {
    chunks_.clear();
    first_ = start_ = size_ = 0;
  }

private:
  static constexpr std::size_t k_small = 2 * 1024;
  static constexpr std::size_t k_slack = 64 * 1024; ///< that a kept piece may have unused
  static constexpr std::size_t k_inside = 15;       ///< that a string has in itself
  static constexpr std::size_t k_large = 16 * 1024;
  static constexpr std::size_t k_compact = 64;
  std::vector<std::string> chunks_; ///< those in front of first_ are taken
  std::size_t first_ = 0;
  std::size_t start_ = 0; ///< of chunks_[first_]
  std::size_t size_ = 0;
};

} // namespace zoo::http
