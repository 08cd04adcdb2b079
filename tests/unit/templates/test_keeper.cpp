// SPDX-License-Identifier: Apache-2.0
#include "daemon/templates/keeper.hpp"
#include "tests/unit/templates/fake_upstream.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <optional>
#include <utility>
#include <vector>

using namespace zoo;
using namespace zoo::templates;
using namespace zoo::templates::test;
using nlohmann::json;
using std::chrono::milliseconds;

namespace {

/// An instance of a template with a chart, and a keeper of it whose clock is the test's.
struct ChartWorld {
  using Render = std::function<Result<std::string>(milliseconds wait)>;

  FakeUpstream upstream;
  reconcile::Queue::Clock::time_point now{std::chrono::hours(1)};
  upstream::Connections connections{[this] { return upstream.connect(); }};
  std::optional<Keeper> keeper;

  /// `more`: other members of the instance.
  explicit ChartWorld(Render render, const json& more = json::object()) {
    upstream.put("/apis/config.kiosk.sh/v1alpha1/templates/t",
                 {{"metadata", {{"name", "t"}}},
                  {"resources", {{"helm", {{"chart", {{"inline", "AAAA"}}}}}}}});
    const std::string path = "/apis/config.kiosk.sh/v1alpha1/namespaces/web/templateinstances/i";
    json instance = {
        {"metadata", {{"name", "i"}, {"namespace", "web"}, {"uid", "u1"}, {"generation", 1}}},
        {"spec", {{"template", "t"}}}};
    instance.update(more);
    upstream.put(path, std::move(instance));
    KeeperSettings settings;
    settings.now = [this] { return now; };
    DeployerParts parts{[this] { return upstream.connect(); }, [] { return 1'800'000'000; },
                        [render = std::move(render)](upstream::ControlApi&, const ChartWish&,
                                                     milliseconds wait) { return render(wait); }};
    keeper.emplace(
        std::move(parts), connections,
        [](std::string_view) { return Place{Place::State::open, {"web", "", "", {}, {}, {}, {}}}; },
        settings);
    keeper->heard_template("t", "1");
    keeper->heard_instance(upstream.objects[path]);
  }
  /// What is due in these seconds is done, four times a second.
  void pass(int seconds) {
    for (int i = 0; i < seconds * 4; ++i) {
      now += milliseconds(250);
      keeper->run_due();
    }
  }
};

} // namespace

TEST_CASE("a chart that fails is tried ever more rarely, though each try waits for it") {
  std::vector<long> failures; // seconds
  bool waited = false;
  const reconcile::Queue::Clock::time_point began{std::chrono::hours(1)};
  const ChartWorld* clock = nullptr;
  ChartWorld world([&](milliseconds) -> Result<std::string> {
    if (std::exchange(waited, !waited)) {
      failures.push_back(
          std::chrono::duration_cast<std::chrono::seconds>(clock->now - began).count());
      return fail(Code::invalid, "helm took longer than 20 s");
    }
    return fail(Code::timeout, "chart t is being rendered");
  });
  clock = &world;
  world.pass(100);
  REQUIRE(failures.size() == 5); // at 0, 5, 15, 35 and 75 s, and half a second more each
  for (std::size_t i = 2; i < failures.size(); ++i)
    CHECK(failures[i] - failures[i - 1] >= 2 * (failures[i - 1] - failures[i - 2]) - 2);
  world.keeper->heard_template("t", "2"); // it may be right now
  world.pass(2);
  CHECK(failures.size() == 6);
}

TEST_CASE("no look waits for a chart, and one that takes long is looked for ever more rarely") {
  std::vector<milliseconds> patience;
  ChartWorld world([&](milliseconds wait) -> Result<std::string> {
    patience.push_back(wait);
    return fail(Code::timeout, "chart t is being rendered");
  });
  world.pass(60);
  REQUIRE(patience.size() >= 6);
  CHECK(patience.size() <= 10); // at 0, 0.25, 0.75, 1.5, 3, 6.25, 12.75, 28.75 and 44.75 s
  const auto before = patience.size();
  world.keeper->heard_template("t", "2"); // another chart
  world.pass(1);
  CHECK(patience.size() >= before + 3);
  for (const auto wait : patience)
    CHECK(wait == milliseconds(0));
}

TEST_CASE(
    "a corrected template is taken at once by an instance that stands in an older generation") {
  std::size_t looks = 0;
  const auto render = [&](milliseconds) -> Result<std::string> {
    ++looks;
    return fail(Code::timeout, "chart t is being rendered");
  };
  const json stands = {
      {"metadata", {{"name", "i"}, {"namespace", "web"}, {"uid", "u1"}, {"generation", 2}}},
      {"status", {{"status", "Deployed"}, {"observedGeneration", 1}}}};
  ChartWorld world(render, stands);
  world.pass(60);
  REQUIRE(looks >= 6);
  const auto before = looks;
  world.keeper->heard_template("t", "2");
  world.pass(1);
  CHECK(looks >= before + 3);
}

TEST_CASE("a template that changes leaves alone what stands and does not follow") {
  std::size_t looks = 0;
  const auto render = [&](milliseconds) -> Result<std::string> {
    ++looks;
    return fail(Code::timeout, "chart t is being rendered");
  };
  ChartWorld world(render, {{"status", {{"status", "Deployed"}, {"observedGeneration", 1}}}});
  world.keeper->heard_template("t", "2");
  world.pass(2);
  CHECK(looks == 0);
}

TEST_CASE("an instance that was deleted and made again unheard is new") {
  Table table;
  json object = {
      {"metadata", {{"name", "i"}, {"namespace", "web"}, {"uid", "u1"}, {"generation", 1}}},
      {"spec", {{"template", "t"}}}};
  CHECK(table.put_instance(object));
  CHECK_FALSE(table.put_instance(object));
  object["metadata"]["uid"] = "u2";
  CHECK(table.put_instance(object));
  CHECK_FALSE(table.put_instance(object));
}
