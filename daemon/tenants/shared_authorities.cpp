// SPDX-License-Identifier: Apache-2.0
#include "daemon/tenants/shared_authorities.hpp"

#include "common/base/file.hpp"
#include "common/base/log.hpp"
#include "common/crypto/digest.hpp"

#include <nlohmann/json.hpp>

#include <string>

namespace zoo::tenants {
namespace {

using nlohmann::json;

std::string purpose_of(std::string_view record) { return fmt::format("pki/{}", record); }

} // namespace

std::vector<SharedAuthorities::Authority> SharedAuthorities::authorities() const {
  std::vector<Authority> out{{"admin-ca", "admin-ca.crt", "admin-ca.key"}};
  if (tenants_) out.insert(out.begin(), {"tenants-ca", "ca.crt", "ca.key"});
  return out;
}

Result<void> SharedAuthorities::take() {
  for (const auto& each : authorities())
    ZOO_TRY_VOID(take_one(each, false));
  return {};
}

/// Nothing happens where the store has none.
Result<void> SharedAuthorities::take_one(const Authority& authority, bool replace) {
  const auto record = store_.get(k_kind, authority.record);
  if (!record && record.error().code() == Code::not_found) return {};
  if (!record) return fail(record.error());
  const auto parts = json::parse(record->value, nullptr, false);
  const auto text = [&](const char* name) {
    return parts.is_object() ? parts.value(name, std::string()) : std::string();
  };
  const auto certificate = text("certificate");
  const auto sealed = crypto::base64_decode(text("key"));
  const auto key = sealed ? sealer_.open(*sealed, purpose_of(authority.record))
                          : Result<Secret>(fail(Code::invalid, "not base64"));
  if (!key || certificate.empty()) {
    return fail(Code::invalid,
                "the authority '{}' in the store cannot be opened: its key was sealed with another "
                "master.key than that of this directory",
                authority.record);
  }
  const auto file = folder_ / authority.certificate;
  const auto there = file::read(file);
  if (!there && there.error().code() != Code::not_found) return fail(there.error());
  if (there && *there == certificate) return {};
  if (there && !replace) {
    return fail(Code::conflict,
                "{} is another authority than the one of the store, which the other zoods have: "
                "join with an empty directory (zood --join)",
                file.string());
  }
  ZOO_TRY_VOID(file::ensure_private_directory(folder_));
  ZOO_TRY_VOID(file::write_secret(folder_ / authority.key, key->view()));
  ZOO_TRY_VOID(file::write_secret(file, certificate));
  log::info("tenants", "{} is the one of the store", file.string());
  return {};
}

Result<bool> SharedAuthorities::give() {
  bool all = true;
  for (const auto& each : authorities()) {
    ZOO_TRY(const bool ours, give_one(each));
    all = all && ours;
  }
  return all;
}

Result<bool> SharedAuthorities::give_one(const Authority& authority) {
  ZOO_TRY(const auto certificate, file::read(folder_ / authority.certificate));
  ZOO_TRY(const auto key, file::read_secret(folder_ / authority.key));
  const auto sealed = sealer_.seal(key.view(), purpose_of(authority.record));
  const json value{{"certificate", certificate}, {"key", crypto::base64_encode(sealed)}};
  const auto put = store_.put(k_kind, authority.record, value.dump(), 0);
  if (put) return true;
  if (put.error().code() != Code::already_exists) return fail(put.error());
  ZOO_TRY_VOID(take_one(authority, true));
  ZOO_TRY(const auto now, file::read(folder_ / authority.certificate));
  return now == certificate;
}

} // namespace zoo::tenants
