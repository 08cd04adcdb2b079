// SPDX-License-Identifier: Apache-2.0
#include "daemon/upstream/page_spaces.hpp"
#include "list_bench.hpp"

using namespace zoo;
using namespace zoo::upstream::list_test;

namespace {

using Names = std::vector<std::string>;

const std::string k_spaces = "/api/v1/namespaces";
const std::string k_nowhere = "/api/v1/namespaces/foofoo--/pods";
const std::string k_refusal = R"({"kind":"Status"})";

std::string space(std::string_view name) {
  return fmt::format(R"({{"metadata":{{"name":"{}"}}}})", name);
}

/// Where so much of others lies behind the tenant's keys that its lists go namespace by namespace.
/// Namespaces are at 5,000,000, the kind is at 12.
struct SpaceBench : Bench {
  explicit SpaceBench(std::size_t behind = 1'000'000) {
    upstream.remember(path + "?behind", behind);
  }

  /// The namespaces, which are asked for now.
  void spaces(const Names& names, const char* next = "") {
    REQUIRE(caller.path() == k_spaces);
    std::vector<std::string> items;
    for (const auto& each : names)
      items.push_back(space(each));
    caller.answer(200, page(next, items, "5000000"), 100);
  }

  /// The kind's version, which is asked for now.
  void version(const char* version = "12") {
    REQUIRE(caller.path() == k_nowhere);
    CHECK(caller.param("resourceVersion").empty());
    CHECK(caller.param("continue").empty());
    caller.answer(200, page("", {}, version), 100);
  }

  /// All that comes before the first object.
  void find(const Names& names) {
    spaces(names);
    version();
    spaces(names);
  }

  /// The objects of a namespace, which are asked for now, at exactly the kind's version.
  void objects(const std::string& name_space, const Names& names) {
    REQUIRE(caller.path() == "/api/v1/namespaces/" + name_space + "/pods");
    CHECK(caller.param("resourceVersion") == "12");
    CHECK(caller.param("resourceVersionMatch") == "Exact");
    CHECK(caller.param("continue").empty());
    std::vector<std::string> items;
    for (const auto& each : names)
      items.push_back(item(name_space, each));
    caller.answer(200, page("", items, "12"), 100);
  }

  /// Is the range asked for at once, as of now?
  bool at_once() const {
    const auto position = translate::parse_upstream_token(caller.param("continue"));
    return caller.path() == path && position && position->revision == -1;
  }
};

} // namespace

TEST_CASE("the kind's own version is asked for between two lists of the namespaces") {
  SpaceBench bench;
  const auto list = bench.list();
  CHECK(bench.caller.path() == k_spaces);
  CHECK(bench.caller.param("continue") == translate::range_start_token("foofoo-"));
  CHECK(bench.caller.param("labelSelector").empty()); // upstream would go through all of them
  bench.spaces({"foofoo-a", "foofoo-a-b", "foofop-a"});
  CHECK(bench.caller.param("limit") == "2");
  bench.version();
  CHECK(bench.caller.param("continue") == translate::range_start_token("foofoo-"));
  bench.spaces({"foofoo-a", "foofoo-a-b", "foofop-a"});
  CHECK(bench.heard.begun == 0);
  CHECK(bench.caller.param("limit") == "512");
  bench.objects("foofoo-a-b", {"x"}); // "foofoo-a-b/" comes before "foofoo-a/" in upstream's keys
  CHECK(bench.heard.begun == 1);
  CHECK(bench.caller.path() == "/api/v1/namespaces/foofoo-a/pods");
  bench.caller.answer(200, page("token-2", {item("foofoo-a", "y")}, "12"), 100);
  CHECK(bench.caller.param("continue") == "token-2");
  bench.caller.answer(200, page("", {item("foofoo-a", "z")}, "12"), 100);
  CHECK(bench.heard.keys == Names{"foofoo-a-b/x", "foofoo-a/y", "foofoo-a/z"});
  CHECK(bench.heard.begun == 1);
  REQUIRE(bench.heard.end);
  CHECK(bench.heard.end->resource_version == "12");
  CHECK_FALSE(bench.heard.end->next_start);
  CHECK(bench.caller.requests.size() == 6);
}

