// SPDX-License-Identifier: Apache-2.0
#include "daemon/audit/log.hpp"
#include "daemon/audit/reader.hpp"
#include "tests/unit/base/temporary_directory.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

using namespace zoo;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

struct Place {
  test::TemporaryDirectory base;
  std::filesystem::path directory = base.path() / "audit";

  std::unique_ptr<audit::Log> open(audit::Policy policy = {}, std::size_t queue = 4u << 20) {
    auto log = audit::Log::open({audit::Output::file, directory, policy, queue, ""});
    REQUIRE(log);
    return *std::move(log);
  }
  std::vector<std::string> lines(unsigned number = 0) const {
    std::vector<std::string> out;
    std::ifstream in(audit::Log::file(directory, number));
    for (std::string line; std::getline(in, line);)
      out.push_back(line);
    return out;
  }
};

void say(audit::Log& log, std::string_view tenant, std::string_view name,
         std::string_view verb = "get") {
  audit::Entry entry;
  entry.time = std::chrono::system_clock::now();
  entry.tenant = tenant;
  entry.user = "jane";
  entry.verb = verb;
  entry.resource = "pods";
  entry.name = name;
  entry.decision = audit::Decision::allow;
  log.add(std::nullopt, entry);
}

bool eventually(const std::function<bool()>& holds) {
  const auto deadline = std::chrono::steady_clock::now() + 20s;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(5ms);
  }
  return true;
}

} // namespace

TEST_CASE("what was added is in the file when the log is closed, which is nobody else's") {
  Place place;
  {
    const auto log = place.open();
    for (int i = 0; i < 1000; ++i)
      say(*log, "foofoo", fmt::format("p{}", i));
  }
  const auto lines = place.lines();
  REQUIRE(lines.size() == 1000);
  CHECK(json::parse(lines[999])["name"] == "p999");
  struct stat about{};
  REQUIRE(::stat(audit::Log::file(place.directory, 0).c_str(), &about) == 0);
  CHECK((about.st_mode & 0777) == 0600);
}

TEST_CASE("lines of many threads stay whole") {
  Place place;
  {
    const auto log = place.open();
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 500; ++i)
          say(*log, "foofoo", std::string(200, 'x'));
      });
    }
  }
  const auto lines = place.lines();
  CHECK(lines.size() == 2000);
  for (const auto& line : lines)
    CHECK(json::accept(line));
}

