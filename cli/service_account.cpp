// SPDX-License-Identifier: Apache-2.0
#include "cli/service_account.hpp"

#include "cli/door.hpp"
#include "cli/output/printer.hpp"
#include "common/kube/client.hpp"

#include <nlohmann/json.hpp>

namespace zoo::cli {

std::string token_path(const ServiceAccountName& account) {
  return kube::path(
      {"api", "v1", "namespaces", account.space, "serviceaccounts", account.name, "token"});
}

Result<nlohmann::json> token_request(const std::string& ttl) {
  nlohmann::json out = {{"apiVersion", "authentication.k8s.io/v1"},
                        {"kind", "TokenRequest"},
                        {"spec", nlohmann::json::object()}};
  if (ttl.empty()) return out;
  ZOO_TRY(const auto span, option_ttl(ttl));
  out["spec"]["expirationSeconds"] = span.count();
  return out;
}

Result<Secret> token_of(const nlohmann::json& answer) {
  auto text = text_at(answer, "/status/token");
  if (text.empty()) return fail(Code::unavailable, "the cluster answered without a token");
  return Secret(std::move(text));
}

} // namespace zoo::cli
