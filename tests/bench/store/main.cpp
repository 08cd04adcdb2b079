// SPDX-License-Identifier: Apache-2.0
// What a store takes and gives, for docs/scale.md: so many tenants' records are loaded into it, and
// a zood's directory is read from them; then writes, watches and barriers are timed while three
// replicas have it open. A line of JSON.
//
//   store_bench sqlite DIRECTORY TENANTS
//   store_bench ENDPOINT[,ENDPOINT...] PREFIX TENANTS      an etcd on loopback, with nothing below
//   PREFIX
#include "common/api/tenant.hpp"
#include "common/crypto/digest.hpp"
#include "daemon/store/etcd/etcd.hpp"
#include "daemon/store/session.hpp"
#include "daemon/store/sqlite.hpp"
#include "daemon/tenants/directory.hpp"
#include "daemon/tenants/records.hpp"

#include <fmt/format.h>
#include <malloc.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

namespace {

using namespace zoo;
using Clock = std::chrono::steady_clock;
using nlohmann::json;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

template <class T>
T must(Result<T> result) {
  if (result) return *std::move(result);
  fmt::print(stderr, "store_bench: {}\n", result.error().text());
  std::exit(1);
}

double resident_mib() {
  std::ifstream file("/proc/self/statm");
  long pages = 0, resident = 0;
  file >> pages >> resident;
  return double(resident) * 4096 / (1 << 20);
}

/// Ready, and idle; ID after ID.
api::Tenant tenant(int number) {
  constexpr std::string_view k_letters = "abcdefghijklmnopqrstuvwxyz0123456789";
  api::Tenant out;
  for (int i = 0; i < 6; ++i, number /= 36)
    out.id.insert(out.id.begin(), k_letters[static_cast<std::size_t>(number % 36)]);
  out.id[0] = 'z';
  out.uid = crypto::uuid_v8(out.id);
  out.creation_timestamp = "2026-11-27T20:00:00Z";
  out.phase = api::Phase::ready;
  out.generation = out.observed_generation = 1;
  for (const auto* type : {"Ready", "Populated", "Synced", "InClusterAccess", "WebhooksRelayed"})
    out.set_condition(type, "True", "AsWanted", "", out.creation_timestamp);
  return out;
}

store::Snapshot records(int tenants) {
  store::Snapshot out;
  out.revision = 1;
  const std::string credential(1'400, 'c'), certificate(300, 'x'); // as they are on average
  for (int i = 0; i < tenants; ++i) {
    const auto one = tenant(i);
    out.records.push_back({"certificate", one.id + "/01", certificate, 1, 1});
    out.records.push_back({"credential", one.id, credential, 1, 1});
    out.records.push_back(
        {std::string(tenants::k_tenant_kind), one.id, api::to_json(one).dump(), 1, 1});
  }
  std::sort(out.records.begin(), out.records.end(), [](const auto& a, const auto& b) {
    return std::tie(a.kind, a.key) < std::tie(b.kind, b.key);
  });
  return out;
}

json spread(std::vector<double>& milliseconds) {
  std::sort(milliseconds.begin(), milliseconds.end());
  const auto at = [&](double part) {
    return milliseconds[std::min(milliseconds.size() - 1,
                                 static_cast<std::size_t>(part * double(milliseconds.size())))];
  };
  return json{{"p50", at(0.5)}, {"p99", at(0.99)}, {"most", milliseconds.back()}};
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    fmt::print(stderr, "usage: store_bench sqlite DIRECTORY TENANTS | ENDPOINTS PREFIX TENANTS\n");
    return 64;
  }
  const std::string driver = argv[1], place = argv[2];
  const int count = std::atoi(argv[3]);
  const bool file = driver == "sqlite";
  const auto open = [&]() -> std::unique_ptr<store::Store> {
    if (file) return must(store::open_sqlite({place, {}, 5'000}));
    store::EtcdOptions options;
    for (std::size_t begin = 0; begin <= driver.size();) {
      const auto end = std::min(driver.find(',', begin), driver.size());
      options.endpoints.push_back(driver.substr(begin, end - begin));
      begin = end + 1;
    }
    options.prefix = place;
    return must(store::open_etcd(std::move(options)));
  };
  json out{{"driver", file ? "sqlite" : "etcd"}, {"tenants", count}};
  {
    const auto all = records(count);
    std::size_t bytes = 0;
    for (const auto& record : all.records)
      bytes += record.kind.size() + record.key.size() + record.value.size();
    out["bytes_per_tenant"] = bytes / static_cast<std::size_t>(std::max(1, count));
    const auto begin = Clock::now();
    const auto store = open();
    if (auto loaded = store->load(all); !loaded) {
      fmt::print(stderr, "store_bench: {}\n", loaded.error().text());
      return 1;
    }
    out["load_s"] = seconds_since(begin);
  }
  ::malloc_trim(0);
  const auto before = resident_mib();
  const auto begin = Clock::now();
  const auto store = open();
  out["open_s"] = seconds_since(begin);
  tenants::TenantDirectory directory;
  const auto feeder = must(tenants::DirectoryFeeder::start(*store, directory));
  out["start_s"] = seconds_since(begin);
  ::malloc_trim(0);
  out["kib_per_tenant"] = (resident_mib() - before) * 1024 / std::max(1, count);

  std::vector<std::unique_ptr<store::Store>> stores;
  std::vector<std::unique_ptr<store::Session>> sessions;
  sessions.push_back(must(store->join({"first", "{}", false, {}})));
  for (int i = 0; i < 2 && !file; ++i) {
    stores.push_back(open());
    sessions.push_back(must(stores.back()->join({fmt::format("other-{}", i), "{}", false, {}})));
  }
  auto& watched = file ? *store : *stores.front();
  std::atomic<std::int64_t> heard = 0;
  std::atomic<Clock::rep> heard_at = 0;
  const auto watch =
      must(watched.watch("bench", must(watched.revision()), [&](const store::Change& c) {
        heard_at = Clock::now().time_since_epoch().count();
        heard = c.record.revision;
      }));
  std::vector<double> puts, lags, settled;
  const std::string value(1'000, 'v');
  for (int i = 0; i < 500; ++i) {
    const auto from = Clock::now();
    const auto put = must(store->put("bench", fmt::format("{:03}", i % 100), value));
    puts.push_back(seconds_since(from) * 1'000);
    while (heard < put.revision)
      std::this_thread::yield();
    const Clock::time_point told{Clock::duration(heard_at.load())};
    lags.push_back(std::chrono::duration<double, std::milli>(told - from).count());
  }
  for (int i = 0; i < 200; ++i) {
    const auto from = Clock::now();
    must(store->put("bench", "barrier", value));
    must(sessions.front()->settle());
    settled.push_back(seconds_since(from) * 1'000);
  }
  out["put_ms"] = spread(puts);
  out["heard_after_ms"] = spread(lags);
  out["settled_after_ms"] = spread(settled);
  out["replicas"] = sessions.size();
  fmt::print("{}\n", out.dump());
  sessions.clear();
  return 0;
}
