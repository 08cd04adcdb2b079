// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/admin/world.hpp"

#include <doctest/doctest.h>

#include <stdexcept>

namespace zoo::admin::test {

using tenants::TenantChange;

Result<api::Tenant> FakeTenants::create(api::Tenant wanted, bool dry_run) {
  ZOO_TRY_VOID(api::validate_id(wanted.id));
  const std::lock_guard lock(mutex_);
  if (tenants_.contains(wanted.id))
    return fail(Code::already_exists, "tenants.tenant.kubezoo.io \"{}\" already exists", wanted.id);
  wanted.uid = "uid-" + std::to_string(revision_);
  wanted.phase = api::Phase::pending;
  wanted.creation_timestamp = "2026-01-01T00:00:00Z";
  wanted.generation = 1;
  if (dry_run) return wanted;
  wanted.resource_version = ++revision_;
  tenants_[wanted.id] = wanted;
  tell(TenantChange::Type::added, wanted);
  return wanted;
}

Result<api::Tenant> FakeTenants::get(std::string_view id) {
  std::unique_lock lock(mutex_);
  if (hold_) {
    ++held_;
    wake_.notify_all();
    wake_.wait(lock, [this] { return !hold_; });
  }
  const auto at = tenants_.find(id);
  if (at == tenants_.end())
    return fail(Code::not_found, "tenants.tenant.kubezoo.io \"{}\" not found", id);
  return at->second;
}

Result<tenants::TenantPage> FakeTenants::list(std::string_view after, std::size_t limit) {
  const std::lock_guard lock(mutex_);
  tenants::TenantPage page;
  page.revision = revision_;
  for (auto at = tenants_.upper_bound(after); at != tenants_.end(); ++at) {
    if (limit != 0 && page.items.size() == limit) {
      page.next = page.items.back().id;
      break;
    }
    page.items.push_back(at->second);
  }
  return page;
}

Result<api::Tenant> FakeTenants::update(api::Tenant wanted, bool dry_run) {
  if (auto hook = std::exchange(hook_, nullptr)) hook();
  const std::lock_guard lock(mutex_);
  const auto at = tenants_.find(wanted.id);
  if (at == tenants_.end())
    return fail(Code::not_found, "tenants.tenant.kubezoo.io \"{}\" not found", wanted.id);
  auto& live = at->second;
  if (wanted.resource_version != 0 && wanted.resource_version != live.resource_version)
    return fail(Code::conflict, "the object has been modified; please apply your changes to the "
                                "latest version and try again");
  auto next = wanted;
  next.uid = live.uid;
  next.phase = live.phase;
  next.creation_timestamp = live.creation_timestamp;
  next.resource_version = live.resource_version;
  if (dry_run) return next;
  next.resource_version = ++revision_;
  live = next;
  tell(TenantChange::Type::modified, live);
  return live;
}

Result<api::Tenant> FakeTenants::remove(std::string_view id, const tenants::Preconditions& expected,
                                        bool dry_run) {
  if (auto hook = std::exchange(hook_, nullptr)) hook();
  const std::lock_guard lock(mutex_);
  const auto at = tenants_.find(id);
  if (at == tenants_.end())
    return fail(Code::not_found, "tenants.tenant.kubezoo.io \"{}\" not found", id);
  if (!expected.uid.empty() && expected.uid != at->second.uid)
    return fail(Code::conflict, "Precondition failed: UID in precondition: {}", expected.uid);
  if (!expected.resource_version.empty() &&
      expected.resource_version != std::to_string(at->second.resource_version))
    return fail(Code::conflict, "Precondition failed: ResourceVersion in precondition: {}",
                expected.resource_version);
  auto gone = at->second;
  gone.phase = api::Phase::deleting;
  gone.deletion_timestamp = "2026-01-02T00:00:00Z";
  if (dry_run) return gone;
  gone.resource_version = ++revision_;
  at->second = gone;
  tell(TenantChange::Type::modified, gone);
  return gone;
}

namespace {
class FakeSubscription final : public tenants::Subscription {
public:
  explicit FakeSubscription(std::function<void()> end) : end_(std::move(end)) {}
  ~FakeSubscription() override { end_(); }

private:
  std::function<void()> end_;
};
} // namespace

Result<std::unique_ptr<tenants::Subscription>>
FakeTenants::watch(std::int64_t revision, std::function<void(const TenantChange&)> on_change) {
  const std::lock_guard lock(mutex_);
  if (revision < oldest_ || revision > revision_)
    return fail(Code::expired, "too old resource version: {} ({})", revision, oldest_);
  for (const auto& change : history_)
    if (change.tenant.resource_version > revision) on_change(change);
  const int number = next_watcher_++;
  watchers_[number] = std::move(on_change);
  return std::make_unique<FakeSubscription>([this, number] {
    const std::lock_guard again(mutex_);
    watchers_.erase(number);
    wake_.notify_all();
  });
}

Result<std::string> FakeTenants::kubeconfig(std::string_view id,
                                            const tenants::KubeconfigRequest& request) {
  ZOO_TRY(const auto tenant, get(id));
  last_kubeconfig = request;
  return "kubeconfig of " + tenant.id;
}

Result<api::Tenant> FakeTenants::rotate(std::string_view id, bool revoke_old, bool dry_run) {
  ZOO_TRY(auto tenant, get(id));
  if (!dry_run) last_rotate = revoke_old;
  return tenant;
}

Result<api::Tenant> FakeTenants::revoke(std::string_view id,
                                        const tenants::RevokeRequest& request) {
  ZOO_TRY(auto tenant, get(id));
  last_revoke = request;
  return tenant;
}

Result<std::vector<tenants::CertificateStatus>> FakeTenants::certificates(std::string_view id) {
  ZOO_TRY(const auto tenant, get(id));
  tenants::CertificateStatus one;
  one.certificate.serial = "0a1b";
  one.certificate.user = "admin";
  one.certificate.groups = {std::string(tenants::k_tenant_admin_group)};
  one.certificate.source = "export";
  one.certificate.expires = "2027-01-01T00:00:00Z";
  return std::vector{one};
}

Result<std::string> FakeTenants::stored_kubeconfig(std::string_view) { return "U0VDUkVU"; }

Result<tenants::Census> FakeTenants::census() {
  const std::scoped_lock lock(mutex_);
  tenants::Census out;
  for (const auto& [id, tenant] : tenants_) {
    const auto* condition = tenant.condition(tenants::k_expiring);
    out.add(id, tenant.phase, condition != nullptr && condition->status == "True");
  }
  return out;
}

std::vector<tenants::Finding> FakeTenants::doctor() {
  return {{tenants::Finding::Level::ok, "upstream", "reachable", ""},
          {tenants::Finding::Level::problem, "policy zoo-fence", "is missing", "restart zood"}};
}

void FakeTenants::touch(const std::string& id, const std::function<void(api::Tenant&)>& change) {
  const std::lock_guard lock(mutex_);
  auto& tenant = tenants_.at(id);
  change(tenant);
  tenant.resource_version = ++revision_;
  tell(TenantChange::Type::modified, tenant);
}

void FakeTenants::purge(const std::string& id) {
  const std::lock_guard lock(mutex_);
  auto tenant = tenants_.at(id);
  tenants_.erase(id);
  tenant.resource_version = ++revision_;
  tell(TenantChange::Type::deleted, tenant);
}

std::size_t FakeTenants::watchers() const {
  const std::lock_guard lock(mutex_);
  return watchers_.size();
}

void FakeTenants::hold(bool on) {
  const std::lock_guard lock(mutex_);
  hold_ = on;
  wake_.notify_all();
}

std::size_t FakeTenants::held() const {
  const std::lock_guard lock(mutex_);
  return held_;
}

void FakeTenants::tell(TenantChange::Type type, const api::Tenant& tenant) {
  history_.push_back({type, tenant});
  for (const auto& [number, watcher] : watchers_)
    watcher(history_.back());
}

ServerStatus FakeStatus::status() {
  ServerStatus out;
  out.version = "0.1.0";
  out.listen = "127.0.0.1:7443";
  out.upstream.server = "https://127.0.0.1:6443";
  out.upstream.reachable = true;
  out.uptime = std::chrono::seconds(7);
  return out;
}

void FakeStatus::metrics(MetricText& out) {
  out.family("zood_connections", MetricText::Type::gauge, "Connections");
  out.sample(3);
}

struct HandLoop::HandAlarm final : resources::Alarm {
  HandAlarm(HandLoop& owner, std::chrono::milliseconds after, std::function<void()> what)
      : loop(owner), delay(after), task(std::move(what)) {
    loop.alarms_.push_back(this);
  }
  ~HandAlarm() override { std::erase(loop.alarms_, this); }
  HandLoop& loop;
  std::chrono::milliseconds delay;
  std::function<void()> task;
};

void HandLoop::post(std::function<void()> task) {
  const std::lock_guard lock(mutex_);
  tasks_.push_back(std::move(task));
  wake_.notify_all();
}

std::unique_ptr<resources::Alarm> HandLoop::after(std::chrono::milliseconds delay,
                                                  std::function<void()> task) {
  return std::make_unique<HandAlarm>(*this, delay, std::move(task));
}

void HandLoop::run_one() {
  std::function<void()> task;
  {
    std::unique_lock lock(mutex_);
    if (!wake_.wait_for(lock, std::chrono::seconds(10), [this] { return !tasks_.empty(); }))
      throw std::runtime_error("nothing was posted to the loop");
    task = std::move(tasks_.front());
    tasks_.pop_front();
  }
  task();
}

void HandLoop::run_ready() {
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      if (tasks_.empty()) return;
    }
    run_one();
  }
}

