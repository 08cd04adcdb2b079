// SPDX-License-Identifier: Apache-2.0
#include "daemon/templates/sandbox.hpp"

#include "common/base/text.hpp"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <system_error>
#include <utility>

namespace zoo::templates {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t k_most_words = 16u << 10; ///< of standard error: the last of them are told
constexpr std::size_t k_told = 1'000;
constexpr int k_not_started = 126; ///< exit status of a child that could not be fenced in

#if defined(__x86_64__)
constexpr unsigned k_architecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr unsigned k_architecture = AUDIT_ARCH_AARCH64;
#else
#error "the sandbox does not know this processor's system calls"
#endif

class Descriptor {
public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    reset(std::exchange(other.fd_, -1));
    return *this;
  }
  ~Descriptor() { reset(); }
  int get() const { return fd_; }
  void reset(int fd = -1) {
    if (fd_ >= 0) close(fd_);
    fd_ = fd;
  }

private:
  int fd_ = -1;
};

struct Pipe {
  Descriptor read, write;
};
Result<Pipe> make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return fail(Code::internal, "pipe2: {}", std::strerror(errno));
  return Pipe{Descriptor(ends[0]), Descriptor(ends[1])};
}

// ---- Landlock

/// Of the versions of Landlock: what a ruleset forbids unless a rule allows it.
std::uint64_t handled(int version) {
  std::uint64_t out = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1; // version 1: all up to MAKE_SYM
  constexpr std::uint64_t k_refer = 1ULL << 13, k_truncate = 1ULL << 14, k_ioctl = 1ULL << 15;
  if (version >= 2) out |= k_refer;
  if (version >= 3) out |= k_truncate;
  if (version >= 5) out |= k_ioctl;
  return out;
}

constexpr std::uint64_t k_read = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr std::uint64_t k_run = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_EXECUTE;

Result<void> allow(int ruleset, const std::filesystem::path& path, std::uint64_t access) {
  const Descriptor at(open(path.c_str(), O_PATH | O_CLOEXEC));
  if (at.get() < 0) return fail(Code::invalid, "{}: {}", path.string(), std::strerror(errno));
  struct stat what{};
  if (fstat(at.get(), &what) == 0 && !S_ISDIR(what.st_mode))
    access &= ~std::uint64_t(LANDLOCK_ACCESS_FS_READ_DIR);
  landlock_path_beneath_attr rule{};
  rule.allowed_access = access;
  rule.parent_fd = at.get();
  if (syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) != 0)
    return fail(Code::internal, "landlock_add_rule({}): {}", path.string(), std::strerror(errno));
  return {};
}

Result<Descriptor> fence(const SandboxWish& wish) {
  const int version = landlock_version();
  if (version < 1)
    return fail(Code::unavailable,
                "the kernel has no Landlock (boot it with lsm=landlock,...): no chart is rendered "
                "without");
  struct {
    std::uint64_t handled_access_fs;
  } attributes{handled(version)};
  Descriptor ruleset(
      static_cast<int>(syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0)));
  if (ruleset.get() < 0)
    return fail(Code::internal, "landlock_create_ruleset: {}", std::strerror(errno));
  ZOO_TRY_VOID(allow(ruleset.get(), wish.program, k_run));
  ZOO_TRY_VOID(allow(ruleset.get(), wish.directory,
                     handled(version) & ~std::uint64_t(LANDLOCK_ACCESS_FS_EXECUTE)));
  for (const auto& path : wish.readable)
    ZOO_TRY_VOID(allow(ruleset.get(), path, k_read));
  // The loader and the C library, of a program that is not linked whole.
  for (const auto* path : {"/lib", "/lib64", "/usr/lib", "/etc/ld.so.cache"}) {
    std::error_code missing;
    const auto real = std::filesystem::canonical(path, missing);
    if (!missing) ZOO_TRY_VOID(allow(ruleset.get(), real, k_read | k_run));
  }
  return ruleset;
}

// ---- system calls

