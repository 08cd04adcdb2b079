// SPDX-License-Identifier: Apache-2.0
#include "daemon/accounts/views.hpp"
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

TEST_CASE("a watch tells a grant as ADDED and a revocation as DELETED, each once") {
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

TEST_CASE("a watch is resumed by the difference to what was known then") {
  States states;             // 1
  states.put_space("a");     // 2
  states.put_space("b");     // 3
  states.grant("john", "a"); // 4
  const auto then = states.now->revision;
  states.grant("john", "b");  // 5
  states.revoke("john", "a"); // 6
  Watch john(states.views, k_john, then);
  // Repeats are allowed, gaps are not: the first State remembered knows of nothing.
  CHECK(john.told() == "+b@6 ");
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
