// SPDX-License-Identifier: Apache-2.0
#include "cli/kubeconfig_file.hpp"
#include "common/base/file.hpp"
#include "common/kube/kubeconfig.hpp"
#include "tests/unit/cli/harness.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

using namespace zoo;
using namespace zoo::cli;
using namespace zoo::cli::test;
namespace fs = std::filesystem;

namespace {

std::string config_of(const std::string& name) {
  kube::KubeconfigParts parts;
  parts.cluster = "zoo-" + name;
  parts.server = "https://127.0.0.1:7443";
  parts.user = "admin-" + name;
  parts.token = Secret::copy_of("t");
  parts.context = name;
  return kube::write_kubeconfig(parts);
}

unsigned mode_of(const fs::path& path) {
  struct stat facts{};
  REQUIRE(::stat(path.c_str(), &facts) == 0);
  return facts.st_mode & 07777;
}

fs::path default_file(std::vector<std::string> environment) {
  std::istringstream in;
  std::ostringstream out;
  Context context(in, out, out);
  context.environment = std::move(environment);
  const auto file = default_kubeconfig_file(context);
  return file ? *file : fs::path("!" + file.error().message());
}

} // namespace

TEST_CASE("files are 0600 whatever the umask and whatever stood there") {
  TemporaryDirectory directory;
  const auto before = ::umask(0);
  REQUIRE(write_kubeconfig_file(directory / "a", "x").has_value());
  std::ofstream(directory / "b") << "old and longer";
  REQUIRE(::chmod((directory / "b").c_str(), 0644) == 0);
  REQUIRE(write_kubeconfig_file(directory / "b", "x").has_value());
  ::umask(before);
  CHECK(mode_of(directory / "a") == 0600);
  CHECK(mode_of(directory / "b") == 0600);
  CHECK(*file::read(directory / "b") == "x");
}

TEST_CASE("a symbolic link stays one, a pipe is written to, a directory is refused") {
  TemporaryDirectory directory;
  std::ofstream(directory / "real") << "old";
  fs::create_symlink("real", directory / "link");
  fs::create_symlink("later", directory / "dangling");
  REQUIRE(write_kubeconfig_file(directory / "link", "new").has_value());
  REQUIRE(write_kubeconfig_file(directory / "dangling", "new").has_value());
  CHECK(fs::is_symlink(directory / "link"));
  CHECK(fs::is_symlink(directory / "dangling"));
  CHECK(*file::read(directory / "real") == "new");
  CHECK(*file::read(directory / "later") == "new");

  REQUIRE(::mkfifo((directory / "pipe").c_str(), 0600) == 0);
  const file::Fd reader(::open((directory / "pipe").c_str(), O_RDONLY | O_NONBLOCK));
  REQUIRE(write_kubeconfig_file(directory / "pipe", "new").has_value());
  char bytes[8];
  CHECK(::read(reader.get(), bytes, sizeof bytes) == 3);
  CHECK(fs::is_fifo(directory / "pipe"));

  CHECK(write_kubeconfig_file(directory.path(), "x").error().code() == Code::io);
  CHECK_FALSE(write_kubeconfig_file(directory / "none" / "x", "x").has_value());
}

TEST_CASE("merging keeps what was there and switches the context") {
  TemporaryDirectory directory;
  const auto file = directory / "new-directory" / "config";
  REQUIRE(merge_into_file(file, config_of("aaaaaa")).has_value());
  REQUIRE(merge_into_file(file, config_of("123456")).has_value());
  const auto text = *file::read(file);
  CHECK(kube::parse_kubeconfig(text, ".", "aaaaaa").has_value());
  const auto current = kube::parse_kubeconfig(text);
  REQUIRE(current.has_value());
  CHECK(current->context == "123456");
  CHECK(mode_of(file) == 0600);
  CHECK_FALSE(fs::exists(fs::path(file).concat(".lock")));
}

TEST_CASE("what cannot be merged stays as it was") {
  TemporaryDirectory directory;
  const auto file = directory / "config";
  std::ofstream(file) << "clusters: [broken";
  CHECK_FALSE(merge_into_file(file, config_of("aaaaaa")).has_value());
  CHECK(*file::read(file) == "clusters: [broken");
  CHECK_FALSE(fs::exists(fs::path(file).concat(".lock")));

  std::ofstream(fs::path(file).concat(".lock")) << "";
  const auto locked = merge_into_file(file, config_of("aaaaaa"));
  REQUIRE_FALSE(locked.has_value());
  CHECK(locked.error().code() == Code::conflict);
  CHECK(fs::exists(fs::path(file).concat(".lock")));
}

