// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/agreed_settings.hpp"
#include "daemon/app/stores.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace zoo;
using nlohmann::json;
using Level = tenants::Finding::Level;
using Keys = std::vector<std::string>;

namespace {

config::Values with(std::string_view yaml) {
  auto loaded = config::load(yaml, "zood.yaml");
  if (!loaded) FAIL(loaded.error().text());
  return *std::move(loaded);
}

store::Replica replica(std::string name, const config::Values& values, bool leads = false) {
  store::Replica out;
  out.name = std::move(name);
  out.leads = leads;
  out.info = app::replica_info(values, 1'700'000'000, {});
  return out;
}

} // namespace

TEST_CASE("zoods with one store are compared by the settings that tenants meet") {
  const auto a = app::agreed_settings(with("quota: {namespaces: 50}\nworkers: 3\n"));
  CHECK(a.size() == 1); // what is each one's own is not told, nor what is a default
  CHECK(a["quota.namespaces"].get<std::string>().size() == 8);
  CHECK(a.dump().find("50") == std::string::npos);
  const auto b = app::agreed_settings(
      with("quota: {namespaces: 51}\nguards: {ingress_hosts: [b.example, a.example]}\n"));
  CHECK(app::differing_settings(a, b) == Keys{"guards.ingress_hosts", "quota.namespaces"});
  CHECK(app::differing_settings(b, a) == Keys{"guards.ingress_hosts", "quota.namespaces"});
  const auto c = app::agreed_settings(
      with("quota: {namespaces: 51}\nguards: {ingress_hosts: [a.example, b.example]}\n"));
  CHECK(app::differing_settings(b, c).empty());      // in another order
  CHECK(app::differing_settings(a, json()).empty()); // a zood that tells none
}

TEST_CASE("doctor names the zood and the settings in which it differs") {
  const auto plain = with("");
  const auto other = with("quota: {namespaces: 51}\n");
  auto found = app::findings_of({replica("a", plain, true), replica("b", plain)}, "a");
  REQUIRE(found.size() == 1);
  CHECK(found[0].level == Level::ok);
  CHECK(found[0].message == "2 zoods have this store, and 'a' leads");

  auto old = replica("c", plain);
  old.info = R"({"version":")" ZOO_VERSION R"(","started":1})";
  found = app::findings_of({replica("a", plain, true), replica("b", other), old}, "a");
  REQUIRE(found.size() == 1);
  CHECK(found[0].level == Level::warning);
  CHECK(found[0].message.starts_with("zood 'b' has other values than 'a' of quota.namespaces: "));

  found = app::findings_of({replica("a", plain), replica("b", plain)}, "a");
  REQUIRE(found.size() == 1);
  CHECK(found[0].message.starts_with("no zood leads"));
}
