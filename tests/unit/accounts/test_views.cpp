// SPDX-License-Identifier: Apache-2.0
#include "daemon/accounts/backings.hpp"
#include "daemon/accounts/kinds.hpp"
#include "daemon/accounts/views.hpp"
#include "daemon/resources/watch.hpp"
#include "tests/unit/accounts/states.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace zoo;
using namespace zoo::accounts;
using namespace zoo::accounts::test;
using resources::Change;

namespace {

const resources::Who k_john{"john", {}};
const resources::Who k_root{"root", {}};

/// What a watch tells: "+a@5 ~a@6 -a@7".
class Watch {
public:
  Watch(Views& views, const resources::Who& who, std::int64_t revision = 0,
        ViewOf what = ViewOf::spaces)
      : subscription_(views.watch(what, who, revision, [this](const Change& change) {
          if (change.type == Change::Type::passed) {
            told_ += "@" + std::to_string(change.revision) + " ";
            return;
          }
          const char* sign = change.type == Change::Type::added     ? "+"
                             : change.type == Change::Type::deleted ? "-"
                                                                    : "~";
          told_ += sign + resources::key_of(*change.object).name + "@" +
                   std::to_string(change.revision) + " ";
        })) {}
  std::string told() { return std::exchange(told_, {}); }
  bool refused(Code code) const { return !subscription_ && subscription_.error().code() == code; }

private:
  std::string told_;
  Result<std::unique_ptr<resources::Subscription>> subscription_;
};

std::string names(const States& states, const resources::Who& who, std::string after = "",
                  std::size_t limit = 0) {
  const auto page = Views::list(*states.now, ViewOf::spaces, who, after, limit);
  std::string out;
  for (const auto& item : page.items)
    out += resources::key_of(*item).name + " ";
  return out + (page.next ? "..." : "");
}

} // namespace

TEST_CASE("a list shows what the caller may see, on full pages") {
  States states;
  for (const char* name : {"a", "b", "c", "d"})
    states.put_space(name);
  for (const char* name : {"a", "c", "d", "gone"})
    states.grant("john", name);
  states.grant("root", "*");
  CHECK(names(states, k_john) == "a c d ");
  CHECK(names(states, k_root) == "a b c d ");
  CHECK(names(states, {"eve", {}}).empty());
  CHECK(names(states, k_john, "", 2) == "a c ...");
  CHECK(names(states, k_john, "c", 2) == "d ");
  CHECK(names(states, k_root, "", 4) == "a b c d ");
  CHECK(Views::object_of(*states.now, ViewOf::spaces, k_john, "b") == nullptr);
  CHECK(Views::object_of(*states.now, ViewOf::spaces, k_john, "gone") == nullptr);
  CHECK(Views::object_of(*states.now, ViewOf::spaces, k_john, "a") != nullptr);
}

TEST_CASE("A3 an account is shown to its members and to who may get it in config.kiosk.sh") {
  States states;
  for (const char* name : {"blue", "green", "red"})
    states.put_account(name, "member-of-" + std::string(name));
  states.grant("auditor", "green");
  const auto seen = [&](const char* user) {
    std::string out;
    for (const char* name : {"blue", "green", "red"})
      if (Views::object_of(*states.now, ViewOf::accounts, {user, {}}, name))
        out += name, out += " ";
    return out;
  };
  CHECK(seen("member-of-blue") == "blue ");
  CHECK(seen("auditor") == "green ");
  CHECK(seen("eve").empty());
}

