// SPDX-License-Identifier: Apache-2.0
#include "daemon/reconcile/runner.hpp"

#include <doctest/doctest.h>

#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

using namespace zoo;
using namespace zoo::reconcile;
using namespace std::chrono_literals;

namespace {

/// A Runner on this thread, whose time passes when the test says so.
struct Timed {
  Queue::Clock::time_point now{24h};
  std::vector<std::string> looks, failures;
  std::function<Result<Next>(const std::string&, unsigned)> answer =
      [](const std::string&, unsigned) { return Result<Next>(Next{}); };
  Queue queue{Queue::Pauses{}, [this] { return now; }};
  Runner runner{{"test",
                 [this](const std::string& key, unsigned attempts) {
                   looks.push_back(fmt::format("{} {}", key, attempts));
                   return answer(key, attempts);
                 },
                 [this](const std::string& key, const Error& error) {
                   failures.push_back(key + ": " + error.message());
                 },
                 60'000ms, 1'000ms},
                queue};

  std::size_t pass(std::chrono::milliseconds time) {
    now += time;
    const auto before = looks.size();
    runner.run_due();
    return looks.size() - before;
  }
};

} // namespace

TEST_CASE("a key is looked at when it is due, and forgotten when nothing more is wanted") {
  Timed timed;
  timed.queue.add("a", 0ms);
  timed.queue.add("b", 5'000ms);
  CHECK(timed.pass(0ms) == 1);
  CHECK(timed.queue.size() == 1);
  CHECK(timed.pass(5'000ms) == 1);
  CHECK(timed.queue.size() == 0);
  CHECK(timed.looks == std::vector<std::string>{"a 0", "b 0"});
}

TEST_CASE("what fails is told and tried again, later each time") {
  Timed timed;
  timed.answer = [](const std::string&, unsigned) -> Result<Next> {
    return fail(Code::unavailable, "away");
  };
  timed.queue.add("a", 0ms);
  CHECK(timed.pass(0ms) == 1);
  CHECK(timed.failures == std::vector<std::string>{"a: away"});
  CHECK(timed.pass(700ms) == 0);
  CHECK(timed.pass(600ms) == 1); // a quarter more or less than one second
  CHECK(timed.pass(1'400ms) == 0);
  CHECK(timed.pass(1'200ms) == 1);
  CHECK(timed.looks == std::vector<std::string>{"a 0", "a 1", "a 2"});
  // What is added anew is tried at once.
  timed.answer = [](const std::string&, unsigned) { return Result<Next>(Next{}); };
  timed.queue.add("a", 0ms);
  CHECK(timed.pass(0ms) == 1);
  CHECK(timed.queue.size() == 0);
}

TEST_CASE("the end of zood is no failure, and an exception is one") {
  Timed timed;
  timed.answer = [](const std::string& key, unsigned) -> Result<Next> {
    if (key == "ends") return fail(Code::cancelled, "zood ends");
    throw std::runtime_error("broken");
  };
  timed.queue.add("ends", 0ms);
  timed.queue.add("throws", 0ms);
  CHECK(timed.pass(0ms) == 2);
  CHECK(timed.failures == std::vector<std::string>{"throws: unexpected: broken"});
}

TEST_CASE("a look that is to be repeated soon counts as an attempt") {
  Timed timed;
  timed.answer = [](const std::string&, unsigned attempts) -> Result<Next> {
    return attempts < 2 ? Next{1'000ms} : Next{100'000ms};
  };
  timed.queue.add("a", 0ms);
  CHECK(timed.pass(0ms) == 1);
  CHECK(timed.pass(1'000ms) == 1);
  CHECK(timed.pass(1'000ms) == 1);
  CHECK(timed.pass(100'000ms) == 1);
  CHECK(timed.looks == std::vector<std::string>{"a 0", "a 1", "a 2", "a 0"});
}

TEST_CASE(
    "a look that waits for something else counts no attempt, and what failed before is over") {
  Timed timed;
  int look = 0;
  timed.answer = [&](const std::string&, unsigned) -> Result<Next> {
    if (++look == 4) return fail(Code::unavailable, "away");
    return Next{1'000ms, true};
  };
  timed.queue.add("a", 0ms);
  CHECK(timed.pass(0ms) == 1);
  CHECK(timed.pass(1'000ms) == 1);
  CHECK(timed.pass(1'000ms) == 1);
  CHECK(timed.pass(1'000ms) == 1);
  CHECK(timed.pass(2'000ms) == 1); // as after a first failure
  CHECK(timed.pass(1'000ms) == 1);
  CHECK(timed.looks == std::vector<std::string>{"a 0", "a 0", "a 0", "a 0", "a 1", "a 0"});
}

TEST_CASE("who does not lead keeps what is due, and looks at it when it begins to lead") {
  Timed timed;
  timed.queue.add("a", 0ms);
  timed.runner.lead(false);
  CHECK(timed.pass(0ms) == 0);
  timed.queue.add("b", 0ms);
  timed.queue.add("a", 0ms);
  CHECK(timed.pass(1'000ms) == 0);
  CHECK(timed.queue.size() == 0);
  timed.runner.lead(true);
  CHECK(timed.pass(0ms) == 2);
  CHECK(timed.looks == std::vector<std::string>{"a 0", "b 0"});
  timed.queue.add("c", 0ms);
  CHECK(timed.pass(0ms) == 1);
}

TEST_CASE("threads look at what is due, and end with the runner") {
  std::mutex mutex;
  std::condition_variable changed;
  int looks = 0;
  Queue queue;
  {
    Runner runner({"test",
                   [&](const std::string&, unsigned) -> Result<Next> {
                     const std::lock_guard lock(mutex);
                     ++looks;
                     changed.notify_all();
                     return Next{};
                   },
                   [](const std::string&, const Error&) {}, 60'000ms, 1'000ms},
                  queue);
    runner.start(2);
    queue.add("a", 0ms);
    queue.add("b", 0ms);
    std::unique_lock lock(mutex);
    CHECK(changed.wait_for(lock, 20s, [&] { return looks == 2; }));
  }
  queue.add("late", 0ms);
  CHECK(queue.size() == 1);
}
