// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/stores.hpp"

#include <doctest/doctest.h>

using namespace zoo;
using app::finding_of;
using store::Member;
using Level = tenants::Finding::Level;

namespace {

Member well(const std::string& url) { return {url, "", "3.6.8", true, 20 << 20, 100 << 20, {}}; }

Member away(const std::string& url) {
  Member out;
  out.url = url;
  out.trouble = "refused";
  return out;
}

bool says(const tenants::Finding& finding, std::string_view text) {
  return finding.message.find(text) != std::string::npos;
}

} // namespace

TEST_CASE("all members of etcd answer") {
  const auto found = finding_of({well("a"), well("b"), well("c")});
  CHECK(found.level == Level::ok);
  CHECK(found.message == "3 of 3 members of etcd answer (version 3.6.8, 20 MiB)");
}

TEST_CASE("a member that does not answer is named, with what it said") {
  const auto found = finding_of({well("a"), away("b"), well("c")});
  CHECK(found.level == Level::warning);
  CHECK(says(found, "1 of 3 members of etcd do not answer: b (refused)"));
  CHECK_FALSE(found.remedy.empty());
}

TEST_CASE("without a leader none takes a write") {
  auto alone = well("a");
  alone.has_leader = false;
  const auto found = finding_of({alone, away("b"), away("c")});
  CHECK(found.level == Level::problem);
  CHECK(says(found, "no member of etcd knows a leader"));
  CHECK(says(found, "b (refused); c (refused)"));
  CHECK(finding_of({away("a")}).level == Level::problem);
}

TEST_CASE("an alarm comes first") {
  auto full = well("a");
  full.wrong = {"memberID:1 alarm:NOSPACE "};
  full.bytes = 99 << 20;
  const auto found = finding_of({full, away("b")});
  CHECK(found.level == Level::problem);
  CHECK(says(found, "a: memberID:1 alarm:NOSPACE"));
}

TEST_CASE("above four fifths of its quota etcd is nearly full; without a quota nobody knows") {
  auto full = well("a");
  full.bytes = 81 << 20;
  CHECK(finding_of({full}).level == Level::warning);
  CHECK(says(finding_of({full}), "a: 81 of 100 MiB"));
  full.bytes = 80 << 20;
  CHECK(finding_of({full}).level == Level::ok);
  full.bytes = std::int64_t{5} << 30;
  full.quota = 0;
  CHECK(finding_of({full}).level == Level::ok);
}
