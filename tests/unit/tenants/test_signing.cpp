// SPDX-License-Identifier: Apache-2.0
#include "common/crypto/certificate.hpp"
#include "daemon/tenants/identity.hpp"
#include "daemon/tenants/records.hpp"
#include "tests/unit/tenants/fixture.hpp"

using namespace zoo;
using namespace zoo::tests;
using nlohmann::json;

namespace {

constexpr std::string_view k_jane = R"(-----BEGIN CERTIFICATE REQUEST-----
MIIBLjCB1AIBADBIMRMwEQYDVQQKDApkZXZlbG9wZXJzMRAwDgYDVQQKDAd0ZXN0
ZXJzMRAwDgYDVQQLDAdpZ25vcmVkMQ0wCwYDVQQDDARqYW5lMFkwEwYHKoZIzj0C
AQYIKoZIzj0DAQcDQgAEPTUzUxQmpuQRSyPsqZPjW6iUM+mjb9Op15elTkec9ADd
sSH4WtYz6pduuQTcognTXP4wy2Pe80e97xzAc8deWaAqMCgGCSqGSIb3DQEJDjEb
MBkwFwYDVR0RBBAwDoIMZXZpbC5leGFtcGxlMAoGCCqGSM49BAMCA0kAMEYCIQCs
rvbZLo6iOrwsK02xxBLOdDyy1zLUNkxfNdJHEsp/hgIhAJx1NhRpP+4NzYfo9K4u
qGbOg0wWuyl+6ctu72Dikgnu
-----END CERTIFICATE REQUEST-----
)";
const std::string k_path = "/apis/certificates.k8s.io/v1/certificatesigningrequests/foofoo-";

json request_of(std::string_view signer, json conditions) {
  return {{"spec",
           {{"signerName", signer},
            {"request", crypto::base64_encode(k_jane)},
            {"usages", {"client auth"}},
            {"expirationSeconds", 3600}}},
          {"status", {{"conditions", std::move(conditions)}}}};
}

json condition(const char* type) { return {{"type", type}, {"status", "True"}}; }

} // namespace

TEST_CASE("approved requests for the API's signer are signed, and no others") {
  Room room;
  const auto service = room.service();
  const auto tenant = must(service->create(wanted("foofoo"), false));
  REQUIRE(eventually([&] { return must(service->get("foofoo")).phase == api::Phase::ready; }));

  const std::string signer = "foofoo-kubernetes.io/kube-apiserver-client";
  const auto put = [&](const std::string& name, json object) {
    room.upstream.put(k_path + name, std::move(object));
  };
  put("good", request_of(signer, json::array({condition("Approved")})));
  put("waits", request_of(signer, json::array()));
  put("denied", request_of(signer, json::array({condition("Approved"), condition("Denied")})));
  put("other", request_of("foofoo-example.com/x", json::array({condition("Approved")})));
  put("real",
      request_of("kubernetes.io/kube-apiserver-client", json::array({condition("Approved")})));
  auto server = request_of(signer, json::array({condition("Approved")}));
  server["spec"]["usages"] = {"server auth", "client auth"};
  put("server", server);
  auto garbage = request_of(signer, json::array({condition("Approved")}));
  garbage["spec"]["request"] = crypto::base64_encode("-----BEGIN NOTHING-----");
  put("garbage", garbage);
  service->sign_soon("foofoo");

  const auto status = [&](const std::string& name) { return k_path + name + "/status"; };
  REQUIRE(eventually([&] {
    return room.upstream.has(status("good")) && room.upstream.has(status("server")) &&
           room.upstream.has(status("garbage"));
  }));
  for (const auto* name : {"waits", "denied", "other", "real"}) {
    CAPTURE(name);
    CHECK_FALSE(room.upstream.has(status(name)));
  }
  for (const auto* name : {"server", "garbage"}) {
    const auto told = room.upstream.at(status(name))["status"];
    CHECK_FALSE(told.contains("certificate"));
    CHECK(told["conditions"].back()["type"] == "Failed");
    CHECK(told["conditions"].back()["reason"] == "SignerValidationFailure");
  }
  const auto pem = must(crypto::base64_decode(
      room.upstream.at(status("good"))["status"]["certificate"].get<std::string>()));
  const auto certificate = must(crypto::Certificate::from_pem(pem));
  CHECK(certificate.issued_by(room.pki->ca()));
  const auto who = must(tenants::identity_of(certificate));
  CHECK(who.tenant == "foofoo");
  CHECK(who.uid == tenant.uid);
  CHECK(who.user == "jane");
  CHECK(who.groups == std::vector<std::string>{"developers", "testers"});
  CHECK(certificate.not_after() - std::chrono::system_clock::now() <= std::chrono::hours(1));
}
