// SPDX-License-Identifier: Apache-2.0
#include "common/crypto/digest.hpp"
#include "daemon/tenants/controller.hpp"
#include "daemon/tenants/records.hpp"

#include <nlohmann/json.hpp>

#include <optional>

namespace zoo::tenants {

using nlohmann::json;

namespace {

std::string purpose(std::string_view id) { return fmt::format("tenant-credential/{}", id); }

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

} // namespace zoo::tenants
