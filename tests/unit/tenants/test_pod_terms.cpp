// SPDX-License-Identifier: Apache-2.0
#include "daemon/tenants/pod_terms.hpp"
#include "tests/unit/tenants/fixture.hpp"

#include <algorithm>

using namespace zoo;
using namespace zoo::tests;
using namespace std::chrono_literals;
using nlohmann::json;
using tenants::PodTerms;

namespace {

constexpr const char* k_map = "/api/v1/namespaces/zoo-system/configmaps/zoo-pods";
constexpr const char* k_classes = "/apis/scheduling.k8s.io/v1/priorityclasses";

std::shared_ptr<const tenants::TenantSnapshot>
of(std::initializer_list<std::pair<const char*, api::GuardTerms>> all) {
  std::vector<tenants::TenantSnapshot::Entry> entries;
  for (const auto& [id, guards] : all) {
    auto entry = std::make_shared<tenants::TenantEntry>();
    entry->id = id;
    entry->terms.guards = guards;
    entries.push_back(std::move(entry));
  }
  return std::make_shared<const tenants::TenantSnapshot>(std::move(entries));
}

std::shared_ptr<const translate::SharedNames> sharing(std::set<std::string, std::less<>> classes) {
  translate::SharedNames names;
  names.classes[static_cast<std::size_t>(translate::Overlay::priority_class)] = std::move(classes);
  return std::make_shared<const translate::SharedNames>(std::move(names));
}

api::GuardTerms guards(std::optional<bool> nodes, std::optional<std::int64_t> priority) {
  api::GuardTerms out;
  out.node_names = nodes;
  out.priority = priority;
  return out;
}

} // namespace

TEST_CASE("what pods may have is told for all, and of each tenant that differs") {
  api::Guards all;
  api::GuardTerms serving;
  serving.service_status = true;
  const auto told = tenants::pod_terms(all, *sharing({"high", "low"}),
                                       *of({{"aaaaaa", guards(true, 5)},
                                            {"bbbbbb", guards(false, 1'000'000'000)},
                                            {"cccccc", {}},
                                            {"dddddd", serving}}),
                                       10);
  CHECK(told == tenants::PodTermsData{{"conversionWebhooks", "false"},
                                      {"nodeNames", "false"},
                                      {"nodeNames.aaaaaa", "true"},
                                      {"priority", "1000000000"},
                                      {"priority.aaaaaa", "10"},
                                      {"priorityClasses", "high low"},
                                      {"runtimeClasses", ""},
                                      {"serviceStatus", "false"},
                                      {"serviceStatus.dddddd", "true"},
                                      {"storageClasses", ""},
                                      {"volumeAttributesClasses", ""}});
}

TEST_CASE("upstream is written to when something has changed, and asked when it matters") {
  FakeUpstream server;
  const auto api = server.connect();
  PodTerms terms;
  const auto asked = [&server] {
    const auto requests = server.requests();
    return std::count_if(requests.begin(), requests.end(), [](const std::string& each) {
      return each.find(k_classes) != std::string::npos;
    });
  };
  PodTerms::Sources now{{}, sharing({}), of({})};
  const PodTerms::Clock::time_point start{};
  must(terms.look(*api, now, start));
  CHECK(server.at(k_map)["data"] == json({{"conversionWebhooks", "false"},
                                          {"nodeNames", "false"},
                                          {"priority", "1000000000"},
                                          {"priorityClasses", ""},
                                          {"runtimeClasses", ""},
                                          {"serviceStatus", "false"},
                                          {"storageClasses", ""},
                                          {"volumeAttributesClasses", ""}}));
  const auto before = server.requests().size();
  must(terms.look(*api, now, start + 59s));
  CHECK(server.requests().size() == before);
  must(api->remove(k_map)); // by somebody
  must(terms.look(*api, now, start + 60s));
  CHECK(server.has(k_map));

  server.put(std::string(k_classes) + "/usual",
             {{"metadata", {{"name", "usual"}}}, {"globalDefault", true}, {"value", 700}});
  now.guards.priority = 500;
  must(terms.look(*api, now, start + 61s));
  CHECK(server.at(k_map)["data"]["priority"] == "700");
  CHECK(asked() == 1);
  now.tenants = of({{"aaaaaa", guards(true, {})}});
  must(terms.look(*api, now, start + 62s));
  CHECK(server.at(k_map)["data"]["nodeNames.aaaaaa"] == "true");
  CHECK(asked() == 1);
  server.put(std::string(k_classes) + "/usual",
             {{"metadata", {{"name", "usual"}}}, {"globalDefault", true}, {"value", 900}});
  must(terms.look(*api, now, start + 95s));
  CHECK(server.at(k_map)["data"]["priority"] == "900");
  CHECK(asked() == 2);
}

TEST_CASE("the class of pods without one: the lowest, of those that are known to be one") {
  FakeUpstream server;
  const auto api = server.connect();
  std::optional<tenants::Names> known;
  PodTerms terms([&known] { return known; });
  const auto put = [&](const std::string& name, bool is_default, int value) {
    server.put(fmt::format("{}/{}", k_classes, name),
               {{"globalDefault", is_default}, {"value", value}});
  };
  const auto asked = [&server](const std::string& path) {
    const auto requests = server.requests();
    return std::count(requests.begin(), requests.end(), "GET " + path);
  };
  const auto priority = [&] { return server.at(k_map)["data"]["priority"]; };
  put("usual", true, 900);
  put("lower", true, 800);
  put("other", false, 700);
  PodTerms::Sources now{{}, sharing({}), of({})};
  now.guards.priority = 500;
  const PodTerms::Clock::time_point start{};
  must(terms.look(*api, now, start));
  CHECK(priority() == "800");
  CHECK(asked(k_classes) == 1);
  known = tenants::Names{"gone", "other", "usual"}; // told at once, a moment late
  must(terms.look(*api, now, start + 1s));
  CHECK(priority() == "900");
  known = tenants::Names{};
  must(terms.look(*api, now, start + 2s));
  CHECK(priority() == "500");
  known = std::nullopt; // not now: what was read holds
  must(terms.look(*api, now, start + 3s));
  CHECK(priority() == "500");
  CHECK(asked(k_classes) == 1);
  must(terms.look(*api, now, start + 33s));
  CHECK(priority() == "800");
  CHECK(asked(k_classes) == 2);
  CHECK(asked(std::string(k_classes) + "/lower") == 0);
}

TEST_CASE("what was not written is written later") {
  FakeUpstream server;
  const auto api = server.connect();
  PodTerms terms;
  const PodTerms::Sources now{{}, sharing({}), of({})};
  server.set_fault([](const std::string& method, const std::string&) {
    return method == "PATCH" ? std::optional(status(503, "ServiceUnavailable", "later"))
                             : std::nullopt;
  });
  CHECK(terms.look(*api, now, {}).error().code() == Code::unavailable);
  server.set_fault({});
  must(terms.look(*api, now, {}));
  CHECK(server.has(k_map));
}