TEST_CASE("a TemplateInstance is shown to who may get it, and the account's own to its members") {
  const std::string kept =
      R"(,"labels":{"zoo.kubezoo.io/managed":"true","kiosk.sh/account":"team"})";
  States states;
  states.put_account("team", "john");
  states.put_space("a", "team");
  states.put_space("ab", "team");
  states.put_space("other");
  states.put_instance("a", "own");
  states.put_instance("a", "walls", kept);
  states.put_instance("ab", "walls", kept);
  states.put_instance("other", "walls", kept);
  // Of the account that had the space before, and of a tenant's list.
  states.put_instance("a", "before",
                      R"(,"labels":{"zoo.kubezoo.io/managed":"true","kiosk.sh/account":"past"})");
  states.put_instance("a", "nobodys", R"(,"labels":{"zoo.kubezoo.io/managed":"true"})");
  const auto listed = [&](const char* user, const std::string& space = "", std::size_t limit = 0,
                          const std::string& after = "") {
    const auto page = Views::list(*states.now, ViewOf::instances, {user, {}}, after, limit, space);
    std::string out;
    for (const auto& item : page.items) {
      const auto key = resources::key_of(*item);
      out += key.space + "/" + key.name + " ";
    }
    return out + (page.next ? "..." + page.next->space + "/" + page.next->name : "");
  };
  CHECK(listed("john").empty()); // a member who does not see the space
  states.grant("john", "a");
  CHECK(listed("john") == "a/walls ");
  states.grant("john", "other"); // whose account he is no member of
  CHECK(listed("john") == "a/walls ");
  states.let_read_instances("john", "a");
  CHECK(listed("john") == "a/before a/nobodys a/own a/walls ");
  states.let_read_instances("root", "*");
  CHECK(listed("root") == "a/before a/nobodys a/own a/walls ab/walls other/walls ");
  CHECK(listed("root", "a") == "a/before a/nobodys a/own a/walls ");
  CHECK(listed("root", "", 2) == "a/before a/nobodys ...a/nobodys");
  CHECK(listed("root", "", 0, instance_key("a", "walls")) == "ab/walls other/walls ");
  CHECK(listed("root", "a", 1) == "a/before ...a/before");
  CHECK(listed("eve").empty());
  const auto one = [&](const char* user, const char* space, const char* name) {
    return Views::object_of(*states.now, ViewOf::instances, {user, {}}, instance_key(space, name));
  };
  CHECK(one("john", "ab", "walls") == nullptr);
  REQUIRE(one("john", "a", "own") != nullptr);
  CHECK((*one("john", "a", "own"))["apiVersion"] == "tenancy.kiosk.sh/v1alpha1");
}

TEST_CASE("N11 a watch of TemplateInstances tells what a grant shows and a revocation hides") {
  const std::string kept =
      R"(,"labels":{"zoo.kubezoo.io/managed":"true","kiosk.sh/account":"team"})";
  States states;                       // 1
  states.put_account("team", "john");  // 2
  states.put_space("a", "team");       // 3
  states.put_instance("a", "own");     // 4
  states.put_instance("a", "w", kept); // 5
  Watch john(states.views, k_john, 0, ViewOf::instances);
  Watch eve(states.views, {"eve", {}}, 0, ViewOf::instances);
  states.grant("john", "a"); // 6
  CHECK(john.told() == "+w@6 ");
  states.let_read_instances("john", "a"); // 7
  CHECK(john.told() == "+own@7 ");
  states.put_instance("a", "own"); // 8
  CHECK(john.told() == "~own@8 ");
  const auto then = states.now->revision;
  states.let_read_instances("john", "a", false); // 9
  CHECK(john.told() == "-own@9 ");
  states.put_space("a"); // 10: of no account any more
  CHECK(john.told() == "-w@10 ");
  states.put_space("a", "team"); // 11
  CHECK(john.told() == "+w@11 ");
  states.remove_instance("a", "w"); // 12
  CHECK(john.told() == "-w@12 ");
  Watch later(states.views, k_john, then, ViewOf::instances);
  CHECK(later.told() == "-own@8 -w@12 ");
  CHECK(eve.told().empty());
}

TEST_CASE("N11 a watch tells a grant as ADDED and a revocation as DELETED, each once") {
  States states;
  states.put_space("a"); // 2
  states.put_space("b"); // 3
  Watch john(states.views, k_john), eve(states.views, {"eve", {}});
  states.grant("john", "a"); // 4
  CHECK(john.told() == "+a@4 ");
  states.put_space("a"); // 5: another resourceVersion
  states.put_space("b");
  CHECK(john.told() == "~a@5 ");
  states.grant("john", "a"); // nothing new
  CHECK(john.told().empty());
  states.revoke("john", "a"); // 8
  CHECK(john.told() == "-a@8 ");
  states.grant("john", "b"); // 9
  states.remove_space("b");  // 10
  CHECK(john.told() == "+b@9 -b@10 ");
  states.revoke("john", "b"); // it is gone for him already
  CHECK(john.told().empty());
  CHECK(eve.told().empty());
}

TEST_CASE("a space that comes back under its name is another one") {
  States states;
  states.put_space("a");
  states.grant("john", "a");
  Watch john(states.views, k_john);
  states.remove_space("a");
  states.put_space("a");
  CHECK(john.told() == "-a@4 +a@5 ");
}

TEST_CASE("N11 a watch is resumed by the difference to what was known then") {
  States states;             // 1
  states.put_space("a");     // 2
  states.put_space("b");     // 3
  states.grant("john", "a"); // 4
  const auto then = states.now->revision;
  states.grant("john", "b");  // 5
  states.revoke("john", "a"); // 6
  Watch john(states.views, k_john, then);
  CHECK(john.told() == "-a@4 +b@6 ");
  states.revoke("john", "b");
  CHECK(john.told() == "-b@7 ");
}