/// No sockets but, with the network, those of the internet; nothing that looks into other
/// processes.
std::vector<sock_filter> filter_of(bool network) {
  const auto load = [](std::size_t offset) {
    return sock_filter{BPF_LD | BPF_W | BPF_ABS, 0, 0, static_cast<unsigned>(offset)};
  };
  const auto give = [](unsigned what) { return sock_filter{BPF_RET | BPF_K, 0, 0, what}; };
  const unsigned refuse = SECCOMP_RET_ERRNO | (EPERM & SECCOMP_RET_DATA);
  std::vector<sock_filter> out;
  out.push_back(load(offsetof(seccomp_data, arch)));
  out.push_back({BPF_JMP | BPF_JEQ | BPF_K, 1, 0, k_architecture});
  out.push_back(give(SECCOMP_RET_KILL_PROCESS));
  out.push_back(load(offsetof(seccomp_data, nr)));
  std::vector<long> refused = {SYS_ptrace,
                               SYS_process_vm_readv,
                               SYS_process_vm_writev,
                               SYS_io_uring_setup,
                               SYS_bpf,
                               SYS_keyctl,
                               SYS_add_key,
                               SYS_request_key,
                               SYS_unshare,
                               SYS_setns,
                               SYS_mount,
                               SYS_perf_event_open,
                               SYS_kill,
                               SYS_pidfd_open};
  if (!network) refused.insert(refused.end(), {SYS_socket, SYS_socketpair, SYS_connect});
#if defined(__x86_64__)
  constexpr unsigned k_x32 = 0x40000000;
  out.push_back({BPF_JMP | BPF_JGE | BPF_K, 0, 1, k_x32});
  out.push_back(give(refuse));
#endif
  for (const auto number : refused) {
    out.push_back({BPF_JMP | BPF_JEQ | BPF_K, 0, 1, static_cast<unsigned>(number)});
    out.push_back(give(refuse));
  }
  out.push_back(give(SECCOMP_RET_ALLOW));
  return out;
}

bool limit(int resource, std::size_t most) {
  const rlimit both{most, most};
  return setrlimit(static_cast<__rlimit_resource>(resource), &both) == 0;
}

/// Between fork and exec: nothing here allocates or takes a lock.
struct Child {
  const SandboxLimits& limits;
  const char* program;
  const char* directory;
  char* const* arguments;
  char* const* environment;
  int input, output, words, ruleset;
  sock_fprog filter;
  pid_t parent;

  [[noreturn]] void become() const {
    const bool ready = prepare();
    if (ready) execve(program, arguments, environment);
    constexpr std::string_view k_said = "the sandbox cannot be set up";
    [[maybe_unused]] const auto written = ::write(2, k_said.data(), k_said.size());
    _exit(k_not_started);
  }

  bool prepare() const {
    if (setsid() < 0) return false; // its own group, to be killed as a whole
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent) return false;
    if (dup2(input, 0) < 0 || dup2(output, 1) < 0 || dup2(words, 2) < 0) return false;
    if (chdir(directory) != 0) return false;
    sigset_t none;
    sigemptyset(&none);
    if (sigprocmask(SIG_SETMASK, &none, nullptr) != 0) return false;
    constexpr std::size_t k_files = 128;
    if (!limit(RLIMIT_CPU, static_cast<std::size_t>(limits.cpu.count())) ||
        !limit(RLIMIT_DATA, limits.memory) || !limit(RLIMIT_FSIZE, limits.file) ||
        !limit(RLIMIT_NOFILE, k_files) || !limit(RLIMIT_CORE, 0))
      return false;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
    if (syscall(SYS_landlock_restrict_self, ruleset, 0) != 0) return false;
    if (syscall(SYS_close_range, 3U, ~0U, 0U) != 0) return false;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
  }
};

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (auto& text : texts)
    out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

// ---- the parent

struct Heard {
  std::string output, words;
  bool too_long = false, too_late = false;
};

/// Waits for a child that has closed its outputs. False: it goes on beyond `until`.
bool ends_in_time(pid_t child, Clock::time_point until) {
  const Descriptor process(static_cast<int>(syscall(SYS_pidfd_open, child, 0)));
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
    if (left.count() <= 0) return false;
    pollfd one{process.get(), POLLIN, 0};
    const auto count = poll(&one, 1, static_cast<int>(left.count()));
    if (count > 0) return true;
    if (count < 0 && errno != EINTR) return false;
  }
}

