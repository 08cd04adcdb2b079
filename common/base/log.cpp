// SPDX-License-Identifier: Apache-2.0
#include "common/base/log.hpp"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <utility>

namespace zoo::log {
namespace {

struct Row {
  LogLevel level;
  spdlog::level::level_enum spdlogs;
  std::string_view word;
  std::string_view priority; ///< read by journald in front of a line (sd-daemon(3))
};
constexpr std::array<Row, 4> k_rows{{
    {LogLevel::debug, spdlog::level::debug, "debug", "<7>"},
    {LogLevel::info, spdlog::level::info, "info", "<6>"},
    {LogLevel::warning, spdlog::level::warn, "warning", "<4>"},
    {LogLevel::error, spdlog::level::err, "error", "<3>"},
}};

const Row& row(LogLevel level) {
  const auto* found = std::find_if(k_rows.begin(), k_rows.end(),
                                   [level](const Row& each) { return each.level == level; });
  return found == k_rows.end() ? k_rows[1] : *found;
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

void set_level(LogLevel level) { logger().set_level(row(level).spdlogs); }

bool set_level(std::string_view name) {
  for (const auto& each : k_rows) {
    if (each.word == name) {
      set_level(each.level);
      return true;
    }
  }
  return false;
}

bool enabled(LogLevel level) { return logger().should_log(row(level).spdlogs); }

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

namespace {
Journal journal_of_all = nullptr; // set before threads are;
} // namespace

void set_journal(Journal journal) { journal_of_all = journal; }

void write(LogLevel level, std::string_view category, std::string_view line, Fields fields) {
  const auto& how = row(level);
  if (!logger().should_log(how.spdlogs)) return;
  if (journal_of_all != nullptr && journal_of_all(level, category, escaped(line), fields)) return;
  logger().log(how.spdlogs, "{}{:7} {}: {}", to_journal() ? how.priority : "", how.word, category,
               escaped(line));
}

} // namespace zoo::log
