// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/field_lines.hpp"
#include "daemon/net/loop.hpp"
#include "daemon/translate/continue.hpp"
#include "daemon/upstream/list_source.hpp"
#include "daemon/upstream/upstream.hpp"
#include "daemon/upstream/watch_source.hpp"

#include <doctest/doctest.h>

#include <deque>
#include <set>

using namespace zoo;

namespace {

/// Answers what the test says, when the test says so.
class ScriptedCaller final : public upstream::Caller {
public:
  struct Request {
    http::RequestHead head;
    upstream::CallHandler* handler;
  };
  std::unique_ptr<upstream::Call> start(http::RequestHead head, upstream::CallOptions,
                                        upstream::CallHandler& handler) override {
    requests.push_back({std::move(head), &handler});
    return std::make_unique<Idle>(*this, requests.size() - 1);
  }
  std::string param(std::string_view key) const {
    const auto& target = requests.back().head.target;
    const auto params = translate::parse_query(target.substr(target.find('?') + 1));
    const auto* found = translate::find_param(*params, key);
    return found == nullptr ? "" : *found;
  }
  /// The answer in pieces of `slice` bytes.
  void answer(int status, std::string_view body, std::size_t slice) {
    const auto number = requests.size() - 1;
    auto* handler = requests.back().handler;
    handler->on_head({status, {}});
    for (; !body.empty() && alive.contains(number);
         body.remove_prefix(std::min(slice, body.size())))
      handler->on_data(body.substr(0, slice));
    if (alive.contains(number)) handler->on_end();
  }
  /// One that was asked for earlier; `end` false: its end has not come yet.
  void answer_of(std::size_t request, std::string_view body, bool end = true) {
    auto* handler = requests.at(request).handler;
    if (!body.empty()) {
      handler->on_head({200, {}});
      handler->on_data(body);
    }
    if (end) handler->on_end();
  }
  std::deque<Request> requests;
  std::set<std::size_t> alive, paused; ///< requests; those that hand nothing on

private:
  class Idle final : public upstream::Call {
  public:
    Idle(ScriptedCaller& caller, std::size_t number) : caller_(caller), number_(number) {
      caller_.alive.insert(number_);
    }
    ~Idle() override {
      caller_.alive.erase(number_);
      caller_.paused.erase(number_);
    }

  private:
    void pause() override { caller_.paused.insert(number_); }
    void resume() override { caller_.paused.erase(number_); }
    void send_data(std::string_view) override {}
    void send_end() override {}
    bool writable() const override { return true; }
    ScriptedCaller& caller_;
    std::size_t number_;
  };
};

struct Heard final : upstream::ListHandler {
  void on_list_begin(std::string_view) override { ++begun; }
  void on_list_item(std::string_view key, std::string_view) override { keys.emplace_back(key); }
  void on_list_end(const upstream::ListEnd& what) override { end = what; }
  void on_list_error(const Error&, int status, std::string_view) override { error_status = status; }
  int begun = 0;
  std::vector<std::string> keys;
  std::optional<upstream::ListEnd> end;
  std::optional<int> error_status;
};

std::string item(std::string_view name_space, std::string_view name) {
  return fmt::format(R"({{"metadata":{{"name":"{}","namespace":"{}"}},"spec":{{"x":"]}}"}}}})",
                     name, name_space);
}

std::string page(std::string_view next, const std::vector<std::string>& items) {
  std::string out = fmt::format(
      R"({{"kind":"PodList","apiVersion":"v1","metadata":{{"resourceVersion":"42","continue":"{}","remainingItemCount":9}},"items":[)",
      next);
  for (const auto& each : items) {
    if (out.back() != '[') out += ',';
    out += each;
  }
  return out + "]}";
}

struct Bench {
  net::Loop loop;
  upstream::Upstream upstream{std::make_shared<upstream::UpstreamEndpoint>(), {&loop}, {}};
  ScriptedCaller caller;
  Heard heard;
  std::shared_ptr<const http::FieldLines> fields; ///< that each request shall have

