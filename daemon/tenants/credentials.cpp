// SPDX-License-Identifier: Apache-2.0
#include "common/api/sealed.hpp"
#include "common/base/log.hpp"
#include "common/crypto/digest.hpp"
#include "daemon/tenants/certificates.hpp"
#include "daemon/tenants/controller.hpp"
#include "daemon/tenants/identity.hpp"
#include "daemon/tenants/records.hpp"

#include <nlohmann/json.hpp>

#include <optional>

namespace zoo::tenants {

using nlohmann::json;

namespace {

std::string purpose(std::string_view id) { return api::sealed::credential(id); }

} // namespace

Result<std::optional<StoredCredential>>
load_credential(store::Store& store, const crypto::Sealer& sealer, std::string_view id) {
  const auto record = store.get(k_credential_kind, id);
  if (!record) {
    if (record.error().code() == Code::not_found) return std::nullopt;
    return fail(record.error());
  }
  const auto value = json::parse(record->value, nullptr, false);
  if (!value.is_object()) {
    return fail(Code::internal, "the kept credential of tenant {} is not JSON", id);
  }
  StoredCredential out;
  out.uid = value.value("uid", "");
  out.certificate_pem = value.value("certificate", "");
  ZOO_TRY(const auto sealed, crypto::base64_decode(value.value("key", "")));
  ZOO_TRY(out.key_pem, sealer.open(sealed, purpose(id)));
  return out;
}

Result<void> save_credential(store::Store& store, const crypto::Sealer& sealer, std::string_view id,
                             const StoredCredential& credential) {
  const json value = {
      {"uid", credential.uid},
      {"certificate", credential.certificate_pem},
      {"key", crypto::base64_encode(sealer.seal(credential.key_pem.view(), purpose(id)))}};
  ZOO_TRY(const auto record, store.put(k_credential_kind, id, value.dump()));
  (void)record;
  return {};
}

std::optional<crypto::Certificate> good_certificate(const StoredCredential& credential,
                                                    const api::Tenant& tenant,
                                                    const crypto::Certificate& authority) {
  auto certificate = crypto::Certificate::from_pem(credential.certificate_pem);
  if (!certificate || !certificate->issued_by(authority)) return std::nullopt;
  const auto issued = describe_certificate(*certificate, {});
  if (!issued || is_revoked(tenant, *issued)) return std::nullopt;
  return *std::move(certificate);
}

/// The expiry of the administrator's certificate, made (anew) if need be.
Result<std::string> Controller::ensure_credential(const api::Tenant& tenant) {
  const auto kept = load_credential(parts_.store, parts_.sealer, tenant.id);
  if (!kept) {
    log::warning("tenants", "tenant {}: its kept key cannot be read ({}); a new one is made",
                 tenant.id, kept.error().text());
  } else if (*kept) {
    const auto certificate = good_certificate(**kept, tenant, parts_.pki.ca());
    if (certificate && !due_for_renewal(*certificate)) return time_text(certificate->not_after());
  }
  return renew_credential(led_, tenant);
}

Result<std::string> Controller::renew_credential(const api::Tenant& tenant) {
  return renew_credential(parts_.store, tenant);
}

Result<std::string> Controller::renew_credential(store::Store& store, const api::Tenant& tenant) {
  step("credential");
  if (const auto kept = load_credential(store, parts_.sealer, tenant.id); kept && *kept) {
    const auto old = crypto::Certificate::from_pem((*kept)->certificate_pem);
    const auto issued = old ? describe_certificate(*old, "administrator")
                            : Result<IssuedCertificate>(fail(old.error()));
    if (issued) ZOO_TRY_VOID(record_certificate(store, tenant.id, *issued));
  }
  ZOO_TRY(auto pair, parts_.pki.issue_tenant({tenant.id, tenant.uid, tenant.credentials.epoch},
                                             "admin", {std::string(k_tenant_admin_group)},
                                             policy()->certificate_validity));
  ZOO_TRY(const auto certificate, crypto::Certificate::from_pem(pair.certificate_pem));
  ZOO_TRY_VOID(
      save_credential(store, parts_.sealer, tenant.id,
                      {tenant.uid, std::move(pair.certificate_pem), std::move(pair.key_pem)}));
  return time_text(certificate.not_after());
}

} // namespace zoo::tenants
