// SPDX-License-Identifier: Apache-2.0
#include "cli/door.hpp"
#include "tests/unit/cli/harness.hpp"

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

using namespace zoo;
using namespace zoo::cli;
using namespace zoo::cli::test;

namespace {

std::string socket_for(Globals globals, std::vector<std::string> environment) {
  std::istringstream in;
  std::ostringstream out;
  Context context(in, out, out);
  context.globals = std::move(globals);
  context.environment = std::move(environment);
  const auto door = find_door(context);
  return door ? door->socket : door.error().text();
}

/// Binds a socket; `listening` or left as a process leaves it that was killed.
int bound(const std::string& path, bool listening) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  REQUIRE(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  if (listening) REQUIRE(::listen(fd, 1) == 0);
  return fd;
}

Error explained(const std::string& socket) {
  return explain_socket(socket, Error(Code::unavailable, "as it was"));
}

} // namespace

TEST_CASE("the socket: options win over the environment, the nearest name over the farther") {
  Globals with_dir;
  with_dir.dir = "/d";
  Globals with_socket = with_dir;
  with_socket.socket = "/s";
  CHECK(socket_for(with_socket, {"ZOO_SOCKET=/e", "ZOO_DIR=/f"}) == "/s");
  CHECK(socket_for(with_dir, {"ZOO_SOCKET=/e", "ZOO_DIR=/f"}) == "/d/zood.sock");
  CHECK(socket_for({}, {"ZOO_SOCKET=/e", "ZOO_DIR=/f"}) == "/e");
  CHECK(socket_for({}, {"ZOO_SOCKET=", "ZOO_DIR=/f"}) == "/f/zood.sock");
  CHECK(socket_for({}, {}).ends_with("/zood.sock"));
  with_socket.socket = "unix:///s";
  CHECK(socket_for(with_socket, {}) == "/s");
  CHECK(socket_for({}, {"ZOO_SOCKET=unix:///e"}) == "/e");
  with_socket.socket = "https://h:1";
  CHECK(socket_for(with_socket, {}).find("say --server URL") != std::string::npos);
}

TEST_CASE("a missing, dead, foreign or too long socket: each its own sentence") {
  TemporaryDirectory directory;
  const auto missing = explained((directory / "none.sock").string());
  CHECK(missing.code() == Code::unavailable);
  CHECK(missing.message().find("is zood running?") != std::string::npos);

  const auto dead = (directory / "dead.sock").string();
  ::close(bound(dead, false));
  CHECK(explained(dead).message().find("nobody listens") != std::string::npos);

  const auto plain = (directory / "plain").string();
  std::ofstream(plain) << "x";
  CHECK(explained(plain).message().find("is not a socket") != std::string::npos);

  CHECK(explained("/" + std::string(120, 'x')).message().find("shorter") != std::string::npos);

  const auto alive = (directory / "alive.sock").string();
  const int fd = bound(alive, true);
  CHECK(explained(alive).message() == "as it was");
  ::close(fd);
}

TEST_CASE("a socket that one may not open names the group") {
  if (::geteuid() == 0) {
    MESSAGE("skipped: root may open every socket");
    return;
  }
  TemporaryDirectory directory;
  const auto path = (directory / "closed.sock").string();
  const int fd = bound(path, true);
  REQUIRE(::chmod(path.c_str(), 0) == 0);
  const auto error = explained(path);
  CHECK(error.code() == Code::forbidden);
  CHECK(error.message().find("group zoo") != std::string::npos);
  ::close(fd);
}

TEST_CASE("--server without a kubeconfig says where it was looked for") {
  TemporaryDirectory directory;
  Globals globals;
  globals.dir = directory.path().string();
  globals.server = "https://127.0.0.1:1";
  const auto text = socket_for(globals, {});
  CHECK(text.find("admin.kubeconfig") != std::string::npos);
  CHECK(text.find("--kubeconfig FILE") != std::string::npos);
}

TEST_CASE("--server with a socket, or without TLS, says what is meant before anything is read") {
  TemporaryDirectory directory;
  Globals globals;
  globals.dir = directory.path().string();
  for (const auto* said : {"unix:///run/zood/zood.sock", "/run/zood/zood.sock"}) {
    globals.server = said;
    CHECK(socket_for(globals, {}).find("say --socket /run/zood/zood.sock") != std::string::npos);
  }
  globals.server = "http://127.0.0.1:1";
  CHECK(socket_for(globals, {}).find("must be an https URL, not 'http://127.0.0.1:1'") !=
        std::string::npos);
}