bool HandLoop::fire(std::chrono::milliseconds delay) {
  for (auto* alarm : alarms_) {
    if (alarm->delay != delay) continue;
    const auto task = alarm->task;
    task();
    run_ready();
    return true;
  }
  return false;
}

void RecordingStream::send_head(const http::ResponseHead& sent, bool end) {
  if (has_head) throw std::runtime_error("two heads");
  head = sent;
  has_head = true;
  ended = end;
}

void RecordingStream::send_data(std::string_view bytes, bool end) {
  if (!has_head || ended) throw std::runtime_error("data out of order");
  body.append(bytes);
  ended = end;
}

std::vector<nlohmann::json> Talk::lines() const {
  std::vector<nlohmann::json> out;
  std::size_t begin = 0;
  for (auto end = stream.body.find('\n'); end != std::string::npos;
       begin = end + 1, end = stream.body.find('\n', begin))
    out.push_back(nlohmann::json::parse(stream.body.substr(begin, end - begin)));
  return out;
}

World::World() : workers(std::make_unique<Workers>("test", 4, 8)) {
  info.peer = "unix";
  info.peer_uid = 0;
  info.peer_gid = 0;
  const auto now = [] { return std::int64_t{1767225600 + 3600}; }; // an hour into 2026
  service = std::make_unique<resources::ApiService>(
      make_door({tenants, status, *workers, DoorOptions{}, now}), *workers, loop, now);
}

