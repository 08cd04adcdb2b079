// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/admin/service.hpp"
#include "daemon/resources/service.hpp"

#include <nlohmann/json.hpp>

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

/// What stands around the admin API in its tests: a TenantService in memory, a loop run by hand
/// on the test's thread, and a stream that remembers what was said.
namespace zoo::admin::test {

class FakeTenants final : public tenants::TenantService {
public:
  Result<api::Tenant> create(api::Tenant wanted, bool dry_run) override;
  Result<api::Tenant> get(std::string_view id) override;
  Result<tenants::TenantPage> list(std::string_view after, std::size_t limit) override;
  Result<api::Tenant> update(api::Tenant wanted, bool dry_run) override;
  Result<api::Tenant> remove(std::string_view id, const tenants::Preconditions& expected,
                             bool dry_run) override;
  Result<std::unique_ptr<tenants::Subscription>>
  watch(std::int64_t revision,
        std::function<void(const tenants::TenantChange&)> on_change) override;
  Result<std::string> kubeconfig(std::string_view id,
                                 const tenants::KubeconfigRequest& request) override;
  Result<std::string> stored_kubeconfig(std::string_view id) override;
  Result<api::Tenant> rotate(std::string_view id, bool revoke_old, bool dry_run) override;
  Result<api::Tenant> revoke(std::string_view id, const tenants::RevokeRequest& request) override;
  Result<std::vector<tenants::CertificateStatus>> certificates(std::string_view id) override;
  Result<tenants::Census> census() override;
  std::vector<tenants::Finding> doctor() override;

  /// What the controller would do: changes a record behind the API's back.
  void touch(const std::string& id, const std::function<void(api::Tenant&)>& change);
  void purge(const std::string& id); ///< the record goes
  std::size_t watchers() const;
  void set_oldest(std::int64_t revision) { oldest_ = revision; }
  void hold(bool on); ///< get() waits while held
  std::size_t held() const;
  /// Runs once, just before the next update() or remove() looks at the record.
  void before_write(std::function<void()> hook) { hook_ = std::move(hook); }

  tenants::KubeconfigRequest last_kubeconfig;
  tenants::RevokeRequest last_revoke;
  std::optional<bool> last_rotate; ///< revoke_old

private:
  struct Watcher;
  void tell(tenants::TenantChange::Type type, const api::Tenant& tenant);

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::map<std::string, api::Tenant, std::less<>> tenants_;
  std::vector<tenants::TenantChange> history_;
  std::map<int, std::function<void(const tenants::TenantChange&)>> watchers_;
  std::function<void()> hook_;
  int next_watcher_ = 0;
  std::int64_t revision_ = 100, oldest_ = 0;
  bool hold_ = false;
  std::size_t held_ = 0;
};

class FakeStatus final : public StatusSource {
public:
  ServerStatus status() override;
  std::string not_ready() const override { return missing; }
  void metrics(MetricText& out) override;
  std::string missing;
};

/// The loop: tasks run when the test asks.
class HandLoop final : public Scheduler {
public:
  void post(std::function<void()> task) override;
  std::unique_ptr<resources::Alarm> after(std::chrono::milliseconds delay,
                                          std::function<void()> task) override;
  void run_one(); ///< waits for a task (at most ten seconds) and runs it
  void run_ready();
  bool fire(std::chrono::milliseconds delay); ///< the alarm set for exactly that long

private:
  struct HandAlarm;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> tasks_;
  std::vector<HandAlarm*> alarms_;
};

class RecordingStream final : public http::ServerStream {
public:
  explicit RecordingStream(http::ConnectionInfo info) : info_(std::move(info)) {}
  void send_head(const http::ResponseHead& sent, bool end) override;
  void send_data(std::string_view bytes, bool end) override;
  bool writable() const override { return open; }
  std::size_t pending() const override { return 0; }
  void set_high_watermark(std::size_t) override {}
  void reset(http::ResetReason) override { ended = true; }
  void consume(std::size_t bytes) override { consumed += bytes; }
  const http::ConnectionInfo& connection() const override { return info_; }

  http::ResponseHead head;
  std::string body;
  bool has_head = false, ended = false, open = true;
  std::size_t consumed = 0;

private:
  http::ConnectionInfo info_;
};

/// One running request. Destroyed like a connection would: handler first.
struct Talk {
  explicit Talk(http::ConnectionInfo info) : stream(std::move(info)) {}
  RecordingStream stream;
  std::unique_ptr<http::StreamHandler> handler;
  nlohmann::json json() const { return nlohmann::json::parse(stream.body); }
  std::vector<nlohmann::json> lines() const; ///< of a watch
  int status() const { return stream.head.status; }
};

struct World {
  World();
  ~World();
  using Headers = std::vector<http::Header>;
  /// Starts a request, as root on the Unix socket, and runs the loop until its head is there.
  std::unique_ptr<Talk> ask(const std::string& method, const std::string& target,
                            const std::string& body = "", const Headers& headers = {});
  std::unique_ptr<Talk> start(const std::string& method, const std::string& target,
                              const std::string& body = "", const Headers& headers = {});
  void settle(Talk& talk); ///< until the head is there
  void add(const std::string& id, const std::string& display_name = "",
           std::map<std::string, std::string> labels = {});
  void expect_lines(Talk& talk, std::size_t count); ///< runs the loop until so many lines came

  FakeTenants tenants;
  FakeStatus status;
  HandLoop loop;
  std::unique_ptr<Workers> workers;
  std::unique_ptr<resources::ApiService> service;
  http::ConnectionInfo info;
};

inline const std::string k_tenants = "/apis/tenant.kubezoo.io/v1alpha1/tenants";
inline const http::Header k_table{
    "Accept", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;"
              "g=meta.k8s.io,application/json"};

std::string manifest(const std::string& id, const nlohmann::json& spec = nlohmann::json::object());

} // namespace zoo::admin::test
