// SPDX-License-Identifier: Apache-2.0
#include "daemon/templates/charts.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace zoo::templates;

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
