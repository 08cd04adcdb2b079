// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/crypto/aead.hpp"
#include "common/crypto/digest.hpp"
#include "daemon/store/sqlite.hpp"
#include "daemon/tenants/pki.hpp"
#include "daemon/tenants/service_impl.hpp"
#include "tests/unit/tenants/fake_upstream.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

namespace zoo::tests {

struct Directory {
  std::filesystem::path path;
  Directory() {
    auto name = (std::filesystem::temp_directory_path() / "zood-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path = name;
  }
  Directory(const Directory&) = delete;
  ~Directory() { std::filesystem::remove_all(path); }
};

template <class T>
T must(Result<T> result) {
  if (!result) FAIL(result.error().text());
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

inline bool eventually(const std::function<bool()>& holds) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

/// A store on disk, a PKI, and an upstream that does as it is told.
struct Room {
  Directory directory;
  std::unique_ptr<store::Store> store = must(store::open_sqlite({directory.path, {}, 5'000}));
  std::unique_ptr<tenants::Pki> pki = must(tenants::Pki::open({directory.path, {}, {}, {}}));
  crypto::Sealer sealer{Secret(must(crypto::random_bytes(32)))};
  FakeUpstream upstream;

  static tenants::Settings settings() {
    tenants::Settings out;
    out.policy.reserved_ids = {"system"};
    out.advertise_host = "192.0.2.7";
    out.advertise_port = 7443;
    out.policy.delete_grace = std::chrono::milliseconds(0);
    out.retry = std::chrono::milliseconds(1);
    out.workers = 2;
    return out;
  }
  std::unique_ptr<tenants::TenantServiceImpl> service(tenants::Settings with = settings(),
                                                      std::function<bool()> hears = {}) {
    return service(std::move(with),
                   [&](tenants::ControllerParts& parts) { parts.hears = std::move(hears); });
  }
  /// `more` fills in what else the controller is made of.
  std::unique_ptr<tenants::TenantServiceImpl>
  service(tenants::Settings with, const std::function<void(tenants::ControllerParts&)>& more) {
    tenants::ControllerParts parts{*store, *pki, sealer, [this] { return upstream.connect(); }};
    more(parts);
    auto out = std::make_unique<tenants::TenantServiceImpl>(std::move(parts), std::move(with));
    must(out->start());
    return out;
  }
};

inline bool has_condition(tenants::TenantService& service, std::string_view id,
                          std::string_view type) {
  const auto tenant = must(service.get(id));
  return tenant.condition(type) != nullptr;
}

inline api::Tenant wanted(const std::string& id) {
  api::Tenant out;
  out.id = id;
  return out;
}

} // namespace zoo::tests
