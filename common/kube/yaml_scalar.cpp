// SPDX-License-Identifier: Apache-2.0
#include "common/kube/yaml_scalar.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>
#include <system_error>

namespace zoo::kube {
namespace {

using Kind = Scalar::Kind;

constexpr std::string_view k_true[] = {"y",    "Y",    "yes", "Yes", "YES", "true",
                                       "True", "TRUE", "on",  "On",  "ON"};
constexpr std::string_view k_false[] = {"n",     "N",     "no",  "No",  "NO", "false",
                                        "False", "FALSE", "off", "Off", "OFF"};
constexpr std::string_view k_null[] = {"", "~", "null", "Null", "NULL"};
constexpr std::string_view k_infinite[] = {".inf",  ".Inf",  ".INF",  "+.inf", "+.Inf",
                                           "+.INF", "-.inf", "-.Inf", "-.INF"};
constexpr std::string_view k_nan[] = {".nan", ".NaN", ".NAN"};

template <std::size_t Size>
bool one_of(std::string_view text, const std::string_view (&list)[Size]) {
  return std::find(std::begin(list), std::end(list), text) != std::end(list);
}

bool digit(char c) { return c >= '0' && c <= '9'; }

std::size_t digits(std::string_view text, std::size_t from) {
  while (from < text.size() && digit(text[from]))
    ++from;
  return from;
}

/// [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?
struct Decimal {
  bool negative = false;
  std::string_view whole, fraction, exponent; ///< the exponent with its sign
};

std::optional<Decimal> decimal_of(std::string_view text) {
  Decimal out;
  std::size_t at = 0;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) out.negative = text[at++] == '-';
  auto end = digits(text, at);
  out.whole = text.substr(at, end - at);
  at = end;
  if (at < text.size() && text[at] == '.') {
    end = digits(text, ++at);
    out.fraction = text.substr(at, end - at);
    at = end;
  }
  if (out.whole.empty() && out.fraction.empty()) return std::nullopt;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    const auto begin = ++at;
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
    end = digits(text, at);
    if (end == at) return std::nullopt;
    out.exponent = text.substr(begin, end - begin);
    at = end;
  }
  if (at != text.size()) return std::nullopt;
  return out;
}

std::string json_of(const Decimal& number) {
  std::string out = number.negative ? "-" : "";
  const auto first = number.whole.find_first_not_of('0');
  out += first == std::string_view::npos ? std::string_view("0") : number.whole.substr(first);
  if (!number.fraction.empty()) fmt::format_to(std::back_inserter(out), ".{}", number.fraction);
  if (!number.exponent.empty()) fmt::format_to(std::back_inserter(out), "e{}", number.exponent);
  return out;
}

/// Nothing where the number is too large for a double (one too small is zero).
std::optional<double> value_of(const Decimal& number, const std::string& json) {
  double value = 0;
  const auto [end, error] = std::from_chars(json.data(), json.data() + json.size(), value);
  if (error == std::errc()) return value;
  // Too large or too small: where does the first digit that is not zero stand?
  const auto whole = number.whole.find_first_not_of('0');
  const auto fraction = number.fraction.find_first_not_of('0');
  std::int64_t place = 0;
  if (whole != std::string_view::npos) {
    place = static_cast<std::int64_t>(number.whole.size() - whole);
  } else if (fraction != std::string_view::npos) {
    place = -static_cast<std::int64_t>(fraction);
  } else {
    return 0.0;
  }
  constexpr std::int64_t k_far = 1'000'000'000;
  auto text = number.exponent;
  if (text.starts_with('+')) text.remove_prefix(1);
  std::int64_t exponent = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), exponent).ec != std::errc()) {
    exponent = text.starts_with('-') ? -k_far : k_far;
  }
  if (std::clamp(exponent, -k_far, k_far) + place > 0) return std::nullopt;
  return 0.0;
}

/// strconv.FormatFloat(value, 'g', -1, 32), by which sigs.k8s.io/yaml makes keys of decimals.
std::string go_key(double value) {
  const auto narrow = static_cast<float>(value);
  if (narrow > std::numeric_limits<float>::max()) return ".inf";
  if (narrow < std::numeric_limits<float>::lowest()) return "-.inf";
  if (narrow == 0) return std::signbit(narrow) ? "-0" : "0";
  char text[64];
  const auto scientific =
      std::to_chars(text, text + sizeof text, narrow, std::chars_format::scientific);
  const std::string_view shown(text, static_cast<std::size_t>(scientific.ptr - text));
  const auto e = shown.find('e');
  const int exponent = std::atoi(std::string(shown.substr(e + 1)).c_str());
  // The shortest form changes to an exponent as if its precision were six.
  if (exponent < -4 || exponent >= 6) return std::string(shown);
  const auto fixed = std::to_chars(text, text + sizeof text, narrow, std::chars_format::fixed);
  return {text, static_cast<std::size_t>(fixed.ptr - text)};
}

