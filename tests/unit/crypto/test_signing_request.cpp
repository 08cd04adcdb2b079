// SPDX-License-Identifier: Apache-2.0
#include "common/crypto/issue.hpp"
#include "common/crypto/signing_request.hpp"

#include <doctest/doctest.h>

using namespace zoo;
using namespace zoo::crypto;
using namespace std::chrono_literals;

namespace {

// O=developers, O=testers, OU=ignored, CN=jane, DNS name evil.example; P-256.
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
constexpr std::string_view k_two_names = R"(-----BEGIN CERTIFICATE REQUEST-----
MIHYMH8CAQAwHTENMAsGA1UEAwwEamFuZTEMMAoGA1UEAwwDam9lMFkwEwYHKoZI
zj0CAQYIKoZIzj0DAQcDQgAEPTUzUxQmpuQRSyPsqZPjW6iUM+mjb9Op15elTkec
9ADdsSH4WtYz6pduuQTcognTXP4wy2Pe80e97xzAc8deWaAAMAoGCCqGSM49BAMC
A0kAMEYCIQCXq5GBeeZmZeAARnfUAmohpdo4VKOSMz6FW2eghNbW0wIhANdRr03L
gfj3gK7LDJs5Mv2bG2yT6SdmO1cDJ98CX1Gk
-----END CERTIFICATE REQUEST-----
)";
constexpr std::string_view k_rsa_1024 = R"(-----BEGIN CERTIFICATE REQUEST-----
MIIBTjCBuAIBADAPMQ0wCwYDVQQDDAR3ZWFrMIGfMA0GCSqGSIb3DQEBAQUAA4GN
ADCBiQKBgQChzB9d8cLWeO0yw0MSwUyhkI0XKi/SyUxOvPlZr3MXb2cACjFxYHyW
ElvKhSloC7hBhspNUuG/fp7O/DwjMUZKqOgLZ23cr1x/kqyLXZ0udfNHD8BesX+X
QvfC8C/vpcGlJdwXNTx6lNvIMMcX5/HyvIrhyLTqjxbrrHprw7FYXwIDAQABoAAw
DQYJKoZIhvcNAQELBQADgYEAaeqXQGv5FlsZobwmvRPd916s132Bim2BcRGNotME
5o2dyGCF0JBpGbc6h0RqUM8X0uWPA5wE0r2iPoJbK/iqdBF0MsArnYggdyH1nicI
/W6PABuSs5x/8l+nxNPHRNX+Mu/Nx5mtWBaqSDD4FEdUXwVSUDbunHV/YZtisFQo
AK0=
-----END CERTIFICATE REQUEST-----
)";

std::string refusal(std::string_view pem) {
  const auto request = SigningRequest::from_pem(pem);
  REQUIRE_FALSE(request);
  CHECK(request.error().code() == Code::invalid);
  return request.error().message();
}

} // namespace

TEST_CASE("user and groups are read from a request, and nothing else") {
  const auto request = SigningRequest::from_pem(k_jane).value();
  CHECK(request.common_name() == "jane");
  CHECK(request.organizations() == std::vector<std::string>{"developers", "testers"});

  const auto key = PrivateKey::generate_p256().value();
  const auto ca = make_ca(key, "zood CA", 24h).value();
  CertificateRequest wanted;
  wanted.common_name = request.common_name();
  wanted.organizational_units = {"foofoo"};
  wanted.uris = {"urn:zoo:tenant:u"};
  wanted.validity = 1h;
  wanted.client = true;
  const auto issued = issue(ca, key, request, wanted).value();
  CHECK(issued.issued_by(ca));
  CHECK(issued.organizational_units().value() == std::vector<std::string>{"foofoo"});
  CHECK(issued.dns_sans().value().empty());
  CHECK(issued.uri_sans().value() == wanted.uris);
}

TEST_CASE("what is no sound request is refused") {
  CHECK(refusal("").find("read the certificate request") != std::string::npos);
  CHECK(refusal(k_two_names).find("several common names") != std::string::npos);
  CHECK(refusal(k_rsa_1024).find("too weak") != std::string::npos);
  std::string forged(k_jane);
  forged.replace(forged.find("uQTcognT"), 1, "v"); // one bit of the key
  const auto request = SigningRequest::from_pem(forged);
  CHECK_FALSE(request);
}

TEST_CASE("a request that is made is read again, with its names") {
  const auto key = PrivateKey::generate_p256().value();
  const auto pem = signing_request_pem(key, "jane", {"developers", "testers"});
  REQUIRE(pem);
  const auto request = SigningRequest::from_pem(*pem);
  REQUIRE(request);
  CHECK(request->common_name() == "jane");
  CHECK(request->organizations() == std::vector<std::string>{"developers", "testers"});
  for (const auto& bad : {std::string(), std::string(65, 'x'), std::string("a\nb")})
    CHECK(signing_request_pem(key, bad, {}).error().code() == Code::invalid);
}
