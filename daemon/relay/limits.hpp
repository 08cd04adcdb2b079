// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>

namespace zoo::relay {

/// What the relay may cost (docs/limits.md). Sizes in bytes.
struct Limits {
  std::size_t review = std::size_t{3} << 20; ///< that upstream sends: kube-apiserver's own limit
  std::size_t answer = std::size_t{3} << 20; ///< of a webhook, and what becomes of it
  std::size_t calls = 256;                   ///< in progress; more are answered 503
  std::size_t calls_of_one = 64;             ///< of one tenant; more are answered 429
  std::size_t held = std::size_t{64} << 20;  ///< reviews in progress, as they came
  std::size_t held_of_one = std::size_t{16} << 20;
  std::size_t tunnels = 1'024; ///< to pods; more wait, and the longest idle ones are closed
  std::size_t tunnels_of_one = 64;
  std::size_t tunnels_of_hook = 4;
  std::chrono::milliseconds idle{60'000};  ///< that a tunnel is kept for the next call
  std::chrono::milliseconds known{10'000}; ///< that the pods of a Service are believed
  /// A failure, and how old what is doubted must be before upstream is asked again.
  std::chrono::milliseconds doubted{1'000};
  std::size_t hooks = 4'096; ///< webhooks that are remembered
  /// What a webhook's time is shortened by, so that upstream hears why before it gives up; and the
  /// least that is left of it.
  std::chrono::milliseconds reserve{500}, least{500};
};

} // namespace zoo::relay