TEST_CASE("standard error, which others write too, gets whole lines in pieces that stay in one") {
  // As the journal's socket, but that each write is to be seen.
  int ends[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
  const file::Fd reader(ends[0]), before(::dup(STDERR_FILENO));
  ::dup2(ends[1], STDERR_FILENO);
  ::close(ends[1]);
  std::size_t pieces = 0, lines = 0, torn = 0, largest = 0;
  std::thread reading([&] {
    std::vector<char> piece(1u << 20);
    for (;;) {
      const auto size = ::recv(reader.get(), piece.data(), piece.size(), 0);
      if (size <= 0) return;
      ++pieces;
      torn += piece[static_cast<std::size_t>(size) - 1] != '\n';
      lines += static_cast<std::size_t>(std::count(piece.begin(), piece.begin() + size, '\n'));
      largest = std::max(largest, static_cast<std::size_t>(size));
    }
  });
  {
    auto log = audit::Log::open({audit::Output::standard_error, {}, {}, 4u << 20, ""});
    for (int i = 0; log && i < 2000; ++i)
      say(**log, "foofoo", fmt::format("p{}", i));
  }
  ::dup2(before.get(), STDERR_FILENO); // the last one that could write
  reading.join();
  CHECK(lines == 2000);
  CHECK(torn == 0);
  CHECK(pieces > 1);
  CHECK(largest <= 16u * 1024);
}

TEST_CASE("a tenant's own level goes before zood's") {
  Place place;
  {
    audit::Policy policy;
    policy.level = api::AuditLevel::writes;
    const auto log = place.open(policy);
    audit::Entry entry;
    entry.verb = "get";
    entry.name = "own";
    log->add(api::AuditLevel::all, entry);
    entry.name = "none";
    log->add(std::nullopt, entry);
    entry.verb = "create";
    entry.name = "quiet";
    log->add(api::AuditLevel::none, entry);
  }
  const auto lines = place.lines();
  REQUIRE(lines.size() == 1);
  CHECK(json::parse(lines[0])["name"] == "own");
}

TEST_CASE("files are put aside by size, the oldest goes, also after the number was lowered") {
  Place place;
  audit::Policy policy;
  policy.file_bytes = 4096;
  policy.files = 4;
  const auto fill = [&](const audit::Policy& with) {
    const auto log = place.open(with);
    for (int batch = 0; batch < 12; ++batch) {
      const auto before = log->counters().written;
      for (int i = 0; i < 20; ++i)
        say(*log, "foofoo", std::string(200, 'x'));
      REQUIRE(eventually([&] { return log->counters().written >= before + 20; }));
    }
  };
  fill(policy);
  CHECK_FALSE(place.lines(3).empty());
  CHECK(place.lines(4).empty());
  policy.files = 2;
  fill(policy);
  CHECK_FALSE(place.lines(1).empty());
  CHECK(place.lines(2).empty());
  CHECK(place.lines(3).empty());
}

TEST_CASE("what was put aside once is not put aside again") {
  Place place;
  audit::Policy policy;
  policy.file_bytes = 4096;
  policy.files = 4;
  std::filesystem::create_directories(place.directory);
  const auto put = [&](unsigned number, std::string_view text, std::size_t bytes = 0) {
    std::ofstream out(audit::Log::file(place.directory, number));
    out << text << std::string(bytes, 'x') << '\n';
  };
  const auto first = [&](unsigned number) {
    const auto lines = place.lines(number);
    return lines.empty() ? std::string() : lines.front().substr(0, 6);
  };
  const auto write_one = [&](audit::Log& log) {
    const auto before = log.counters().written;
    say(log, "foofoo", "x");
    REQUIRE(eventually([&] { return log.counters().written > before; }));
  };
  put(0, "newest", 5000);
  put(2, "second");
  put(3, "oldest");
  SUBCASE("an attempt that ended between two of them") {
    const auto log = place.open(policy);
    write_one(*log);
    CHECK(first(1) == "newest");
  }
  SUBCASE("one after which no new file could be made") {
    put(1, "latest");
    const auto log = place.open(policy);
    std::filesystem::remove(audit::Log::file(place.directory, 0));
    write_one(*log);
    CHECK(first(1) == "latest");
  }
  CHECK(place.lines().size() == 1);
  CHECK(first(2) == "second");
  CHECK(first(3) == "oldest");
}

TEST_CASE("lines that come together fill as many files as they need, and none is split") {
  Place place;
  audit::Policy policy;
  policy.file_bytes = 4096;
  policy.files = 50;
  constexpr unsigned k_lines = 200;
  {
    const auto log = place.open(policy);
    for (unsigned i = 0; i < k_lines; ++i)
      say(*log, "foofoo", fmt::format("p{}", i));
  }
  unsigned next = k_lines, number = 0;
  for (; next > 0; ++number) { // the newest first
    const auto lines = place.lines(number);
    REQUIRE_FALSE(lines.empty());
    CHECK(std::filesystem::file_size(audit::Log::file(place.directory, number)) <
          policy.file_bytes + lines.back().size() + 1);
    for (auto line = lines.rbegin(); line != lines.rend(); ++line)
      CHECK(json::parse(*line)["name"] == fmt::format("p{}", --next));
  }
  CHECK(number > 3);
}

TEST_CASE("a file that was moved away is let go of") {
  Place place;
  const auto log = place.open();
  say(*log, "foofoo", "before");
  REQUIRE(eventually([&] { return log->counters().written == 1; }));
  std::filesystem::rename(audit::Log::file(place.directory, 0), place.base.path() / "moved");
  log->reopen();
  REQUIRE(eventually([&] { return std::filesystem::exists(place.directory / "audit.log"); }));
  say(*log, "foofoo", "after");
  REQUIRE(eventually([&] { return log->counters().written == 2; }));
  REQUIRE(place.lines().size() == 1);
  CHECK(json::parse(place.lines()[0])["name"] == "after");
}

TEST_CASE("a line that a crash tore spoils no other") {
  Place place;
  {
    const auto log = place.open();
  }
  std::ofstream(audit::Log::file(place.directory, 0)) << R"({"time":"2126-01-01T00:00:00Z","ten)";
  {
    const auto log = place.open();
    say(*log, "foofoo", "whole");
    REQUIRE(eventually([&] { return log->counters().written == 1; }));
    const auto found = audit::read(*log, audit::Query());
    REQUIRE(found);
    REQUIRE(found->lines.size() == 1);
    CHECK(json::parse(found->lines[0])["name"] == "whole");
    CHECK(found->torn == 1);
  }
  const auto lines = place.lines();
  REQUIRE(lines.size() == 2);
  CHECK(json::parse(lines[1])["name"] == "whole");
}

