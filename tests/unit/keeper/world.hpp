// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/keeper/group.hpp"
#include "tests/unit/base/temporary_directory.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

/// A directory with "programs": Python under names of components, which listen where they are told.
namespace zoo::test {

struct KeeperWorld {
  TemporaryDirectory directory;
  std::filesystem::path binaries = directory.path() / "binaries";

  KeeperWorld() {
    const auto python = std::filesystem::canonical("/usr/bin/python3");
    for (const auto* version : {"1.0.0", "1.0.1"}) {
      std::filesystem::create_directories(binaries / version);
      for (const auto* name : {"etcd", "kube-apiserver", "kube-scheduler"})
        std::filesystem::create_symlink(python, binaries / version / name);
    }
  }

  /// A component that listens on a port of an address of this test process's own.
  static keeper::Component listener(std::string name, std::vector<std::string> after = {}) {
    const auto number = static_cast<unsigned>(::getpid());
    keeper::Component out;
    out.name = std::move(name);
    out.arguments = {"-c", "import socket,sys\n"
                           "print('listens', flush=True)\n"
                           "s=socket.create_server((sys.argv[1],int(sys.argv[2])))\n"
                           "while True: s.accept()\n"};
    out.address = fmt::format("127.{}.{}.{}", 100 + number / 62'500 % 100, number / 250 % 250 + 1,
                              number % 250 + 1);
    out.port = static_cast<std::uint16_t>(20'000 + out.name.size());
    out.arguments.push_back(out.address);
    out.arguments.push_back(std::to_string(out.port));
    out.after = std::move(after);
    return out;
  }
  static keeper::Plan plan(bool run = true) {
    return {"abc123", "1.0.0", run, {listener("etcd"), listener("kube-apiserver", {"etcd"})}};
  }
};

/// Until it is so: half a minute at most.
inline bool until(const std::function<bool()>& so, const std::function<void()>& meanwhile) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!so()) {
    if (std::chrono::steady_clock::now() > end) return false;
    meanwhile();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

} // namespace zoo::test
