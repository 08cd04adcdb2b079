// SPDX-License-Identifier: Apache-2.0
#include "daemon/authz/rights_source.hpp"
#include "daemon/net/loop.hpp"
#include "daemon/translate/mapping.hpp"
#include "daemon/upstream/upstream.hpp"
#include "tests/unit/authz/rights_world.hpp"
#include "tests/unit/authz/scripted_caller.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <chrono>
#include <future>
#include <optional>
#include <string>
#include <thread>

using namespace zoo;
using authz::RightsSource;

namespace {

const authz::User k_jane{"jane", "", {}, {}};

std::string metadata(std::string_view name_space, std::string_view name) {
  return fmt::format(R"("metadata":{{"name":"{}","namespace":"{}","resourceVersion":"1"}})", name,
                     name_space);
}
std::string role(std::string_view name_space, std::string_view name, std::string_view verb) {
  return fmt::format(R"({{{},"rules":[{{"verbs":["{}"],"apiGroups":[""],"resources":["pods"]}}]}})",
                     metadata(name_space, name), verb);
}
std::string binding(std::string_view name_space, std::string_view name, std::string_view user) {
  return fmt::format(
      R"({{{},"roleRef":{{"kind":"ClusterRole","name":"reader"}},"subjects":[{{"kind":"User","name":"{}"}}]}})",
      metadata(name_space, name), user);
}
const std::string k_reader = role("", "reader", "get");
const std::string k_first = binding("a", "b", "jane"), k_second = binding("b", "b", "jane");

/// A source on a loop of its own.
class Bench {
public:
  explicit Bench(std::size_t most_bytes = 1'000'000,
                 std::chrono::milliseconds believed = std::chrono::minutes(1),
                 std::size_t of_namespace = 1'000'000) {
    upstream_.set_caller(loop_, caller);
    thread_ = std::jthread([this] { loop_.run(); });
    on([&] {
      source_.emplace(
          upstream_, caller, loop_, authz::RightsLimits{most_bytes, of_namespace},
          [this] { ++changed_; }, believed);
      source_->start();
      CHECK(changed_ == 0);
    });
    on([] {}); // behind what start() has posted
  }
  ~Bench() {
    on([this] { source_.reset(); });
    loop_.stop();
  }

  /// Does it on the loop, and waits until it is done.
  void on(const std::function<void()>& what) {
    std::promise<void> done;
    loop_.post([&] {
      what();
      done.set_value();
    });
    done.get_future().wait();
  }
  void until(const std::function<bool()>& holds) {
    bool held = false;
    const auto last = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!held && std::chrono::steady_clock::now() < last) {
      on([&] { held = holds(); });
      if (!held) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    REQUIRE(held);
  }
  /// Answers the list and lets the watch behind it begin.
  void read(std::string_view kind, const std::string& items) {
    on([&] {
      caller.list(kind, items);
      caller.open(kind);
    });
  }
  void read_all(const std::string& bindings) {
    read("/roles?", "");
    read("/clusterroles?", k_reader);
    read("/clusterrolebindings?", "");
    read("/rolebindings?", bindings);
  }
  void event(std::string_view kind, std::string_view type, const std::string& object) {
    on([&] { caller.event(kind, type, object); });
  }

  /// The namespaces whose pods jane may get, each with a blank behind it.
  std::string reach() {
    std::string out;
    on([&] {
      const auto reached =
          source_->take().rights->namespaces_of(k_jane, test::question("get", "pods"));
      out = reached.everywhere ? "*" : "";
      for (const auto& name : reached.namespaces)
        out += name + ' ';
    });
    return out;
  }
  std::optional<Error> trouble_now() const { return source_->trouble(); } ///< for on()
  std::string trouble() {
    std::string out;
    on([&] {
      const auto why = source_->trouble();
      if (!why) return;
      CHECK(why->code() == Code::unavailable);
      out = why->message();
    });
    return out;
  }
  std::int64_t revision() {
    std::int64_t out = 0;
    on([&] { out = source_->revision(); });
    return out;
  }
  authz::NamespaceBudget::Crowded crowded() {
    authz::NamespaceBudget::Crowded out;
    on([&] { out = source_->crowded(); });
    return out;
  }
  std::size_t restless() {
    std::size_t out = 0;
    on([&] { out = source_->restless(); });
    return out;
  }
  int changes() {
    int out = 0;
    on([&] { out = std::exchange(changed_, 0); });
    return out;
  }
  authz::TouchedRights touched() {
    authz::TouchedRights out;
    on([&] { out = source_->take().touched; });
    return out;
  }

