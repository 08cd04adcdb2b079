// SPDX-License-Identifier: Apache-2.0
#include "relay_world.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

using namespace zoo;
using namespace zoo::test;

namespace {

PodSays allows(const std::string&) { return {http_answer(R"({"allowed":true})")}; }

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("a webhook is asked in its pod, and the tunnel is kept for the next review") {
  RelayWorld world;
  std::vector<std::string> requests;
  world.serve("hook-0", [&](const std::string& request) {
    requests.push_back(request);
    return allows(request);
  });
  const auto path = world.path("a.example.com");
  for (int i = 0; i < 3; ++i) {
    const auto said = world.ask(path, "{\"review\":" + std::to_string(i) + "}");
    CHECK(said.status == 200);
    CHECK(said.body == R"({"allowed":true})");
  }
  REQUIRE(requests.size() == 3);
  CHECK(requests[0].starts_with("POST /validate?timeout=10s HTTP/1.1\r\nHost: localhost:443\r\n"));
  CHECK(requests[2].ends_with("\r\n\r\n{\"review\":2}"));
  world.on_loop([&] {
    CHECK(world.upstream->asked["hook-0"] == 1);
    CHECK(world.upstream->asked["/api/v1/namespaces/foofoo-shop/services/hook"] == 1);
    REQUIRE(world.upstream->users.size() == 1);
    CHECK(has(world.upstream->users[0], "Impersonate-User: zoo:foofoo\r\n"));
  });
  CHECK(world.tally.count_of(translate::Hook::validating, relay::Outcome::answered) == 3);
}

TEST_CASE("the door takes its own paths alone") {
  relay::Limits limits;
  limits.review = 10;
  RelayWorld world(limits);
  world.serve("hook-0", allows);
  const auto path = world.path("a.example.com");
  const auto status = [&](const std::string& method, const std::string& where,
                          const std::string& body = "{}") {
    const auto sent = world.send(method, where, body);
    const auto said = sent->take();
    world.on_loop([&] { sent->handler.reset(); });
    return said.status;
  };
  CHECK(status("POST", path) == 200);
  CHECK(status("GET", path) == 405);
  auto forged = path;
  forged.back() = forged.back() == 'A' ? 'B' : 'A';
  CHECK(status("POST", forged) == 404);
  CHECK(status("GET", forged) == 404);
  CHECK(status("POST", "/") == 404);
  CHECK(status("POST", "/reach/other") == 404);
  CHECK(status("POST", world.path("a.example.com", "nobody")) == 404);
  CHECK(status("POST", path, std::string(11, ' ')) == 413);
  const auto reached = world.ask("/reach/secret", R"({"request":{"uid":"u-1"}})");
  CHECK(reached.status == 200);
  CHECK(has(reached.body, R"("uid":"u-1","allowed":true)"));
}

TEST_CASE("a webhook by another authority, or with none, is not spoken to") {
  RelayWorld world;
  world.serve("hook-0", allows);
  world.ca = Pki("another").ca();
  auto said = world.ask(world.path("a"));
  CHECK(said.status == 502);
  CHECK(has(said.body, "pod hook-0, port 8443: the TLS handshake failed"));
  world.ca = "";
  said = world.ask(world.path("b"));
  CHECK(said.status == 502);
  CHECK(has(said.body, "no caBundle"));
}

TEST_CASE("a webhook that hangs is given up, and delays nobody else's") {
  RelayWorld world;
  world.seconds = 1;
  world.serve("hook-0", [](const std::string&) { return PodSays{}; });
  world.serve("other-0", allows, "barbar");
  std::vector<std::shared_ptr<RelayWorld::Sent>> hanging;
  for (int i = 0; i < 6; ++i)
    hanging.push_back(world.send("POST", world.path("a")));
  CHECK(world.ask(world.path("a", "barbar")).status == 200);
  for (const auto& sent : hanging) {
    const auto said = sent->take();
    CHECK(said.status == 504);
    CHECK(has(said.body, "localhost: "));
    world.on_loop([&] { sent->handler.reset(); });
  }
  world.on_loop([&] { CHECK(world.upstream->open == 1); }); // barbar's, which is kept
}

TEST_CASE("another pod is tried where one fails before its answer") {
  RelayWorld world;
  world.serve("bad-0", [](const std::string&) { return PodSays{"", true}; });
  world.serve("good-0", allows);
  CHECK(world.ask(world.path("a")).status == 200);
  world.on_loop([&] { CHECK(world.upstream->asked["good-0"] == 1); });
}

TEST_CASE("a kept tunnel that has died is replaced by a new one to the same pod") {
  RelayWorld world;
  int count = 0;
  world.serve("hook-0", [&](const std::string& request) {
    return ++count == 2 ? PodSays{"", true} : allows(request);
  });
  CHECK(world.ask(world.path("a")).status == 200);
  CHECK(world.ask(world.path("a")).status == 200);
  CHECK(count == 3);
}

TEST_CASE("an answer that has begun is not asked for again") {
  RelayWorld world;
  int count = 0;
  world.serve("hook-0", [&](const std::string&) {
    ++count;
    return PodSays{"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", true};
  });
  CHECK(world.ask(world.path("a")).status == 502);
  CHECK(count == 1);
}

TEST_CASE("what a webhook says wrong is told in a sentence") {
  relay::Limits limits;
  limits.answer = 1'000;
  RelayWorld world(limits);
  std::string answer;
  world.serve("hook-0", [&](const std::string&) { return PodSays{answer}; });
  const auto ask = [&](std::string bytes) {
    world.on_loop([&] { answer = std::move(bytes); });
    const auto said = world.ask(world.path("a"));
    CHECK(said.status == 502);
    return said.body;
  };
  CHECK(has(ask(http_answer("no such thing", "500 Oops")),
            "localhost answered with status 500: no such thing"));
  CHECK(has(ask(http_answer(std::string(1'001, 'x'))), "its answer has more than 1000 bytes"));
  CHECK(has(ask("SMTP ready\r\n\r\n"), "its answer is not HTTP"));
  CHECK(has(ask("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n"),
            "it switched protocols"));
  world.inward = [](std::string_view) -> Result<std::string> {
    return fail(Code::invalid, "its answer has another uid");
  };
  CHECK(has(ask(http_answer("{}")), "localhost: its answer has another uid"));
}

TEST_CASE("an answer may end with its connection") {
  RelayWorld world;
  int count = 0;
  world.serve("hook-0", [&](const std::string&) {
    ++count;
    return PodSays{"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}"};
  });
  CHECK(world.ask(world.path("a")).status == 200);
  CHECK(world.ask(world.path("a")).status == 200);
  CHECK(count == 2);
  world.on_loop([&] { CHECK(world.upstream->asked["hook-0"] == 2); });
}

TEST_CASE("a webhook has four tunnels, and its other calls wait their turn") {
  RelayWorld world;
  std::vector<std::string> waiting;
  int asked = 0;
  world.serve("hook-0", [&](const std::string& request) {
    return ++asked <= 4 ? PodSays{} : allows(request);
  });
  std::vector<std::shared_ptr<RelayWorld::Sent>> sent;
  for (int i = 0; i < 6; ++i)
    sent.push_back(world.send("POST", world.path("a")));
  world.until([&] { return asked == 4; });
  world.on_loop([&] { CHECK(world.upstream->open == 4); });
  CHECK_FALSE(sent[5]->said());
  world.drop(sent[0]); // its tunnel goes with it, and the next two have a new one
  CHECK(sent[4]->take().status == 200);
  CHECK(sent[5]->take().status == 200);
  for (int i = 1; i < 4; ++i)
    world.drop(sent[static_cast<std::size_t>(i)]);
  world.on_loop([&] {
    for (const auto& each : sent)
      each->handler.reset();
  });
}

TEST_CASE("calls that wait hear at once that no pod is left") {
  relay::Limits limits;
  limits.tunnels_of_hook = 1;
  limits.known = limits.doubted = std::chrono::milliseconds(0);
  RelayWorld world(limits);
  int asked = 0;
  world.serve("hook-0", [&](const std::string&) {
    ++asked;
    return PodSays{};
  });
  std::vector<std::shared_ptr<RelayWorld::Sent>> sent;
  for (int i = 0; i < 4; ++i)
    sent.push_back(world.send("POST", world.path("a")));
  world.until([&] { return asked == 1; });
  world.on_loop([&] {
    world.upstream->objects["/apis/discovery.k8s.io/v1/namespaces/foofoo-shop/endpointslices"] =
        R"({"items":[]})";
  });
  world.drop(sent[0]);
  for (std::size_t i = 1; i < sent.size(); ++i) {
    const auto said = sent[i]->take();
    CHECK(said.status == 502);
    CHECK(has(said.body, "no pod of Service hook is ready"));
    world.on_loop([&] { sent[i]->handler.reset(); });
  }
}

TEST_CASE("a call that is given up in its turn leaves the turn to the next call") {
  relay::Limits limits;
  limits.tunnels_of_hook = 1;
  limits.known = std::chrono::milliseconds(0);
  RelayWorld world(limits);
  int asked = 0;
  world.serve("hook-0", [&](const std::string& request) {
    return ++asked == 1 ? PodSays{} : allows(request);
  });
  std::vector<std::shared_ptr<RelayWorld::Sent>> sent;
  for (int i = 0; i < 3; ++i)
    sent.push_back(world.send("POST", world.path("a")));
  world.until([&] { return asked == 1; });
  const auto leave = [](RelayWorld::Sent& each) {
    each.handler->on_reset();
    each.handler.reset();
  };
  world.on_loop([&] {
    leave(*sent[0]); // what serves the next one is posted
    world.loop->loops().front()->post([&] { leave(*sent[1]); }); // while its pods are asked for
  });
  CHECK(sent[2]->take().status == 200);
  world.on_loop([&] { sent[2]->handler.reset(); });
}

TEST_CASE("a tenant has its share of calls and of what they hold") {
  relay::Limits limits;
  limits.calls_of_one = 2;
  limits.held_of_one = 100;
  RelayWorld world(limits);
  world.serve("hook-0", [](const std::string&) { return PodSays{}; });
  world.serve("other-0", allows, "barbar");
  const auto large = world.send("POST", world.path("a"), std::string(90, ' '));
  auto second = world.send("POST", world.path("a"), std::string(20, ' '));
  auto said = second->take();
  CHECK(said.status == 429);
  CHECK(has(said.body, "hold 90 bytes"));
  world.on_loop([&] { second->handler.reset(); });
  second = world.send("POST", world.path("a"));
  const auto third = world.send("POST", world.path("a"));
  CHECK(third->take().status == 429);
  CHECK(world.ask(world.path("a", "barbar")).status == 200);
  for (const auto& each : {large, second, third})
    world.drop(each);
}

TEST_CASE("what is stored of a webhook is read again when it has changed") {
  RelayWorld world;
  world.serve("hook-0", allows);
  const std::string stored =
      "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/foofoo-cfg";
  CHECK(world.ask(world.path("a")).status == 200);
  CHECK(world.ask(world.path("a")).status == 200);
  world.on_loop([&] {
    CHECK(world.upstream->asked[stored] == 1);
    world.service().changed("barbar-cfg");
  });
  CHECK(world.ask(world.path("a")).status == 200);
  world.on_loop([&] {
    CHECK(world.upstream->asked[stored] == 1);
    world.service().changed("foofoo-cfg");
    world.upstream->objects.erase(stored);
  });
  const auto said = world.ask(world.path("a"));
  CHECK(said.status == 502);
  CHECK(has(said.body, "there is no such webhook any more"));
}

TEST_CASE("a Service leads to ready pods of its own namespace alone") {
  const relay::ServicePort wanted{"foofoo-shop", "hook", 443, nullptr};
  const auto name = relay::port_name(
      wanted, R"({"spec":{"ports":[{"name":"http","port":80},{"name":"https","port":443}]}})");
  REQUIRE(name);
  CHECK(*name == "https");
  CHECK(relay::port_name(wanted, R"({"spec":{"ports":[{"port":443}]}})").value() == "");
  CHECK(relay::port_name(wanted, R"({"spec":{"ports":[{"port":80}]}})").error().code() ==
        Code::not_found);
  const auto pods = relay::ready_pods(wanted, "https", R"({"items":[
    {"ports":[{"name":"https","port":8443}],"endpoints":[
      {"targetRef":{"kind":"Pod","namespace":"foofoo-shop","name":"a"}},
      {"conditions":{"ready":true},"targetRef":{"kind":"Pod","namespace":"foofoo-shop","name":"b"}},
      {"conditions":{"ready":false},"targetRef":{"kind":"Pod","namespace":"foofoo-shop","name":"c"}},
      {"targetRef":{"kind":"Pod","namespace":"barbar-shop","name":"d"}},
      {"targetRef":{"kind":"Node","namespace":"foofoo-shop","name":"e"}},
      {"targetRef":{"kind":"Pod","namespace":"foofoo-shop","name":"../../f"}},
      {"addresses":["192.0.2.1"]}]},
    {"ports":[{"name":"http","port":80}],"endpoints":[
      {"targetRef":{"kind":"Pod","namespace":"foofoo-shop","name":"g"}}]},
    {"ports":[{"name":"https","port":70000}],"endpoints":[
      {"targetRef":{"kind":"Pod","namespace":"foofoo-shop","name":"h"}}]},
    {"ports":null,"endpoints":null}]})");
  REQUIRE(pods);
  CHECK(*pods == std::vector<relay::PodPort>{{"a", 8443}, {"b", 8443}});
}
