// SPDX-License-Identifier: Apache-2.0
#include "daemon/templates/keeper.hpp"
#include "tests/unit/templates/fake_upstream.hpp"

#include <doctest/doctest.h>

using namespace zoo;
using namespace zoo::templates;
using namespace zoo::templates::test;
using nlohmann::json;
using std::chrono::milliseconds;

TEST_CASE("a chart that fails is tried ever more rarely, though each try waits for it") {
  FakeUpstream upstream;
  upstream.put("/apis/config.kiosk.sh/v1alpha1/templates/t",
               {{"metadata", {{"name", "t"}}},
                {"resources", {{"helm", {{"chart", {{"inline", "AAAA"}}}}}}}});
  const std::string path = "/apis/config.kiosk.sh/v1alpha1/namespaces/web/templateinstances/i";
  upstream.put(
      path, {{"metadata", {{"name", "i"}, {"namespace", "web"}, {"uid", "u1"}, {"generation", 1}}},
             {"spec", {{"template", "t"}}}});
  auto now = reconcile::Queue::Clock::time_point{std::chrono::hours(1)};
  const auto began = now;
  std::vector<long> failures; // seconds
  bool waited = false;
  upstream::Connections connections([&] { return upstream.connect(); });
  KeeperSettings settings;
  settings.now = [&] { return now; };
  DeployerParts parts{
      [&] { return upstream.connect(); }, [] { return 1'800'000'000; },
      [&](upstream::ControlApi&, const ChartWish&, milliseconds) -> Result<std::string> {
        if (std::exchange(waited, !waited)) {
          failures.push_back(std::chrono::duration_cast<std::chrono::seconds>(now - began).count());
          return fail(Code::invalid, "helm took longer than 20 s");
        }
        return fail(Code::timeout, "chart t is being rendered");
      }};
  Keeper keeper(
      std::move(parts), connections,
      [](std::string_view) { return Place{Place::State::open, {"web", "", "", {}, {}, {}, {}}}; },
      settings);
  keeper.heard_template("t", "1");
  keeper.heard_instance(upstream.objects[path]);
  const auto pass = [&](int seconds) {
    for (int i = 0; i < seconds * 4; ++i) {
      now += milliseconds(250);
      keeper.run_due();
    }
  };
  pass(100);
  REQUIRE(failures.size() == 5); // at 0, 5, 15, 35 and 75 s, and half a second more each
  for (std::size_t i = 2; i < failures.size(); ++i)
    CHECK(failures[i] - failures[i - 1] >= 2 * (failures[i - 1] - failures[i - 2]) - 2);
  keeper.heard_template("t", "2"); // it may be right now
  pass(2);
  CHECK(failures.size() == 6);
}

TEST_CASE("no look waits for a chart, and one that takes long is looked for ever more rarely") {
  FakeUpstream upstream;
  upstream.put("/apis/config.kiosk.sh/v1alpha1/templates/t",
               {{"metadata", {{"name", "t"}}},
                {"resources", {{"helm", {{"chart", {{"inline", "AAAA"}}}}}}}});
  const std::string path = "/apis/config.kiosk.sh/v1alpha1/namespaces/web/templateinstances/i";
  upstream.put(
      path, {{"metadata", {{"name", "i"}, {"namespace", "web"}, {"uid", "u1"}, {"generation", 1}}},
             {"spec", {{"template", "t"}}}});
  auto now = reconcile::Queue::Clock::time_point{std::chrono::hours(1)};
  std::vector<milliseconds> patience;
  upstream::Connections connections([&] { return upstream.connect(); });
  KeeperSettings settings;
  settings.now = [&] { return now; };
  Keeper keeper(
      {[&] { return upstream.connect(); }, [] { return 1'800'000'000; },
       [&](upstream::ControlApi&, const ChartWish&, milliseconds wait) -> Result<std::string> {
         patience.push_back(wait);
         return fail(Code::timeout, "chart t is being rendered");
       }},
      connections,
      [](std::string_view) { return Place{Place::State::open, {"web", "", "", {}, {}, {}, {}}}; },
      settings);
  keeper.heard_template("t", "1");
  keeper.heard_instance(upstream.objects[path]);
  const auto pass = [&](int seconds) {
    for (int i = 0; i < seconds * 4; ++i) {
      now += milliseconds(250);
      keeper.run_due();
    }
  };
  pass(60);
  REQUIRE(patience.size() >= 6);
  CHECK(patience.size() <= 10); // at 0, 0.25, 0.75, 1.5, 3, 6.25, 12.75, 28.75 and 44.75 s
  const auto before = patience.size();
  keeper.heard_template("t", "2"); // another chart
  pass(1);
  CHECK(patience.size() >= before + 3);
  for (const auto wait : patience)
    CHECK(wait == milliseconds(0));
}