TEST_CASE(
    "a disk that takes nothing: lines are counted as lost, or requests refused until it does") {
  Place place;
  audit::Policy policy;
  SUBCASE("drop") { policy.overflow = audit::Overflow::drop; }
  SUBCASE("refuse") { policy.overflow = audit::Overflow::refuse; }
  const auto log = place.open(policy, 8192);
  // The directory goes, and with it the place for a new file.
  std::filesystem::remove_all(place.directory);
  log->reopen();
  say(*log, "foofoo", "first");
  REQUIRE(eventually([&] { return !log->counters().trouble.empty(); }));
  for (int i = 0; i < 200; ++i)
    say(*log, "foofoo", std::string(200, 'x'));
  if (policy.overflow == audit::Overflow::refuse) {
    CHECK(log->refuses());
    CHECK(log->counters().refused == 1);
  } else {
    CHECK_FALSE(log->refuses());
  }
  CHECK(log->counters().waiting <= 2 * 8192);
  CHECK(log->counters().lost > 0);
  std::filesystem::create_directory(place.directory);
  log->reopen();
  REQUIRE(eventually([&] {
    say(*log, "foofoo", "again");
    return !place.lines().empty();
  }));
  CHECK(eventually([&] { return log->counters().trouble.empty() && !log->refuses(); }));
  // The log itself says that something is missing.
  REQUIRE(eventually([&] {
    const auto lines = place.lines();
    return std::any_of(lines.begin(), lines.end(),
                       [](const auto& line) { return line.find("\"lost\":") != line.npos; });
  }));
  if (policy.overflow == audit::Overflow::refuse)
    CHECK(json::parse(place.lines()[0])["name"] == "first");
}

TEST_CASE("reading: the newest lines of a tenant, oldest first, across files") {
  Place place;
  audit::Policy policy;
  policy.file_bytes = 4096;
  policy.files = 50;
  const auto log = place.open(policy);
  for (int i = 0; i < 60; ++i) {
    say(*log, i % 2 == 0 ? "foofoo" : "barbar", fmt::format("p{}", i), i == 58 ? "delete" : "get");
    REQUIRE(eventually([&] { return log->counters().written == static_cast<unsigned>(i + 1); }));
  }
  REQUIRE(std::filesystem::exists(audit::Log::file(place.directory, 1)));
  const auto ask = [&](audit::Query query) {
    auto found = audit::read(*log, query);
    REQUIRE(found);
    return *std::move(found);
  };
  audit::Query query;
  query.tenant = "foofoo";
  const auto all = ask(query);
  REQUIRE(all.lines.size() == 30);
  CHECK_FALSE(all.more);
  CHECK(json::parse(all.lines[0])["name"] == "p0");
  CHECK(json::parse(all.lines[29])["name"] == "p58");
  query.limit = 20;
  const auto some = ask(query);
  REQUIRE(some.lines.size() == 20);
  CHECK(some.more);
  CHECK(json::parse(some.lines[0])["name"] == "p20");
  query.verb = "delete";
  CHECK(ask(query).lines.size() == 1);
  query = {};
  query.since = std::chrono::system_clock::now() + 1h;
  CHECK(ask(query).lines.empty());
  query = {};
  query.until = std::chrono::system_clock::now() - 1h;
  CHECK(ask(query).lines.empty());
  query = {};
  query.user = R"(jane","tenant":"foofoo)";
  CHECK(ask(query).lines.empty());
}

TEST_CASE("reading while files are put aside: each line once, and none missing") {
  Place place;
  audit::Policy policy;
  policy.file_bytes = 8192; // each batch begins a file
  policy.files = 1000;
  const auto log = place.open(policy);
  constexpr std::size_t k_batches = 60, k_each = 50;
  const std::jthread writer([&](const std::stop_token& stop) {
    for (std::size_t i = 0; i < k_batches * k_each && !stop.stop_requested(); ++i) {
      say(*log, "foofoo", fmt::format("p{}", i));
      if ((i + 1) % k_each == 0)
        eventually([&] { return log->counters().written == i + 1 || stop.stop_requested(); });
    }
  });
  audit::Query query;
  query.limit = k_batches * k_each;
  for (std::size_t lines = 0; lines < query.limit;) {
    const auto found = audit::read(*log, query);
    REQUIRE(found);
    REQUIRE(found->lines.size() >= lines);
    lines = found->lines.size();
    for (std::size_t i = 0; i < lines; ++i)
      REQUIRE(found->lines[i].find(fmt::format("\"name\":\"p{}\"", i)) != std::string::npos);
  }
}

TEST_CASE("without an output there is nothing, and no thread") {
  const auto log = audit::Log::open({});
  REQUIRE(log);
  say(**log, "foofoo", "x");
  CHECK((*log)->counters().written == 0);
  CHECK_FALSE((*log)->refuses());
}
