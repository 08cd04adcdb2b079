// SPDX-License-Identifier: Apache-2.0
#include "cli/door.hpp"

#include "cli/context.hpp"
#include "common/base/file.hpp"
#include "common/config/config.hpp"
#include "common/kube/kubeconfig.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace zoo::cli {
namespace {

constexpr std::string_view k_default_dir = "/var/lib/zood";
constexpr std::string_view k_service_socket = "/run/zood/zood.sock";

std::string socket_of(std::string_view directory) {
  return (std::filesystem::path(directory) / "zood.sock").string();
}

Door socket_door(std::string path) {
  Door door;
  door.url = "http://zood";
  door.socket = std::move(path);
  return door;
}

constexpr std::string_view k_unix = "unix://"; // as other tools write a socket

Result<std::string> socket_path(std::string_view what, const std::string& said) {
  if (said.starts_with(k_unix)) return said.substr(k_unix.size());
  if (said.starts_with("https://") || said.starts_with("http://"))
    return fail(Code::usage, "{} is a socket's path, not '{}': say --server URL", what, said);
  return said;
}

/// The URL that is asked. `what`: who says it.
Result<std::string> server_url(std::string_view what, const std::string& said) {
  if (said.starts_with(k_unix) || said.starts_with('/')) {
    ZOO_TRY(const auto socket, socket_path(what, said));
    return fail(Code::usage, "{} must be an https URL: for a socket, say --socket {}", what,
                socket);
  }
  auto url = said;
  while (url.ends_with('/'))
    url.pop_back();
  if (url.find("://") == std::string::npos) url.insert(0, "https://");
  if (!url.starts_with("https://"))
    return fail(Code::usage, "{} must be an https URL, not '{}'", what, said);
  return url;
}

/// What --dir and ZOO_DIR say; "": neither.
std::string directory_of(const Context& context) {
  return !context.globals.dir.empty() ? context.globals.dir
                                      : context.env("ZOO_DIR").value_or(std::string());
}

/// The kubeconfig that zood writes for administrators, or the one that --kubeconfig names.
std::filesystem::path administrators_file(const Context& context) {
  if (!context.globals.kubeconfig.empty()) return context.globals.kubeconfig;
  const auto dir = directory_of(context);
  return std::filesystem::path(dir.empty() ? std::string(k_default_dir) : dir) / "admin.kubeconfig";
}

} // namespace

std::string Door::name() const {
  return socket.empty() ? http_client::display_url(url) : fmt::format("the socket {}", socket);
}

Result<std::chrono::milliseconds> option_duration(std::string_view option, std::string_view text) {
  auto span = config::parse_duration(text);
  if (!span) return fail(Code::usage, "{} {}: {}", option, text, span.error().message());
  if (span->count() <= 0) return fail(Code::usage, "{} must be more than zero", option);
  return *span;
}

Result<std::chrono::seconds> option_ttl(std::string_view text) {
  ZOO_TRY(const auto span, option_duration("--ttl", text));
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(span);
  if (seconds.count() == 0) return fail(Code::usage, "--ttl must be one second or more");
  return seconds;
}

Result<http_client::Credentials> administrators_credentials(const Context& context) {
  auto access = kube::load_kubeconfig(administrators_file(context));
  if (!access) {
    return fail(std::move(access).error().context(
        "other zoods are asked by TLS, with an administrator's kubeconfig: name it with "
        "--kubeconfig FILE"));
  }
  return std::move(access->credentials);
}

Result<Door> find_door(const Context& context) {
  const auto& options = context.globals;
  const bool tls = !options.kubeconfig.empty() || !options.server.empty();
  if (tls && !options.socket.empty()) {
    return fail(Code::usage, "--socket excludes --server and --kubeconfig: give one door to zood");
  }
  const auto dir = directory_of(context);
  if (tls) {
    std::optional<std::string> url;
    if (!options.server.empty()) {
      ZOO_TRY(url, server_url("--server", options.server));
    }
    const auto file = administrators_file(context);
    auto access = kube::load_kubeconfig(file);
    if (!access && options.kubeconfig.empty()) {
      return fail(std::move(access).error().context(
          "--server needs an administrator's kubeconfig: name it with --kubeconfig FILE"));
    }
    if (!access) return fail(std::move(access).error());
    if (!url) {
      ZOO_TRY(url, server_url(file.string() + "'s server", access->server));
    }
    Door door;
    door.url = *std::move(url);
    door.credentials = std::move(access->credentials);
    return door;
  }
  if (!options.socket.empty()) {
    ZOO_TRY(auto path, socket_path("--socket", options.socket));
    return socket_door(std::move(path));
  }
  if (!options.dir.empty()) return socket_door(socket_of(options.dir));
  if (const auto socket = context.env("ZOO_SOCKET")) {
    ZOO_TRY(auto path, socket_path("ZOO_SOCKET", *socket));
    return socket_door(std::move(path));
  }
  if (!dir.empty()) return socket_door(socket_of(dir));
  struct stat facts{};
  // Where its directory may not be looked into it is there, and who asks is told so.
  if (::stat(std::string(k_service_socket).c_str(), &facts) == 0 || errno == EACCES) {
    return socket_door(std::string(k_service_socket));
  }
  return socket_door(socket_of(k_default_dir));
}

Error explain_socket(const std::string& socket, Error error) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket.size() >= sizeof address.sun_path) {
    return Error(Code::usage,
                 fmt::format("the socket's path '{}' has {} bytes, and Linux allows {}: use a "
                             "shorter directory",
                             socket, socket.size(), sizeof address.sun_path - 1));
  }
  std::memcpy(address.sun_path, socket.c_str(), socket.size() + 1);
  struct stat facts{};
  if (::stat(socket.c_str(), &facts) == 0 && !S_ISSOCK(facts.st_mode)) {
    return Error(Code::usage,
                 fmt::format("{} is not a socket: name zood's socket with --socket, or its "
                             "directory with --dir",
                             socket));
  }
  const file::Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return error;
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    return error;
  }
  switch (errno) {
  case ENOENT:
  case ENOTDIR:
    return Error(
        Code::unavailable,
        fmt::format("there is no socket {}: is zood running? Start it with "
                    "`systemctl start zood` or `zood --dir DIR --upstream KUBECONFIG`, and "
                    "tell zooctl its directory with --dir DIR or ZOO_DIR",
                    socket));
  case ECONNREFUSED:
    return Error(Code::unavailable,
                 fmt::format("nobody listens on {}: zood stopped without removing it. Start zood "
                             "again, and see its log for why it stopped (`journalctl -u zood`)",
                             socket));
  case EACCES:
  case EPERM:
    return Error(Code::forbidden,
                 fmt::format("you may not open {}: it is for root and members of group zoo. Use "
                             "sudo, or join the group with `sudo usermod -aG zoo $USER` and log in "
                             "again",
                             socket));
  case EAGAIN:
    return Error(Code::unavailable,
                 fmt::format("{} takes no more connections: zood is overloaded or stuck; see "
                             "`systemctl status zood`",
                             socket));
  default:
    return error;
  }
}

} // namespace zoo::cli