TEST_CASE("the default file is the one kubectl would change") {
  TemporaryDirectory directory;
  const auto there = (directory / "there").string();
  std::ofstream(there) << "";
  CHECK(default_file({"HOME=/h"}) == "/h/.kube/config");
  CHECK(default_file({"HOME=/h", "KUBECONFIG=/a/b"}) == "/a/b");
  CHECK(default_file({"KUBECONFIG=/none:" + there + ":/last"}) == there);
  CHECK(default_file({"KUBECONFIG=/none::/last"}) == "/last");
  CHECK(default_file({}).string().find("-o FILE") != std::string::npos);
}

TEST_CASE("what was connected goes again, and the context before it is current") {
  TemporaryDirectory directory;
  const auto file = directory / "config";
  REQUIRE(merge_into_file(file, config_of("home")).has_value());
  const auto before = *file::read(file);
  const auto connected = connect_in_file(file, config_of("t1"));
  REQUIRE(connected.has_value());
  CHECK(*connected == "t1");
  CHECK(current_context(file).value_or("") == "t1");
  CHECK(kube::parse_kubeconfig(*file::read(file)).has_value());
  REQUIRE(connect_in_file(file, config_of("t2")).has_value());
  REQUIRE(connect_in_file(file, config_of("t2")).has_value()); // once more: t1 was before it

  CHECK(disconnect_in_file(file, "t2").value_or("failed") == "t1");
  CHECK(disconnect_in_file(file, "t1").value_or("failed") == "home");
  CHECK(mode_of(file) == 0600);
  const auto after = *file::read(file);
  CHECK(after == before);
  CHECK(disconnect_in_file(file, "t1").error().code() == Code::not_found);
  const auto foreign = disconnect_in_file(file, "home");
  CHECK(foreign.error().code() == Code::conflict);
  CHECK(foreign.error().message().find("was not made by `zooctl cluster connect`") !=
        std::string::npos);
  CHECK(*file::read(file) == after);
}

TEST_CASE("what others use stays, and what is gone is not gone back to") {
  TemporaryDirectory directory;
  const auto file = directory / "config";
  REQUIRE(connect_in_file(file, config_of("t1")).has_value());
  // Somebody has made a context of his own with the cluster and its user.
  auto text = *file::read(file);
  const auto contexts = text.find("contexts:\n");
  REQUIRE(contexts != std::string::npos);
  text.insert(contexts + 10, "- name: mine\n  context:\n    cluster: zoo-t1\n    user: admin-t1\n");
  REQUIRE(file::write(file, text, 0600).has_value());
  CHECK(disconnect_in_file(file, "t1").value_or("failed").empty());
  CHECK(kube::parse_kubeconfig(*file::read(file), ".", "mine").has_value());
  CHECK_FALSE(kube::parse_kubeconfig(*file::read(file)).has_value()); // none is current

  REQUIRE(connect_in_file(file, config_of("t1")).has_value());
  REQUIRE(connect_in_file(file, config_of("t2")).has_value());
  CHECK(disconnect_in_file(file, "t1").value_or("failed") == "t2"); // it was not current
  CHECK(disconnect_in_file(file, "t2").value_or("failed").empty()); // t1 is not there any more
  CHECK(disconnect_in_file(directory / "none", "t1").error().code() == Code::not_found);
  CHECK_FALSE(fs::exists(directory / "none"));
}

TEST_CASE("connect replaces nothing that somebody else has put there") {
  TemporaryDirectory directory;
  const auto file = directory / "config";
  const std::string of_user = "apiVersion: v1\nkind: Config\ncurrent-context: prod\n";
  struct Case {
    const char* what;
    std::string text;
  };
  const Case cases[] = {
      {"context 't1'", "contexts:\n- name: t1\n  context: {cluster: prod, user: me}\n"},
      {"cluster 'zoo-t1'", "clusters:\n- name: zoo-t1\n  cluster: {server: https://prod:6443}\n"},
      {"user 'admin-t1'", "users:\n- name: admin-t1\n  user: {token: precious}\n"}};
  for (const auto& [what, text] : cases) {
    CAPTURE(what);
    REQUIRE(file::write(file, of_user + text, 0600).has_value());
    const auto refused = connect_in_file(file, config_of("t1"));
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().code() == Code::conflict);
    CHECK(refused.error().message().find(what) != std::string::npos);
    CHECK(*file::read(file) == of_user + text);
    CHECK(connect_in_file(file, config_of("t2")).has_value()); // other names are free
  }
}

TEST_CASE("connect replaces what a version before has put there without a mark") {
  TemporaryDirectory directory;
  const auto file = directory / "config";
  REQUIRE(connect_in_file(file, config_of("t1")).has_value());
  auto text = *file::read(file);
  // The marks of the cluster and of the user; that of the context stays.
  const std::string mark = "zoo.kubezoo.io/connected";
  std::size_t marks = 0;
  for (auto at = text.find(mark); at != std::string::npos; at = text.find(mark), ++marks)
    text.replace(at, mark.size(), "some.other/extension");
  CHECK(marks == 2);
  REQUIRE(file::write(file, text, 0600).has_value());
  CHECK(connect_in_file(file, config_of("t1")).has_value());
}
