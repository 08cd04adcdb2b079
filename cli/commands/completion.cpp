// SPDX-License-Identifier: Apache-2.0
#include "cli/command.hpp"
#include "cli/completion_scripts.hpp"
#include "cli/options.hpp"
#include "common/base/text.hpp"

#include <CLI/CLI.hpp>

#include <array>

namespace zoo::cli {
namespace {

constexpr std::array<std::string_view, 3> k_shells = {"bash", "zsh", "fish"};

struct Completion final : Command {
  std::string shell;

  void define(CLI::App& app) override {
    app.add_option("shell", shell, "The shell: bash, zsh or fish")
        ->type_name("bash|zsh|fish")
        ->required();
    add_examples(app, "  source <(zooctl completion bash)\n"
                      "  zooctl completion zsh > \"${fpath[1]}/_zooctl\"\n"
                      "  zooctl completion fish > ~/.config/fish/completions/zooctl.fish");
  }

  Result<int> run(Context& context) override {
    if (shell == "bash") {
      context.out << k_completion_bash;
    } else if (shell == "zsh") {
      context.out << k_completion_zsh;
    } else if (shell == "fish") {
      context.out << k_completion_fish;
    } else {
      const auto near = text::nearest(shell, k_shells);
      return fail(Code::usage, "there is no completion for '{}'{}", shell,
                  near ? fmt::format(", did you mean '{}'?", *near)
                       : std::string(", only for bash, zsh and fish"));
    }
    return 0;
  }
};

} // namespace

std::unique_ptr<Command> make_completion() { return std::make_unique<Completion>(); }

} // namespace zoo::cli
