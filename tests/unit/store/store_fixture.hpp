// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/store/sqlite.hpp"
#include "tests/unit/base/temporary_directory.hpp"
#ifdef ZOO_STORE_ETCD
#include "tests/unit/store/etcd_fixture.hpp"
#endif

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

namespace zoo::test {

/// What a watch delivered, gathered from the store's thread.
class Changes {
public:
  void add(const store::Change& change) {
    const std::lock_guard lock(mutex_);
    changes_.push_back(change);
    changed_.notify_all();
  }
  /// Waits until there are so many (a generous limit turns a hang into a failure).
  std::vector<store::Change> wait_for(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(30), [&] { return changes_.size() >= count; });
    return changes_;
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<store::Change> changes_;
};

#ifdef ZOO_STORE_ETCD
/// The stores that the conformance tests run on; each case opens its own: under a prefix of its own
/// in the etcd of the program (etcd_fixture.hpp).
struct StoreMaker {
  std::string prefix = EtcdServer::new_prefix();
  std::unique_ptr<store::Store> open() { return EtcdServer::one().open(prefix); }
  /// Nothing but what the test wrote has happened, or what keeps the store alive.
  static bool is_at(store::Store& store, std::int64_t revision) {
    return store.revision().value() >= revision;
  }
};
#else
/// The stores that the conformance tests run on; each case opens its own.
struct StoreMaker {
  TemporaryDirectory directory;
  std::unique_ptr<store::Store> open(std::int64_t history = 5'000) {
    auto opened = store::open_sqlite({directory.path() / "zood", {}, history});
    if (!opened) throw std::runtime_error(opened.error().text());
    return std::move(*opened);
  }
  /// Nothing but what the test wrote has happened.
  static bool is_at(store::Store& store, std::int64_t revision) {
    return store.revision().value() == revision;
  }
};
#endif

} // namespace zoo::test
