// SPDX-License-Identifier: Apache-2.0
#include "common/backup/verify.hpp"

#include "common/api/sealed.hpp"
#include "common/base/text.hpp"
#include "common/crypto/aead.hpp"
#include "common/crypto/certificate.hpp"
#include "common/crypto/digest.hpp"
#include "common/crypto/key.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>

namespace zoo::backup {
namespace {

using nlohmann::json;
namespace sealed = api::sealed;

const File* file_named(const Content& content, std::string_view name) {
  const auto found = std::find_if(content.files.begin(), content.files.end(),
                                  [&](const File& file) { return file.name == name; });
  return found == content.files.end() ? nullptr : &*found;
}

std::optional<crypto::Sealer> master_of(const Content& content) {
  const auto* file = file_named(content, "master.key");
  if (file == nullptr) return std::nullopt;
  auto bytes = crypto::base64_decode(text::trim(file->bytes.view()));
  if (!bytes || bytes->size() != crypto::Sealer::k_key_size) return std::nullopt;
  return crypto::Sealer(Secret(*std::move(bytes)));
}

/// A sealed text in base64.
std::optional<Secret> opened(const crypto::Sealer& sealer, std::string_view text,
                             const std::string& associated) {
  const auto bytes = crypto::base64_decode(text);
  if (!bytes) return std::nullopt;
  auto out = sealer.open(*bytes, associated);
  if (!out) return std::nullopt;
  return *std::move(out);
}

void check_pair(const Content& content, const std::string& name, std::vector<std::string>& out) {
  const auto *certificate = file_named(content, name + ".crt"),
             *key = file_named(content, name + ".key");
  if (certificate == nullptr && key == nullptr) return; // zood.yaml names others
  if (certificate == nullptr || key == nullptr) {
    out.push_back(
        fmt::format("of {} only the {} is there", name, key == nullptr ? "certificate" : "key"));
    return;
  }
  const auto read = crypto::Certificate::from_pem(certificate->bytes.view());
  const auto secret = crypto::PrivateKey::from_pem(key->bytes.view());
  if (!read || !secret) {
    out.push_back(fmt::format("{}.{} cannot be read", name, read ? "key" : "crt"));
  } else if (!read->belongs_to(*secret)) {
    out.push_back(fmt::format("{}.key is not the key of {}.crt", name, name));
  }
}

} // namespace

std::vector<std::string> problems_of(const Content& content) {
  std::vector<std::string> out;
  const auto master = master_of(content);
  if (!master) out.emplace_back("master.key is missing, or is not 32 bytes in base64");
  std::optional<crypto::Sealer> credentials;
  for (const auto& record : content.records) {
    if (record.kind != sealed::k_keyring_kind || !master) continue;
    auto key = opened(*master, record.value.view(), sealed::keyring(record.key));
    if (!key || key->view().size() != crypto::Sealer::k_key_size) {
      out.push_back(fmt::format("master.key does not open the key '{}'", record.key));
    } else if (record.key == sealed::k_credentials) {
      credentials.emplace(*std::move(key));
    }
  }
  for (const auto& record : content.records) {
    if (record.kind == sealed::k_keyring_kind) continue;
    const auto value = json::parse(record.value.view(), nullptr, false);
    if (value.is_discarded()) {
      out.push_back(fmt::format("{} '{}' is no JSON", record.kind, record.key));
      continue;
    }
    if (record.kind != sealed::k_credential_kind || !credentials) continue;
    const auto text = value.is_object() ? value.value("key", json()) : json();
    if (!text.is_string() ||
        !opened(*credentials, text.get<std::string>(), sealed::credential(record.key)))
      out.push_back(fmt::format("the kept credential of tenant {} does not open", record.key));
  }
  check_pair(content, "pki/ca", out);
  check_pair(content, "pki/admin-ca", out);
  return out;
}

} // namespace zoo::backup