  std::unique_ptr<upstream::List> list(std::size_t limit = 0, std::string hidden = "",
                                       const std::string& labels = "", std::string start = "") {
    upstream::ListRequest request;
    request.head.method = "GET";
    request.head.target = "/api/v1/pods";
    request.head.prepared = fields;
    request.range = {"foofoo-", std::move(start), false};
    request.all_namespaces = true;
    request.limit = limit;
    if (!labels.empty()) request.params = {{"labelSelector", labels}};
    if (!hidden.empty())
      request.counts = [hidden](std::string_view item) { return item.find(hidden) == item.npos; };
    return upstream::list_range(upstream, caller, std::move(request), "pods", heard);
  }
};

} // namespace

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
  CHECK(slow.heard.error_status == 0);

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
  CHECK(bench.heard.error_status == 0);
}

TEST_CASE("where positions are not taken, the range's namespaces are read at one version") {
  Bench bench;
  bench.upstream.set_range_reads(false);
  const auto list = bench.list();
  CHECK(bench.caller.requests.back().head.target.starts_with("/api/v1/namespaces?"));
  CHECK(bench.caller.param("labelSelector") == "tenant.kubezoo.io/id=foofoo");
  CHECK(bench.caller.param("continue").empty());
  const auto space = [](std::string_view name) {
    return fmt::format(R"({{"metadata":{{"name":"{}"}}}})", name);
  };
  bench.caller.answer(200, page("", {space("aaaaaa-a"), space("foofoo-a"), space("foofoo-a-b")}),
                      100);
  // "foofoo-a-b/" comes before "foofoo-a/" in upstream's keys.
  CHECK(
      bench.caller.requests.back().head.target.starts_with("/api/v1/namespaces/foofoo-a-b/pods?"));
  CHECK(bench.caller.param("resourceVersion") == "42");
  CHECK(bench.caller.param("resourceVersionMatch") == "Exact");
  bench.caller.answer(200, page("", {item("foofoo-a-b", "x")}), 100);
  CHECK(bench.caller.requests.back().head.target.starts_with("/api/v1/namespaces/foofoo-a/pods?"));
  bench.caller.answer(200, page("", {item("foofoo-a", "y")}), 100);
  CHECK(bench.heard.keys == std::vector<std::string>{"foofoo-a-b/x", "foofoo-a/y"});
  CHECK(bench.heard.begun == 1);
  REQUIRE(bench.heard.end);
  CHECK(bench.heard.end->resource_version == "42");
}

