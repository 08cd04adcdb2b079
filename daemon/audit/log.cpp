// SPDX-License-Identifier: Apache-2.0
#include "daemon/audit/log.hpp"

#include "common/base/log.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace zoo::audit {
namespace {

using namespace std::chrono_literals;

constexpr auto k_gather = 20ms; ///< lines that come together are written together
constexpr auto k_retry = 500ms; ///< a file that took nothing is tried again

/// What the journal's socket takes in one piece (unix(7)): else lines of zood's own log, which
/// other threads write, may come in between.
constexpr std::size_t k_piece = 16 * 1024;

/// As many lines as fit in so many bytes, one at least.
std::string_view whole_lines(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  const auto last = most == 0 ? text.npos : text.rfind('\n', most - 1);
  return text.substr(0, (last != text.npos ? last : text.find('\n')) + 1);
}

std::uint64_t count_lines(std::string_view text) {
  std::uint64_t count = 0;
  for (auto at = text.find('\n'); at != text.npos; at = text.find('\n', at + 1))
    ++count;
  return count;
}

} // namespace

std::filesystem::path Log::file(const std::filesystem::path& directory, unsigned number) {
  const auto path = directory / k_file;
  return number == 0 ? path : std::filesystem::path(fmt::format("{}.{}", path.string(), number));
}

Result<std::unique_ptr<Log>> Log::open(Options options) {
  std::unique_ptr<Log> log(new Log(std::move(options)));
  if (log->options_.output == Output::none) return log;
  if (log->to_files()) {
    ZOO_TRY_VOID(file::ensure_private_directory(log->options_.directory));
    ZOO_TRY_VOID(log->open_file());
  }
  log->thread_ = std::jthread([log = log.get()](const std::stop_token& stop) {
    pthread_setname_np(pthread_self(), "audit");
    log->run(stop);
  });
  return log;
}

Log::Log(Options options)
    : options_(std::move(options)), level_(options_.policy.level), policy_(options_.policy) {}

Log::~Log() = default;

void Log::add(const std::optional<api::AuditLevel>& own_level, const Entry& entry) {
  tally_.add(entry);
  const bool audited =
      options_.output != Output::none && wants(own_level.value_or(level_.load()), entry);
  // The same line, for whoever looks at zood's log while he is looking for something.
  const bool shown = log::enabled(LogLevel::debug);
  if (!audited && !shown) return;
  thread_local std::string line;
  line.clear();
  append_line(line, entry, options_.replica);
  if (shown) log::debug("access", "{}", line);
  if (!audited) return;
  line += '\n';
  bool first = false;
  {
    const std::scoped_lock lock(mutex_);
    const auto room =
        policy_.overflow == Overflow::refuse ? options_.queue_bytes * 2 : options_.queue_bytes;
    if (queue_.size() + line.size() > room) {
      ++lost_;
      ++lost_ever_;
      return;
    }
    first = queue_.empty();
    queue_ += line;
    if (queue_.size() >= options_.queue_bytes) full_ = true;
  }
  if (first) wake_.notify_one();
}

bool Log::refuses() {
  if (!full_.load(std::memory_order_relaxed)) return false;
  const std::scoped_lock lock(mutex_);
  if (policy_.overflow != Overflow::refuse || !full_) return false;
  ++refused_;
  return true;
}

void Log::reopen() {
  {
    const std::scoped_lock lock(mutex_);
    reopen_ = true;
  }
  wake_.notify_one();
}

void Log::set_policy(const Policy& policy) {
  const std::scoped_lock lock(mutex_);
  policy_ = policy;
  level_ = policy.level;
}

std::string Log::name() const {
  switch (options_.output) {
  case Output::none:
    return "none";
  case Output::standard_error:
    return "stderr";
  case Output::file:
    return file(options_.directory, 0).string();
  }
  return "none";
}

Policy Log::policy() const {
  const std::scoped_lock lock(mutex_);
  return policy_;
}

Counters Log::counters() const {
  Counters out;
  out.written = written_;
  out.refused = refused_;
  const std::scoped_lock lock(mutex_);
  out.lost = lost_ever_;
  out.waiting = queue_.size();
  out.trouble = trouble_;
  return out;
}

Result<void> Log::open_file() {
  const auto path = file(options_.directory, 0);
  file::Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  struct stat about{};
  if (!fd || ::fstat(fd.get(), &about) != 0) {
    return fail(Code::io, "cannot open {}: {}", path.string(), std::strerror(errno));
  }
  fd_ = std::move(fd);
  size_ = static_cast<std::size_t>(about.st_size);
  torn_ = false;
  if (size_ == 0) return {};
  const file::Fd reader(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  char last = '\n';
  torn_ = reader && ::pread(reader.get(), &last, 1, about.st_size - 1) == 1 && last != '\n';
  return {};
}

Result<std::vector<file::Fd>> Log::open_files(std::chrono::system_clock::time_point since) const {
  const std::scoped_lock lock(names_);
  std::vector<file::Fd> out;
  for (unsigned number = 0;; ++number) {
    const auto path = file(options_.directory, number);
    file::Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!fd && errno == ENOENT) {
      if (number == 0) continue; // moved away a moment ago
      return out;
    }
    struct stat about{};
    if (!fd || ::fstat(fd.get(), &about) != 0)
      return fail(Code::io, "cannot open {}: {}", path.string(), std::strerror(errno));
    // Files' times are whole seconds here, and the clock of the file system may be a little behind.
    if (std::chrono::system_clock::from_time_t(about.st_mtime) + 1s < since) return out;
    out.push_back(std::move(fd));
  }
}

