// SPDX-License-Identifier: Apache-2.0
#include "common/base/error_table.hpp"
#include "common/base/file.hpp"
#include "tests/unit/cli/harness.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

using namespace zoo;
using namespace zoo::cli::test;
using nlohmann::json;

namespace {

std::string source(const std::string& name) {
  const auto text = file::read(std::filesystem::path(ZOO_SOURCE_DIR) / name);
  REQUIRE_MESSAGE(text.has_value(), name);
  return *text;
}

std::string page(const std::string& name) {
  Zooctl zooctl;
  const auto outcome =
      zooctl({"__dump", "--man",
              (std::filesystem::path(ZOO_SOURCE_DIR) / "man" / (name + ".scd")).string()});
  CAPTURE(outcome.err);
  REQUIRE(outcome.status == 0);
  return outcome.out;
}

void check_options(const json& command, const std::string& text) {
  for (const auto& option : command["options"]) {
    for (const auto& name : option["names"]) {
      CAPTURE(name);
      CHECK(text.find(fmt::format("*{}*", name.get<std::string>())) != std::string::npos);
    }
    CHECK_FALSE(option["summary"].get<std::string>().empty());
  }
}

} // namespace

TEST_CASE("every command and option is in a manual page") {
  Zooctl zooctl;
  const auto dump = json::parse(zooctl({"__dump"}).out);
  const auto top = page("zooctl.1");
  check_options(dump, top);
  std::size_t commands = 0;
  for (const auto& command : dump["commands"]) {
    const auto name = command["name"].get<std::string>();
    CAPTURE(name);
    CHECK(top.find("## zooctl " + name) != std::string::npos);
    check_options(command, top);
    if (command["commands"].empty()) continue;
    const auto group = page("zooctl-" + name + ".1");
    for (const auto& each : command["commands"]) {
      ++commands;
      CHECK(group.find(fmt::format("## zooctl {} {}", name, each["name"].get<std::string>())) !=
            std::string::npos);
      check_options(each, group);
    }
  }
  CHECK(commands == 60);
}

TEST_CASE("zooctl(1) has every exit status, docs/errors.md every row of the error table") {
  const auto man = page("zooctl.1");
  const auto doc = source("docs/errors.md");
  for (const auto& row : error_table()) {
    CHECK(man.find(fmt::format("*{}*\n", row.exit_status)) != std::string::npos);
    const auto line = fmt::format("| {} | {} | {} | {} |", row.name, row.exit_status,
                                  row.http_status, row.reason);
    CAPTURE(line);
    CHECK(doc.find(line) != std::string::npos);
  }
}

TEST_CASE("zood.yaml(5) has the keys of the table; a wrong marker is refused") {
  CHECK(page("zood.yaml.5").find("*upstream.kubeconfig*") != std::string::npos);
  TemporaryDirectory directory;
  REQUIRE(file::write(directory / "x.scd", "@NONSENSE@\n", 0600).has_value());
  Zooctl zooctl;
  CHECK(zooctl({"__dump", "--man", (directory / "x.scd").string()}).status == 70);
}

TEST_CASE("completion scripts are those of completions/, and short") {
  Zooctl zooctl;
  for (const auto& [shell, name] : std::vector<std::pair<std::string, std::string>>{
           {"bash", "zooctl.bash"}, {"zsh", "_zooctl"}, {"fish", "zooctl.fish"}}) {
    const auto text = source("completions/" + name);
    CHECK(zooctl({"completion", shell}).out == text);
    CHECK(std::count(text.begin(), text.end(), '\n') <= 40);
  }
}
