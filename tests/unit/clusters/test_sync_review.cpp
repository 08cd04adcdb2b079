// SPDX-License-Identifier: Apache-2.0
// What a cluster's API server asks about a Service, and what it is answered.
#include "common/crypto/digest.hpp"
#include "daemon/clusters/sync/service_review.hpp"

#include <doctest/doctest.h>

using namespace zoo;
using namespace zoo::clusters::sync;
using nlohmann::json;

namespace {

json question(const char* operation, const char* object, const char* more = "{}") {
  json request = {{"uid", "q1"},
                  {"kind", {{"group", ""}, {"version", "v1"}, {"kind", "Service"}}},
                  {"resource", {{"group", ""}, {"version", "v1"}, {"resource", "services"}}},
                  {"namespace", "default"},
                  {"operation", operation},
                  {"object", json::parse(object)}};
  request.update(json::parse(more));
  return {{"apiVersion", "admission.k8s.io/v1"},
          {"kind", "AdmissionReview"},
          {"request", std::move(request)}};
}

Result<ServiceReview> read(const json& asked) {
  return read_review(asked.dump(), [](std::size_t count) { return std::string(count, 'z'); });
}

} // namespace

TEST_CASE("a question about a Service is read") {
  const auto made =
      read(question("CREATE", R"({"metadata":{"name":"a"},"spec":{"ports":[{"port":80}]}})",
                    R"({"dryRun":true})"));
  REQUIRE(made);
  CHECK(made->uid == "q1");
  CHECK(made->creates);
  CHECK(made->dry_run);
  CHECK_FALSE(made->passes);
  CHECK(made->object["metadata"]["namespace"] == "default");
  const auto changed = read(question("UPDATE", R"({"metadata":{"name":"a"},"spec":{}})"));
  REQUIRE(changed);
  CHECK_FALSE(changed->creates);
  CHECK_FALSE(changed->dry_run);
}

TEST_CASE("what has no addresses, or is none of the upstream's, passes") {
  const auto passes = [](const json& asked) {
    const auto review = read(asked);
    return review && review->passes;
  };
  CHECK(passes(question("CREATE", R"({"metadata":{"name":"a"},"spec":{"clusterIP":"None"}})")));
  CHECK(passes(question("CREATE", R"({"metadata":{"name":"a"},"spec":{"type":"ExternalName"}})")));
  CHECK(passes(question("CREATE", R"({"metadata":{"name":"kubernetes"},"spec":{}})")));
  CHECK_FALSE(passes(question("CREATE", R"({"metadata":{"name":"kubernetes"},"spec":{}})",
                              R"({"namespace":"side"})")));
  CHECK(passes(
      question("UPDATE", R"({"metadata":{"name":"a"},"spec":{}})", R"({"subResource":"status"})")));
  CHECK(passes(question("DELETE", "null")));
  CHECK(passes(question("CREATE", R"({"metadata":{},"spec":{}})")));
}

TEST_CASE("what is no question about a Service is refused") {
  CHECK_FALSE(read_review("", nullptr));
  CHECK_FALSE(read_review("[]", nullptr));
  // A copy of it would go down all of its levels on the stack.
  const std::string deep(500'000, '[');
  CHECK_FALSE(read_review(
      R"({"kind":"AdmissionReview","request":{"uid":"1","operation":"CREATE","kind":{"kind":"Service"},"resource":{"resource":"services"},"object":{"spec":{"a":)" +
          deep + std::string(500'000, ']') + "}}}}",
      nullptr));
  CHECK_FALSE(read_review("{\"kind\":\"AdmissionReview\"}", nullptr));
  CHECK_FALSE(read(question("CREATE", "{}", R"({"kind":{"group":"","kind":"ConfigMap"}})")));
  CHECK_FALSE(read(question("CREATE", "{}", R"({"resource":{"resource":"pods"}})")));
  CHECK_FALSE(read(question("CREATE", "{}", R"({"uid":7})")));
}

TEST_CASE("a name is made up here, for upstream needs it first") {
  const auto made = read(question("CREATE", R"({"metadata":{"generateName":"some-"},"spec":{}})"));
  REQUIRE(made);
  CHECK(made->given_name == "some-zzzzz");
  CHECK(allocation_patch(*made, json::object()).dump() ==
        R"([{"op":"add","path":"/metadata/name","value":"some-zzzzz"}])");
  const auto base = std::string(70, 'n');
  const auto cut = read(question(
      "CREATE",
      json{{"metadata", {{"generateName", base}}}, {"spec", json::object()}}.dump().c_str()));
  REQUIRE(cut);
  CHECK(cut->given_name == std::string(58, 'n') + "zzzzz");
}

TEST_CASE("the cluster's Service gets what upstream has given out, and nothing else") {
  const auto made = read(
      question("CREATE", R"({"metadata":{"name":"a"},"spec":{"type":"NodePort","selector":{"a":"b"},
                                 "ports":[{"port":80},{"port":81,"nodePort":30001}]}})"));
  REQUIRE(made);
  const auto patch = allocation_patch(*made, json::parse(R"({"spec":{"clusterIP":"10.0.0.9",
      "clusterIPs":["10.0.0.9"],"ipFamilies":["IPv4"],"ipFamilyPolicy":"SingleStack","selector":{"x":"y"},
      "ports":[{"port":80,"nodePort":30000},{"port":81,"nodePort":30001}]}})"));
  std::vector<std::string> paths;
  for (const auto& each : patch)
    paths.push_back(each["path"]);
  CHECK(paths == std::vector<std::string>{"/spec/clusterIP", "/spec/clusterIPs", "/spec/ipFamilies",
                                          "/spec/ipFamilyPolicy", "/spec/ports/0/nodePort"});
}

TEST_CASE("what is only tried gets no addresses") {
  const auto tried =
      read(question("CREATE", R"({"metadata":{"name":"a"},"spec":{}})", R"({"dryRun":true})"));
  REQUIRE(tried);
  CHECK(allocation_patch(*tried, json::parse(R"({"spec":{"clusterIP":"10.0.0.0"}})")).empty());
}

TEST_CASE("answers") {
  const auto passed = json::parse(review_passed("q1", json::array(), ""));
  CHECK(passed["response"].dump() == R"({"allowed":true,"uid":"q1"})");
  const auto patched = json::parse(review_passed("q1", json::array({{{"op", "add"}}}), "careful"));
  CHECK(patched["response"]["patch"] == crypto::base64_encode(R"([{"op":"add"}])"));
  CHECK(patched["response"]["warnings"].dump() == R"(["careful"])");
  const auto refused = json::parse(review_refused("q1", Error(Code::invalid, "taken")));
  CHECK(refused["response"].dump() ==
        R"({"allowed":false,"status":{"code":422,"message":"taken"},"uid":"q1"})");
}
