// SPDX-License-Identifier: Apache-2.0
#include "common/base/log.hpp"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <memory>

namespace zoo::log {
namespace {

spdlog::level::level_enum level_of(LogLevel level) {
  switch (level) {
  case LogLevel::debug:
    return spdlog::level::debug;
  case LogLevel::info:
    return spdlog::level::info;
  case LogLevel::warning:
    return spdlog::level::warn;
  case LogLevel::error:
    return spdlog::level::err;
  }
  return spdlog::level::info;
}

spdlog::logger& logger() {
  static const auto instance = [] {
    auto made =
        std::make_shared<spdlog::logger>("zoo", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    // journald stamps lines itself and reads the <N> priority prefix (sd-daemon(3)).
    made->set_pattern(getenv("JOURNAL_STREAM") != nullptr ? "%v" : "%Y-%m-%dT%H:%M:%S.%e%z %v");
    made->set_level(spdlog::level::info);
    made->flush_on(spdlog::level::debug);
    return made;
  }();
  return *instance;
}

std::string_view word(LogLevel level) {
  switch (level) {
  case LogLevel::debug:
    return "debug";
  case LogLevel::info:
    return "info";
  case LogLevel::warning:
    return "warning";
  case LogLevel::error:
    return "error";
  }
  return "info";
}

/// One event is one line, whatever bytes a stranger put in it.
std::string escaped(std::string_view line) {
  std::string out;
  out.reserve(line.size());
  for (const char c : line) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out;
}

} // namespace

void set_level(LogLevel level) { logger().set_level(level_of(level)); }

bool set_level(std::string_view name) {
  for (const auto level : {LogLevel::debug, LogLevel::info, LogLevel::warning, LogLevel::error}) {
    if (word(level) == name) {
      set_level(level);
      return true;
    }
  }
  return false;
}

bool enabled(LogLevel level) { return logger().should_log(level_of(level)); }

void write(LogLevel level, std::string_view category, std::string_view line) {
  logger().log(level_of(level), "{:7} {}: {}", word(level), category, escaped(line));
}

} // namespace zoo::log