TEST_CASE("where much of others lies behind the range, its namespaces are read at one version") {
  const auto space = [](std::string_view name) {
    return fmt::format(R"({{"metadata":{{"name":"{}"}}}})", name);
  };
  const auto counted = [](std::string page, std::string_view remaining) {
    return page.replace(page.find(":9}"), 2, fmt::format(":{}", remaining));
  };
  const std::vector<std::string> spaces{space("foofoo-a"), space("foofoo-b"), space("foofop-a")};
  Bench bench;
  const auto first = bench.list();
  bench.caller.answer(
      200, counted(page("more", {item("foofoo-a", "x"), item("zzzzzz-a", "z")}), "50000"), 100);
  REQUIRE(bench.heard.end);

  bench.heard = {};
  const auto second = bench.list();
  CHECK(bench.caller.requests.back().head.target.starts_with("/api/v1/namespaces?"));
  CHECK(bench.caller.param("continue") == translate::range_start_token("foofoo-"));
  CHECK(bench.caller.param("labelSelector").empty()); // upstream would go through all of them
  bench.caller.answer(200, page("more", spaces), 100);
  CHECK(bench.caller.requests.back().head.target.starts_with("/api/v1/namespaces/foofoo-a/pods?"));
  CHECK(bench.caller.param("resourceVersion") == "42");
  CHECK(bench.caller.param("resourceVersionMatch") == "Exact");
  CHECK(bench.caller.param("limit") == "512");
  bench.caller.answer(200, page("token-2", {item("foofoo-a", "x")}), 100);
  CHECK(bench.caller.param("continue") == "token-2");
  bench.caller.answer(200, page("", {item("foofoo-a", "y")}), 100);
  CHECK(bench.caller.requests.back().head.target.starts_with("/api/v1/namespaces/foofoo-b/pods?"));
  bench.caller.answer(200, page("", {item("foofoo-b", "z")}), 100);
  CHECK(bench.heard.keys == std::vector<std::string>{"foofoo-a/x", "foofoo-a/y", "foofoo-b/z"});
  CHECK(bench.heard.begun == 1);
  REQUIRE(bench.heard.end);
  CHECK(bench.heard.end->resource_version == "42");

  // A client's page goes on within a namespace, by a position in it; at a version of its own it
  // is read at once.
  bench.heard = {};
  const auto rest = bench.list(1, "", "", std::string("foofoo-b/m") + '\0');
  bench.caller.answer(200, page("more", spaces), 100);
  CHECK(bench.caller.requests.back().head.target.starts_with("/api/v1/namespaces/foofoo-b/pods?"));
  CHECK(bench.caller.param("limit") == "2");
  const auto position = translate::parse_upstream_token(bench.caller.param("continue"));
  REQUIRE(position);
  CHECK(position->revision == 42);
  CHECK(position->start == std::string("m") + '\0');
  bench.caller.answer(200, page("", {item("foofoo-b", "n"), item("foofoo-b", "o")}), 100);
  REQUIRE(bench.heard.end);
  CHECK(bench.heard.end->next_start == std::string("foofoo-b/n") + '\0');

  // One that is full where a namespace ends goes on in the next one, at a position that upstream
  // takes (no slash at its end).
  bench.heard = {};
  const auto full = bench.list(1);
  bench.caller.answer(200, page("more", spaces), 100);
  bench.caller.answer(200, page("", {item("foofoo-a", "x")}), 100);
  REQUIRE(bench.heard.end);
  const auto next_space = std::string("foofoo-b/") + '\0';
  CHECK(bench.heard.end->next_start == next_space);
  bench.heard = {};
  const auto on = bench.list(2, "", "", next_space);
  bench.caller.answer(200, page("more", spaces), 100);
  CHECK(bench.caller.requests.back().head.target.starts_with("/api/v1/namespaces/foofoo-b/pods?"));
  CHECK(bench.caller.param("continue").empty());
  bench.caller.answer(200, page("", {item("foofoo-b", "a")}), 100);
  CHECK(bench.heard.keys == std::vector<std::string>{"foofoo-b/a"});
  Bench at_once;
  const auto whole = at_once.list(2, "", "", next_space);
  at_once.caller.answer(200, page("", {item("foofoo-b", "a")}), 100);
  CHECK(at_once.heard.keys == std::vector<std::string>{"foofoo-b/a"});

  // After some lists it looks at what lies behind again.
  std::size_t lists = 0;
  for (bool spaced = true; spaced; ++lists) {
    REQUIRE(lists < 100);
    bench.heard = {};
    const auto next = bench.list();
    spaced = bench.caller.requests.back().head.target.starts_with("/api/v1/namespaces?");
    if (!spaced) break;
    bench.caller.answer(200, page("more", spaces), 100);
    bench.caller.answer(200, page("", {}), 100);
    bench.caller.answer(200, page("", {}), 100);
    REQUIRE(bench.heard.end);
  }
  CHECK(lists > 5);
}

