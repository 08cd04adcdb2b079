// SPDX-License-Identifier: Apache-2.0
#include "daemon/accounts/registration.hpp"
#include "tests/unit/tenants/fake_upstream.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <atomic>
#include <thread>

using namespace zoo;
using namespace zoo::accounts;
using namespace zoo::tests;
using nlohmann::json;
namespace aggregated = zoo::api::aggregated;

namespace {

const std::string k_api_service(aggregated::k_api_service_path);
const std::string k_service = std::string(aggregated::k_services) + "/zood-accounts";

bool eventually(const std::function<bool()>& holds) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

struct World {
  FakeUpstream upstream;
  std::atomic<bool> ready = true;
  std::unique_ptr<Registration> registration;

  explicit World(bool keep = false, const std::string& ip = "192.0.2.7") {
    upstream.put(std::string(aggregated::k_namespace_path), {{"kind", "Namespace"}});
    Registration::Parts parts;
    parts.api = [this] { return upstream.connect(); };
    parts.ca_pem = "PEM";
    parts.address = {ip, 7445};
    parts.ready = [this]() -> Result<void> {
      if (ready) return {};
      return fail(Code::unavailable, "rights are not read yet");
    };
    parts.keep = keep;
    registration = std::make_unique<Registration>(std::move(parts));
  }
  bool registered() const { return upstream.has(k_api_service); }
  std::vector<std::string> endpoints() {
    const auto state = registration->look();
    REQUIRE(state.has_value());
    return state->endpoints;
  }
};

json foreign() {
  return {{"kind", "APIService"},
          {"spec", {{"service", {{"name", "kiosk"}, {"namespace", "kiosk"}}}}}};
}

} // namespace

TEST_CASE("an address that an EndpointSlice takes") {
  const auto four = parse_door_address("192.0.2.7:7445");
  REQUIRE(four.has_value());
  CHECK(four->ip == "192.0.2.7");
  CHECK(four->port == 7445);
  const auto six = parse_door_address("[2001:db8::7]:443");
  REQUIRE(six.has_value());
  CHECK(six->ip == "2001:db8::7");
  CHECK(door_slice(*six)["addressType"] == "IPv6");
  for (const auto* text :
       {"127.0.0.1:7445", "[::1]:7445", "0.0.0.0:7445", "[::]:7445", "169.254.1.1:7445",
        "[fe80::1]:7445", "224.0.0.1:7445", "example.com:7445", ":7445", "192.0.2.7", "192.0.2.7:0",
        "192.0.2.7:x", "192.0.2.7:70000", ""}) {
    CAPTURE(text);
    const auto address = parse_door_address(text);
    REQUIRE_FALSE(address.has_value());
    CHECK(address.error().code() == Code::usage);
  }
}

TEST_CASE("the door is registered when it is ready, not before, the APIService last") {
  World world;
  world.ready = false;
  world.registration->start();
  REQUIRE(eventually([&] { return !world.registration->trouble().empty(); }));
  CHECK_FALSE(world.upstream.has(k_service));
  CHECK_FALSE(world.registered());
  CHECK(world.registration->trouble().find("rights are not read yet") != std::string::npos);

  world.ready = true;
  REQUIRE(eventually([&] { return world.registered(); }));
  const auto object = world.upstream.at(k_api_service);
  CHECK(object["spec"]["groupPriorityMinimum"] == 10000);
  CHECK(object["spec"]["versionPriority"] == 1000);
  CHECK(object["spec"]["caBundle"] == "UEVN");
  CHECK(world.endpoints() == std::vector<std::string>{"192.0.2.7:7445"});
  for (const auto& slice : world.upstream.connect()
                               ->get(aggregated::k_slices_of_service)
                               .value_or(json::object())
                               .value("items", json::array()))
    CHECK(slice["metadata"]["ownerReferences"][0]["uid"] ==
          world.upstream.at(k_service)["metadata"]["uid"]);
  const auto requests = world.upstream.requests();
  std::vector<std::string> writes;
  for (const auto& each : requests)
    if (!each.starts_with("GET ")) writes.push_back(each);
  CHECK(writes.front() == "PATCH " + k_service);
  CHECK(writes.back() == "POST " + std::string(aggregated::k_api_services));
  CHECK(eventually([&] { return world.registration->trouble().empty(); }));
}

TEST_CASE("what somebody removes or changes is put back") {
  World world;
  world.registration->start();
  REQUIRE(eventually([&] { return world.registered(); }));
  REQUIRE(world.upstream.connect()->remove(k_api_service));
  world.registration->touch();
  CHECK(eventually([&] { return world.registered(); }));
  REQUIRE(
      world.upstream.connect()->merge_patch(k_api_service, {{"spec", {{"versionPriority", 1}}}}));
  world.registration->touch();
  CHECK(eventually(
      [&] { return world.upstream.at(k_api_service)["spec"]["versionPriority"] == 1000; }));
  REQUIRE(world.upstream.connect()->remove(k_service));
  world.registration->touch();
  CHECK(eventually([&] { return world.upstream.has(k_service); }));
}

TEST_CASE("another's APIService is left alone") {
  World world;
  world.upstream.put(k_api_service, foreign());
  world.registration->start();
  REQUIRE(eventually([&] { return !world.registration->trouble().empty(); }));
  CHECK(world.registration->trouble().find("another's") != std::string::npos);
  const auto state = world.registration->look();
  REQUIRE(state.has_value());
  CHECK(state->foreign);
  CHECK_FALSE(state->registered);
  REQUIRE(world.registration->switch_to(false));
  world.registration->withdraw(std::chrono::seconds(20));
  CHECK(world.upstream.at(k_api_service)["spec"]["service"]["name"] == "kiosk");
}