TEST_CASE("a watch from before the first State begins anew") {
  States states;
  for (int i = 0; i < 3; ++i)
    states.put_space("a");
  States later;
  later.put_space("x");
  CHECK(Watch(states.views, k_john, 0).told().empty());
  Views fresh;
  auto first = std::make_shared<State>(*states.now);
  fresh.published(first, first, {});
  CHECK(Watch(fresh, k_john, first->revision - 1).refused(Code::expired));
  CHECK_FALSE(Watch(fresh, k_john, first->revision).refused(Code::expired));
}

TEST_CASE("nothing is answered or told from a State that is not to be believed") {
  Views views;
  CHECK_FALSE(views.state());
  auto state = std::make_shared<State>();
  state->trouble = Error(Code::unavailable, "upstream is silent");
  views.published(state, state, {});
  REQUIRE_FALSE(views.state());
  CHECK(views.state().error().message() == "upstream is silent");
  CHECK(Watch(views, k_john).refused(Code::unavailable));
}

TEST_CASE("a space that is being made is shown to who asked for it") {
  States states;
  states.put_space("new", "team",
                   R"(,"annotations":{"kiosk.sh/initializing":"true",)"
                   R"("zoo.kubezoo.io/space-request":"{\"requester\":\"john\"}"})");
  const auto shown = Views::object_of(*states.now, ViewOf::spaces, k_john, "new");
  REQUIRE(shown != nullptr);
  CHECK((*shown)["status"]["phase"] == "Initializing");
  CHECK_FALSE((*shown)["metadata"].contains("annotations"));
  CHECK(Views::object_of(*states.now, ViewOf::spaces, {"eve", {}}, "new") == nullptr);
}

TEST_CASE("what was late on its stream is told to who has the revision already") {
  States states;
  states.grant("john", "*");
  const auto listed = states.now->revision;
  states.put_late("a");
  REQUIRE(states.now->revision == listed);
  Watch john(states.views, k_john, listed);
  CHECK(john.told() == "+a@2 ");
}

TEST_CASE("a watch is resumed within ten minutes, and repeats nothing") {
  using namespace std::chrono_literals;
  States states;
  states.grant("john", "*");
  std::vector<std::pair<std::int64_t, std::chrono::steady_clock::time_point>> passed;
  for (int i = 0; i < 400; ++i) {
    states.put_space("s" + std::to_string(i));
    passed.emplace_back(states.now->revision, states.clock);
    states.pass(i % 7 == 0 ? 7'500ms : 1'000ms);
  }
  for (std::size_t i = passed.size(); i-- > 0;) {
    const auto [revision, at] = passed[i];
    const auto age = states.clock - at;
    Watch john(states.views, k_john, revision);
    if (age >= 600s) continue; // it may be either
    REQUIRE_FALSE(john.refused(Code::expired));
    const auto told = john.told();
    // All that came behind it, and nothing of what came before.
    for (auto later = i + 1; later < passed.size(); ++later)
      REQUIRE(told.find("+s" + std::to_string(later) + "@") != std::string::npos);
    CHECK(told.find("+s" + std::to_string(i) + "@") == std::string::npos);
  }
  for (int i = 0; i < 200; ++i) {
    states.put_space("again");
    states.pass(10s);
  }
  CHECK(Watch(states.views, k_john, passed.back().first).refused(Code::expired));
}

TEST_CASE("a watch with nothing to tell says how far it has come") {
  using namespace std::chrono_literals;
  States states;
  Watch john(states.views, k_john);
  states.pass(29s);
  CHECK(john.told().empty());
  states.pass(1s);
  CHECK(john.told() == "@3 ");
  states.pass(1s);
  CHECK(john.told().empty());
}

TEST_CASE("a resumed watch tells every difference through the room's encoder") {
  States states;
  states.put_space("a");
  states.grant("john", "a");
  const auto then = states.now->revision + 1;
  states.clock += std::chrono::seconds(100);
  states.put_space("x");
  for (const char* name : {"b", "c", "d"}) {
    states.put_space(name);
    states.grant("john", name);
  }
  resources::WatchPlan plan;
  plan.kind = space_kind(std::make_shared<ViewBacking>(states.views, ViewOf::spaces, "spaces"));
  plan.caller = k_john;
  plan.revision = then;
  resources::WatchFeed feed(plan, [](const std::function<void()>& job) { job(); });
  REQUIRE(feed.open());
  resources::WatchEncoder encoder(feed.plan());
  std::string lines;
  while (const auto change = feed.take())
    lines += encoder.change(*change, 0);
  for (const char* name : {"b", "c", "d"})
    CHECK(lines.find("\"name\":\"" + std::string(name) + "\"") != std::string::npos);
}

