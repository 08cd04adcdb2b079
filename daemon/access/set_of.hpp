// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>

namespace zoo::access {

/// A set of the values of an enumeration that counts from 0 and has at most 32 of them.
template <typename Enum>
class SetOf {
public:
  constexpr SetOf() = default;
  constexpr SetOf(std::initializer_list<Enum> values) {
    for (const auto value : values)
      bits_ |= bit(value);
  }
  /// Every value from the first one to `last`, which is the enumeration's last.
  static constexpr SetOf all(Enum last) {
    SetOf out;
    out.bits_ = bit(last) | (bit(last) - 1);
    return out;
  }
  constexpr bool has(Enum value) const { return (bits_ & bit(value)) != 0; }

private:
  static constexpr std::uint32_t bit(Enum value) {
    return std::uint32_t{1} << static_cast<unsigned>(value);
  }
  std::uint32_t bits_ = 0;
};

} // namespace zoo::access
