// SPDX-License-Identifier: Apache-2.0
#include "common/base/file.hpp"
#include "daemon/templates/sandbox.hpp"

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

using namespace zoo;
using namespace zoo::templates;
namespace fs = std::filesystem;

namespace {

/// A directory, and a file beside it that is nobody's to read.
struct Stage {
  Stage() {
    auto name = (fs::temp_directory_path() / "sandbox.XXXXXX").string();
    root = mkdtemp(name.data());
    fs::create_directory(root / "own");
    std::ofstream(root / "key") << "secret";
    std::ofstream(root / "shown") << "shown";
  }
  ~Stage() { fs::remove_all(root); }
  Result<std::string> run(const std::string& script, SandboxLimits limits = {}) const {
    SandboxWish wish;
    wish.program = fs::canonical("/bin/sh");
    wish.arguments = {"-c", script};
    wish.directory = root / "own";
    wish.readable = {root / "shown"};
    wish.environment = {"ROOT=" + root.string()};
    wish.input = "from outside\n";
    wish.limits = limits;
    return run_in_sandbox(wish);
  }
  std::string refused(const std::string& script, SandboxLimits limits = {}) const {
    const auto done = run(script, limits);
    if (done) FAIL("it ran, and said: " << *done);
    return done.error().message();
  }
  fs::path root;
};

bool no_landlock() {
  if (landlock_version() > 0) return false;
  MESSAGE("this kernel has no Landlock: nothing runs in the sandbox");
  return true;
}

} // namespace

TEST_CASE("a program in the sandbox reads what it is shown and writes into its directory") {
  if (no_landlock()) return;
  const Stage stage;
  CHECK(*stage.run("read line; echo $line; read more <$ROOT/shown; echo $more; echo x >f; read f "
                   "<f; echo $f; pwd") ==
        "from outside\nshown\nx\n" + (stage.root / "own").string() + "\n");
}

TEST_CASE("it reads nothing else, has nothing of zood's, and reaches nobody") {
  if (no_landlock()) return;
  const Stage stage;
  setenv("ZOO_TEST_SECRET", "pearl", 1);
  const int inherited = dup(2);
  CHECK(stage.refused("read x <$ROOT/key").find("Permission denied") != std::string::npos);
  CHECK(stage.refused("read x </etc/passwd").find("Permission denied") != std::string::npos);
  CHECK(stage.refused("echo x >$ROOT/other").find("Permission denied") != std::string::npos);
  CHECK(stage.refused("echo x >$ROOT/shown").find("Permission denied") != std::string::npos);
  CHECK(*stage.run("echo \"[$ZOO_TEST_SECRET]\"") == "[]\n");
  CHECK(stage.refused("echo x >&" + std::to_string(inherited)).find("Bad file descriptor") !=
        std::string::npos);
  CHECK(stage.refused("/bin/ls").find("Permission denied") != std::string::npos);
  CHECK(stage.refused("kill -0 $PPID").find("ermitted") != std::string::npos);
  close(inherited);
  unsetenv("ZOO_TEST_SECRET");
}

TEST_CASE("it has only as much of everything as it is given") {
  if (no_landlock()) return;
  const Stage stage;
  SandboxLimits limits;
  limits.wall = std::chrono::milliseconds(300);
  CHECK(stage.refused("while :; do :; done", limits).find("took longer") != std::string::npos);
  limits = {};
  limits.cpu = std::chrono::seconds(1);
  CHECK(stage.refused("while :; do :; done", limits).find("more than 1 s of CPU") !=
        std::string::npos);
  limits = {};
  limits.output = 1'000'000;
  CHECK(stage.refused("while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done",
                      limits) == stage.run("", limits).value_or("") +
                                     fs::canonical("/bin/sh").filename().string() +
                                     " wrote more than 1000000 bytes");
  limits = {};
  limits.file = 1'000;
  CHECK_FALSE(stage.run("while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done >f", limits));
  CHECK(fs::file_size(stage.root / "own" / "f") <= 1'000);
}

TEST_CASE("a failure says what it said last") {
  if (no_landlock()) return;
  const Stage stage;
  CHECK(stage.refused("echo 'no such value' >&2; exit 3") == "no such value");
  CHECK(stage.refused("exit 3") == "it said nothing");
  SandboxWish wish;
  wish.program = "/nowhere/helm";
  wish.directory = stage.root;
  CHECK_FALSE(run_in_sandbox(wish));
}