TEST_CASE("a namespace that is made or deleted while a list asks is read") {
  SpaceBench made; // and comes before the others
  const auto first = made.list();
  made.spaces({"foofoo-b"});
  made.version();
  made.spaces({"foofoo-a", "foofoo-b"});
  made.objects("foofoo-a", {"x"});
  made.objects("foofoo-b", {"y"});
  CHECK(made.heard.keys == Names{"foofoo-a/x", "foofoo-b/y"});
  CHECK(made.heard.end);

  SpaceBench deleted;
  const auto second = deleted.list();
  deleted.spaces({"foofoo-a", "foofoo-b"});
  deleted.version();
  deleted.spaces({"foofoo-b"});
  deleted.objects("foofoo-a", {"x"}); // which it had at that version
  deleted.objects("foofoo-b", {"y"});
  CHECK(deleted.heard.keys == Names{"foofoo-a/x", "foofoo-b/y"});
  CHECK(deleted.heard.end);

  SpaceBench none;
  const auto third = none.list();
  none.find({});
  CHECK(none.caller.path() == k_nowhere);
  CHECK(none.caller.param("resourceVersion") == "12");
  none.caller.answer(200, page("", {}, "12"), 100);
  CHECK(none.heard.begun == 1);
  REQUIRE(none.heard.end);
  CHECK(none.heard.end->resource_version == "12");
}

TEST_CASE("events are read so too, and custom resources") {
  SpaceBench bench;
  bench.path = "/api/v1/events";
  bench.upstream.remember("/api/v1/events?behind", 1'000'000);
  const auto list = bench.list();
  bench.spaces({"foofoo-a"});
  CHECK(bench.caller.path() == "/api/v1/namespaces/foofoo--/events");
  bench.caller.answer(200, page("", {}, "12"), 100);
  bench.spaces({"foofoo-a"});
  CHECK(bench.caller.path() == "/api/v1/namespaces/foofoo-a/events");
  CHECK(bench.caller.param("resourceVersion") == "12");

  SpaceBench custom; // whose lists have their metadata behind the items
  const auto other = custom.list();
  custom.spaces({"foofoo-a"});
  custom.caller.answer(
      200,
      R"({"apiVersion":"x.io/v1","items":[],"kind":"XList","metadata":{"resourceVersion":"7"}})",
      3);
  custom.spaces({"foofoo-a"});
  CHECK(custom.caller.path() == "/api/v1/namespaces/foofoo-a/pods");
  CHECK(custom.caller.param("resourceVersion") == "7");
}

