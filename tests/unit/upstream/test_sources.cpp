// SPDX-License-Identifier: Apache-2.0
#include "daemon/upstream/watch_source.hpp"
#include "list_bench.hpp"

using namespace zoo;
using namespace zoo::upstream::list_test;

TEST_CASE("a range list seeks to the prefix and stops at the first foreign key") {
  for (const std::size_t slice : {std::size_t{1}, std::size_t{7}, std::size_t{100'000}}) {
    CAPTURE(slice);
    Bench bench;
    const auto list = bench.list();
    CHECK(bench.caller.param("continue") == translate::range_start_token("foofoo-"));
    CHECK(bench.caller.param("limit") == "16");
    CHECK(bench.caller.param("resourceVersion").empty());
    bench.caller.answer(200,
                        page("more", {item("foofoo-a", "x"), item("foofoo-a", "y"),
                                      item("foofop-a", "secret"), item("foofoo-z", "late")}),
                        slice);
    CHECK(bench.heard.keys == std::vector<std::string>{"foofoo-a/x", "foofoo-a/y"});
    REQUIRE(bench.heard.end);
    CHECK(bench.heard.end->resource_version == "42");
    CHECK_FALSE(bench.heard.end->next_start);
    CHECK(bench.caller.requests.size() == 1);
    CHECK(bench.upstream.remembered("pods") == 2);
  }
}

TEST_CASE("who takes items on the way hears the same, and counts what it takes") {
  const auto text = page("", {item("foofoo-a", "x"), item("foofoo-b", "y"), item("zzzzzz-a", "z")});
  struct Row {
    bool takes;
    std::size_t limit;
    std::string hidden;
    std::size_t taken;
    std::vector<std::string> keys;
  };
  const std::vector<std::string> both = {"foofoo-a/x", "foofoo-b/y"}, one = {"foofoo-a/x"};
  for (const auto& row : {Row{true, 0, "", 2, both}, Row{false, 0, "", 0, both},
                          Row{true, 1, "", 1, one}, Row{true, 2, "nothing", 2, both},
                          Row{true, 2, "\"y\"", 1, both}, Row{true, 1, "\"y\"", 1, both}}) {
    CAPTURE(row.limit);
    CAPTURE(row.hidden);
    Bench bench;
    bench.heard.takes = row.takes;
    const auto list = bench.list(row.limit, row.hidden);
    bench.caller.answer(200, text, text.size());
    CHECK(bench.heard.keys == row.keys);
    CHECK(bench.heard.taken == row.taken);
    REQUIRE(bench.heard.end);
    CHECK(bench.heard.end->next_start.has_value() == (row.limit == 1 && row.hidden.empty()));
  }
}

TEST_CASE("an object is handed on before what is behind it has come") {
  Bench bench;
  const auto list = bench.list();
  const auto whole = page("", {item("foofoo-a", "x"), item("foofoo-a", "y")});
  const auto half = whole.find(item("foofoo-a", "y")) + 1; // its brace shows where "x" ends
  bench.caller.answer_of(0, std::string_view(whole).substr(0, half), false);
  CHECK(bench.heard.begun == 1);
  CHECK(bench.heard.keys == std::vector<std::string>{"foofoo-a/x"});
  CHECK_FALSE(bench.heard.end);
}

TEST_CASE("a prefix without its dash is somebody else's") {
  Bench bench;
  const auto list = bench.list();
  bench.caller.answer(200, page("", {item("foofoo", "x")}), 100);
  CHECK(bench.heard.keys.empty());
  CHECK(bench.heard.end);
}

TEST_CASE("pages follow upstream's own token and grow") {
  Bench bench;
  const auto list = bench.list();
  bench.caller.answer(200, page("token-2", {item("foofoo-a", "x")}), 100);
  REQUIRE(bench.caller.requests.size() == 2);
  CHECK(bench.caller.param("continue") == "token-2");
  CHECK(bench.caller.param("limit") == "64");
  bench.caller.answer(200, page("", {item("foofoo-b", "y")}), 100);
  CHECK(bench.heard.keys == std::vector<std::string>{"foofoo-a/x", "foofoo-b/y"});
  CHECK(bench.heard.begun == 1);
  CHECK(bench.heard.end);
}

TEST_CASE("the next page is asked for while this one comes, where the last list was longer") {
  Bench bench;
  bench.upstream.remember("pods", 700);
  const auto list = bench.list();
  CHECK(bench.caller.param("limit") == "512");
  const auto first = page("token-2", {item("foofoo-a", "x")});
  bench.caller.answer_of(0, first, false);
  REQUIRE(bench.caller.requests.size() == 2);
  CHECK(bench.caller.param("continue") == "token-2");
  CHECK(bench.caller.paused == std::set<std::size_t>{1});
  CHECK(bench.heard.keys == std::vector<std::string>{"foofoo-a/x"});
  bench.caller.answer_of(0, {});
  CHECK(bench.caller.requests.size() == 2);
  CHECK(bench.caller.paused.empty());
  bench.caller.answer_of(1, page("", {item("foofoo-b", "y")}));
  CHECK(bench.heard.keys == std::vector<std::string>{"foofoo-a/x", "foofoo-b/y"});
  CHECK(bench.heard.begun == 1);
  CHECK(bench.heard.end);
  CHECK(bench.upstream.remembered("pods") == 2);
}

TEST_CASE("a page that upstream refuses for now is asked for again once something was handed on") {
  for (const bool broken : {false, true}) {
    CAPTURE(broken);
    Bench bench;
    const auto list = bench.list();
    bench.caller.answer(200, page("token-2", {item("foofoo-a", "x")}), 100);
    REQUIRE(bench.caller.requests.size() == 2);
    if (broken) {
      bench.caller.requests.back().handler->on_error(Error(Code::unavailable, "closed"));
    } else {
      bench.caller.answer(429, "not now", 100);
    }
    CHECK_FALSE(bench.heard.error_status);
    CHECK(bench.caller.alive.empty()); // no connection while it waits
    list->pause();
    REQUIRE(run_until(bench.loop, [&] { return bench.caller.requests.size() == 3; }));
    CHECK(bench.caller.param("continue") == "token-2");
    CHECK(bench.caller.paused == std::set<std::size_t>{2});
    list->resume();
    bench.caller.answer(200, page("", {item("foofoo-b", "y")}), 100);
    CHECK(bench.heard.keys == std::vector<std::string>{"foofoo-a/x", "foofoo-b/y"});
    CHECK(bench.heard.begun == 1);
    CHECK(bench.heard.end);
  }
}

TEST_CASE("which refusals of pages end a list") {
  Bench first; // its client may be told
  const auto refused = first.list();
  first.caller.answer(429, "not now", 100);
  CHECK(first.heard.error_status == 429);

  for (const auto& [status, retry_after] :
       {std::pair{429, "11"}, std::pair{410, ""}, std::pair{500, ""}, std::pair{403, ""}}) {
    CAPTURE(status);
    Bench later;
    const auto list = later.list();
    later.caller.answer(200, page("token-2", {item("foofoo-a", "x")}), 100);
    later.caller.answer(status, "no", 100, retry_after);
    CHECK(later.heard.error_status == status);
  }

  Bench middle; // something of the page was heard
  const auto list = middle.list();
  middle.caller.answer(200, page("token-2", {item("foofoo-a", "x")}), 100);
  const auto whole = page("", {item("foofoo-b", "y"), item("foofoo-b", "z")});
  middle.caller.answer_of(1, std::string_view(whole).substr(0, whole.size() - 20), false);
  middle.caller.requests.back().handler->on_error(Error(Code::unavailable, "closed"));
  CHECK(middle.heard.error_status == 0);

  Bench gone; // which waits for a page
  auto cancelled = gone.list();
  gone.caller.answer(200, page("token-2", {item("foofoo-a", "x")}), 100);
  gone.caller.answer(503, "not now", 100);
  cancelled.reset();
  CHECK_FALSE(run_until(gone.loop, [&] { return gone.caller.requests.size() == 3; }));
}

TEST_CASE("a page that was asked for in vain is let go, and a pause holds for the next one") {
  Bench shrunk;
  shrunk.upstream.remember("pods", 700);
  const auto less = shrunk.list();
  shrunk.caller.answer_of(0, page("token-2", {item("foofoo-a", "x"), item("zzzzzz-a", "z")}));
  CHECK(shrunk.caller.requests.size() == 2);
  CHECK(shrunk.heard.end);
  CHECK(shrunk.caller.paused.empty()); // it is no more

  Bench slow;
  slow.upstream.remember("pods", 700);
  const auto list = slow.list();
  slow.caller.answer_of(0, page("token-2", {item("foofoo-a", "x")}), false);
  list->pause();
  slow.caller.answer_of(0, {});
  CHECK(slow.caller.paused == std::set<std::size_t>{1});
  list->resume();
  CHECK(slow.caller.paused.empty());
  slow.caller.requests.at(1).handler->on_error(Error(Code::unavailable, "closed"));
  CHECK_FALSE(slow.heard.end);
  CHECK_FALSE(slow.heard.error_status);
  REQUIRE(run_until(slow.loop, [&] { return slow.caller.requests.size() == 3; }));
  CHECK(slow.caller.param("continue") == "token-2");

  // A page ahead that cannot be had is asked for again when it is wanted.
  Bench full;
  full.upstream.remember("pods", 700);
  const auto whole = full.list();
  full.caller.answer_of(0, page("token-2", {item("foofoo-a", "x")}), false);
  full.caller.requests.at(1).handler->on_error(Error(Code::unavailable, "too many connections"));
  CHECK(full.caller.paused.empty());
  full.caller.answer_of(0, {});
  REQUIRE(full.caller.requests.size() == 3);
  CHECK(full.caller.param("continue") == "token-2");
  full.caller.answer_of(2, page("", {item("foofoo-b", "y")}));
  CHECK(full.heard.keys == std::vector<std::string>{"foofoo-a/x", "foofoo-b/y"});
  CHECK(full.heard.end);
  CHECK_FALSE(full.heard.error_status);

  // Whoever wants a few, or selects, gets no page ahead.
  Bench selected;
  selected.upstream.remember("pods", 700);
  const auto chosen = selected.list(0, "", "a=b");
  selected.caller.answer_of(0, page("token-2", {item("foofoo-a", "x")}), false);
  CHECK(selected.caller.requests.size() == 1);
  Bench few;
  few.upstream.remember("pods", 700);
  const auto some = few.list(1);
  few.caller.answer_of(0, page("token-2", {item("foofoo-a", "x")}), false);
  CHECK(few.caller.requests.size() == 1);
}

TEST_CASE("an upstream that reads from elsewhere is no range") {
  Bench bench;
  const auto list = bench.list();
  bench.caller.answer(200, page("more", {item("aaaaaa-a", "secret"), item("foofoo-a", "x")}), 100);
  CHECK(bench.heard.keys.empty());
  CHECK_FALSE(bench.heard.end);
  CHECK_FALSE(bench.heard.error_status);
  CHECK(bench.caller.path() == "/api/v1/namespaces"); // one after the other, then
  Bench one;                                          // of one namespace there is no other way
  one.all_namespaces = false;
  const auto other = one.list();
  one.caller.answer(200, page("more", {item("", "aaaaaa-a"), item("", "foofoo-a")}), 100);
  CHECK(one.heard.keys.empty());
  CHECK(one.heard.error_status == 0);
}

TEST_CASE("what a client's own limit left is not what lies behind") {
  Bench bench;
  const auto list = bench.list(1);
  auto text = page("more", {item("foofoo-a", "x"), item("foofoo-a", "y")});
  text.replace(text.find(":9}"), 2, ":50000");
  bench.caller.answer(200, text, 100);
  REQUIRE(bench.heard.end);
  CHECK(bench.upstream.remembered("/api/v1/pods?behind") == 0);
}

TEST_CASE("a page without items ends the list") {
  Bench bench;
  const auto list = bench.list();
  bench.caller.answer(200, page("more", {}), 100);
  CHECK(bench.heard.end);
  CHECK(bench.caller.requests.size() == 1);
}

TEST_CASE("with a limit it says where to go on, and only if there is more") {
  Bench bench;
  const auto list = bench.list(1);
  CHECK(bench.caller.param("limit") == "2");
  bench.caller.answer(200, page("more", {item("foofoo-a", "x"), item("foofoo-a", "y")}), 100);
  CHECK(bench.heard.keys == std::vector<std::string>{"foofoo-a/x"});
  REQUIRE(bench.heard.end);
  CHECK(bench.heard.end->next_start == std::string("foofoo-a/x") + '\0');

  Bench last;
  const auto again = last.list(1);
  last.caller.answer(200, page("more", {item("foofoo-a", "x"), item("zzzzzz-a", "y")}), 100);
  REQUIRE(last.heard.end);
  CHECK_FALSE(last.heard.end->next_start);
}

TEST_CASE("a list with a limit says how long the next one's first page shall be") {
  Bench bench;
  std::vector<std::string> items;
  for (int i = 0; i < 40; ++i)
    items.push_back(item("foofoo-a", std::to_string(100 + i)));
  auto list = bench.list(30);
  CHECK(bench.caller.param("limit") == "16");
  bench.caller.answer(200, page("more", {items.begin(), items.begin() + 16}), 1'000);
  CHECK(bench.caller.param("limit") == "15"); // it knows better than 64
  bench.caller.answer(200, page("more", {items.begin() + 16, items.begin() + 31}), 1'000);
  REQUIRE(bench.heard.end);
  CHECK(bench.upstream.remembered("pods") == 31);
  bench.heard.end.reset();
  list = bench.list(30);
  CHECK(bench.caller.param("limit") == "31"); // in one page
  bench.caller.answer(200, page("more", {items.begin(), items.begin() + 31}), 1'000);
  REQUIRE(bench.heard.end);

  // Behind it nobody knows what is left, and of what is left nobody learns how long all is.
  list = bench.list(30, "", "", *bench.heard.end->next_start);
  CHECK(bench.caller.param("limit") == "31");
  list = bench.list(500, "", "", *bench.heard.end->next_start);
  CHECK(bench.caller.param("limit") == "128");
  bench.caller.answer(200, page("", {items.begin() + 30, items.end()}), 1'000);
  CHECK(bench.upstream.remembered("pods") == 31);

  // What was longer before may be so still; what is whole says how long it is.
  bench.upstream.remember("pods", 700);
  list = bench.list(30);
  bench.caller.answer(200, page("more", {items.begin(), items.begin() + 31}), 1'000);
  CHECK(bench.upstream.remembered("pods") == 700);
  list = bench.list(30);
  bench.caller.answer(200, page("", {items[0]}), 1'000);
  CHECK(bench.upstream.remembered("pods") == 1);
}

TEST_CASE("what a selector chose says nothing of the others") {
  Bench bench;
  bench.upstream.remember("pods", 100);
  auto list = bench.list(0, "", "x=y");
  CHECK(bench.caller.param("limit") == "16");
  bench.caller.answer(200, page("", {item("foofoo-a", "x")}), 1'000);
  CHECK(bench.upstream.remembered("pods") == 100);
  list = bench.list(0, "", "x=y");
  CHECK(bench.caller.param("limit") == "2");
}

TEST_CASE("what is not shown does not count for the limit, and is no more that follows") {
  Bench bench;
  const auto list = bench.list(2, "hidden");
  CHECK(bench.caller.param("limit") == "3");
  bench.caller.answer(200,
                      page("more", {item("foofoo-a", "hidden-1"), item("foofoo-a", "x"),
                                    item("foofoo-a", "hidden-2")}),
                      100);
  REQUIRE_FALSE(bench.heard.end);
  CHECK(bench.caller.param("limit") == "64"); // not one by one
  bench.caller.answer(
      200,
      page("more", {item("foofoo-a", "y"), item("foofoo-b", "hidden-3"), item("zzzzzz-a", "z")}),
      100);
  REQUIRE(bench.heard.end);
  CHECK_FALSE(bench.heard.end->next_start);
  CHECK(bench.heard.keys == std::vector<std::string>{"foofoo-a/hidden-1", "foofoo-a/x",
                                                     "foofoo-a/hidden-2", "foofoo-a/y",
                                                     "foofoo-b/hidden-3"});
}

TEST_CASE("a page that is refused, cut or garbage never ends a list as if it were whole") {
  Bench expired;
  const auto first = expired.list();
  expired.caller.answer(200, page("token-2", {item("foofoo-a", "x")}), 100);
  expired.caller.answer(410, R"({"kind":"Status","code":410})", 100);
  CHECK_FALSE(expired.heard.end);
  CHECK(expired.heard.error_status == 410);

  Bench cut;
  const auto second = cut.list();
  const auto whole = page("", {item("foofoo-a", "x")});
  cut.caller.answer(200, whole.substr(0, whole.size() - 5), 100);
  CHECK_FALSE(cut.heard.end);
  CHECK(cut.heard.error_status == 0);

  Bench garbage;
  const auto third = garbage.list();
  garbage.caller.answer(200, "<html>busy</html>", 100);
  CHECK_FALSE(garbage.heard.end);
  CHECK(garbage.heard.error_status == 0);
}

TEST_CASE("a custom resource's list has its metadata behind the items") {
  Bench bench;
  const auto list = bench.list();
  bench.caller.answer(200,
                      R"({"apiVersion":"x.io/v1","items":[)" + item("foofoo-a", "x") +
                          R"(],"kind":"XList","metadata":{"continue":"","resourceVersion":"7"}})",
                      3);
  REQUIRE(bench.heard.end);
  CHECK(bench.heard.end->resource_version == "7");
}

namespace {

struct Watched final : upstream::WatchHandler {
  void on_watch_begin() override { begun = true; }
  void on_watch_event(std::string_view event) override { events.emplace_back(event); }
  void on_watch_columns(std::string_view table) override { columns.emplace_back(table); }
  void on_watch_end(const upstream::WatchEnd& what) override { end = what; }
  bool begun = false;
  std::vector<std::string> events;
  std::vector<std::string> columns;
  std::optional<upstream::WatchEnd> end;
};

upstream::WatchRequest watch_of_pods() {
  upstream::WatchRequest out;
  out.head.target = "/api/v1/pods";
  out.resource_version = "42";
  out.ranges = {{"foofoo-", "", false}};
  out.all_namespaces = true;
  return out;
}

} // namespace

TEST_CASE("a watch hands on its own objects, bookmarks and errors, and nothing else") {
  ScriptedCaller caller;
  Watched heard;
  auto request = watch_of_pods();
  request.bookmarks = true;
  const auto watch = upstream::subscribe_alone(caller, std::move(request), heard);
  CHECK(caller.param("resourceVersion") == "42");
  CHECK(caller.param("allowWatchBookmarks") == "true");
  const std::string own = R"({"type":"ADDED","object":)" + item("foofoo-a", "x") + "}";
  const std::string foreign = R"({"type":"DELETED","object":)" + item("foofop-a", "x") + "}";
  const std::string bookmark =
      R"({"type":"BOOKMARK","object":{"kind":"Pod","metadata":{"resourceVersion":"50"}}})";
  const std::string error = R"({"type":"ERROR","object":{"kind":"Status","code":410}})";
  caller.answer(200, own + "\n" + foreign + "\n" + bookmark + "\n" + error + "\n", 1);
  CHECK(heard.begun);
  CHECK(heard.events == std::vector<std::string>{own, bookmark, error});
  REQUIRE(heard.end);
  CHECK_FALSE(heard.end->error);
}

TEST_CASE("a watch of Tables hands on the columns that came with what is somebody else's") {
  ScriptedCaller caller;
  Watched heard;
  auto request = watch_of_pods();
  request.table = true;
  const auto watch = upstream::subscribe_alone(caller, std::move(request), heard);
  const auto table = [](std::string_view columns, std::string_view name_space) {
    return fmt::format(
        R"({{"kind":"Table","columnDefinitions":{},"rows":[{{"cells":[],"object":{}}}]}})", columns,
        item(name_space, "x"));
  };
  const auto event = [](const std::string& object) {
    return R"({"type":"ADDED","object":)" + object + "}\n";
  };
  const auto first = table(R"([{"name":"Name"}])", "foofop-a");
  caller.answer(
      200, event(first) + event(table("null", "foofop-a")) + event(table("null", "foofoo-a")), 1);
  CHECK(heard.columns == std::vector<std::string>{first});
  CHECK(heard.events.size() == 1);
}

TEST_CASE("a watch that is refused ends with the Status") {
  ScriptedCaller caller;
  Watched refused;
  upstream::WatchRequest request;
  request.head.target = "/api/v1/pods";
  request.resource_version = "1";
  const auto first = upstream::subscribe_alone(caller, request, refused);
  caller.answer(410, "gone", 100);
  REQUIRE(refused.end);
  CHECK(refused.end->http_status == 410);
  CHECK(refused.end->body == "gone");
  CHECK_FALSE(refused.begun);
}
