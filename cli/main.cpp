// SPDX-License-Identifier: Apache-2.0
#include "cli/app.hpp"
#include "cli/output/fd_stream.hpp"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <iostream>

int main(int count, char** arguments) {
  // Connections are closed by zood at any time; for standard output see below.
  ::signal(SIGPIPE, SIG_IGN);
  int status = 70;
  int failure = 0;
  try {
    zoo::cli::FdStream out(STDOUT_FILENO);
    zoo::cli::Context context(std::cin, out, std::cerr);
    zoo::cli::connect_to_process(context);
    status = zoo::cli::run({arguments + (count > 0 ? 1 : 0), arguments + count}, context);
    out.flush();
    failure = out.failure();
  } catch (const std::exception& error) {
    std::cerr << "zooctl: this is a bug: " << error.what() << '\n';
    return 70;
  }
  if (failure == EPIPE) {
    // Whoever read the output has seen enough: end as other programs do, without a word.
    ::signal(SIGPIPE, SIG_DFL);
    ::raise(SIGPIPE);
  }
  if (failure != 0) {
    std::cerr << "zooctl: cannot write to standard output: " << std::strerror(failure) << '\n';
    return 74;
  }
  return status;
}