  test::ScriptedCaller caller; ///< for on()

private:
  net::Loop loop_;
  upstream::Upstream upstream_{std::make_shared<upstream::UpstreamEndpoint>(), {&loop_}, {}};
  int changed_ = 0;
  std::optional<RightsSource> source_;
  std::jthread thread_;
};

bool says(const std::string& text, std::string_view what) {
  return text.find(what) != std::string::npos;
}

} // namespace

TEST_CASE("upstream's rights are known when all four kinds are read, and follow their watches") {
  Bench bench;
  CHECK(bench.trouble() ==
        "upstream's ClusterRoles, ClusterRoleBindings, Roles, RoleBindings have not been read yet; "
        "zood's log says why if this lasts");
  CHECK(bench.revision() == 0);
  bench.read_all(k_first);
  CHECK(bench.trouble().empty());
  CHECK(bench.changes() > 0);
  CHECK(bench.revision() == 7);
  CHECK(bench.reach() == "a ");
  CHECK(bench.touched().empty());

  bench.event("/rolebindings?", "ADDED", k_second);
  CHECK(bench.changes() == 1);
  CHECK(bench.revision() == 111);
  CHECK(bench.touched().subjects == std::vector<std::string>{"u:jane"});
  CHECK(bench.reach() == "a b ");
  bench.event("/rolebindings?", "DELETED", k_first);
  CHECK(bench.reach() == "b ");
  bench.event("/rolebindings?", "MODIFIED", binding("b", "b", "joe"));
  CHECK(bench.reach().empty());
  bench.event("/clusterrolebindings?", "ADDED", binding("", "all", "jane"));
  CHECK(bench.reach() == "*");
  bench.event("/clusterroles?", "MODIFIED", role("", "reader", "delete"));
  CHECK(bench.reach().empty());
  CHECK(bench.revision() == 151);
  bench.changes();
  bench.on([&] {
    bench.caller.asked("/roles?", true)
        .on_data(R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"200"}}})"
                 "\n");
  });
  CHECK(bench.changes() == 1);
  CHECK(bench.revision() == 200);
}

TEST_CASE("a ClusterRole of aggregation counts with the rules that are stored in it") {
  Bench bench;
  bench.read_all(k_first);
  bench.event(
      "/clusterroles?", "MODIFIED",
      R"({"metadata":{"name":"reader","resourceVersion":"1"},"aggregationRule":{"clusterRoleSelectors":[{}]},)"
      R"("rules":[{"verbs":["get"],"apiGroups":[""],"resources":["pods"]}]})");
  CHECK(bench.reach() == "a ");
}

TEST_CASE("what tenants have stored grants nothing, and is not kept") {
  const translate::Mapping mapping("foofoo", std::make_shared<const translate::SharedNames>());
  const auto inert = binding("foofoo-a", "b", mapping.inert_in("jane"));
  const auto account = fmt::format(
      R"({{{},"roleRef":{{"kind":"ClusterRole","name":"reader"}},"subjects":[{{"kind":"ServiceAccount","namespace":"{}","name":"x"}}]}})",
      metadata("foofoo-a", "c"), mapping.inert_in("a"));
  const auto own = binding("foofoo-a", "zoo-tenant", "zoo:foofoo");
  Bench bench(k_first.size() + k_reader.size());
  bench.read_all(inert + "," + account + "," + k_first + "," + own);
  bench.event("/roles?", "ADDED", role("foofoo-a", "r", "zoo:get"));
  bench.event("/clusterrolebindings?", "ADDED",
              R"({"metadata":{"name":"nobody","resourceVersion":"1"}})");
  CHECK(bench.trouble().empty()); // there is room for the others alone
  CHECK(bench.touched().subjects == std::vector<std::string>{"u:jane"});
  bench.event("/rolebindings?", "MODIFIED", binding("a", "b", mapping.inert_in("jane")));
  CHECK(bench.touched().subjects == std::vector<std::string>{"u:jane"});
  CHECK(bench.reach().empty());
}

TEST_CASE("what went while nobody heard of it is taken out when it is read again") {
  Bench bench;
  bench.read_all(k_first + "," + k_second);
  CHECK(bench.reach() == "a b ");
  bench.on([&] {
    auto& watch = bench.caller.asked("/rolebindings?", true);
    watch.on_data(R"({"type":"ERROR","object":{"kind":"Status","code":410}})"
                  "\n");
    watch.on_end();
    bench.caller.version = "300";
  });
  bench.until([&] { return bench.caller.count("/rolebindings?limit") == 2; });
  CHECK(bench.reach() == "a b "); // believed for a while
  bench.on([&] { bench.caller.list("/rolebindings?", k_second); });
  CHECK(bench.reach() == "a b ");
  bench.on([&] { bench.caller.open("/rolebindings?"); });
  CHECK(bench.reach() == "b ");
  CHECK(bench.revision() == 300);
  CHECK(bench.trouble().empty());
}

