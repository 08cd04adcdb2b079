// SPDX-License-Identifier: Apache-2.0
// The admin API behind its TLS door with tenants in memory, so that every kubectl at hand can be
// tried on it without an upstream: admin_server DIR writes DIR/admin.kubeconfig and
// DIR/plain.kubeconfig (no client certificate), prints the address and runs until it is told to
// end.
#define DOCTEST_CONFIG_IMPLEMENT
#include "common/base/file.hpp"
#include "common/crypto/issue.hpp"
#include "common/kube/kubeconfig.hpp"
#include "daemon/net/listener.hpp"
#include "daemon/net/workers.hpp"
#include "tests/unit/admin/world.hpp"

#include <doctest/doctest.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace {

using namespace zoo;
using admin::test::FakeTenants;

template <class T>
T must(Result<T> result) {
  if (result) return *std::move(result);
  std::fprintf(stderr, "admin_server: %s\n", result.error().text().c_str());
  std::exit(1);
}

/// Makes tenants Ready, and ends those that are to be deleted.
class Controller {
public:
  explicit Controller(FakeTenants& tenants) : tenants_(tenants), thread_([this] { run(); }) {
    subscription_ = must(tenants.watch(100, [this](const tenants::TenantChange& change) {
      const std::lock_guard lock(mutex_);
      changes_.push_back(change);
      wake_.notify_all();
    }));
  }
  ~Controller() {
    subscription_.reset();
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      wake_.notify_all();
    }
    thread_.join();
  }

private:
  void run() {
    for (;;) {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return stopping_ || !changes_.empty(); });
      if (stopping_) return;
      const auto change = std::move(changes_.front());
      changes_.pop_front();
      lock.unlock();
      if (change.type == tenants::TenantChange::Type::deleted) continue;
      if (change.tenant.phase == api::Phase::deleting) tenants_.purge(change.tenant.id);
      if (change.tenant.phase != api::Phase::pending) continue;
      tenants_.touch(change.tenant.id, [](api::Tenant& tenant) {
        tenant.phase = api::Phase::ready;
        tenant.certificate_expiry = "2099-01-01T00:00:00Z";
        tenant.set_condition("Ready", "True", "Ready", "", "2026-01-01T00:00:00Z");
      });
    }
  }

  FakeTenants& tenants_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<tenants::TenantChange> changes_;
  bool stopping_ = false;
  std::thread thread_;
  std::unique_ptr<tenants::Subscription> subscription_;
};

struct Identity {
  crypto::Certificate certificate;
  crypto::PrivateKey key;
};

Identity issued(const crypto::Certificate& ca, const crypto::PrivateKey& ca_key,
                crypto::CertificateRequest request) {
  auto key = must(crypto::PrivateKey::generate_p256());
  request.validity = std::chrono::hours(1);
  auto certificate = must(crypto::issue(ca, ca_key, key, request));
  return {std::move(certificate), std::move(key)};
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: admin_server DIR\n"), 64;
  const std::string directory = argv[1];
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGTERM, SIGINT})
    sigaddset(&signals, number);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  const auto ca_key = must(crypto::PrivateKey::generate_p256());
  const auto ca = must(crypto::make_ca(ca_key, "admin-server-ca", std::chrono::hours(1)));
  crypto::CertificateRequest wanted;
  wanted.common_name = "admin-server";
  wanted.ip_addresses = {"127.0.0.1"};
  wanted.server = true;
  const auto server = issued(ca, ca_key, wanted);
  wanted = {};
  wanted.common_name = "admin";
  wanted.organizations = {std::string(admin::k_administrators)};
  wanted.client = true;
  const auto client = issued(ca, ca_key, wanted);

  net::Workers loops(2, "loop");
  std::vector<std::unique_ptr<resources::Scheduler>> schedulers;
  FakeTenants tenants;
  admin::test::FakeStatus status;
  resources::Workers workers{"test"};
  const auto door = admin::make_door({tenants, status, workers, {}, {}});
  net::TlsServerOptions tls;
  tls.certificate_chain_pem = server.certificate.to_pem();
  tls.key_pem = server.key.to_pem();
  tls.client_ca_pem = ca.to_pem();
  {
    const Controller controller(tenants);
    auto listener = must(net::Listener::tcp(
        loops.loops(), "127.0.0.1:0", must(net::TlsServerContext::create(tls)), {},
        [&](net::Loop& loop) {
          schedulers.push_back(resources::make_scheduler(loop));
          return std::make_unique<resources::ApiService>(door, workers, *schedulers.back());
        }));
    for (const bool certified : {true, false}) {
      kube::KubeconfigParts parts;
      parts.cluster = parts.context = "admin";
      parts.user = "admin";
      parts.server = "https://" + listener->address();
      parts.ca_pem = ca.to_pem();
      if (certified) {
        parts.client_cert_pem = client.certificate.to_pem();
        parts.client_key_pem = client.key.to_pem();
      } else {
        parts.token = Secret(std::string("nobody"));
      }
      const auto file = directory + (certified ? "/admin.kubeconfig" : "/plain.kubeconfig");
      const auto written = file::write_secret(file, kube::write_kubeconfig(parts));
      if (!written) return std::fprintf(stderr, "%s\n", written.error().text().c_str()), 1;
    }
    std::printf("%s\n", listener->address().c_str());
    std::fflush(stdout);
    int number = 0;
    sigwait(&signals, &number);
  }
  workers.stop();
  loops.stop();
  return 0;
}