World::~World() {
  tenants.hold(false);
  workers->stop();
}

std::unique_ptr<Talk> World::start(const std::string& method, const std::string& target,
                                   const std::string& body, const Headers& headers) {
  auto talk = std::make_unique<Talk>(info);
  http::RequestHead head;
  head.method = method;
  head.target = target;
  for (const auto& header : headers)
    head.headers.add(header.name, header.value);
  talk->handler = service->on_request(std::move(head), talk->stream);
  if (!body.empty()) talk->handler->on_data(body);
  talk->handler->on_end();
  return talk;
}

void World::settle(Talk& talk) {
  while (!talk.stream.has_head)
    loop.run_one();
}

std::unique_ptr<Talk> World::ask(const std::string& method, const std::string& target,
                                 const std::string& body, const Headers& headers) {
  auto talk = start(method, target, body, headers);
  settle(*talk);
  return talk;
}

void World::add(const std::string& id, const std::string& display_name,
                std::map<std::string, std::string> labels) {
  api::Tenant tenant;
  tenant.id = id;
  tenant.display_name = display_name;
  tenant.labels = std::move(labels);
  REQUIRE(tenants.create(tenant, false).has_value());
}

void World::expect_lines(Talk& talk, std::size_t count) {
  while (talk.lines().size() < count)
    loop.run_one();
  loop.run_ready();
  CHECK(talk.lines().size() == count);
}

std::string manifest(const std::string& id, const nlohmann::json& spec) {
  return nlohmann::json{{"apiVersion", "tenant.kubezoo.io/v1alpha1"},
                        {"kind", "Tenant"},
                        {"metadata", {{"name", id}}},
                        {"spec", spec}}
      .dump();
}

} // namespace zoo::admin::test
