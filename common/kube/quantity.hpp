// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace zoo::kube {

/// A number as Kubernetes writes it in resource lists: "500m", "1Gi", "2e3"
/// (k8s.io/apimachinery pkg/api/resource). Exact down to a billionth; what is finer is rounded away
/// from zero, as there. A sum that leaves the range stays at its end. A value; any thread.
class Quantity {
public:
  /// How the number was written, which is how its text is made.
  enum class Format : std::uint8_t { decimal, binary, exponent };

  constexpr Quantity() = default; ///< zero
  static Quantity of(std::int64_t whole);
  /// Code::invalid, naming the text: no number, an unknown suffix, or above 10^27.
  static Result<Quantity> parse(std::string_view text);

  /// The canonical text: no fraction, the largest suffix that keeps it whole.
  std::string text() const;

  bool zero() const { return nanos_ == 0; }
  bool negative() const { return nanos_ < 0; }
  /// The next whole number, away from zero.
  Quantity rounded_up() const;
  /// The largest multiple of `unit`, which is above zero, that is not above this one.
  Quantity floored(const Quantity& unit) const;
  /// This times `part` divided by `of`, rounded down to a billionth. `part` is at most `of`.
  Quantity portion(std::int64_t part, std::int64_t of) const;

  /// Zero takes the other one's format.
  Quantity& operator+=(const Quantity& other);
  Quantity& operator-=(const Quantity& other);
  friend Quantity operator+(Quantity a, const Quantity& b) { return a += b; }
  friend Quantity operator-(Quantity a, const Quantity& b) { return a -= b; }
  /// By value: "1000m" equals "1".
  friend bool operator==(const Quantity& a, const Quantity& b) { return a.nanos_ == b.nanos_; }
  friend std::strong_ordering operator<=>(const Quantity& a, const Quantity& b) {
    return a.nanos_ < b.nanos_   ? std::strong_ordering::less
           : a.nanos_ > b.nanos_ ? std::strong_ordering::greater
                                 : std::strong_ordering::equal;
  }

private:
  __extension__ using Wide = __int128;
  Wide nanos_ = 0; ///< in billionths
  Format format_ = Format::decimal;
};

} // namespace zoo::kube
