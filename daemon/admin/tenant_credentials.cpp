// SPDX-License-Identifier: Apache-2.0
#include "common/base/text.hpp"
#include "daemon/admin/api_types.hpp"
#include "daemon/admin/tenant_kind.hpp"
#include "daemon/admin/wish.hpp"
#include "daemon/resources/body.hpp"
#include "daemon/resources/fields.hpp"
#include "daemon/resources/negotiate.hpp"
#include "daemon/resources/options.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <span>

namespace zoo::admin {
namespace {

using nlohmann::json;
using resources::dry_run_of;
using resources::Key;
using resources::member;
using resources::negotiate;
using resources::parse_body;
using resources::render;
using resources::text_member;
using tenants::TenantService;

Result<std::vector<std::string>> texts_member(const json& object, const char* key) {
  std::vector<std::string> out;
  const auto* value = member(object, key);
  if (!value || value->is_null()) return out;
  if (!value->is_array()) return fail(Code::bad_request, "{} must be a list of strings", key);
  for (const auto& each : *value) {
    if (!each.is_string()) return fail(Code::bad_request, "{} must be a list of strings", key);
    out.push_back(each.get<std::string>());
  }
  return out;
}

Answer tenant_answer(const api::Tenant& tenant, const resources::Representation& representation) {
  auto answer = render(200, api::to_json(tenant), representation);
  answer.object = tenant.id;
  return answer;
}

json certificate_json(const tenants::CertificateStatus& status) {
  const auto& certificate = status.certificate;
  return {{"serial", certificate.serial},   {"user", certificate.user},
          {"groups", certificate.groups},   {"administrator", certificate.administrator()},
          {"source", certificate.source},   {"issued", certificate.issued},
          {"expires", certificate.expires}, {"revoked", status.revoked}};
}

Result<Answer> kubeconfig(TenantService& service, const Request& request, const std::string& id) {
  ZOO_TRY(const auto representation, negotiate(request.headers.get("accept"), false));
  ZOO_TRY(const bool dry_run, dry_run_of(request));
  if (dry_run)
    return fail(Code::bad_request, "a kubeconfig has a new certificate in it: it is issued, or not "
                                   "asked for; dryRun is not taken");
  tenants::KubeconfigRequest wanted;
  constexpr std::array<std::string_view, 5> known = {"user", "groups", "administrator",
                                                     "ttlSeconds", "server"};
  ZOO_TRY(const auto body, read_wish(request, known));
  ZOO_TRY(const auto user, text_member(body, "user", "user"));
  ZOO_TRY(wanted.server, text_member(body, "server", "server"));
  if (!user.empty()) wanted.user = user;
  ZOO_TRY(wanted.groups, texts_member(body, "groups"));
  // Whoever asks for a user or groups of the tenant's own does not get the super-user by silence.
  ZOO_TRY(wanted.administrator,
          flag_member(body, "administrator", user.empty() && wanted.groups.empty()));
  if (const auto* ttl = member(body, "ttlSeconds"); ttl && !ttl->is_null()) {
    if (!ttl->is_number_integer() || ttl->get<std::int64_t>() < 0 ||
        ttl->get<std::int64_t>() > 100LL * 366 * 86400)
      return fail(Code::bad_request,
                  "ttlSeconds must be a whole number of seconds, 100 years at most");
    wanted.ttl = std::chrono::seconds(ttl->get<std::int64_t>());
  }
  ZOO_TRY(const auto kubeconfig, service.kubeconfig(id, wanted));
  return render(201, {{"kubeconfig", kubeconfig}}, representation);
}

Result<Answer> certificates(TenantService& service, const Request& request, const std::string& id) {
  ZOO_TRY(const auto representation, negotiate(request.headers.get("accept"), false));
  ZOO_TRY(const auto all, service.certificates(id));
  json out{{"apiVersion", api::k_tenant_api_version},
           {"kind", "TenantCertificateList"},
           {"metadata", json::object()},
           {"items", json::array()}};
  for (const auto& each : all)
    out["items"].push_back(certificate_json(each));
  return render(200, out, representation);
}

Result<Answer> rotate(TenantService& service, const Request& request, const std::string& id) {
  ZOO_TRY(const auto representation, negotiate(request.headers.get("accept"), false));
  ZOO_TRY(const bool dry_run, dry_run_of(request));
  constexpr std::array<std::string_view, 1> known = {"revokeOld"};
  ZOO_TRY(const auto body, read_wish(request, known));
  ZOO_TRY(const auto revoke_old, flag_member(body, "revokeOld", false));
  ZOO_TRY(const auto tenant, service.rotate(id, revoke_old, dry_run));
  return tenant_answer(tenant, representation);
}

Result<Answer> revoke(TenantService& service, const Request& request, const std::string& id) {
  ZOO_TRY(const auto representation, negotiate(request.headers.get("accept"), false));
  ZOO_TRY(const bool dry_run, dry_run_of(request));
  constexpr std::array<std::string_view, 2> known = {"serials", "all"};
  ZOO_TRY(const auto body, read_wish(request, known));
  tenants::RevokeRequest wanted;
  ZOO_TRY(wanted.serials, texts_member(body, "serials"));
  ZOO_TRY(wanted.all, flag_member(body, "all", false));
  if (wanted.all != wanted.serials.empty())
    return fail(Code::bad_request, "name the serials of certificates, or say all: true");
  wanted.dry_run = dry_run;
  ZOO_TRY(const auto tenant, service.revoke(id, wanted));
  return tenant_answer(tenant, representation);
}

} // namespace

std::vector<resources::Action> tenant_actions(TenantService& service) {
  using Function = Result<Answer> (*)(TenantService&, const Request&, const std::string&);
  const auto calls = [&service](Function function) {
    return [&service, function](const Request& request, const Key& key) {
      return function(service, request, key.name);
    };
  };
  return {{"certificates", "TenantCertificateList", "GET", calls(certificates)},
          {"kubeconfig", "KubeconfigRequest", "POST", calls(kubeconfig)},
          {"revoke", "RevokeRequest", "POST", calls(revoke)},
          {"rotate", "RotateRequest", "POST", calls(rotate)},
          {"status", std::string(api::k_tenant_kind), "GET"}};
}

} // namespace zoo::admin