struct Integer {
  bool negative = false;
  std::uint64_t magnitude = 0;
};

/// strconv.ParseInt and ParseUint with base 0 on a text without underscores.
std::optional<Integer> integer_of(std::string_view text) {
  Integer out;
  bool sign = false;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    out.negative = text[0] == '-';
    sign = true;
    text.remove_prefix(1);
  }
  int base = 10;
  if (text.size() > 1 && text[0] == '0') {
    const char letter = static_cast<char>(text[1] | 0x20);
    base = letter == 'x' ? 16 : letter == 'b' ? 2 : 8;
    text.remove_prefix(letter == 'x' || letter == 'b' || letter == 'o' ? 2 : 1);
  }
  // from_chars takes a minus sign only for signed types, and no other prefix.
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), out.magnitude, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  constexpr auto k_half = std::uint64_t{1} << 63;
  if (out.negative && out.magnitude > k_half) return std::nullopt;
  if (sign && !out.negative && out.magnitude >= k_half) return std::nullopt;
  return out;
}

Scalar text_scalar(std::string_view text) { return {Kind::text, {}, std::string(text)}; }

Scalar decimal_scalar(const Decimal& number, std::string_view original) {
  auto json = json_of(number);
  const auto value = value_of(number, json);
  if (!value) return text_scalar(original);
  return {Kind::decimal, std::move(json), go_key(*value)};
}

/// Every underscore stands between two digits.
bool underscores_fit(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') continue;
    if (i == 0 || i + 1 == text.size() || !digit(text[i - 1]) || !digit(text[i + 1])) return false;
  }
  return true;
}

std::string without_underscores(std::string_view text) {
  std::string out(text);
  std::erase(out, '_');
  return out;
}

} // namespace

Scalar resolve_plain(std::string_view text) {
  if (one_of(text, k_null)) return {Kind::null, "null", {}};
  if (one_of(text, k_true)) return {Kind::boolean, "true", "true"};
  if (one_of(text, k_false)) return {Kind::boolean, "false", "false"};
  if (text == "<<") return {Kind::merge, {}, std::string(text)};
  if (one_of(text, k_infinite)) {
    return {Kind::not_finite, {}, text.front() == '-' ? "-.inf" : ".inf"};
  }
  if (one_of(text, k_nan)) return {Kind::not_finite, {}, ".nan"};
  const char first = text.front();
  if (first == '.') {
    if (!underscores_fit(text)) return text_scalar(text);
    const auto plain = without_underscores(text);
    const auto number = decimal_of(plain);
    return number ? decimal_scalar(*number, text) : text_scalar(text);
  }
  if (!digit(first) && first != '-' && first != '+') return text_scalar(text);
  const auto plain = without_underscores(text);
  if (const auto number = integer_of(plain)) {
    const bool minus = number->negative && number->magnitude != 0;
    auto json = fmt::format("{}{}", minus ? "-" : "", number->magnitude);
    // A key above int64 is a uint64 in Go, which sigs.k8s.io/yaml does not take.
    const bool signed_range = number->negative || number->magnitude < (std::uint64_t{1} << 63);
    return {Kind::integer, json, signed_range ? json : std::string()};
  }
  const auto number = decimal_of(plain);
  return number ? decimal_scalar(*number, text) : text_scalar(text);
}

bool reads_as_other(std::string_view text) {
  if (text == "=" || resolve_plain(text).kind != Kind::text) return true;
  const char first = text.front();
  if (!digit(first) && first != '-' && first != '+' && first != '.') return false;
  const auto plain = without_underscores(text);
  if (decimal_of(plain)) return true; // of any size
  const auto unsigned_part = std::string_view(plain).substr(digit(plain[0]) ? 0 : 1);
  if (unsigned_part.size() > 2 && unsigned_part[0] == '0') {
    const char letter = static_cast<char>(unsigned_part[1] | 0x20);
    const auto rest = unsigned_part.substr(2);
    if (letter == 'x' && rest.find_first_not_of("0123456789abcdefABCDEF") == rest.npos) return true;
    if (letter == 'o' && rest.find_first_not_of("01234567") == rest.npos) return true;
    if (letter == 'b' && rest.find_first_not_of("01") == rest.npos) return true;
  }
  // Sexagesimal (12:30:45, 1:30.5), timestamps (2026-01-31...).
  if (plain.find(':') != plain.npos && plain.find_first_not_of("0123456789:.+-") == plain.npos) {
    return true;
  }
  return digits(text, 0) == 4 && text.size() > 4 && text[4] == '-';
}

} // namespace zoo::kube