TEST_CASE("a tenant of many namespaces is not asked for each, whatever lies behind") {
  std::vector<std::string> spaces;
  for (int n = 100; n < 120; ++n)
    spaces.push_back(fmt::format(R"({{"metadata":{{"name":"foofoo-{}"}}}})", n));
  Bench bench;
  bench.upstream.remember("/api/v1/pods?behind", 1'000'000); // another tenant's list has seen it
  const auto first = bench.list();
  CHECK(bench.caller.requests.back().head.target.starts_with("/api/v1/namespaces?"));
  CHECK(bench.caller.param("limit") == "16");
  bench.caller.answer(200, page("more", {spaces.begin(), spaces.begin() + 16}), 100);
  bench.caller.answer(200, page("", {spaces.begin() + 16, spaces.end()}), 100);
  CHECK(bench.caller.requests.back().head.target.starts_with("/api/v1/pods?"));
  const auto position = translate::parse_upstream_token(bench.caller.param("continue"));
  REQUIRE(position);
  CHECK(position->revision == -1);
  bench.caller.answer(200, page("", {item("foofoo-100", "x")}), 100);
  CHECK(bench.heard.keys == std::vector<std::string>{"foofoo-100/x"});
  CHECK(bench.heard.begun == 1);
  CHECK(bench.heard.end);

  bench.upstream.remember("/api/v1/pods?behind=foofoo-", 1'000'000);
  bench.heard = {};
  const auto second = bench.list(); // how many there are is known now
  CHECK(bench.caller.requests.back().head.target.starts_with("/api/v1/pods?"));
}

