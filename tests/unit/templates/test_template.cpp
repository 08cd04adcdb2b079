// SPDX-License-Identifier: Apache-2.0
#include "common/templates/template.hpp"

#include <doctest/doctest.h>

using namespace zoo;
using namespace zoo::templates;
using nlohmann::json;

namespace {

json a_template(json resources) {
  return {{"metadata", {{"name", "t"}, {"uid", "u"}, {"resourceVersion", "5"}}},
          {"resources", std::move(resources)}};
}

const Values values{{"CPU", "2"}, {"NAME", "n"}};
const Lookup lookup = [](std::string_view name) -> Result<std::optional<std::string>> {
  const auto found = values.find(name);
  return found == values.end() ? std::optional<std::string>() : found->second;
};

std::string refused(const json& helm) {
  const auto done = read_template(a_template({{"helm", helm}}));
  REQUIRE_FALSE(done);
  return done.error().message();
}

} // namespace

TEST_CASE("a template is read as it is stored") {
  auto object = a_template(
      {{"manifests", {{{"kind", "LimitRange"}, {"cpu", "${{CPU}}"}, {"text", "a ${NAME}"}}}}});
  object["parameters"] = {
      {{"name", "CPU"}, {"value", "1"}, {"required", true}, {"validation", "[0-9]"}},
      {{"name", "NAME"}}};
  object["applyAs"]["clusterRole"] = "edit";
  const auto read = read_template(object);
  REQUIRE(read);
  CHECK(read->name == "t");
  CHECK(read->resource_version == "5");
  CHECK(read->role == "edit");
  REQUIRE(read->parameters.size() == 2);
  CHECK(read->parameters[0].value == "1");
  CHECK(read->parameters[0].required);
  CHECK_FALSE(read->parameters[1].value);
  CHECK_FALSE(read->chart);
  const auto objects = render_manifests(*read, lookup);
  REQUIRE(objects);
  CHECK((*objects)[0] == json{{"kind", "LimitRange"}, {"cpu", 2}, {"text", "a n"}});
  CHECK(read_template(a_template(json::object()))->role == k_default_role);
  CHECK_FALSE(read_template(json::object()));
}

TEST_CASE("T4 a chart comes from one place, which is named whole") {
  const json repository = {{"name", "redis"}, {"repoUrl", "https://charts.test"}};
  const auto read = read_template(
      a_template({{"helm",
                   {{"chart", {{"repository", repository}}},
                    {"setValues", {{{"name", "a"}, {"value", "1"}, {"forceString", true}}}},
                    {"values", "port: ${{CPU}}\nname: x-${NAME}\n"}}}}));
  REQUIRE(read);
  REQUIRE(read->chart);
  CHECK(read->chart->release == "t");
  CHECK(read->chart->set[0].is_text);
  CHECK(*render_values(*read->chart, lookup) == R"({"name":"x-n","port":2})");
  CHECK(refused({{"values", "a: b"}}).find("names no chart") != std::string::npos);
  CHECK(refused({{"chart", {{"repository", {{"repoUrl", "https://x"}}}}}}).find("has no name") !=
        std::string::npos);
  CHECK(refused({{"chart", {{"repository", {{"name", "x"}}}}}}).find("has no repoUrl") !=
        std::string::npos);
  CHECK(refused({{"chart", {{"repository", repository}, {"oci", "oci://x/y"}}}})
            .find("more than one chart") != std::string::npos);
  auto secret = repository;
  secret["password"] = {{"name", "s"}};
  CHECK(refused({{"chart", {{"repository", secret}}}}).find("needs name, namespace and key") !=
        std::string::npos);
  const json key = {{"name", "s"}, {"namespace", "n"}, {"key", "k"}};
  const auto registry = read_template(
      a_template({{"helm", {{"chart", {{"oci", "oci://x/y:1"}, {"password", key}}}}}}));
  REQUIRE(registry);
  CHECK(registry->chart->password.name == "s");
  CHECK(refused({{"chart", {{"oci", "oci://x/y"}, {"password", {{"name", "s"}}}}}})
            .find("chart.password needs name, namespace and key") != std::string::npos);
  auto chart = *read->chart;
  chart.values = "# nothing\n";
  CHECK(render_values(chart, lookup)->empty());
  chart.values = "- a\n";
  CHECK_FALSE(render_values(chart, lookup));
}

TEST_CASE("a template is for the accounts that it selects") {
  const Values gold{{"tier", "gold"}};
  CHECK(selects(nullptr, {}));
  CHECK(selects(json::object(), gold));
  CHECK(selects({{"matchLabels", {{"tier", "gold"}}}}, gold));
  CHECK_FALSE(selects({{"matchLabels", {{"tier", "gold"}}}}, {}));
  const auto expression = [](const char* operation, json list) {
    return json{{"matchExpressions",
                 {{{"key", "tier"}, {"operator", operation}, {"values", std::move(list)}}}}};
  };
  CHECK(selects(expression("In", {"gold", "x"}), gold));
  CHECK_FALSE(selects(expression("In", {"x"}), gold));
  CHECK(selects(expression("NotIn", {"x"}), gold));
  CHECK(selects(expression("NotIn", {"x"}), {}));
  CHECK(selects(expression("Exists", json::array()), gold));
  CHECK_FALSE(selects(expression("Exists", json::array()), {}));
  CHECK(selects(expression("DoesNotExist", json::array()), {}));
  CHECK_FALSE(selects(expression("Near", json::array()), gold));
  CHECK_FALSE(selects("x", gold));
}

TEST_CASE("labels are selected as Kubernetes does") {
  const Values labels = {{"size", "small"}, {"team", "blue"}};
  CHECK(selects(nullptr, labels));
  CHECK(selects(json::object(), {}));
  CHECK(selects({{"matchLabels", {{"size", "small"}}}}, labels));
  CHECK(!selects({{"matchLabels", {{"size", "large"}}}}, labels));
  CHECK(!selects({{"matchLabels", {{"size", "small"}}}}, {}));
  const auto term = [&](const char* key, const char* op, json values) {
    return selects(
        {{"matchExpressions", json::array({{{"key", key}, {"operator", op}, {"values", values}}})}},
        labels);
  };
  CHECK(term("size", "In", {"small", "large"}));
  CHECK(!term("size", "NotIn", {"small"}));
  CHECK(term("other", "NotIn", {"small"}));
  CHECK(term("team", "Exists", json::array()));
  CHECK(term("other", "DoesNotExist", json::array()));
  CHECK(!term("team", "Unheard", json::array()));
  CHECK(!selects("size=small", labels));
}
