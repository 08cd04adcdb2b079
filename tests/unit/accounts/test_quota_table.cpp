// SPDX-License-Identifier: Apache-2.0
#include "daemon/accounts/quota_follower.hpp"
#include "daemon/accounts/quota_table.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <thread>

using namespace zoo;
using namespace zoo::accounts;
using Names = std::vector<std::string>;

namespace {

std::string quota_object(const char* name, const char* account, int pods) {
  return fmt::format(R"({{"metadata":{{"name":"{}"}},"spec":{{"account":"{}",)"
                     R"("quota":{{"hard":{{"pods":"{}"}}}}}}}})",
                     name, account, pods);
}

std::string slice_object(const char* space, const char* account, int revision, int hard,
                         const char* name = "zoo-quota") {
  return fmt::format(R"({{"metadata":{{"name":"{}","namespace":"{}","resourceVersion":"{}",)"
                     R"("labels":{{"kiosk.sh/account":"{}","zoo.kubezoo.io/managed":"true"}}}},)"
                     R"("spec":{{"hard":{{"pods":"{}"}}}}}})",
                     name, space, revision, account, hard);
}

} // namespace

TEST_CASE("I1: quotas are known by their account, and tell whom they concern") {
  QuotaTable table;
  CHECK(table.put_quota(quota_object("q", "team", 3)) == Names{"team"});
  CHECK(table.put_quota(quota_object("q", "team", 3)).empty()); // nothing has changed
  CHECK(table.put_quota(quota_object("q", "team", 4)) == Names{"team"});
  CHECK(table.put_quota(quota_object("other", "team", 9)) == Names{"team"});
  REQUIRE(table.quotas_of("team").size() == 2);
  CHECK(table.quotas_of("team")[1].spec == R"({"hard":{"pods":"4"}})");
  CHECK(table.put_quota(quota_object("q", "crew", 4)) == Names{"crew", "team"});
  CHECK(table.quotas_of("team").size() == 1);
  CHECK(table.keep_quotas({"q"}) == Names{"team"});
  CHECK(table.quotas_of("team").empty());
  CHECK(table.remove_quota("q") == Names{"crew"});
  CHECK(table.remove_quota("q").empty());
  CHECK(table.owners().empty());
  CHECK(table.put_quota("no json").empty());
}

TEST_CASE("of a slice the newest revision counts, whoever tells of it") {
  QuotaTable table;
  CHECK(table.put_slice(slice_object("a", "team", 5, 3)) == "team");
  CHECK(table.put_slice(slice_object("a", "team", 4, 9)).empty());
  CHECK(table.put_slice(slice_object("a", "team", 5, 9)).empty());
  REQUIRE(table.slice("a", "zoo-quota"));
  CHECK(table.slice("a", "zoo-quota")->slice.spec.at("pods") == kube::Quantity::of(3));
  CHECK(table.slices_of("team").size() == 1);
  CHECK(table.put_slice(slice_object("a", "team", 9, 3, "somebodys")).empty());
  CHECK(table.put_slice(R"({"metadata":{"name":"zoo-quota","namespace":"b"}})").empty());
  CHECK(table.remove_slice("a", "zoo-quota") == "team");
  CHECK_FALSE(table.slice("a", "zoo-quota"));
  CHECK(table.slices_of("team").empty());
}

TEST_CASE("who waits for a slice hears of it") {
  QuotaTable table;
  CHECK_FALSE(table.wait([&] { return table.slice("a", "zoo-quota").has_value(); },
                         std::chrono::milliseconds(1)));
  std::jthread later([&] { table.put_slice(slice_object("a", "team", 1, 3)); });
  CHECK(table.wait([&] { return table.slice("a", "zoo-quota").has_value(); },
                   std::chrono::minutes(1)));
}

TEST_CASE("what was refused is wanted, as far as the slices there limit it") {
  QuotaTable table;
  CHECK(table.wanted("a").empty());
  const auto more = refused_for(
      "Error creating: pods \"web-1\" is forbidden: exceeded quota: zoo-quota, "
      "requested: limits.cpu=500m,pods=1, used: limits.cpu=1,pods=3, limited: limits.cpu=1,pods=3");
  REQUIRE(more.size() == 2);
  CHECK(more.at("limits.cpu").text() == "500m");
  CHECK_FALSE(table.want("a", more)); // there is no slice
  table.put_slice(slice_object("a", "team", 1, 3));
  table.put_slice(slice_object("ab", "team", 1, 3));
  CHECK(table.want("a", more));
  CHECK(table.want("a", more));
  REQUIRE(table.wanted("a").size() == 1);
  CHECK(table.wanted("a").at("pods") == kube::Quantity::of(2));
  CHECK(table.wanted("ab").empty());
  CHECK(refused_for("exceeded quota: somebodys, requested: pods=1, used: pods=3").empty());
  CHECK(refused_for("exceeded quota: zoo-quota, used: pods=3, requested: pods=1").empty());
  CHECK(refused_for("Created pod: web-1").empty());
}

TEST_CASE("an event that somebody has made up fills nothing") {
  QuotaTable table;
  table.put_slice(slice_object("a", "team", 1, 3));
  for (int round = 0; round < 20; ++round) {
    std::string names;
    for (int i = 0; i < 10'000; ++i)
      names += fmt::format("{}a{}-{}=1", i == 0 ? "" : ",", round, i);
    const auto forged =
        refused_for("exceeded quota: zoo-quota, requested: " + names + ", used: pods=1");
    CHECK(forged.size() <= 256);
    CHECK_FALSE(table.want("a", forged));
    CHECK(table.wanted("a").empty());
  }
}