TEST_CASE("an orderly end withdraws the APIService first, and nothing comes back") {
  World world;
  world.registration->start();
  REQUIRE(eventually([&] { return world.registered(); }));
  const auto before = world.upstream.requests().size();
  world.registration->withdraw(std::chrono::seconds(20));
  CHECK_FALSE(world.registered());
  CHECK_FALSE(world.upstream.has(k_service));
  CHECK(world.endpoints().empty());
  for (std::size_t i = before; i < world.upstream.requests().size(); ++i) {
    const auto each = world.upstream.requests()[i];
    if (!each.starts_with("DELETE ")) continue;
    CHECK(each == "DELETE " + k_api_service);
    break;
  }
  world.registration->touch();
  CHECK_FALSE(world.registered());
}

TEST_CASE("the end does not wait for an upstream that refuses") {
  World world;
  world.registration->start();
  REQUIRE(eventually([&] { return world.registered(); }));
  world.upstream.set_fault(
      [](const std::string& method, const std::string&) -> std::optional<http_client::Response> {
        if (method != "DELETE") return std::nullopt;
        return status(503, "ServiceUnavailable", "not now");
      });
  world.registration->withdraw(std::chrono::seconds(20));
  CHECK(world.registered());
}

TEST_CASE("off is remembered upstream, and on takes it back") {
  World world;
  world.registration->start();
  REQUIRE(eventually([&] { return world.registered(); }));
  REQUIRE(world.registration->switch_to(false));
  CHECK_FALSE(world.registered());
  CHECK_FALSE(world.upstream.has(k_service));
  const auto off = world.registration->look();
  REQUIRE(off.has_value());
  CHECK(off->off);

  SUBCASE("by the next zood, too") {
    world.registration.reset();
    Registration next({[&] { return world.upstream.connect(); },
                       "PEM",
                       {"192.0.2.7", 7445},
                       [] { return Result<void>(); }});
    const auto before = world.upstream.requests().size();
    next.start();
    REQUIRE(eventually([&] { return world.upstream.requests().size() > before + 2; }));
    next.withdraw(std::chrono::seconds(20));
    for (std::size_t i = before; i < world.upstream.requests().size(); ++i)
      CHECK_FALSE(world.upstream.requests()[i].starts_with("POST "));
  }
  SUBCASE("until it is on again") {
    REQUIRE(world.registration->switch_to(true));
    CHECK(eventually([&] { return world.registered(); }));
  }
}

TEST_CASE("zoods behind one Service have a slice each, and the last one keeps it") {
  World first(true);
  first.registration->start();
  REQUIRE(eventually([&] { return first.registered(); }));
  Registration second({[&] { return first.upstream.connect(); },
                       "PEM",
                       {"192.0.2.8", 7445},
                       [] { return Result<void>(); },
                       true});
  second.start();
  REQUIRE(eventually([&] { return first.endpoints().size() == 2; }));
  second.withdraw(std::chrono::seconds(20));
  CHECK(first.endpoints() == std::vector<std::string>{"192.0.2.7:7445"});
  first.registration->withdraw(std::chrono::seconds(20));
  CHECK(first.endpoints() == std::vector<std::string>{"192.0.2.7:7445"});
  CHECK(first.registered());
}

TEST_CASE("a slice of an address that zood had before goes") {
  World world;
  world.upstream.put(std::string(aggregated::k_slices) + "/zood-accounts-00000000",
                     door_slice({"192.0.2.1", 1}));
  world.registration->start();
  REQUIRE(eventually([&] { return world.registered(); }));
  CHECK(world.endpoints() == std::vector<std::string>{"192.0.2.7:7445"});
}

TEST_CASE("an object of another shape is told of, and the door registered when it is another one") {
  World world;
  world.upstream.set_fault([](const auto& method, const auto& path) {
    const bool odd = method == "GET" && path == k_service;
    http_client::Response response;
    response.status = 200;
    response.body = R"({"metadata":{"uid":7}})";
    return odd ? std::optional(response) : std::nullopt;
  });
  world.registration->start();
  REQUIRE(eventually([&] { return !world.registration->trouble().empty(); }));
  CHECK(world.registration->trouble().find("cannot be read") != std::string::npos);
  CHECK_FALSE(world.registered());
  world.upstream.set_fault(nullptr);
  CHECK(eventually([&] { return world.registered() && world.registration->trouble().empty(); }));
}

TEST_CASE("what upstream says of the door is read whatever it contains") {
  const json object{{"metadata", {{"labels", {{"zoo.kubezoo.io/managed", "true"}}}}},
                    {"status",
                     {{"conditions", json::array({7,
                                                  {{"type", "Other"}},
                                                  {{"type", "Available"},
                                                   {"status", "False"},
                                                   {"reason", "FailedDiscoveryCheck"},
                                                   {"message", "no answer"}}})}}}};
  const auto state = aggregated::read_state(nullptr, &object, nullptr);
  CHECK(state.registered);
  CHECK_FALSE(state.off);
  CHECK(state.available == "False");
  CHECK(state.message == "no answer");
  const json odd{{"metadata", "x"}, {"spec", {{"service", 1}}}, {"items", {1, {{"ports", 1}}}}};
  CHECK(aggregated::read_state(&odd, &odd, &odd).foreign);
  CHECK(aggregated::to_json(state)["reason"] == "FailedDiscoveryCheck");
}
