// SPDX-License-Identifier: Apache-2.0
#include "common/kube/quantity.hpp"

#include "common/base/json_text.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace zoo::kube {
namespace {

__extension__ using Int128 = __int128;

constexpr Int128 k_nano = 1'000'000'000;
constexpr int k_nano_digits = 9;
constexpr int k_places = 27; ///< of a fraction: a billionth of an exbibyte's 2^60
constexpr Int128 k_largest_whole = Int128{1'000'000'000} * k_nano * k_nano; // 10^27
constexpr Int128 k_largest = k_largest_whole * k_nano;

struct Suffix {
  std::string_view text;
  int exponent; ///< of 10, or of 2
};
constexpr std::array<Suffix, 10> k_decimal{{{"n", -9},
                                            {"u", -6},
                                            {"m", -3},
                                            {"", 0},
                                            {"k", 3},
                                            {"M", 6},
                                            {"G", 9},
                                            {"T", 12},
                                            {"P", 15},
                                            {"E", 18}}};
constexpr std::array<Suffix, 6> k_binary{
    {{"Ki", 10}, {"Mi", 20}, {"Gi", 30}, {"Ti", 40}, {"Pi", 50}, {"Ei", 60}}};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// nullopt: above the range.
std::optional<Int128> times(Int128 value, Int128 factor) {
  Int128 out = 0;
  if (__builtin_mul_overflow(value, factor, &out) || out > k_largest) return std::nullopt;
  return out;
}

struct Scale {
  Quantity::Format format = Quantity::Format::decimal;
  int ten = 0; ///< exponent of 10
  int two = 0; ///< exponent of 2
};

std::optional<Scale> scale_of(std::string_view suffix) {
  for (const auto& each : k_decimal)
    if (each.text == suffix) return Scale{Quantity::Format::decimal, each.exponent, 0};
  for (const auto& each : k_binary)
    if (each.text == suffix) return Scale{Quantity::Format::binary, 0, each.exponent};
  if (suffix.front() != 'e' && suffix.front() != 'E') return std::nullopt;
  suffix.remove_prefix(1);
  const bool minus = suffix.starts_with('-');
  if (minus || suffix.starts_with('+')) suffix.remove_prefix(1);
  // More digits than these are out of range either way, but for leading zeros.
  if (suffix.empty() || suffix.size() > 3 || !std::all_of(suffix.begin(), suffix.end(), is_digit))
    return std::nullopt;
  int ten = 0;
  for (const char c : suffix)
    ten = ten * 10 + (c - '0');
  return Scale{Quantity::Format::exponent, minus ? -ten : ten, 0};
}

/// The digits of a number without sign, and how many of them stand behind the point.
struct Digits {
  std::string all;
  int behind = 0;
};

} // namespace

Quantity Quantity::of(std::int64_t whole) {
  Quantity out;
  out.nanos_ = whole * k_nano;
  return out;
}

Result<Quantity> Quantity::parse(std::string_view text) {
  const auto bad = [text](std::string_view why) {
    return fail(Code::invalid, "{} is no quantity: {}", json_quote(text.substr(0, 64)), why);
  };
  auto rest = text;
  const bool minus = rest.starts_with('-');
  if (minus || rest.starts_with('+')) rest.remove_prefix(1);
  Digits digits;
  bool point = false;
  while (!rest.empty() && (is_digit(rest.front()) || (rest.front() == '.' && !point))) {
    if (rest.front() == '.') {
      point = true;
    } else {
      digits.all += rest.front();
      if (point) ++digits.behind;
    }
    rest.remove_prefix(1);
  }
  if (digits.all.empty()) return bad("it has no digits");
  const auto scale = scale_of(rest);
  if (!scale) return bad("its suffix is none of n, u, m, k, M, G, T, P, E, Ki to Ei, or eN");

  // Zeros at the end of a fraction change nothing. Digits beyond k_places are too small to be kept:
  // all that matters is whether one of them is not zero, for then the result is rounded away from
  // zero.
  bool finer = false;
  while (digits.behind > 0 && (digits.all.back() == '0' || digits.behind > k_places)) {
    finer = finer || digits.all.back() != '0';
    digits.all.pop_back();
    --digits.behind;
  }
  Int128 value = 0;
  int ten = scale->ten - digits.behind + k_nano_digits;
  for (const char c : digits.all) {
    const auto more = times(value, 10);
    if (!more || *more + (c - '0') > k_largest) return bad("it is above 10^27");
    value = *more + (c - '0');
  }
  for (int i = 0; i < scale->two; ++i) {
    const auto more = times(value, 2);
    if (!more) return bad("it is above 10^27");
    value = *more;
  }
  for (; ten > 0 && value != 0; --ten) {
    const auto more = times(value, 10);
    if (!more) return bad("it is above 10^27");
    value = *more;
  }
  for (; ten < 0 && value != 0; ++ten) {
    finer = finer || value % 10 != 0;
    value /= 10;
  }
  finer = finer || (value == 0 && digits.all.find_first_not_of('0') != std::string::npos);
  if (finer) ++value;
  Quantity out;
  out.nanos_ = minus ? -value : value;
  out.format_ = scale->format;
  return out;
}

std::string Quantity::text() const {
  if (nanos_ == 0) return "0";
  auto value = nanos_;
  auto format = format_;
  const bool whole = value % k_nano == 0;
  if (format == Format::binary && (!whole || (value > -1024 * k_nano && value < 1024 * k_nano)))
    format = Format::decimal;
  std::string suffix;
  if (format == Format::binary) {
    value /= k_nano;
    std::size_t step = 0;
    for (; step < k_binary.size() && value % 1024 == 0; ++step)
      value /= 1024;
    if (step > 0) suffix = k_binary[step - 1].text;
  } else {
    std::size_t step = 0;
    while (step + 1 < k_decimal.size() && value % 1000 == 0) {
      value /= 1000;
      ++step;
    }
    const int exponent = k_decimal[step].exponent;
    if (format == Format::decimal) {
      suffix = k_decimal[step].text;
    } else if (exponent != 0) {
      suffix = "e" + std::to_string(exponent);
    }
  }
  const bool minus = value < 0;
  if (minus) value = -value;
  std::string digits;
  for (; value != 0; value /= 10)
    digits += static_cast<char>('0' + static_cast<int>(value % 10));
  if (minus) digits += '-';
  std::reverse(digits.begin(), digits.end());
  return digits + suffix;
}

Quantity Quantity::rounded_up() const {
  auto out = *this;
  const auto rest = nanos_ % k_nano;
  if (rest > 0) out.nanos_ += k_nano - rest;
  if (rest < 0) out.nanos_ -= k_nano + rest;
  return out;
}

Quantity Quantity::floored(const Quantity& unit) const {
  auto out = *this;
  auto rest = nanos_ % unit.nanos_;
  if (rest < 0) rest += unit.nanos_;
  out.nanos_ -= rest;
  return out;
}

Quantity Quantity::portion(std::int64_t part, std::int64_t of) const {
  auto out = *this;
  // The remainder is below `of`, so that neither product leaves the range.
  out.nanos_ = nanos_ / of * part + nanos_ % of * part / of;
  return out;
}

Quantity& Quantity::operator+=(const Quantity& other) {
  if (nanos_ == 0) format_ = other.format_;
  // Both lie within the range, so that their sum fits.
  nanos_ = std::clamp<Wide>(nanos_ + other.nanos_, -k_largest, k_largest);
  return *this;
}

Quantity& Quantity::operator-=(const Quantity& other) {
  if (nanos_ == 0) format_ = other.format_;
  nanos_ = std::clamp<Wide>(nanos_ - other.nanos_, -k_largest, k_largest);
  return *this;
}

} // namespace zoo::kube
