// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/api/tenant.hpp"
#include "common/base/file.hpp"
#include "common/base/result.hpp"
#include "daemon/audit/entry.hpp"
#include "daemon/audit/tally.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace zoo::audit {

enum class Output { none, file, standard_error };
enum class Overflow {
  drop,   ///< lines that find no room are counted and lost
  refuse, ///< requests are answered 503 until there is room
};

/// What may change while zood runs.
struct Policy {
  api::AuditLevel level = api::AuditLevel::all; ///< of tenants that have none of their own
  Overflow overflow = Overflow::drop;
  std::size_t file_bytes = 64u << 20; ///< a file that is larger is put aside: audit.log.1, .2, ...
  unsigned files = 8;                 ///< of these, audit.log itself included; the oldest go
};

struct Options {
  Output output = Output::none;
  std::filesystem::path directory; ///< made with mode 0700; files are 0600
  Policy policy;
  std::size_t queue_bytes = 4u << 20; ///< of lines that wait; twice that where requests are refused
  /// Where standard error is the journal: what finds this program's lines there: matches of
  /// sd_journal_add_match(3), all of which must hold, with blanks between.
  std::string journal;
  std::string replica{}; ///< stands in each line; "": zood has its store for itself
};

struct Counters {
  std::uint64_t written = 0; ///< lines
  std::uint64_t lost = 0;    ///< found no room, or the file took none
  std::uint64_t refused = 0; ///< requests, for want of room
  std::size_t waiting = 0;   ///< bytes
  std::string trouble;       ///< why the file takes nothing; "" while it does
};

/// The audit log: lines from any thread into a bounded queue, from there by the thread "audit" to
/// files or to standard error (journald). Nothing here waits for a disk but that thread. A line
/// that was lost is told of in the log itself ({"time":..., "lost":N}) and in zood's own.
class Log {
public:
  /// Code::io if the directory or the file cannot be made.
  static Result<std::unique_ptr<Log>> open(Options options);
  ~Log(); ///< what waits is written first
  Log(const Log&) = delete;

  /// Any thread; never blocks for long. Writes it if this level, or zood's, asks for it.
  void add(const std::optional<api::AuditLevel>& own_level, const Entry& entry);
  /// Must a request be refused now, because its line would find no room? Counts it.
  bool refuses();

  void reopen(); ///< the file was moved away (SIGHUP): go on in a new one
  void set_policy(const Policy& policy);
  Counters counters() const;
  const Tally& tally() const { return tally_; } ///< of all that was told, written or not
  std::string name() const;                     ///< "none", "stderr", or the file's path
  /// Options::journal, if lines go to standard error.
  std::string_view journal() const {
    return options_.output == Output::standard_error ? std::string_view(options_.journal) : "";
  }
  bool to_files() const { return options_.output == Output::file; }

  /// The files that were written since then, for reading, the newest first; each once and none
  /// missing, for nothing is put aside meanwhile. Any thread; Code::io. What others rename
  /// meanwhile it cannot know.
  Result<std::vector<file::Fd>> open_files(std::chrono::system_clock::time_point since) const;

  static constexpr std::string_view k_file = "audit.log";
  static std::filesystem::path file(const std::filesystem::path& directory, unsigned number);

private:
  explicit Log(Options options);
  void run(const std::stop_token& stop);
  Policy policy() const;
  Result<void> open_file();
  Result<void> mend();
  Result<void> rotate(const Policy& policy);
  Result<void> write_all(std::string_view bytes, std::size_t& written);
  void lose(std::uint64_t lines, std::string why);

  const Options options_;
  Tally tally_;
  std::atomic<api::AuditLevel> level_;
  std::atomic<bool> full_{false};
  std::atomic<std::uint64_t> written_{0}, refused_{0};

  mutable std::mutex mutex_;
  std::condition_variable_any wake_;
  Policy policy_;          // below: under mutex_
  std::string queue_;      ///< whole lines
  std::uint64_t lost_ = 0; ///< not told of yet
  std::uint64_t lost_ever_ = 0;
  bool reopen_ = false;
  std::string trouble_;

  mutable std::mutex names_; ///< held while files are renamed; never together with mutex_

  file::Fd fd_; // below: the thread's alone
  std::size_t size_ = 0;
  bool torn_ = false;   ///< the file ends within a line
  std::jthread thread_; // last: ends first
};

} // namespace zoo::audit
