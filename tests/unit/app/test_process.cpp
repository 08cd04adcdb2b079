// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/process.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <ctime>
#include <thread>

using namespace zoo;

TEST_CASE("a process knows its threads, descriptors and times") {
  const auto before = app::process_facts().value();
  CHECK(before.threads >= 1);
  CHECK(before.most_files >= before.open_files);
  CHECK(before.started > 1'000'000'000);
  CHECK(before.started <= static_cast<double>(std::time(nullptr)) + 1);

  const int more = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  REQUIRE(more >= 0);
  CHECK(app::process_facts()->open_files == before.open_files + 1);
  ::close(more);
  CHECK(app::process_facts()->open_files == before.open_files);

  std::size_t with_another = 0;
  std::jthread([&] { with_another = app::process_facts()->threads; }).join();
  CHECK(with_another == before.threads + 1);

  // The clock of these figures ticks a hundred times a second.
  double now = before.cpu_seconds;
  while (now <= before.cpu_seconds)
    now = app::process_facts()->cpu_seconds;
  CHECK(now > before.cpu_seconds);
}
