// SPDX-License-Identifier: Apache-2.0
#include "daemon/templates/charts.hpp"
#include "daemon/templates/sandbox.hpp"
#include "tests/unit/templates/fake_upstream.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

using namespace zoo::templates;
namespace fs = std::filesystem;

namespace {

struct Directory {
  Directory() {
    auto name = (fs::temp_directory_path() / "charts.XXXXXX").string();
    path = mkdtemp(name.data());
  }
  ~Directory() { fs::remove_all(path); }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  /// A file that was written `age` seconds ago.
  void put(const char* name, std::size_t bytes, int age) const {
    std::ofstream(path / name) << std::string(bytes, 'x');
    fs::last_write_time(path / name, fs::file_time_type::clock::now() - std::chrono::seconds(age));
  }
  bool has(const char* name) const { return fs::exists(path / name); }
  fs::path path;
};

} // namespace

TEST_CASE("a chart's repository is one of the list, or below one") {
  const std::vector<std::string> list = {"oci://registry.test/charts", "oci://open.test",
                                         "https://charts.test/stable"};
  const auto listed = [&](const std::string& repository, const std::string& oci) {
    Chart chart;
    chart.repository = repository;
    chart.oci = oci;
    return is_listed(chart, list);
  };
  CHECK(listed("", "oci://registry.test/charts/web"));
  CHECK(listed("", "oci://registry.test/charts/web:1.2.3"));
  CHECK(listed("", "oci://registry.test/charts:1.2.3"));
  CHECK(listed("https://charts.test/stable", ""));
  CHECK(listed("https://charts.test/stable/more", ""));
  CHECK_FALSE(listed("", "oci://registry.test/charts-of-another/web"));
  CHECK_FALSE(listed("", "oci://open.test:5000/web"));
  CHECK_FALSE(listed("", "oci://open.test.evil.test/web"));
  CHECK_FALSE(listed("https://charts.test/stables", ""));
  CHECK_FALSE(listed("http://charts.test/stable", ""));
  CHECK(tag_of("oci://registry.test:5000/web") == std::string::npos);
  CHECK(tag_of("oci://registry.test:5000/web:1.2") == 28);
}

TEST_CASE("one account's wishes do not fill the queue of all") {
  std::vector<std::string> waiting(8, "team");
  CHECK(why_no_room(waiting, "team") == "8 charts of team wait to be rendered");
  CHECK(why_no_room(waiting, "crew").empty());
  waiting.pop_back();
  CHECK(why_no_room(waiting, "team").empty());
  for (int i = 0; waiting.size() < 64; ++i)
    waiting.push_back("tenant/" + std::to_string(i));
  CHECK(why_no_room(waiting, "crew") == "64 charts wait to be rendered");
}

TEST_CASE("packed charts are kept by their bytes, and the oldest goes first") {
  const Directory directory;
  directory.put("a.tgz", 100'000, 30);
  directory.put("b.tgz", 100'000, 40);
  directory.put("c.tgz", 100'000, 20);
  directory.put("other", 100'000, 90);
  drop_packed(directory.path, 50'000, 400'000);
  CHECK(directory.has("b.tgz"));
  drop_packed(directory.path, 100'000, 400'000); // each of them counts 102,400
  CHECK_FALSE(directory.has("b.tgz"));
  CHECK(directory.has("a.tgz"));
  drop_packed(directory.path, 100'000, 210'000);
  CHECK_FALSE(directory.has("a.tgz"));
  CHECK(directory.has("c.tgz"));
  drop_packed(directory.path, 0, 0);
  CHECK_FALSE(directory.has("c.tgz"));
  CHECK(directory.has("other"));
  drop_packed(directory.path / "nowhere", 1, 1);
}

TEST_CASE("charts that were rendered are kept by their bytes") {
  if (landlock_version() < 1) {
    MESSAGE("this kernel has no Landlock: nothing runs in the sandbox");
    return;
  }
  const Directory directory;
  ChartSettings settings;
  settings.program =
      fs::canonical("/bin/echo"); // says where its chart lies: another place each time
  settings.directory = directory.path;
  settings.kept = 20'000;
  Charts charts(settings);
  zoo::templates::test::FakeUpstream upstream;
  const auto api = upstream.connect();
  const auto render = [&](char name_space) {
    ChartWish wish;
    wish.chart.inline_data = "eA==";
    wish.chart.release = "r";
    wish.name_space = std::string(6'000, name_space);
    wish.whose = "team";
    auto done = charts.render(*api, wish, std::chrono::seconds(30));
    if (!done) FAIL(done.error().text());
    return *done;
  };
  const auto a = render('a');
  const auto b = render('b');
  CHECK(render('a') == a);
  CHECK(a.size() > 6'000);
  render('c');
  CHECK(render('b') == b);
  CHECK(render('a') != a); // there was room for two
}
