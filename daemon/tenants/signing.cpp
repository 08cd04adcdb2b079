// SPDX-License-Identifier: Apache-2.0
#include "common/base/log.hpp"
#include "common/crypto/digest.hpp"
#include "common/kube/client.hpp"
#include "daemon/tenants/certificates.hpp"
#include "daemon/tenants/controller.hpp"
#include "daemon/tenants/identity.hpp"
#include "daemon/tenants/records.hpp"
#include "daemon/upstream/control_api.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

/// Certificate requests of tenants for signer kubernetes.io/kube-apiserver-client: stored upstream
/// under a signer of the tenant's that nobody serves there, signed here with the tenants' CA
/// (DESIGN 8, docs/decisions/051).
namespace zoo::tenants {
namespace {

using nlohmann::json;

constexpr std::string_view k_collection = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
constexpr std::string_view k_signer = "kubernetes.io/kube-apiserver-client";
constexpr std::chrono::seconds k_shortest{600}; ///< as upstream's validation of expirationSeconds

bool has_condition(const json& request, std::string_view type) {
  const auto conditions = request.value("/status/conditions"_json_pointer, json::array());
  return std::any_of(conditions.begin(), conditions.end(), [&](const json& each) {
    return each.value("type", "") == type && each.value("status", "True") == "True";
  });
}

bool due(const json& request, std::string_view signer) {
  return request.value("/spec/signerName"_json_pointer, "") == signer &&
         has_condition(request, "Approved") && !has_condition(request, "Denied") &&
         !has_condition(request, "Failed") &&
         request.value("/status/certificate"_json_pointer, "").empty();
}

/// What upstream's own signer asks of a request for an API client
/// (pkg/controller/certificates/signer).
Result<crypto::SigningRequest> checked(const json& request) {
  static constexpr std::array<std::string_view, 3> k_usages{"client auth", "digital signature",
                                                            "key encipherment"};
  bool client = false;
  for (const auto& usage : request.value("/spec/usages"_json_pointer, json::array())) {
    const auto name = usage.is_string() ? usage.get<std::string>() : std::string();
    if (std::find(k_usages.begin(), k_usages.end(), name) == k_usages.end())
      return fail(Code::invalid, "usage \"{}\" is not one of a client's", name);
    client = client || name == "client auth";
  }
  if (!client) return fail(Code::invalid, "usages do not contain \"client auth\"");
  ZOO_TRY(const auto pem,
          crypto::base64_decode(request.value("/spec/request"_json_pointer, std::string())));
  ZOO_TRY(auto parsed, crypto::SigningRequest::from_pem(pem));
  ZOO_TRY_VOID(check_subject(parsed.common_name(), parsed.organizations()));
  return parsed;
}

} // namespace

Result<void> Controller::sign_requests(upstream::ControlApi& api, const api::Tenant& tenant) {
  std::vector<json> found;
  const auto signer = fmt::format("{}-{}", tenant.id, k_signer);
  ZOO_TRY_VOID(range_objects(api, std::string(k_collection), tenant.id + "-", 100, 0, false,
                             {{"fieldSelector", "spec.signerName=" + signer}},
                             [&](const json& each) {
                               if (due(each, signer)) found.push_back(each);
                             }));
  for (auto& request : found) {
    step("sign");
    const auto name = request.value("/metadata/name"_json_pointer, std::string());
    const auto seconds = request.value("/spec/expirationSeconds"_json_pointer, std::int64_t{0});
    auto validity = policy()->certificate_validity;
    if (seconds > 0)
      validity = std::min(validity, std::max(k_shortest, std::chrono::seconds(seconds)));
    auto parsed = checked(request);
    auto certificate = parsed
                           ? parts_.pki.issue_for({tenant.id, tenant.uid, tenant.credentials.epoch},
                                                  *parsed, validity)
                           : Result<std::string>(fail(std::move(parsed).error()));
    if (certificate) {
      ZOO_TRY(const auto made, crypto::Certificate::from_pem(*certificate));
      ZOO_TRY(const auto issued, describe_certificate(made, "request"));
      ZOO_TRY_VOID(record_certificate(parts_.store, tenant.id, issued));
      request["status"]["certificate"] = crypto::base64_encode(*certificate);
    } else {
      request["status"]["conditions"].push_back({{"type", "Failed"},
                                                 {"status", "True"},
                                                 {"reason", "SignerValidationFailure"},
                                                 {"message", certificate.error().message()},
                                                 {"lastUpdateTime", now_text()},
                                                 {"lastTransitionTime", now_text()}});
    }
    const auto path = std::string(k_collection) + kube::path({name}) + "/status";
    auto written = api.update(path, request);
    if (written) {
      log::info("tenants", "tenant {}: certificate request {} {}", tenant.id, name,
                certificate ? "is signed" : "is refused: " + certificate.error().message());
      continue;
    }
    const auto code = written.error().code();
    // Gone, or somebody wrote in between: the next look tells.
    if (code == Code::not_found) continue;
    if (code == Code::conflict || code == Code::unavailable || code == Code::timeout)
      return fail(std::move(written).error().context("while signing {}", name));
    log::warning("tenants", "tenant {}: the status of certificate request {} cannot be written: {}",
                 tenant.id, name, written.error().text());
  }
  return {};
}

} // namespace zoo::tenants
