// SPDX-License-Identifier: Apache-2.0
#include "common/kube/status.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace zoo;
using Json = nlohmann::json;

TEST_CASE("a Status carries code, reason and message of the error, not its frames") {
  const auto error = Error(Code::not_found, "pods \"a\\b\n\" not found").context("secret frame");
  const auto json = Json::parse(kube::status_json(error));
  CHECK(json == Json{{"kind", "Status"},
                     {"apiVersion", "v1"},
                     {"metadata", Json::object()},
                     {"status", "Failure"},
                     {"message", "pods \"a\\b\n\" not found"},
                     {"reason", "NotFound"},
                     {"code", 404}});
}

TEST_CASE("details appear where they say something") {
  kube::StatusDetails details;
  details.name = "a";
  details.group = "apps";
  details.kind = "deployments";
  details.causes = {{"FieldValueInvalid", "bad \x01", "spec.x"}, {"", "", "y"}};
  details.retry_after_seconds = 3;
  const auto json = Json::parse(kube::status_json(Error(Code::too_many_requests, "slow"), details));
  CHECK(json["details"] ==
        Json::parse(R"({"name":"a","group":"apps","kind":"deployments","retryAfterSeconds":3,
        "causes":[{"reason":"FieldValueInvalid","message":"bad \u0001","field":"spec.x"},
                  {"field":"y"}]})"));
  CHECK(json["code"] == 429);
}

TEST_CASE("bytes that are not UTF-8 never break the JSON") {
  const auto json = Json::parse(kube::status_json(Error(Code::invalid, "a\xff")));
  CHECK(json["message"] == "a\xef\xbf\xbd");
}

TEST_CASE("a success has neither message nor reason") {
  kube::StatusDetails details;
  details.uid = "u";
  CHECK(Json::parse(kube::success_json(details)) ==
        Json::parse(R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success",
        "details":{"uid":"u"},"code":200})"));
}
