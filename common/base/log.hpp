// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/error_table.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

/// Logging for both programs: `log::info("tenants", "tenant {} is Ready", id);` - a category, then
/// a format string of ours; a stranger's bytes are only ever an argument, and control characters
/// in the finished line are escaped in one place. Goes to standard error (journald adds the time;
/// a terminal gets one). Any thread.
namespace zoo::log {

/// "debug", "info", "warning" or "error"; false if the name is none of them.
bool set_level(std::string_view name);
void set_level(LogLevel level);
bool enabled(LogLevel level);

/// Of the journal (systemd.journal-fields(7)): a name of A-Z, 0-9 and "_", and any value.
struct Field {
  std::string_view name, value;
};
using Fields = std::span<const Field>;

/// Writes the finished line. Use the templates below. `fields` go to the journal alone; the line
/// says what they do. Empty ones are left out.
void write(LogLevel level, std::string_view category, std::string_view line, Fields fields = {});

/// Who takes lines with their fields instead of standard error: the journal. False: it could not,
/// and standard error has the line. Set before other threads are started; any thread then.
using Journal = bool (*)(LogLevel level, std::string_view category, std::string_view line,
                         Fields fields);
void set_journal(Journal journal);

/// Is standard error the journal (JOURNAL_STREAM, systemd.exec(5))? As it was at the first call.
bool to_journal();

/// Of what many meet alike a line a second. A value for one thread.
class Seldom {
public:
  /// How many were left out since the last line; nullopt: too early for one, and this is counted.
  std::optional<std::size_t> due();

private:
  std::int64_t next_ = 0; ///< milliseconds of the steady clock
  std::size_t left_out_ = 0;
};

template <class... Args>
void at(LogLevel level, std::string_view category, fmt::format_string<Args...> form,
        Args&&... args) {
  if (enabled(level)) write(level, category, fmt::format(form, std::forward<Args>(args)...));
}
template <class... Args>
void debug(std::string_view category, fmt::format_string<Args...> form, Args&&... args) {
  at(LogLevel::debug, category, form, std::forward<Args>(args)...);
}
template <class... Args>
void info(std::string_view category, fmt::format_string<Args...> form, Args&&... args) {
  at(LogLevel::info, category, form, std::forward<Args>(args)...);
}
template <class... Args>
void warning(std::string_view category, fmt::format_string<Args...> form, Args&&... args) {
  at(LogLevel::warning, category, form, std::forward<Args>(args)...);
}
template <class... Args>
void error(std::string_view category, fmt::format_string<Args...> form, Args&&... args) {
  at(LogLevel::error, category, form, std::forward<Args>(args)...);
}

} // namespace zoo::log