TEST_CASE("what lies behind decides, and how many namespaces there are") {
  Bench seen; // by a list that was read at once
  const auto before = seen.list();
  CHECK(seen.caller.path() == "/api/v1/pods");
  auto text = page("more", {item("foofoo-a", "x"), item("zzzzzz-a", "z")});
  seen.caller.answer(200, text.replace(text.find(":9}"), 2, ":50000"), 100);
  REQUIRE(seen.heard.end);
  const auto after = seen.list();
  CHECK(seen.caller.path() == k_spaces);

  // 5,000 for each request more than one, which are two and one for each namespace; and twice the 9
  // that lie behind the namespaces.
  for (const std::size_t behind : {std::size_t{20'018}, std::size_t{20'019}}) {
    CAPTURE(behind);
    SpaceBench bench(behind);
    const auto list = bench.list();
    bench.spaces({"foofoo-a", "foofoo-b"});
    CHECK(bench.at_once() == (behind == 20'018));
    bench.heard = {};
    const auto next = bench.list(); // which knows how many there are
    CHECK(bench.at_once() == (behind == 20'018));
  }

  SpaceBench crowded(50'000); // so many namespaces lie behind: one's own would cost as much
  crowded.upstream.remember("/api/v1/namespaces?behind", 20'000);
  const auto straight = crowded.list();
  CHECK(crowded.at_once());
}

TEST_CASE("a tenant of many namespaces is asked for each of them, to a bound") {
  Names names;
  for (int n = 100; n < 357; ++n)
    names.push_back(fmt::format("foofoo-{}", n));
  SpaceBench bench(10'000'000);
  const auto list = bench.list();
  const Names most(names.begin(), names.end() - 1);
  bench.find(most);
  Names keys;
  for (const auto& each : most) {
    bench.objects(each, {"x"});
    keys.push_back(each + "/x");
  }
  CHECK(bench.heard.keys == keys);
  CHECK(bench.heard.begun == 1);
  CHECK(bench.heard.end);

  bench.heard = {};
  const auto too_many = bench.list();
  bench.spaces(names);
  CHECK(bench.at_once());
  bench.caller.answer(200, page("", {item("foofoo-100", "x")}), 100);
  CHECK(bench.heard.keys == Names{"foofoo-100/x"});
  CHECK(bench.heard.begun == 1);
  CHECK(bench.heard.end);

  bench.upstream.remember("/api/v1/pods?behind=foofoo-", 10'000'000);
  const auto again = bench.list(); // how many there are is known now
  CHECK(bench.at_once());
}

TEST_CASE("a limit ends within a namespace, or where one ends") {
  SpaceBench within;
  const auto first = within.list(1);
  within.find({"foofoo-a", "foofoo-b"});
  CHECK(within.caller.param("limit") == "2");
  within.objects("foofoo-a", {"x", "y"});
  CHECK(within.heard.keys == Names{"foofoo-a/x"});
  REQUIRE(within.heard.end);
  CHECK(within.heard.end->resource_version == "12");
  CHECK(within.heard.end->next_start == std::string("foofoo-a/x") + '\0');

  // At a position that upstream takes: no slash at its end.
  const auto next_space = std::string("foofoo-b/") + '\0';
  SpaceBench at_end;
  const auto second = at_end.list(1);
  at_end.find({"foofoo-a", "foofoo-b"});
  at_end.objects("foofoo-a", {"x"});
  REQUIRE(at_end.heard.end);
  CHECK(at_end.heard.end->next_start == next_space);

  SpaceBench last;
  const auto third = last.list(1);
  last.find({"foofoo-a"});
  last.objects("foofoo-a", {"x"});
  REQUIRE(last.heard.end);
  CHECK_FALSE(last.heard.end->next_start);

  // The next page is at the same version, of which the first one has told the namespaces.
  at_end.heard = {};
  at_end.revision = 12;
  const auto rest = at_end.list(2, "", "", next_space);
  at_end.objects("foofoo-b", {"a"});
  CHECK(at_end.heard.keys == Names{"foofoo-b/a"});
  CHECK(at_end.heard.begun == 1);
  REQUIRE(at_end.heard.end);
  CHECK(at_end.heard.end->resource_version == "12");
  CHECK_FALSE(at_end.heard.end->next_start);

  within.heard = {}; // and begins in the namespace where it stood
  within.revision = 12;
  const auto page_two = within.list(2, "", "", std::string("foofoo-a/x") + '\0');
  CHECK(within.caller.path() == "/api/v1/namespaces/foofoo-a/pods");
  auto position = translate::parse_upstream_token(within.caller.param("continue"));
  REQUIRE(position);
  CHECK(position->revision == 12);
  CHECK(position->start == std::string("x") + '\0');
  within.caller.answer(200, page("", {item("foofoo-a", "y")}, "12"), 100);
  within.objects("foofoo-b", {"a", "b"});
  REQUIRE(within.heard.end);
  CHECK(within.heard.end->next_start == std::string("foofoo-b/a") + '\0');
  within.heard = {};
  const auto page_three = within.list(2, "", "", std::string("foofoo-b/a") + '\0');
  within.caller.answer(200, page("", {item("foofoo-b", "b")}, "12"), 100);
  CHECK(within.heard.keys == Names{"foofoo-b/b"});
  within.heard = {}; // behind all of them
  const auto nothing = within.list(2, "", "", std::string("foofoo-c/a") + '\0');
  CHECK(within.caller.path() == k_nowhere);
  within.caller.answer(200, page("", {}, "12"), 100);
  CHECK(within.heard.begun == 1);
  REQUIRE(within.heard.end);
  CHECK(within.heard.end->resource_version == "12");

  // What upstream has forgotten meanwhile it says of the range.
  within.heard = {};
  const auto too_old = within.list(2, "", "", next_space);
  within.caller.answer(410, k_refusal, 100);
  CHECK(within.caller.path() == "/api/v1/pods");
  within.caller.answer(410, k_refusal, 100);
  CHECK(within.heard.error_status == 410);

  // Nobody has told the namespaces of this one: it is read at once.
  SpaceBench unknown;
  unknown.revision = 12;
  const auto fourth = unknown.list(2, "", "", next_space);
  CHECK(unknown.caller.path() == "/api/v1/pods");
  position = translate::parse_upstream_token(unknown.caller.param("continue"));
  REQUIRE(position);
  CHECK(position->revision == 12);
  CHECK(position->start == next_space);
  unknown.caller.answer(200, page("", {item("foofoo-b", "a")}, "12"), 100);
  CHECK(unknown.heard.keys == Names{"foofoo-b/a"});

  // One that goes on as of now begins in the namespace where it stood, by a position there.
  SpaceBench now;
  const auto fifth = now.list(1, "", "", std::string("foofoo-b/m") + '\0');
  now.find({"foofoo-a", "foofoo-b"});
  CHECK(now.caller.path() == "/api/v1/namespaces/foofoo-b/pods");
  position = translate::parse_upstream_token(now.caller.param("continue"));
  REQUIRE(position);
  CHECK(position->revision == 12);
  CHECK(position->start == std::string("m") + '\0');
  now.caller.answer(200, page("", {item("foofoo-b", "n"), item("foofoo-b", "o")}, "12"), 100);
  REQUIRE(now.heard.end);
  CHECK(now.heard.end->next_start == std::string("foofoo-b/n") + '\0');

  SpaceBench on;
  const auto sixth = on.list(2, "", "", next_space);
  on.find({"foofoo-a", "foofoo-b"});
  on.objects("foofoo-b", {"a"});
  CHECK(on.heard.keys == Names{"foofoo-b/a"});
}

TEST_CASE("the namespaces of so many lists in pages are remembered, and the oldest go") {
  upstream::PageSpaces known;
  const auto spaces = std::make_shared<const Names>(Names{"foofoo-a/"});
  for (int n = 0; n < 256; ++n)
    known.keep(std::to_string(n), spaces);
  known.keep("0", spaces); // which is a page further
  known.keep("256", spaces);
  CHECK(known.find("0") == spaces);
  CHECK(known.find("1") == nullptr);
  CHECK(known.find("2") == spaces);
  CHECK(known.find("256") == spaces);

  SpaceBench many(10'000'000); // where positions are not taken there may be more than are kept
  many.upstream.set_range_reads(false);
  Names names;
  for (int n = 100; n < 357; ++n)
    names.push_back(fmt::format("foofoo-{}", n));
  const auto list = many.list(1);
  many.find(names);
  many.objects("foofoo-100", {"x", "y"});
  REQUIRE(many.heard.end);
  CHECK(many.heard.end->next_start);
  many.revision = 12;
  const auto next = many.list(1, "", "", *many.heard.end->next_start);
  CHECK(many.caller.path() == k_spaces);
}

TEST_CASE("what cannot be had namespace by namespace is read at once, before anything is said") {
  for (const int status : {410, 500, 504}) {
    for (int answered = 0; answered < 4; ++answered) {
      CAPTURE(status);
      CAPTURE(answered);
      SpaceBench bench;
      const auto list = bench.list();
      if (answered > 0) bench.spaces({"foofoo-a"});
      if (answered > 1) bench.version();
      if (answered > 2) bench.spaces({"foofoo-a"});
      bench.caller.answer(status, k_refusal, 100);
      CHECK(bench.at_once());
      CHECK_FALSE(bench.heard.error_status);
      bench.caller.answer(200, page("", {item("foofoo-a", "x")}), 100);
      CHECK(bench.heard.keys == Names{"foofoo-a/x"});
      CHECK(bench.heard.begun == 1);
      REQUIRE(bench.heard.end);
      CHECK(bench.heard.end->resource_version == "42");
    }
  }
  SpaceBench still; // which is refused as well
  const auto second = still.list();
  still.find({"foofoo-a"});
  still.caller.answer(500, k_refusal, 100);
  still.caller.answer(500, k_refusal, 100);
  CHECK(still.heard.error_status == 500);
  CHECK(still.caller.requests.size() == 5);

  SpaceBench late;
  const auto third = late.list();
  late.find({"foofoo-a", "foofoo-b"});
  late.objects("foofoo-a", {"x"});
  late.caller.answer(410, k_refusal, 100);
  CHECK(late.heard.error_status == 410);
  CHECK(late.caller.requests.size() == 5);

  SpaceBench refused; // which is about something else
  const auto fourth = refused.list();
  refused.find({"foofoo-a"});
  refused.caller.answer(403, k_refusal, 100);
  CHECK(refused.heard.error_status == 403);
  CHECK(refused.caller.requests.size() == 4);

  SpaceBench without; // an answer that says no version
  const auto fifth = without.list();
  without.spaces({"foofoo-a"});
  without.version("");
  without.spaces({"foofoo-a"});
  CHECK(without.at_once());
}

TEST_CASE("a pause holds for whatever is asked next, and a list that is let go asks no more") {
  SpaceBench bench;
  auto list = bench.list();
  for (int answered = 0; answered < 5; ++answered) {
    CAPTURE(answered);
    list->pause();
    CHECK(bench.caller.paused.contains(bench.caller.requests.size() - 1));
    switch (answered) { // what was on its way comes
    case 0:
      bench.spaces({"foofoo-a", "foofoo-b"});
      break;
    case 1:
      bench.version();
      break;
    case 2:
      bench.spaces({"foofoo-a", "foofoo-b"});
      break;
    case 3:
      bench.objects("foofoo-a", {"x"});
      break;
    default:
      break;
    }
    CHECK(bench.caller.paused.contains(bench.caller.requests.size() - 1));
    list->resume();
    CHECK_FALSE(bench.caller.paused.contains(bench.caller.requests.size() - 1));
  }
  CHECK(bench.heard.keys == Names{"foofoo-a/x"});
  CHECK_FALSE(bench.heard.end);
  list.reset();
  CHECK(bench.caller.alive.empty());
}

TEST_CASE("after some lists what lies behind is looked at again") {
  SpaceBench bench(100'000);
  std::size_t lists = 0;
  for (;; ++lists) {
    REQUIRE(lists < 100);
    bench.heard = {};
    const auto list = bench.list();
    if (bench.at_once()) break;
    bench.find({"foofoo-a", "foofoo-b"});
    bench.objects("foofoo-a", {});
    bench.objects("foofoo-b", {});
    REQUIRE(bench.heard.end);
  }
  CHECK(lists > 5);
}

TEST_CASE("every page, and every namespace, is asked for as whoever asks") {
  for (const bool by_space : {false, true}) {
    CAPTURE(by_space);
    SpaceBench bench(by_space ? 1'000'000 : 0);
    http::Headers fields;
    fields.add("Impersonate-User", "zoo:foofoo");
    bench.fields = std::make_shared<const http::FieldLines>(http::FieldLines::make(fields).value());
    const auto list = bench.list();
    if (by_space) bench.find({"foofoo-a"});
    bench.caller.answer(200, page("token-2", {item("foofoo-a", "x")}), 100);
    bench.caller.answer(200, page("", {item("foofoo-a", "y")}), 100);
    CHECK(bench.heard.end);
    CHECK(bench.caller.requests.size() == (by_space ? 5 : 2));
    for (const auto& request : bench.caller.requests)
      CHECK(request.head.prepared == bench.fields);
  }
}

TEST_CASE("where positions are not taken, the range's namespaces are read in the same way") {
  SpaceBench bench(0);
  bench.upstream.set_range_reads(false);
  const auto list = bench.list();
  CHECK(bench.caller.param("labelSelector") == "tenant.kubezoo.io/id=foofoo");
  CHECK(bench.caller.param("continue").empty());
  CHECK(bench.caller.param("resourceVersion").empty());
  bench.spaces({"aaaaaa-a", "foofoo-a", "foofoo-a-b"});
  bench.version();
  CHECK(bench.caller.param("labelSelector") == "tenant.kubezoo.io/id=foofoo");
  bench.spaces({"aaaaaa-a", "foofoo-a", "foofoo-a-b", "foofoo-b"});
  bench.objects("foofoo-a-b", {"x"});
  bench.objects("foofoo-a", {"y"});
  bench.objects("foofoo-b", {});
  CHECK(bench.heard.keys == Names{"foofoo-a-b/x", "foofoo-a/y"});
  CHECK(bench.heard.begun == 1);
  REQUIRE(bench.heard.end);
  CHECK(bench.heard.end->resource_version == "12");
}

TEST_CASE(
    "where positions are not taken, a version of the asker's has namespaces of then and now") {
  for (const bool known : {true, false}) { // or another etcd than the kind's
    CAPTURE(known);
    SpaceBench bench(0);
    bench.upstream.set_range_reads(false);
    bench.revision = 12;
    const auto list = bench.list(0, "", "", std::string("foofoo-b/") + '\0');
    CHECK(bench.caller.param("resourceVersion") == "12");
    CHECK(bench.caller.param("resourceVersionMatch") == "Exact");
    if (known) {
      bench.spaces({"foofoo-a", "foofoo-b"});
    } else {
      bench.caller.answer(410, k_refusal, 100);
    }
    CHECK(bench.caller.param("resourceVersion").empty());
    bench.spaces({"foofoo-a", "foofoo-c"});
    if (known) bench.objects("foofoo-b", {"x"});
    bench.objects("foofoo-c", {"y"});
    REQUIRE(bench.heard.end);
    CHECK(bench.heard.end->resource_version == "12");
    CHECK(bench.heard.keys.size() == (known ? 2 : 1));
  }

  SpaceBench gone(0); // of the kind it is said
  gone.upstream.set_range_reads(false);
  gone.revision = 12;
  const auto list = gone.list();
  gone.caller.answer(410, k_refusal, 100);
  gone.spaces({"foofoo-a"});
  gone.caller.answer(410, k_refusal, 100);
  CHECK(gone.heard.error_status == 410);
}

TEST_CASE("where positions are not taken, a kind without versions is read at the namespaces'") {
  SpaceBench bench(0);
  bench.upstream.set_range_reads(false);
  const auto list = bench.list();
  bench.spaces({"foofoo-a"});
  bench.version("");
  bench.spaces({"foofoo-a"});
  CHECK(bench.caller.param("resourceVersion") == "5000000");
  bench.caller.answer(200, page("", {item("foofoo-a", "x")}, ""), 100);
  CHECK(bench.heard.keys == Names{"foofoo-a/x"});
  REQUIRE(bench.heard.end);
  CHECK(bench.heard.end->resource_version == "5000000");
}

TEST_CASE("a kind whose server takes no positions is read namespace by namespace") {
  SpaceBench bench(0);
  const std::string metrics = "/apis/metrics.k8s.io/v1beta1/pods";
  bench.path = metrics;
  const auto objects = [&](const std::string& version) {
    CHECK(bench.caller.path() == "/apis/metrics.k8s.io/v1beta1/namespaces/foofoo-a/pods");
    bench.caller.answer(200, page("", {item("foofoo-a", "x")}, version), 100);
    CHECK(bench.heard.keys == Names{"foofoo-a/x"});
    CHECK(bench.heard.begun == 1);
    REQUIRE(bench.heard.end);
    CHECK(bench.heard.end->resource_version == "5000000");
  };
  const auto nowhere = [&] {
    CHECK(bench.caller.path() == "/apis/metrics.k8s.io/v1beta1/namespaces/foofoo--/pods");
    bench.caller.answer(200, page("", {}, ""), 100);
  };
  const auto first = bench.list();
  CHECK(bench.caller.path() == metrics);
  CHECK_FALSE(bench.caller.param("continue").empty());
  SUBCASE("it has no versions, and gives all in any order") {
    bench.caller.answer(200, page("", {item("zzzzzz-a", "y"), item("foofoo-a", "x")}, ""), 100);
  }
  SUBCASE("it begins at its beginning") {
    bench.caller.answer(200, page("", {item("aaaaaa-a", "y"), item("foofoo-a", "x")}, "7"), 100);
  }
  bench.spaces({"foofoo-a"});
  nowhere();
  bench.spaces({"foofoo-a"});
  objects("");
  // From then on it is known.
  bench.heard = {};
  const auto second = bench.list();
  bench.spaces({"foofoo-a"});
  nowhere();
  bench.spaces({"foofoo-a"});
  objects("");
}