TEST_CASE("a kind that has not been heard of for too long is told, until it is heard again") {
  Bench bench(1'000'000, std::chrono::milliseconds(20));
  bench.read_all(k_first);
  bench.on([&] {
    bench.caller.asked("/rolebindings?", true).on_error(Error(Code::unavailable, "gone"));
  });
  bench.until([&] { return bench.caller.count("/rolebindings?watch") == 2; });
  bench.until([&] { return bench.trouble_now().has_value(); });
  CHECK(
      bench.trouble() ==
      "upstream has not been heard for 20 ms of changes of its RoleBindings; zood's log says why");
  CHECK(bench.reach() == "a ");
  bench.changes();
  bench.on([&] { bench.caller.open("/rolebindings?"); }); // it was opened anew meanwhile
  CHECK(bench.changes() == 1);
  CHECK(bench.trouble().empty());
}

TEST_CASE("above the limit nothing is believed, and once there is room all is read again") {
  Bench bench(k_reader.size() + 2 * k_first.size() + 20);
  bench.read_all(k_first + "," + k_second);
  CHECK(bench.trouble().empty());
  const auto third = binding("c", "b", "jane");
  bench.event("/rolebindings?", "ADDED", third);
  CHECK(says(bench.trouble(), "raise accounts.rbac_limit"));
  CHECK(bench.reach() == "a b "); // the third is not kept
  bench.event("/rolebindings?", "DELETED", k_first);
  CHECK(says(bench.trouble(), "RoleBindings are read again"));
  bench.until([&] { return bench.caller.count("/rolebindings?limit") == 2; });
  bench.read("/rolebindings?", k_second + "," + third);
  CHECK(bench.trouble().empty());
  CHECK(bench.reach() == "b c ");
}

TEST_CASE("one namespace takes no more than its budget, and not the room of others") {
  Bench bench(k_reader.size() + 3 * k_first.size(), std::chrono::minutes(1), k_first.size() + 10);
  bench.read_all(k_first + "," + k_second);
  CHECK(bench.crowded().count == 0);
  for (int i = 0; i < 20; ++i) // more than accounts.rbac_limit together
    bench.event("/rolebindings?", "ADDED", binding("a", "more-" + std::to_string(i), "jane"));
  CHECK(bench.trouble().empty());
  CHECK(bench.crowded().count == 1);
  CHECK(bench.crowded().some == std::vector<std::string>{"a"});
  CHECK(bench.reach() == "a b ");
  bench.event("/rolebindings?", "DELETED", k_first);
  CHECK(bench.reach() == "b "); // what gives her more was left out
  for (int i = 0; i < 20; ++i)
    bench.event("/rolebindings?", "DELETED", binding("a", "more-" + std::to_string(i), "jane"));
  CHECK(bench.crowded().count == 0);
  bench.event("/rolebindings?", "ADDED", k_first);
  CHECK(bench.reach() == "a b ");
  CHECK(bench.trouble().empty());
}

TEST_CASE(
    "who binds everybody and lets them go again and again is not followed in it for a while") {
  const std::string everybody =
      R"({"metadata":{"name":"all","namespace":"a","resourceVersion":"1"},)"
      R"("roleRef":{"kind":"ClusterRole","name":"reader"},"subjects":[)"
      R"({"kind":"Group","name":"system:authenticated"},{"kind":"User","name":"joe"}]})";
  Bench bench;
  bench.read_all(k_second);
  bench.touched();
  const auto all = [&](const char* type) { bench.event("/rolebindings?", type, everybody); };
  all("ADDED");
  auto touched = bench.touched();
  CHECK_FALSE(touched.everybody);
  CHECK(touched.open_namespaces == std::vector<std::string>{"a"});
  CHECK(bench.restless() == 0);
  unsigned told = 0;
  for (int i = 0; i < 50; ++i) {
    all(i % 2 == 0 ? "DELETED" : "ADDED");
    if (!bench.touched().open_namespaces.empty()) ++told;
  }
  CHECK(told < 10);
  CHECK(bench.restless() == 1);
  bench.event("/roles?", "ADDED", role("a", "r", "get")); // nor is a role there
  CHECK(bench.touched().open_namespaces.empty());
}
