// SPDX-License-Identifier: Apache-2.0
#include "common/base/log.hpp"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <utility>

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

/// Which journald reads in front of a line (sd-daemon(3)); it stamps them itself.
std::string_view priority(LogLevel level) {
  if (!to_journal()) return "";
  switch (level) {
  case LogLevel::debug:
    return "<7>";
  case LogLevel::info:
    return "<6>";
  case LogLevel::warning:
    return "<4>";
  case LogLevel::error:
    return "<3>";
  }
  return "<6>";
}

spdlog::logger& logger() {
  static const auto instance = [] {
    auto made =
        std::make_shared<spdlog::logger>("zoo", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern(to_journal() ? "%v" : "%Y-%m-%dT%H:%M:%S.%e%z %v");
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

bool to_journal() {
  static const bool is = [] {
    const char* stream = std::getenv("JOURNAL_STREAM"); // device:inode
    struct stat about{};
    return stream != nullptr && ::fstat(STDERR_FILENO, &about) == 0 &&
           fmt::format("{}:{}", about.st_dev, about.st_ino) == stream;
  }();
  return is;
}

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

std::optional<std::size_t> Seldom::due() {
  constexpr std::int64_t k_apart = 1000;
  const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(
                       std::chrono::steady_clock::now().time_since_epoch())
                       .count();
  if (now < next_) {
    ++left_out_;
    return std::nullopt;
  }
  next_ = now + k_apart;
  return std::exchange(left_out_, 0);
}

void write(LogLevel level, std::string_view category, std::string_view line) {
  logger().log(level_of(level), "{}{:7} {}: {}", priority(level), word(level), category,
               escaped(line));
}

} // namespace zoo::log