TEST_CASE("nobody goes on from what has not happened yet") {
  States states;
  CHECK(Watch(states.views, k_john, states.now->revision + 1).refused(Code::timeout));
}

TEST_CASE("what is gone since the client has seen it is DELETED, however short its life was") {
  States states;
  states.grant("john", "*");
  for (int i = 0; i < 20; ++i) {
    states.put_space("a");
    const auto listed = states.now->revision;
    states.remove_space("a");
    Watch john(states.views, k_john, listed);
    CHECK(john.told() == "-a@" + std::to_string(states.now->revision) + " ");
  }
}

TEST_CASE("N11 who resumes from an old object that a grant has shown him misses nothing") {
  States states;
  states.put_space("old");     // 2
  states.put_space("older-x"); // 3
  states.grant("john", "x");   // 4
  const auto begun = states.now->revision;
  states.put_space("x"); // 5
  Watch first(states.views, k_john, begun);
  CHECK(first.told() == "+x@5 ");
  states.grant("john", "old"); // 6: told as ADDED with the resourceVersion 2 of the object
  CHECK(first.told() == "+old@6 ");
  states.revoke("john", "x"); // 7: he is cut off before it
  // He stands where the object says. In the State of then there was no "x", and now he may not see
  // it: the two ends know nothing of what he has.
  Watch again(states.views, k_john, 2);
  CHECK(again.told() == "-x@2 +old@7 ");
}

TEST_CASE("N11 what came into sight again since is told again") {
  States states;
  states.put_space("a"); // 2
  states.grant("john", "a");
  const auto begun = states.now->revision;
  states.revoke("john", "a");
  states.grant("john", "a");
  // Whether he has heard of the revocation nobody knows.
  CHECK(Watch(states.views, k_john, begun).told() == "+a@5 ");
}

TEST_CASE("N11 of several States of one revision any may have been listed") {
  States states;
  states.put_space("a");
  states.grant("john", "*");
  const auto listed = states.now->revision;
  states.put_late("b"); // the list of this State has it, too, and says the same revision
  REQUIRE(states.now->revision == listed);
  states.revoke("john", "*");
  CHECK(Watch(states.views, k_john, listed).told() == "-a@3 -b@4 ");
}

TEST_CASE("a watch that would have to look at too much begins anew") {
  States states;
  for (int i = 0; i < 300; ++i)
    states.put_space("s" + std::to_string(i));
  states.grant("john", "*");
  const auto begun = states.now->revision;
  for (int i = 0; i < 80; ++i) {
    states.revoke("john", "*");
    states.grant("john", "*");
  }
  CHECK(Watch(states.views, k_john, begun).refused(Code::expired));
  CHECK_FALSE(Watch(states.views, k_john, states.now->revision).refused(Code::expired));
}

TEST_CASE("what is remembered is bounded in bytes, whatever members write into their spaces") {
  constexpr std::size_t k_most = 4u << 20;
  ViewHistory history(k_most);
  const ViewHistory::Clock::time_point now;
  auto state = std::make_shared<State>();
  const auto remember = [&](const std::string& more, std::size_t of_rights = 0) {
    auto next = std::make_shared<State>(*state);
    ++next->revision;
    Touched touched;
    touched.rights.replaced_bytes = of_rights;
    if (!more.empty()) {
      next->spaces.put(read_space(R"({"metadata":{"name":"web","uid":"u","annotations":{"a":")" +
                                  more + R"("}}})"));
      touched.spaces = {"web"};
    }
    history.remember(state = next, std::move(touched), now);
    CHECK(history.bytes() <= k_most);
  };
  for (int i = 0; i < 200; ++i)
    remember(std::string(250'000, 'x'));
  REQUIRE_FALSE(history.since(1));
  CHECK(history.since(1).error().code() == Code::expired);
  REQUIRE(history.since(state->revision - 10));
  CHECK(history.since(state->revision - 10)->size() == 11);
  for (int i = 0; i < 200; ++i)
    remember("", 250'000); // a binding of very many subjects, again and again
  CHECK(history.since(state->revision - 10)->size() == 11);
  CHECK_FALSE(history.since(state->revision - 20));
  // What was not remembered is replaced all the same.
  Touched passed;
  passed.rights.replaced_bytes = k_most;
  history.passed_over(passed);
  remember("x");
  CHECK(history.since(state->revision)->size() == 1);
  CHECK_FALSE(history.since(state->revision - 1));
  for (int i = 0; i < 100; ++i)
    remember("x");
  CHECK(history.since(state->revision - 100)->size() == 101);
}
