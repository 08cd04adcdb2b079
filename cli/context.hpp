// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/admin_client.hpp"
#include "common/base/result.hpp"

#include <chrono>
#include <functional>
#include <istream>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace zoo::cli {

/// What is known of the terminal: progress goes to standard error, colours to standard output.
struct Terminal {
  bool out = false, err = false;
};

/// The options that every command has; cli/app.cpp defines them.
struct Globals {
  std::string dir, socket, server, kubeconfig;
  std::string request_timeout = "30s";
  bool request_timeout_given = false;
  bool quiet = false;
};

/// A program to become (execve): nothing of zooctl is left afterwards.
struct Program {
  std::string path;
  std::vector<std::string> arguments;   ///< argv, from argv[0] on
  std::vector<std::string> environment; ///< "NAME=value", the whole of it
};

/// All that a command touches of the world, so that it runs the same in a test. No globals stand
/// behind it. One thread.
class Context {
public:
  Context(std::istream& input, std::ostream& output, std::ostream& errors)
      : in(input), out(output), err(errors) {}

  std::istream& in;
  std::ostream& out; ///< results
  std::ostream& err; ///< words

  std::vector<std::string> environment; ///< "NAME=value"
  Terminal terminal;
  Globals globals;

  /// The clocks, and sleeping by the second one.
  std::function<std::chrono::system_clock::time_point()> now;
  std::function<std::chrono::steady_clock::time_point()> steady;
  std::function<void(std::chrono::milliseconds)> pause;

  /// Makes the connection; replaced in tests.
  std::function<std::unique_ptr<Transport>(http_client::Credentials)> connect;
  /// Returns only on failure.
  std::function<Error(const Program&)> execute;

  /// Before client(), where zood asks an upstream that may hang: unless the user says how long,
  /// zooctl waits longer than zood does.
  void patient();
  /// The client of the door that the options name (door.hpp); made at the first call.
  Result<AdminClient*> client();
  /// A client of that door, with the same timeout.
  Result<std::unique_ptr<AdminClient>> client_of(Door door);

  /// The value of an environment variable; empty ones count as not set.
  std::optional<std::string> env(std::string_view name) const;
  bool colours() const; ///< standard output is a terminal and NO_COLOR (no-color.org) is not set

  /// A line of words on standard error; --quiet silences it.
  void say(std::string_view words);
  /// The same, on a terminal only: what one might do next.
  void hint(std::string_view words);

  bool printed = false; ///< a record: what comes next is another one

private:
  std::unique_ptr<AdminClient> client_;
};

/// The context of a real process: clocks, environment, terminal, libcurl, execve.
void connect_to_process(Context& context);

} // namespace zoo::cli
