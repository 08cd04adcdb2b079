// SPDX-License-Identifier: Apache-2.0
#include "daemon/keeper/client.hpp"

#include "common/base/file.hpp"
#include "daemon/keeper/system_text.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

extern char** environ;

namespace zoo::keeper {
namespace {

constexpr std::chrono::seconds k_answer_patience{10};
constexpr int k_look = 200; ///< milliseconds between two looks at a stop token

Result<file::Fd> connect_to(const std::filesystem::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.native().size() >= sizeof(address.sun_path))
    return fail(Code::io, "{} is too long for the path of a socket", path.string());
  std::memcpy(address.sun_path, path.c_str(), path.native().size());
  file::Fd out(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval patience{k_answer_patience.count(), 0};
  ::setsockopt(out.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  if (!out || ::connect(out.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0)
    return fail(Code::unavailable, "the keeper of control planes does not answer on {}: {}",
                path.string(), reason(errno));
  return out;
}

Result<void> send_all(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto size = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0)
      return fail(Code::unavailable, "the keeper of control planes is gone: {}", reason(errno));
    bytes.remove_prefix(static_cast<std::size_t>(size));
  }
  return {};
}

/// The next line; nothing after `milliseconds` of silence. Code::unavailable at the end.
Result<std::optional<std::string>> next_line(int socket, LineReader& lines, int milliseconds) {
  for (;;) {
    if (auto line = lines.next()) return line;
    pollfd asked{socket, POLLIN, 0};
    const auto some = ::poll(&asked, 1, milliseconds);
    if (some == 0) return std::optional<std::string>();
    if (some < 0) continue;
    char bytes[16 * 1024];
    const auto size = ::recv(socket, bytes, sizeof(bytes), 0);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return fail(Code::unavailable, "the keeper of control planes is gone");
    // An answer with all states may be longer than a request.
    if (!lines.add({bytes, static_cast<std::size_t>(size)}))
      return fail(Code::internal, "the keeper of control planes says too much");
  }
}

} // namespace

Result<Reply> Client::ask(const Request& request) const {
  ZOO_TRY(const auto socket, connect_to(socket_));
  ZOO_TRY_VOID(send_all(socket.get(), text_of(request)));
  LineReader lines;
  ZOO_TRY(const auto line,
          next_line(socket.get(), lines, static_cast<int>(k_answer_patience.count()) * 1000));
  if (!line) return fail(Code::unavailable, "the keeper of control planes is silent");
  ZOO_TRY(auto reply, reply_of(*line));
  if (reply.error) return fail(*std::move(reply.error));
  return reply;
}

Result<void> Client::watch(const std::stop_token& stop,
                           const std::function<void(const PlanState&, bool)>& each) const {
  ZOO_TRY(const auto socket, connect_to(socket_));
  Request request;
  request.verb = Request::Verb::watch;
  ZOO_TRY_VOID(send_all(socket.get(), text_of(request)));
  LineReader lines;
  while (!stop.stop_requested()) {
    ZOO_TRY(const auto line, next_line(socket.get(), lines, k_look));
    if (!line) continue;
    ZOO_TRY(const auto reply, reply_of(*line));
    for (const auto& state : reply.states)
      each(state, reply.removed);
  }
  return {};
}

Result<void> start_keeper(const std::filesystem::path& directory,
                          const std::filesystem::path& binaries, std::uint32_t uid_base) {
  ZOO_TRY_VOID(file::ensure_private_directory(directory));
  const std::vector<std::string> arguments = {"zood",
                                              "--keeper",
                                              "--detach",
                                              "--dir",
                                              directory.parent_path().string(),
                                              "--binaries",
                                              binaries.string(),
                                              "--uid-base",
                                              std::to_string(uid_base)};
  std::vector<char*> pointers;
  for (const auto& each : arguments)
    pointers.push_back(const_cast<char*>(each.c_str()));
  pointers.push_back(nullptr);
  const auto log = directory / "keeper.log";
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, 1, log.c_str(),
                                     O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0600);
  ::posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t pid = 0;
  const auto error =
      ::posix_spawn(&pid, "/proc/self/exe", &actions, nullptr, pointers.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return fail(Code::io, "cannot start the keeper: {}", reason(error));
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return fail(Code::io, "the keeper of control planes cannot start: see {}", log.string());
  return {};
}

} // namespace zoo::keeper