TEST_CASE("a kind whose versions are not those of namespaces is read at once") {
  const auto space = R"({"metadata":{"name":"foofoo-a"}})";
  // Namespaces are said to be at 42, in all of these.
  const auto at_once = [](const Bench& bench) {
    const bool out = bench.caller.requests.back().head.target.starts_with("/api/v1/pods?");
    const auto position = translate::parse_upstream_token(bench.caller.param("continue"));
    return out && position && position->revision == -1;
  };
  Bench ahead; // the kind has been at 43 before
  ahead.upstream.remember("/api/v1/pods?behind", 50'000);
  ahead.upstream.remember("/api/v1/pods?version", 43);
  const auto first = ahead.list();
  ahead.caller.answer(200, page("", {space}), 100);
  CHECK(at_once(ahead));
  ahead.caller.answer(200, page("", {item("foofoo-a", "x")}), 100);
  CHECK(ahead.heard.keys == std::vector<std::string>{"foofoo-a/x"});
  const auto again = [&] {
    ahead.upstream.remember("/api/v1/pods?behind=foofoo-", 50'000);
    ahead.upstream.remember("/api/v1/pods?version", 43);
    return ahead.list();
  };
  for (int times = 1; times < 3; ++times) {
    const auto list = again();
    CHECK_FALSE(at_once(ahead));
    ahead.upstream.remember("/api/v1/pods?version", 41); // of a list that came later
    ahead.caller.answer(200, page("", {space}), 100);
    CHECK(at_once(ahead));
  }
  const auto last = again(); // and is not tried for ever
  CHECK(at_once(ahead));

  // One that went well forgets the mistakes before it.
  Bench healed;
  healed.upstream.remember("/api/v1/pods?behind", 50'000);
  healed.upstream.remember("/api/v1/pods?apart", 2);
  const auto well = healed.list();
  healed.caller.answer(200, page("", {space}), 100);
  healed.caller.answer(200, page("", {item("foofoo-a", "x")}), 100);
  CHECK(healed.heard.end);
  CHECK(healed.upstream.remembered("/api/v1/pods?apart") == 0);

  Bench crowded; // as many namespaces lie behind: to know one's own would cost as much
  crowded.upstream.remember("/api/v1/pods?behind", 50'000);
  crowded.upstream.remember("/api/v1/namespaces?behind", 49'000);
  const auto straight = crowded.list();
  CHECK(at_once(crowded));

  Bench together; // another list of the kind was answered while this one asked
  together.upstream.remember("/api/v1/pods?behind", 50'000);
  together.upstream.remember("/api/v1/pods?version", 42);
  const auto while_asked = together.list();
  together.upstream.remember("/api/v1/pods?version", 43);
  together.caller.answer(200, page("", {space}), 100);
  CHECK(
      together.caller.requests.back().head.target.starts_with("/api/v1/namespaces/foofoo-a/pods"));

  for (const int status : {410, 500, 504}) { // compacted there, or still to come
    CAPTURE(status);
    Bench other;
    other.upstream.remember("/api/v1/pods?behind", 50'000);
    const auto list = other.list();
    other.caller.answer(200, page("", {space}), 100);
    other.caller.answer(status, R"({"kind":"Status"})", 100);
    CHECK(at_once(other));
    CHECK_FALSE(other.heard.error_status);
    other.caller.answer(200, page("", {item("foofoo-a", "x")}), 100);
    CHECK(other.heard.keys == std::vector<std::string>{"foofoo-a/x"});
    CHECK(other.heard.begun == 1);
    CHECK(other.heard.end);
  }
  Bench refused; // which is about something else
  refused.upstream.remember("/api/v1/pods?behind", 50'000);
  const auto denied = refused.list();
  refused.caller.answer(200, page("", {space}), 100);
  refused.caller.answer(403, R"({"kind":"Status"})", 100);
  CHECK(refused.heard.error_status == 403);
  CHECK(refused.caller.requests.size() == 2);
}

TEST_CASE("what a client's own limit left is not what lies behind") {
  Bench bench;
  const auto list = bench.list(1);
  auto text = page("more", {item("foofoo-a", "x"), item("foofoo-a", "y")});
  text.replace(text.find(":9}"), 2, ":50000");
  bench.caller.answer(200, text, 100);
  REQUIRE(bench.heard.end);
  CHECK(bench.upstream.remembered("/api/v1/pods?behind") == 0);
  CHECK(bench.upstream.remembered("/api/v1/pods?version") == 42);
}

TEST_CASE("every page, and every namespace, is asked for as whoever asks") {
  const auto space = R"({"metadata":{"name":"foofoo-a"}})";
  for (const bool by_space : {false, true}) {
    CAPTURE(by_space);
    Bench bench;
    http::Headers fields;
    fields.add("Impersonate-User", "zoo:foofoo");
    bench.fields = std::make_shared<const http::FieldLines>(http::FieldLines::make(fields).value());
    if (by_space) bench.upstream.remember("/api/v1/pods?behind", 50'000);
    const auto list = bench.list();
    if (by_space) bench.caller.answer(200, page("", {space}), 100);
    bench.caller.answer(200, page("token-2", {item("foofoo-a", "x")}), 100);
    bench.caller.answer(200, page("", {item("foofoo-a", "y")}), 100);
    CHECK(bench.heard.end);
    CHECK(bench.caller.requests.size() == (by_space ? 3 : 2));
    for (const auto& request : bench.caller.requests)
      CHECK(request.head.prepared == bench.fields);
  }
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

TEST_CASE("what is not shown does not count for the limit, and is no more that follows") {
  Bench bench;
  const auto list = bench.list(2, "hidden");
  CHECK(bench.caller.param("limit") == "3");
  bench.caller.answer(200,
                      page("more", {item("foofoo-a", "hidden-1"), item("foofoo-a", "x"),
                                    item("foofoo-a", "hidden-2")}),
                      100);
  REQUIRE_FALSE(bench.heard.end);
  CHECK(bench.caller.param("limit") == "2");
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
  void on_watch_end(const upstream::WatchEnd& what) override { end = what; }
  bool begun = false;
  std::vector<std::string> events;
  std::optional<upstream::WatchEnd> end;
};

} // namespace

TEST_CASE("a watch hands on its own objects, bookmarks and errors, and nothing else") {
  ScriptedCaller caller;
  Watched heard;
  upstream::WatchRequest request;
  request.head.target = "/api/v1/pods";
  request.resource_version = "42";
  request.bookmarks = true;
  request.ranges = {{"foofoo-", "", false}};
  request.all_namespaces = true;
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
