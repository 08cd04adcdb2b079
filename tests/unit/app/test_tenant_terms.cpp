// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/tenant_terms.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace zoo;
using namespace zoo::app;
using nlohmann::json;

namespace {

struct World {
  std::shared_ptr<translate::SharedNames> names = std::make_shared<translate::SharedNames>();
  tenants::TenantDirectory directory;
  TenantTermsSource source{[this] { return directory.snapshot(); },
                           [this] { return std::shared_ptr<const translate::SharedNames>(names); }};

  void put(const std::string& id, const std::string& account, api::HardQuota hard = {},
           std::vector<api::TemplateWish> templates = {}) {
    auto entry = std::make_shared<tenants::TenantEntry>();
    entry->id = id;
    entry->account = account;
    entry->terms.hard = std::move(hard);
    entry->terms.templates = std::move(templates);
    directory.set(std::move(entry));
  }
  translate::Mapping mapping() const { return {"foofoo", names}; }
};

} // namespace

TEST_CASE("what a tenant's quota counts is named as upstream names it") {
  World world;
  world.names->classes[static_cast<std::size_t>(translate::Overlay::storage_class)] = {"gold"};
  const auto mapping = world.mapping();
  CHECK(hard_name_in(mapping, "pods") == "pods");
  CHECK(hard_name_in(mapping, "count/pods") == "count/pods");
  CHECK(hard_name_in(mapping, "count/deployments.apps") == "count/deployments.apps");
  CHECK(hard_name_in(mapping, "count/widgets.example.com") == "count/widgets.foofoo-example.com");
  CHECK(hard_name_in(mapping, "gold.storageclass.storage.k8s.io/requests.storage") ==
        "gold.storageclass.storage.k8s.io/requests.storage");
  CHECK(hard_name_in(mapping, "own.storageclass.storage.k8s.io/requests.storage") ==
        "foofoo-own.storageclass.storage.k8s.io/requests.storage");
  CHECK(hard_name_in(mapping, "requests.example.com/gpu") == "requests.example.com/gpu");
}

TEST_CASE("tenants are found by their account, and those that say nothing by nobody") {
  World world;
  std::vector<std::string> told;
  world.directory.on_change([&](std::string_view id) { told.emplace_back(id); });
  world.put("foofoo", "team", {{"pods", "3"}});
  world.put("barbar", "team");
  world.put("nobody", "");
  CHECK(world.source.of_account("team").size() == 2);
  CHECK(world.source.of_account("other").empty());
  CHECK(world.source.concerned().size() == 2);
  const auto terms = world.source.terms("foofoo");
  REQUIRE(terms);
  CHECK(terms->account == "team");
  CHECK(terms->hard == R"({"pods":"3"})");
  CHECK_FALSE(world.source.terms("absent"));
  world.put("foofoo", "team", {{"pods", "3"}});
  CHECK(told == std::vector<std::string>{"foofoo", "barbar"});
  world.put("barbar", "");
  CHECK(world.source.of_account("team") == std::vector<std::string>{"foofoo"});
  CHECK(told.back() == "barbar");
}

TEST_CASE(
    "an object of a template is stored with upstream's names, and what cannot be is refused") {
  World world;
  const auto mapping = world.mapping();
  const json pod = {{"apiVersion", "v1"},
                    {"kind", "Pod"},
                    {"metadata", {{"name", "p"}, {"namespace", "web"}}},
                    {"spec", {{"priorityClassName", "high"}, {"containers", json::array()}}}};
  const auto stored = template_object_in(mapping, pod);
  REQUIRE(stored);
  CHECK((*stored)["metadata"]["namespace"] == "foofoo-web");
  CHECK((*stored)["spec"]["priorityClassName"] == "foofoo-high");
  const json widget = {{"apiVersion", "example.com/v1"},
                       {"kind", "Widget"},
                       {"metadata", {{"name", "w"}, {"namespace", "web"}}}};
  const auto own = template_object_in(mapping, widget);
  REQUIRE(own);
  CHECK((*own)["apiVersion"] == "foofoo-example.com/v1");
  auto labelled = pod;
  labelled["metadata"]["annotations"] = {{"zoo.kubezoo.io/rule-scopes", "x"}};
  CHECK_FALSE(template_object_in(mapping, labelled));
  auto quota = json{{"apiVersion", "v1"},
                    {"kind", "ResourceQuota"},
                    {"metadata", {{"name", "zoo-quota-x"}, {"namespace", "web"}}}};
  CHECK_FALSE(template_object_in(mapping, quota));
  const json outside = {{"apiVersion", "v1"},
                        {"kind", "Namespace"},
                        {"metadata", {{"name", "more"}, {"namespace", "web"}}}};
  CHECK_FALSE(template_object_in(mapping, outside));
}
