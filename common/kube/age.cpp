// SPDX-License-Identifier: Apache-2.0
#include "common/kube/age.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <ctime>

namespace zoo::kube {

std::int64_t unix_now() { return static_cast<std::int64_t>(std::time(nullptr)); }

std::string human_duration(std::int64_t seconds) {
  if (seconds < -1) return "<invalid>";
  if (seconds <= 0) return "0s";
  if (seconds < 120) return fmt::format("{}s", seconds);
  const auto two = [](std::int64_t big, const char* unit, std::int64_t small, const char* part) {
    return small == 0 ? fmt::format("{}{}", big, unit)
                      : fmt::format("{}{}{}{}", big, unit, small, part);
  };
  const auto minutes = seconds / 60;
  if (minutes < 10) return two(minutes, "m", seconds % 60, "s");
  if (minutes < 180) return fmt::format("{}m", minutes);
  const auto hours = minutes / 60;
  if (hours < 8) return two(hours, "h", minutes % 60, "m");
  if (hours < 48) return fmt::format("{}h", hours);
  const auto days = hours / 24;
  if (hours < 192) return two(days, "d", hours % 24, "h");
  if (days < 730) return fmt::format("{}d", days);
  const auto years = days / 365;
  return years < 8 ? two(years, "y", days % 365, "d") : fmt::format("{}y", years);
}

std::int64_t unix_seconds(std::string_view text) {
  std::tm time{};
  int used = 0;
  const std::string copy(text);
  if (std::sscanf(copy.c_str(), "%4d-%2d-%2dT%2d:%2d:%2dZ%n", &time.tm_year, &time.tm_mon,
                  &time.tm_mday, &time.tm_hour, &time.tm_min, &time.tm_sec, &used) != 6 ||
      used != static_cast<int>(copy.size()) || copy.empty())
    return -1;
  time.tm_year -= 1900;
  time.tm_mon -= 1;
  return timegm(&time);
}

std::string age_at(std::int64_t now, std::int64_t created) {
  return created < 0 ? "<unknown>" : human_duration(now - created);
}

} // namespace zoo::kube
