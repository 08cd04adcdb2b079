// SPDX-License-Identifier: Apache-2.0
#include "common/base/file.hpp"
#include "common/kube/client.hpp"
#include "tests/unit/base/temporary_directory.hpp"
#include "tests/unit/http_client/scripted_server.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace zoo;
using namespace zoo::kube;
using Json = nlohmann::json;
using test::answer;
using test::Answers;
using test::ScriptedServer;

namespace {

KubeClient client_of(const ScriptedServer& server, KubeClientOptions options = {}) {
  ClusterAccess access;
  access.server = server.url("");
  return KubeClient(std::move(access), std::move(options));
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::string status(int code, std::string_view reason, std::string_view message) {
  const Json body = {{"kind", "Status"}, {"code", code}, {"reason", reason}, {"message", message}};
  return answer(body.dump(), std::to_string(code) + " X");
}

} // namespace

TEST_CASE("path segments and queries are percent-encoded") {
  CHECK(path({"api", "v1", "namespaces", "a b/c?ä%"}) ==
        "/api/v1/namespaces/a%20b%2Fc%3F%C3%A4%25");
  CHECK(path({"api", ".."}) == "/api/%2E%2E");
  CHECK(path({}) == "");
  CHECK(with_query("/a", {}) == "/a");
  CHECK(with_query("/a", {{"fieldSelector", "metadata.name=x"}, {"limit", "5"}}) ==
        "/a?fieldSelector=metadata.name%3Dx&limit=5");
  CHECK(with_query("/a?b=c", {{"d", "&"}}) == "/a?b=c&d=%26");
}

TEST_CASE("the upstream is asked directly, whatever the environment says of proxies") {
  Answers script({answer("{}")});
  const ScriptedServer server(std::ref(script));
  ClusterAccess access;
  access.server = server.url("");
  access.server.replace(access.server.find("127.0.0.1"), 9, "0.0.0.0"); // not as loopback
  ::setenv("http_proxy", "http://127.0.0.1:1", 1);
  const auto answered = KubeClient(std::move(access)).get("/a");
  ::unsetenv("http_proxy");
  CHECK(answered);
}

TEST_CASE("verbs send the right method, content type and headers") {
  Answers script({answer("{}")});
  const ScriptedServer server(std::ref(script));
  KubeClientOptions options;
  options.headers = {{"Impersonate-User", "zoo:foofoo"}};
  options.user_agent = "zood-test";
  // The server serves one connection at a time: a kept one would hold up that of a POST.
  const auto fresh = [&] { return client_of(server, options); };
  const auto seen = [&] { return script.requests().back(); };
  CHECK(fresh().get("/a"));
  CHECK(seen().starts_with("GET /a HTTP/1.1"));
  CHECK(contains(seen(), "Impersonate-User: zoo:foofoo\r\n"));
  CHECK(contains(seen(), "User-Agent: zood-test/"));
  CHECK(contains(seen(), "Accept: application/json\r\n"));
  CHECK(fresh().create("/a", Json{{"x", 1}}, {{"dryRun", "All"}}));
  CHECK(seen().starts_with("POST /a?dryRun=All HTTP/1.1"));
  CHECK(seen().ends_with("{\"x\":1}"));
  CHECK(fresh().update("/a", Json::object()));
  CHECK(seen().starts_with("PUT /a"));
  CHECK(fresh().patch("/a", "application/merge-patch+json", Json::object()));
  CHECK(contains(seen(), "Content-Type: application/merge-patch+json\r\n"));
  CHECK(fresh().apply("/a", Json::object(), "zood", true));
  CHECK(seen().starts_with("PATCH /a?fieldManager=zood&force=true"));
  CHECK(contains(seen(), "Content-Type: application/apply-patch+yaml\r\n"));
  CHECK(fresh().remove("/a"));
  CHECK(seen().starts_with("DELETE /a"));
  CHECK(fresh().remove("/a", Json{{"gracePeriodSeconds", 0}}));
  CHECK(seen().ends_with("{\"gracePeriodSeconds\":0}"));
  {
    auto client = fresh();
    client.set_header("impersonate-user", "");
    CHECK(client.get("/a"));
    CHECK_FALSE(contains(seen(), "mpersonate"));
  }
  CHECK(fresh().raw("PUT", "/b", "text/plain", "hi", "text/html")->status == 200);
  CHECK(contains(seen(), "Accept: text/html\r\n"));
}

TEST_CASE("a Status answer is an Error with the server's words") {
  Answers script({status(404, "NotFound", "namespaces \"a\" not found"),
                  status(409, "AlreadyExists", "exists"), status(500, "", ""),
                  answer("gateway sad", "502 Bad Gateway"), answer("", "403 Forbidden"),
                  answer("<\x01>", "500 X")});
  const ScriptedServer server(std::ref(script));
  auto client = client_of(server);
  const auto first = client.get("/a").error();
  CHECK(first.code() == Code::not_found);
  CHECK(first.message() == "namespaces \"a\" not found");
  CHECK(client.get("/a").error().code() == Code::already_exists);
  CHECK(client.get("/a").error().message() == "the server answered 500 without a message");
  CHECK(client.get("/a").error().message() == "the server answered 502: gateway sad");
  CHECK(client.get("/a").error().code() == Code::forbidden);
  CHECK(client.get("/a").error().message() == "the server answered 500");
}

TEST_CASE("an answer that is not JSON is Unavailable") {
  Answers script({answer("<html>")});
  const ScriptedServer server(std::ref(script));
  auto client = client_of(server);
  CHECK(client.get("/a").error().code() == Code::unavailable);
  CHECK(client.raw("GET", "/a", "", "")->body == "<html>");
}

TEST_CASE("a list goes through every page") {
  const auto page = [](const Json& items, const char* next) {
    return answer(Json{{"kind", "List"},
                       {"items", items},
                       {"metadata", {{"continue", next}, {"resourceVersion", "7"}}}}
                      .dump());
  };
  Answers script({page({1, 2}, "t/1"), page({3}, "t2"), page(nullptr, "")});
  const ScriptedServer server(std::ref(script));
  auto client = client_of(server);
  std::string seen;
  const auto revision = client.list("/a", {{"resourceVersion", "0"}}, [&](const Json& item) {
    seen += item.dump();
    return Result<void>();
  });
  CHECK(revision.value() == "7");
  CHECK(seen == "123");
  const auto requests = script.requests();
  REQUIRE(requests.size() == 3);
  CHECK(requests[0].starts_with("GET /a?resourceVersion=0&limit=500 "));
  CHECK(requests[1].starts_with("GET /a?limit=500&continue=t%2F1 "));
}

TEST_CASE("a page that is too large is asked for again with half as many") {
  const auto page = [](std::size_t bytes, const char* next) {
    return answer(Json{{"items", {std::string(bytes, 'x')}},
                       {"metadata", {{"continue", next}, {"resourceVersion", "7"}}}}
                      .dump());
  };
  Answers script({page(1'000, ""), page(10, "t"), page(1'000, ""), page(1'000, ""), page(20, "")});
  const ScriptedServer server(std::ref(script));
  KubeClientOptions options;
  options.page = 5;
  options.max_answer = 500;
  auto client = client_of(server, options);
  std::vector<std::size_t> seen;
  const auto take = [&](const Json& item) {
    seen.push_back(item.get<std::string>().size());
    return Result<void>();
  };
  // Not even one by one: that is told.
  CHECK(client.list("/a", {{"limit", "4"}}, take).error().code() == Code::too_large);
  CHECK(seen == std::vector<std::size_t>{10});
  CHECK(client.list("/a", {}, take).value() == "7");
  CHECK(seen == std::vector<std::size_t>{10, 20});
  const auto requests = script.requests();
  REQUIRE(requests.size() == 5);
  CHECK(requests[0].starts_with("GET /a?limit=4 "));
  CHECK(requests[1].starts_with("GET /a?limit=2 "));
  CHECK(requests[2].starts_with("GET /a?limit=2&continue=t "));
  CHECK(requests[3].starts_with("GET /a?limit=1&continue=t "));
  CHECK(requests[4].starts_with("GET /a?limit=5 "));
}

TEST_CASE("a list ends with the callback's error, and a broken one is told") {
  Answers script({answer(R"({"items":[1,2]})"), answer(R"({"kind":"Pod"})"), answer("5"),
                  status(410, "Expired", "too old"),
                  answer(R"({"items":[],"metadata":{"continue":"same"}})")});
  const ScriptedServer server(std::ref(script));
  auto client = client_of(server);
  const auto nothing = [](const Json&) { return Result<void>(); };
  int calls = 0;
  const auto stopped = client.list("/a", {}, [&](const Json&) -> Result<void> {
    ++calls;
    return fail(Code::conflict, "enough");
  });
  CHECK(stopped.error().message() == "enough");
  CHECK(calls == 1);
  CHECK(client.list("/a", {}, nothing).error().code() == Code::unavailable);
  CHECK(client.list("/a", {}, nothing).error().code() == Code::unavailable);
  CHECK(client.list("/a", {}, nothing).error().code() == Code::expired);
  CHECK(contains(client.list("/a", {}, nothing).error().message(), "does not move on"));
}

TEST_CASE("a watch hands over events, whole though cut anywhere") {
  const ScriptedServer server([](test::Connection& connection) {
    CHECK(connection.read_request().starts_with("GET /a?resourceVersion=1&watch=true "));
    connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    const std::string body = "{\"type\":\"ADDED\",\"object\":{\"n\":1}}\n\n"
                             "{\"type\":\"DELETED\",\"object\":{\"n\":2}}\n";
    for (const char c : body)
      connection.write(fmt::format("1\r\n{}\r\n", c));
    connection.write("0\r\n\r\n");
  });
  auto client = client_of(server);
  std::string seen;
  const auto ended =
      client.watch("/a", {{"resourceVersion", "1"}}, [&](const Json& event) -> Result<bool> {
        seen += event["type"].get<std::string>() + event["object"]["n"].dump();
        return true;
      });
  CHECK(ended);
  CHECK(seen == "ADDED1DELETED2");
}

TEST_CASE("a watch ends with an ERROR event, garbage, a refusal or the callback's wish") {
  Answers script(
      {answer(
           R"({"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"old"}})"
           "\n"),
       answer("garbage\n"), status(403, "Forbidden", "no"),
       answer("{\"type\":\"ADDED\",\"object\":{}}\n{\"type\":\"ADDED\",\"object\":{}}\n"),
       answer("{\"type\":\"ADDED\",\"object\":{}}\n")});
  const ScriptedServer server(std::ref(script));
  auto client = client_of(server);
  const auto go_on = [](const Json&) -> Result<bool> { return true; };
  const auto expired = client.watch("/a", {}, go_on);
  CHECK(expired.error().code() == Code::expired);
  CHECK(expired.error().message() == "old");
  CHECK(client.watch("/a", {}, go_on).error().code() == Code::unavailable);
  CHECK(client.watch("/a", {}, go_on).error().code() == Code::forbidden);
  int calls = 0;
  CHECK(client.watch("/a", {}, [&](const Json&) -> Result<bool> {
    ++calls;
    return false;
  }));
  CHECK(calls == 1);
  const auto failed = client_of(server).watch(
      "/a", {}, [](const Json&) -> Result<bool> { return fail(Code::io, "mine"); });
  CHECK(failed.error().message() == "mine");
}

TEST_CASE("a token in a file is sent") {
  const test::TemporaryDirectory temporary;
  Answers script({answer("{}")});
  const ScriptedServer server(std::ref(script));
  ClusterAccess access;
  access.server = server.url("");
  access.token_file = (temporary.path() / "token").string();
  REQUIRE(file::write_secret(access.token_file, "rotated\n"));
  KubeClient client(std::move(access));
  CHECK(client.get("/a"));
  CHECK(contains(script.requests().back(), "Authorization: Bearer rotated\r\n"));
}
