// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/crypto/aead.hpp"
#include "daemon/store/keyring.hpp"
#include "daemon/store/store.hpp"
#include "daemon/tenants/pki.hpp"
#include "daemon/tenants/records.hpp"
#include "daemon/tenants/service_impl.hpp"
#include "daemon/upstream/credential.hpp"

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

namespace zoo::tests {

/// What of zood makes tenants, put together on one directory against a real upstream, as app does
/// it. Throws where the test cannot go on.
class Zood {
public:
  Zood(const std::filesystem::path& directory, const std::string& kubeconfig,
       tenants::Settings settings);
  tenants::TenantServiceImpl& service() { return *service_; }
  tenants::TenantDirectory& directory() { return directory_; }
  upstream::Credential& credential() { return *credential_; }
  tenants::Pki& pki() { return *pki_; }

private:
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<tenants::Pki> pki_;
  std::unique_ptr<upstream::Credential> credential_;
  std::unique_ptr<crypto::Sealer> sealer_;
  tenants::TenantDirectory directory_;
  std::unique_ptr<tenants::DirectoryFeeder> feeder_;
  std::unique_ptr<tenants::TenantServiceImpl> service_;
};

tenants::Settings settings_for_tests();

/// True as soon as the condition holds; false if it does not within the time.
bool eventually(const std::function<bool()>& holds,
                std::chrono::milliseconds limit = std::chrono::seconds(300));

} // namespace zoo::tests
