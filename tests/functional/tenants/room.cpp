// SPDX-License-Identifier: Apache-2.0
#include "tests/functional/tenants/room.hpp"

#include "common/kube/kubeconfig.hpp"
#include "daemon/store/sqlite.hpp"
#include "daemon/upstream/bootstrap.hpp"

#include <stdexcept>
#include <thread>

namespace zoo::tests {
namespace {

template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().text());
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

} // namespace

tenants::Settings settings_for_tests() {
  tenants::Settings settings;
  settings.policy.reserved_ids = {"system"};
  settings.advertise_host = "127.0.0.1";
  settings.advertise_port = 7443;
  settings.policy.delete_grace = std::chrono::seconds(2);
  return settings;
}

Zood::Zood(const std::filesystem::path& directory, const std::string& kubeconfig,
           tenants::Settings settings) {
  store_ = must(store::open_sqlite({directory, {}, 5'000}));
  tenants::PkiOptions options;
  options.directory = directory;
  pki_ = must(tenants::Pki::open(options));
  credential_ = must(
      upstream::Credential::obtain(must(kube::load_kubeconfig(kubeconfig)),
                                   {directory, std::chrono::hours(1), std::chrono::seconds(60)}));
  must(upstream::refuse_trusted_ca(*credential_->api(), pki_->ca(), pki_->ca_key()));
  auto keyring = must(store::Keyring::open(*store_, directory));
  sealer_ = std::make_unique<crypto::Sealer>(must(keyring.key("tenant-credentials")));
  feeder_ = must(tenants::DirectoryFeeder::start(*store_, directory_));
  service_ = std::make_unique<tenants::TenantServiceImpl>(
      tenants::ControllerParts{*store_, *pki_, *sealer_, [this] { return credential_->api(); }},
      std::move(settings), credential_.get());
  must(service_->start());
}

bool eventually(const std::function<bool()>& holds, std::chrono::milliseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

} // namespace zoo::tests
