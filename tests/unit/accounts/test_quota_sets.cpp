// SPDX-License-Identifier: Apache-2.0
#include "daemon/accounts/quota_door.hpp"
#include "daemon/accounts/quota_hook.hpp"
#include "daemon/accounts/quota_sets.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace zoo;
using namespace zoo::accounts;
using nlohmann::json;

TEST_CASE("the quota of a set is as its template says, and the set's") {
  const json set = {
      {"metadata", {{"name", "small"}, {"uid", "u-1"}}},
      {"spec",
       {{"template",
         {{"metadata", {{"labels", {{"from", "set"}}}}},
          {"spec", {{"account", "other"}, {"quota", {{"hard", {{"pods", "20"}}}}}}}}}}}};
  const auto quota = quota_of_set(set, "team");
  CHECK(quota["metadata"]["name"] == "small-team");
  CHECK(quota["metadata"]["labels"] ==
        json{{"from", "set"}, {"zoo.kubezoo.io/quota-set", "small"}});
  CHECK(quota["metadata"]["ownerReferences"][0]["uid"] == "u-1");
  CHECK(quota["spec"] == json{{"account", "team"}, {"quota", {{"hard", {{"pods", "20"}}}}}});
}

TEST_CASE("the webhook of quotas fails open, and is asked about what counts alone") {
  const auto hook =
      quota_hook("https://192.0.2.1:1/quota/x", "CA",
                 {{"blue", "green"}, {"foofoo"}, {"pods", "services", "deployments.apps"}});
  const auto& one = hook["webhooks"][0];
  CHECK(one["failurePolicy"] == "Ignore");
  CHECK(one["timeoutSeconds"] == 1);
  CHECK(one["sideEffects"] == "NoneOnDryRun");
  CHECK(one["namespaceSelector"]["matchExpressions"][0] ==
        json{{"key", "kiosk.sh/account"}, {"operator", "In"}, {"values", {"blue", "green"}}});
  std::string rules;
  for (const auto& rule : one["rules"])
    for (const auto& resource : rule["resources"])
      rules += rule["operations"][0].get<std::string>() + " " +
               rule["apiGroups"][0].get<std::string>() + "/" + resource.get<std::string>() + "\n";
  CHECK(rules == "CREATE /pods\nCREATE /services\nUPDATE /pods/resize\nUPDATE /services\n"
                 "CREATE apps/deployments\n");
  // Tenants' namespaces are known by another label, and so another webhook asks about them.
  const auto& of_tenants = hook["webhooks"][1];
  CHECK(of_tenants["name"] == "tenants.quota.zoo.kubezoo.io");
  CHECK(of_tenants["namespaceSelector"]["matchExpressions"][0] ==
        json{{"key", "tenant.kubezoo.io/id"}, {"operator", "In"}, {"values", {"foofoo"}}});
  CHECK(of_tenants["rules"] == one["rules"]);
}

TEST_CASE("an account whose name is no value of a label takes the webhook from nobody") {
  const std::string longest(63, 'a');
  QuotaHookScope scope{{"blue", longest, longest + "a"}, {}, {"pods"}};
  const auto values = [&] {
    return quota_hook("https://192.0.2.1:1/quota/x", "CA", scope)["webhooks"];
  };
  REQUIRE(values().size() == 1);
  CHECK(values()[0]["namespaceSelector"]["matchExpressions"][0]["values"] ==
        json::array({longest, "blue"}));
  scope.accounts = {longest + "a"};
  CHECK(values().empty());
}

TEST_CASE("of very many tenants the webhook is asked about all tenants' namespaces") {
  QuotaHookScope scope;
  scope.kinds = {"pods"};
  for (std::size_t i = 0; i <= k_most_hook_tenants; ++i)
    scope.tenants.insert(std::to_string(i));
  const auto hook = quota_hook("https://192.0.2.1:1/quota/x", "CA", scope);
  REQUIRE(hook["webhooks"].size() == 1);
  CHECK(hook["webhooks"][0]["namespaceSelector"]["matchExpressions"][0] ==
        json{{"key", "tenant.kubezoo.io/id"}, {"operator", "Exists"}});
}

TEST_CASE("a review says what is to be created, and is answered in its own words") {
  const auto review = read_quota_review(
      R"({"kind":"AdmissionReview","request":{"uid":"r\"1","namespace":"a","dryRun":true,
          "resource":{"group":"","version":"v1","resource":"pods"},"name":"",
          "object":{"metadata":{"name":"web-x","uid":"u"},"spec":{"containers":[{"name":"c"}]}}}})",
      std::chrono::system_clock::now());
  REQUIRE(review);
  CHECK(review->ask.space == "a");
  CHECK(review->ask.key == "pods/web-x");
  CHECK(review->ask.uid == "u");
  CHECK(review->ask.dry_run);
  CHECK(review->ask.cost.all.contains("pods"));
  QuotaBroker::Verdict verdict;
  CHECK(json::parse(quota_review_answer(review->uid, verdict))["response"] ==
        json{{"uid", "r\"1"}, {"allowed", true}});
  verdict.kind = QuotaBroker::Verdict::Kind::deny;
  verdict.text = "exceeded quota: \"x\"";
  const auto denied = json::parse(quota_review_answer(review->uid, verdict))["response"];
  CHECK(denied["allowed"] == false);
  CHECK(denied["status"]["code"] == 403);
  CHECK(denied["status"]["message"] == "exceeded quota: \"x\"");
  CHECK(!read_quota_review("{}", std::chrono::system_clock::now()));
  CHECK(!read_quota_review("no", std::chrono::system_clock::now()));
}
