// SPDX-License-Identifier: Apache-2.0
#include "daemon/tenants/records.hpp"
#include "daemon/translate/mapping.hpp"
#include "daemon/translate/webhook_relay.hpp"
#include "tests/unit/tenants/fixture.hpp"

#include <mutex>
#include <string>

using namespace zoo;
using namespace zoo::tests;
using nlohmann::json;

namespace {

const std::string k_stored =
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/123456-hooks";

/// What the relay is said to be, by one thread to others.
class Said {
public:
  void set(tenants::RelayNow now) {
    const std::scoped_lock lock(mutex_);
    now_ = std::move(now);
  }
  tenants::RelayNow get() const {
    const std::scoped_lock lock(mutex_);
    return now_;
  }

private:
  mutable std::mutex mutex_;
  tenants::RelayNow now_;
};

tenants::RelayNow relay_at(const std::string& base) {
  auto relay = std::make_shared<translate::Relay>();
  relay->base = base;
  relay->ca_pem = "an authority";
  relay->key = Secret::copy_of(std::string(32, 'k'));
  return {true, relay, "", std::make_shared<const translate::SharedNames>()};
}

tenants::RelayNow no_relay(const std::string& why) {
  return {true, nullptr, why, std::make_shared<const translate::SharedNames>()};
}

bool says(tenants::TenantService& service, const std::string& reason) {
  const auto tenant = service.get("123456");
  const auto* told = tenant ? tenant->condition(tenants::k_webhooks_relayed) : nullptr;
  return told != nullptr && told->reason == reason;
}

} // namespace

TEST_CASE("stored webhooks are called as the relay and the Tenant say") {
  Room room;
  Said said;
  tenants::ControllerParts parts{*room.store, *room.pki, room.sealer,
                                 [&] { return room.upstream.connect(); }};
  parts.relay = [&said] { return said.get(); };
  auto settings = Room::settings();
  settings.restated = std::chrono::milliseconds(1);
  tenants::TenantServiceImpl service(std::move(parts), std::move(settings));
  must(service.start());
  must(service.create(wanted("123456"), false));
  REQUIRE(eventually([&] {
    const auto tenant = service.get("123456");
    return tenant && tenant->phase == api::Phase::ready;
  }));
  // Nothing is said of what was not tried yet.
  CHECK_FALSE(has_condition(service, "123456", tenants::k_webhooks_relayed));

  room.upstream.put(k_stored, json::parse(R"({
    "apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingWebhookConfiguration",
    "metadata":{"name":"123456-hooks","resourceVersion":"1"},
    "webhooks":[{"name":"a.example.com","admissionReviewVersions":["v1"],"sideEffects":"None",
      "clientConfig":{"caBundle":"eA==",
        "service":{"namespace":"123456-shop","name":"hook","path":"/v","port":443}}}]})"));
  const auto config = [&] { return room.upstream.at(k_stored)["webhooks"][0]["clientConfig"]; };
  service.has_webhooks("123456");

  said.set(no_relay("nobody answers"));
  service.touch("123456");
  REQUIRE(eventually([&] { return says(service, "NotReachable"); }));
  CHECK(config()["service"]["namespace"] == json(std::string("123456-shop")));

  said.set(relay_at("https://192.0.2.1:7444"));
  service.touch("123456");
  REQUIRE(eventually([&] { return says(service, "Relayed"); }));
  CHECK(config().value("url", "").starts_with(
      "https://192.0.2.1:7444/w/123456/validating/123456-hooks/a.example.com/"));
  CHECK_FALSE(config().contains("service"));

  said.set(relay_at("https://192.0.2.2:7444"));
  service.touch("123456");
  REQUIRE(eventually(
      [&] { return config().value("url", "").starts_with("https://192.0.2.2:7444/w/123456/"); }));

  auto direct = must(service.get("123456"));
  direct.webhooks = api::k_webhooks_direct;
  direct.resource_version = 0;
  must(service.update(direct, false));
  REQUIRE(eventually([&] { return says(service, "Direct"); }));
  CHECK(config()["service"]["name"] == json(std::string("hook")));
  CHECK(config()["caBundle"] == json(std::string("eA==")));
  CHECK_FALSE(config().contains("url"));
}
