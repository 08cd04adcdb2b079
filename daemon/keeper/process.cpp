// SPDX-License-Identifier: Apache-2.0
#include "daemon/keeper/process.hpp"

#include "daemon/keeper/fence.hpp"
#include "daemon/keeper/system_text.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>

namespace zoo::keeper {
namespace {

// By their numbers: glibc 2.36 declares these two for C alone.
int open_process(pid_t pid) { return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)); }
void send_signal(int pidfd, int signal) {
  ::syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, 0);
}

/// Field 22 of /proc/PID/stat; nothing if there is no such process. Its name, which may hold
/// anything, ends at the last parenthesis.
std::optional<std::uint64_t> start_time(pid_t pid) {
  // Not file::read(): a file of /proc says that it is empty.
  const file::Fd stat(::open(fmt::format("/proc/{}/stat", pid).c_str(), O_RDONLY | O_CLOEXEC));
  char bytes[2'048];
  const auto size = stat ? ::read(stat.get(), bytes, sizeof(bytes)) : -1;
  if (size <= 0) return std::nullopt;
  const std::string_view text(bytes, static_cast<std::size_t>(size));
  auto at = text.rfind(')');
  if (at == text.npos) return std::nullopt;
  for (int field = 2; field < 22 && at != text.npos; ++field)
    at = text.find(' ', at + 1);
  if (at == text.npos) return std::nullopt;
  std::uint64_t value = 0;
  const auto* begin = text.data() + at + 1;
  const auto parsed = std::from_chars(begin, text.data() + text.size(), value);
  if (parsed.ec != std::errc() || parsed.ptr == begin) return std::nullopt;
  return value;
}

bool same_file(const std::string& path, dev_t device, ino_t inode) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 && status.st_dev == device && status.st_ino == inode;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (const auto& each : texts)
    out.push_back(const_cast<char*>(each.c_str()));
  out.push_back(nullptr);
  return out;
}

/// All that a new process needs to become its program.
struct Start {
  const char* program;
  char* const* arguments;
  char* const* environment;
  const char* directory;
  int log, null, fence, go;
  const User* user; ///< null: the keeper's own
  int programs;     ///< with a user: the directory of `program`, which
  const char* name; ///< has this name there
};

/// What the new process does between fork(2) and its program: only what is safe there
/// (signal-safety(7)). `go` says a byte once the keeper has written down who this is.
[[noreturn]] void become(const Start& start) {
  ::setsid();
  char byte = 0;
  if (::read(start.go, &byte, 1) != 1) ::_exit(0); // the keeper died: nobody would know it
  ::dup2(start.null, 0);
  ::dup2(start.log, 1);
  ::dup2(start.log, 2);
  // With the keeper's rights on files: its own user has no way there.
  if (::chdir(start.directory) != 0) ::_exit(127);
  const FilesAsRoot all_rights;
  // Above all, when memory is short: its data is a tenant's own, and it comes back by itself.
  if (const int score = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC); score >= 0) {
    [[maybe_unused]] const auto written = ::write(score, "300", 3);
    ::close(score);
  }
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  if (start.user != nullptr && !become_user(*start.user)) ::_exit(126);
  if (start.fence >= 0 && !enter_fence(start.fence)) ::_exit(126);
  if (start.user == nullptr) ::execve(start.program, start.arguments, start.environment);
  // Whatever the directories above let that user do.
  else
    ::syscall(SYS_execveat, start.programs, start.name, start.arguments, start.environment, 0);
  ::_exit(127);
}

} // namespace

Result<Process> Process::start(const Options& options,
                               const std::function<Result<void>(const Identity&)>& recorded) {
  struct stat status{};
  if (::stat(options.program.c_str(), &status) != 0)
    return fail(Code::io, "cannot run {}: {}", options.program.string(), reason(errno));
  const file::Fd log(
      ::open(options.log.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!log) return fail(Code::io, "cannot write {}: {}", options.log.string(), reason(errno));
  const file::Fd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail(Code::io, "no pipe: {}", reason(errno));
  file::Fd wait(ends[0]), go(ends[1]);
  const auto arguments = pointers(options.arguments), environment = pointers(options.environment);
  const auto name = options.program.filename().string();
  const file::Fd programs(
      ::open(options.program.parent_path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const auto pid = ::fork();
  if (pid < 0)
    return fail(Code::io, "cannot start {}: {}", options.program.string(), reason(errno));
  if (pid == 0) {
    ::close(go.get()); // so that the keeper's end is the only one, and its death is heard
    become({options.program.c_str(), arguments.data(), environment.data(),
            options.directory.c_str(), log.get(), null.get(), options.fence, wait.get(),
            options.user ? &*options.user : nullptr, programs.get(), name.c_str()});
  }
  Identity identity{pid, start_time(pid).value_or(0), status.st_dev, status.st_ino};
  file::Fd pidfd(open_process(pid));
  Process process(identity, std::move(pidfd), true);
  const auto give_up = [&process](Error error) {
    process.kill_group();
    ::waitpid(process.identity_.pid, nullptr, 0);
    return fail(std::move(error));
  };
  if (!process.pidfd_) return give_up(Error(Code::io, "pidfd_open: " + reason(errno)));
  if (auto done = recorded(identity); !done) return give_up(std::move(done).error());
  if (::write(go.get(), "1", 1) != 1) return give_up(Error(Code::io, "it ended at once"));
  return process;
}

std::optional<Process> Process::adopt(const Identity& identity) {
  if (identity.pid <= 1) return std::nullopt;
  file::Fd pidfd(open_process(identity.pid));
  if (!pidfd) return std::nullopt;
  // In this order: what is read now is of the process that the descriptor means, or that has ended.
  const auto started = start_time(identity.pid);
  if (!started || *started != identity.started) return std::nullopt;
  const auto link = fmt::format("/proc/{}/exe", identity.pid);
  Process process(identity, std::move(pidfd), false);
  if (same_file(link, identity.device, identity.inode)) {
    if (process.ended()) return std::nullopt;
    return process;
  }
  struct stat own{};
  if (::stat("/proc/self/exe", &own) == 0 && same_file(link, own.st_dev, own.st_ino))
    send_signal(process.pidfd_.get(), SIGKILL);
  return std::nullopt;
}

std::optional<std::string> Process::ended() {
  pollfd asked{pidfd_.get(), POLLIN, 0};
  if (::poll(&asked, 1, 0) != 1) return std::nullopt;
  if (!child_) return "an end unseen";
  siginfo_t info{};
  if (::waitid(P_PID, static_cast<id_t>(identity_.pid), &info, WEXITED | WNOHANG) != 0 ||
      info.si_pid == 0)
    return "an end unseen";
  child_ = false;
  return info.si_code == CLD_EXITED ? fmt::format("exit status {}", info.si_status)
                                    : fmt::format("signal {}", info.si_status);
}

void Process::terminate() { send_signal(pidfd_.get(), SIGTERM); }

void Process::kill_group() {
  // The group has the number of its leader, which nobody else gets while the leader is there.
  pollfd asked{pidfd_.get(), POLLIN, 0};
  if (pidfd_ && ::poll(&asked, 1, 0) == 1) return;
  ::kill(-identity_.pid, SIGKILL);
  ::kill(identity_.pid, SIGKILL);
}

} // namespace zoo::keeper