/// Passes the input on and gathers what is said, until the child has ended or a limit is met.
Heard attend(const SandboxWish& wish, pid_t child, Descriptor input, const Descriptor& output,
             const Descriptor& words) {
  Heard heard;
  const auto until = Clock::now() + wish.limits.wall;
  std::string_view rest = wish.input;
  bool out_open = true, words_open = true;
  if (rest.empty()) input.reset();
  while (out_open || words_open) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
    if (left.count() <= 0) {
      heard.too_late = true;
      break;
    }
    std::array<pollfd, 3> wait{{{out_open ? output.get() : -1, POLLIN, 0},
                                {words_open ? words.get() : -1, POLLIN, 0},
                                {input.get(), POLLOUT, 0}}};
    if (poll(wait.data(), wait.size(), static_cast<int>(left.count()) + 1) < 0) {
      if (errno == EINTR) continue;
      break;
    }
    const auto read_some = [](int fd, std::string& into) {
      std::array<char, 65'536> buffer;
      const auto count = read(fd, buffer.data(), buffer.size());
      if (count < 0 && errno == EINTR) return true;
      if (count > 0) into.append(buffer.data(), static_cast<std::size_t>(count));
      return count > 0;
    };
    if (wait[0].revents != 0) out_open = read_some(output.get(), heard.output);
    if (wait[1].revents != 0) words_open = read_some(words.get(), heard.words);
    if (heard.words.size() > k_most_words) heard.words.erase(0, heard.words.size() - k_most_words);
    if (heard.output.size() > wish.limits.output) {
      heard.too_long = true;
      break;
    }
    if (wait[2].revents != 0) {
      const auto count = write(input.get(), rest.data(), rest.size());
      if (count > 0) rest.remove_prefix(static_cast<std::size_t>(count));
      if ((count < 0 && errno != EINTR && errno != EAGAIN) || rest.empty()) input.reset();
    }
  }
  input.reset();
  if (!heard.too_late && !heard.too_long) heard.too_late = !ends_in_time(child, until);
  return heard;
}

std::string last_words(const Heard& heard) {
  std::string_view words = text::trim(heard.words);
  if (words.size() > k_told) words.remove_prefix(words.size() - k_told);
  return words.empty() ? "it said nothing" : std::string(words);
}

} // namespace

int landlock_version() {
  const auto version =
      syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return version < 0 ? 0 : static_cast<int>(version);
}

Result<std::string> run_in_sandbox(const SandboxWish& wish) {
  ZOO_TRY(const auto ruleset, fence(wish));
  ZOO_TRY(auto input, make_pipe());
  ZOO_TRY(auto output, make_pipe());
  ZOO_TRY(auto words, make_pipe());
  fcntl(input.write.get(), F_SETFL, O_NONBLOCK);
  auto arguments = wish.arguments;
  arguments.insert(arguments.begin(), wish.program.filename().string());
  auto environment = wish.environment;
  const auto argv = pointers(arguments), env = pointers(environment);
  const auto program = wish.program.string(), directory = wish.directory.string();
  auto filter = filter_of(wish.network);
  const Child child{wish.limits,
                    program.c_str(),
                    directory.c_str(),
                    argv.data(),
                    env.data(),
                    input.read.get(),
                    output.write.get(),
                    words.write.get(),
                    ruleset.get(),
                    {static_cast<unsigned short>(filter.size()), filter.data()},
                    getpid()};
  const auto id = fork();
  if (id < 0) return fail(Code::internal, "fork: {}", std::strerror(errno));
  if (id == 0) child.become();
  input.read.reset();
  output.write.reset();
  words.write.reset();
  // A write to a program that has ended is an error, and no signal: zood ignores SIGPIPE.
  const auto heard = attend(wish, id, std::move(input.write), output.read, words.read);
  if (heard.too_late || heard.too_long) kill(-id, SIGKILL);
  int status = 0;
  while (waitpid(id, &status, 0) < 0 && errno == EINTR) {
  }
  kill(-id, SIGKILL); // what it has left behind
  const auto name = wish.program.filename().string();
  if (heard.too_late)
    return fail(Code::invalid, "{} took longer than {} s", name,
                std::chrono::duration_cast<std::chrono::seconds>(wish.limits.wall).count());
  if (heard.too_long)
    return fail(Code::invalid, "{} wrote more than {} bytes", name, wish.limits.output);
  if (WIFSIGNALED(status)) {
    const bool cpu = WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL;
    return fail(Code::invalid, "{} was ended by signal {}{}: {}", name, WTERMSIG(status),
                cpu ? fmt::format(" (more than {} s of CPU?)", wish.limits.cpu.count()) : "",
                last_words(heard));
  }
  if (WEXITSTATUS(status) == k_not_started)
    return fail(Code::internal, "{}: {}", name, last_words(heard));
  if (WEXITSTATUS(status) != 0) return fail(Code::invalid, "{}", last_words(heard));
  return heard.output;
}

} // namespace zoo::templates
