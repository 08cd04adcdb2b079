// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/net/loop.hpp"

#include <chrono>
#include <functional>
#include <utility>

namespace zoo::clusters::sync {

/// Something that is heard, or not, and not worth a word while it is not heard for a moment: a
/// watch ends now and then, and is opened again. At first it is not heard. Made, used and destroyed
/// on the loop's thread.
class Absence {
public:
  /// `told`: it was not heard for that long (true), or is heard again after that (false).
  Absence(net::Loop& loop, std::chrono::milliseconds patience, std::function<void(bool away)> told)
      : patience_(patience), told_(std::move(told)), timer_(loop) {
    wait();
  }
  Absence(const Absence&) = delete;

  void heard(bool now) {
    if (!now) return waits_ || away_ ? void() : wait();
    timer_.cancel();
    waits_ = false;
    if (std::exchange(away_, false)) told_(false);
  }

private:
  void wait() {
    waits_ = true;
    timer_.start(patience_, [this] {
      waits_ = false;
      away_ = true;
      told_(true);
    });
  }

  const std::chrono::milliseconds patience_;
  const std::function<void(bool away)> told_;
  net::Timer timer_;
  bool waits_ = false, away_ = false;
};

} // namespace zoo::clusters::sync