Result<void> Log::rotate(const Policy& policy) {
  const std::scoped_lock lock(names_);
  const unsigned keep = std::max(policy.files, 1U);
  std::error_code error;
  // Those beyond it go too, if the number was lowered.
  for (unsigned number = keep; std::filesystem::remove(file(options_.directory, number), error);
       ++number) {
  }
  // Where there is none now, it was put aside already.
  if (!std::filesystem::exists(file(options_.directory, 0), error)) return open_file();
  if (keep == 1) std::filesystem::remove(file(options_.directory, 0), error);
  // Up to the first number that is free: what could not be finished once is not begun anew, or each
  // attempt would cost the oldest file.
  unsigned free = 1;
  while (free + 1 < keep && std::filesystem::exists(file(options_.directory, free), error))
    ++free;
  for (unsigned number = keep == 1 ? 0 : free; number > 0; --number) {
    const auto from = file(options_.directory, number - 1);
    if (!std::filesystem::exists(from, error)) continue;
    std::filesystem::rename(from, file(options_.directory, number), error);
    if (error) return fail(Code::io, "cannot rename {}: {}", from.string(), error.message());
  }
  fd_ = file::Fd(); // of what has another name now
  return open_file();
}

/// A line that a crash or a full disk tore stays a line of its own.
Result<void> Log::mend() {
  std::size_t written = 0;
  ZOO_TRY_VOID(write_all("\n", written));
  torn_ = false;
  return {};
}

Result<void> Log::write_all(std::string_view bytes, std::size_t& written) {
  const int fd = to_files() ? fd_.get() : STDERR_FILENO;
  while (written < bytes.size()) {
    auto piece = bytes.substr(written);
    if (!to_files()) piece = whole_lines(piece, k_piece);
    const auto done = ::write(fd, piece.data(), piece.size());
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) {
      return fail(Code::io, "cannot write {}: {}",
                  to_files() ? file(options_.directory, 0).string() : "standard error",
                  std::strerror(errno));
    }
    written += static_cast<std::size_t>(done);
    size_ += static_cast<std::size_t>(done);
  }
  return {};
}

void Log::lose(std::uint64_t lines, std::string why) {
  const std::scoped_lock lock(mutex_);
  lost_ += lines;
  lost_ever_ += lines;
  trouble_ = std::move(why);
}

void Log::run(const std::stop_token& stop) {
  std::string batch;
  std::size_t written = 0; ///< of the batch
  std::uint64_t told = 0;  ///< of lost lines, in the batch
  bool troubled = false;
  for (;;) {
    bool reopen = false;
    bool fresh = false;
    {
      std::unique_lock lock(mutex_);
      if (batch.empty()) {
        wake_.wait(lock, stop, [this] { return !queue_.empty() || reopen_; });
        if (!queue_.empty() && !stop.stop_requested())
          wake_.wait_for(lock, stop, k_gather, [] { return false; });
        if (queue_.empty() && !reopen_ && stop.stop_requested()) return;
        batch.swap(queue_);
        full_ = false;
        told = std::exchange(lost_, 0);
        fresh = true;
      } else {
        wake_.wait_for(lock, stop, k_retry, [this] { return reopen_; });
      }
      reopen = std::exchange(reopen_, false);
    }
    const auto policy = this->policy();
    if (fresh && told > 0) {
      batch += fmt::format(
          "{{\"time\":\"{}\",\"lost\":{}}}\n",
          api::rfc3339(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())),
          told);
      log::warning("audit", "{} lines were lost: the log is written more slowly than requests come",
                   told);
    }
    Result<void> done;
    if (reopen) {
      fd_ = file::Fd();
      while (written > 0 && batch[written - 1] != '\n')
        --written; // no line is split over two files
    }
    if (to_files() && !fd_) done = open_file();
    while (done && written < batch.size()) { // a file after the other, where it is many lines
      const bool between_lines = written == 0 || batch[written - 1] == '\n';
      if (to_files() && between_lines && size_ >= policy.file_bytes) done = rotate(policy);
      if (done && torn_) done = mend();
      const auto room = policy.file_bytes - std::min(size_, policy.file_bytes);
      const auto rest = std::string_view(batch).substr(written);
      const auto end = written + (to_files() ? whole_lines(rest, room) : rest).size();
      if (done) done = write_all(std::string_view(batch).substr(0, end), written);
    }
    if (done) {
      written_ += count_lines(batch);
      batch.clear();
      written = 0;
      if (std::exchange(troubled, false)) {
        log::info("audit", "the audit log is written again");
        lose(0, {});
      }
      continue;
    }
    if (!std::exchange(troubled, true)) log::error("audit", "{}", done.error().text());
    if (policy.overflow == Overflow::refuse && !stop.stop_requested()) {
      lose(0, done.error().text());
      continue; // the batch is tried again, and requests wait outside
    }
    {
      const std::scoped_lock lock(mutex_);
      lost_ += told; // nobody has read of them
    }
    lose(count_lines(std::string_view(batch).substr(written)) - (told > 0 ? 1 : 0),
         done.error().text());
    batch.clear();
    written = 0;
    fd_ = file::Fd(); // open_file() sees whether a line is torn
    if (stop.stop_requested()) return;
  }
}

} // namespace zoo::audit
