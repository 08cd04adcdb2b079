// SPDX-License-Identifier: Apache-2.0
#include "common/base/error_table.hpp"
#include "common/base/log.hpp"
#include "daemon/app/command_line.hpp"
#include "daemon/app/signals.hpp"
#include "daemon/app/zood.hpp"

#include <exception>

int main(int argc, char** argv) try {
  auto command = zoo::app::parse_command_line(argc, argv);
  if (command.exit_status) return *command.exit_status;
  zoo::app::log_to_journal();
  zoo::app::Signals signals; // before any thread
  auto zood = zoo::app::Zood::start(std::move(command.values), std::move(command.read));
  if (!zood) {
    zoo::log::error("app", "{}", zood.error().text());
    return zoo::error_row(zood.error().code()).exit_status;
  }
  (*zood)->run(signals);
  return 0;
} catch (const std::exception& error) {
  zoo::log::error("app", "cannot go on: {}", error.what());
  return zoo::error_row(zoo::Code::internal).exit_status;
}
