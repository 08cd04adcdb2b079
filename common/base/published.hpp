// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <thread>
#include <utility>

namespace zoo {

/// What one thread makes and all may read: a shared_ptr that is swapped whole. Any thread, no
/// errors.
///
/// std::atomic<std::shared_ptr> of libstdc++ 12 ends a load() without release order, so that
/// nothing orders its read of the pointer before the next store()'s write (decision 113). This
/// costs the same: a bit held for a copy of two words and a count.
template <typename T>
class Published {
public:
  using Pointer = std::shared_ptr<T>;

  Published() = default;
  explicit Published(Pointer first) : value_(std::move(first)) {}

  Pointer load() const {
    const Hold hold(busy_);
    return value_;
  }
  void store(Pointer next) {
    const Hold hold(busy_);
    value_.swap(next); // what stood there ends with the parameter, after the hold
  }

private:
  class Hold {
  public:
    explicit Hold(std::atomic_flag& flag) : flag_(flag) {
      while (flag_.test_and_set(std::memory_order_acquire))
        wait();
    }
    ~Hold() { flag_.clear(std::memory_order_release); }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

  private:
    void wait() const {
      for (int turn = 0; flag_.test(std::memory_order_relaxed); ++turn) {
        if (turn > 100) std::this_thread::yield(); // its holder may wait for our core
      }
    }
    std::atomic_flag& flag_;
  };

  mutable std::atomic_flag busy_;
  Pointer value_;
};

} // namespace zoo
