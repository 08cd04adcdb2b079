// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/store/session.hpp"
#include "daemon/store/sqlite.hpp"
#include "tests/unit/base/temporary_directory.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace zoo::test {

/// Which zoods live, as their sessions say.
struct Living {
  std::mutex mutex;
  std::set<std::string> names;
};

class NamedSession final : public store::Session {
public:
  NamedSession(std::string name, Living& living, bool leads = false)
      : name_(std::move(name)), living_(living), leads_(leads) {
    const std::lock_guard lock(living_.mutex);
    living_.names.insert(name_);
  }
  ~NamedSession() override {
    const std::lock_guard lock(living_.mutex);
    living_.names.erase(name_);
  }
  bool leads() const override { return leads_; }
  std::optional<store::Fence> fence() const override { return std::nullopt; }
  void on_change(std::function<void(bool)>) override {}
  void resign() override {}
  Result<std::vector<std::string>> settle() override { return std::vector<std::string>(); }
  Result<std::vector<store::Replica>> replicas() override {
    const std::lock_guard lock(living_.mutex);
    std::vector<store::Replica> out;
    for (const auto& name : living_.names)
      out.push_back({name, {}, false, {}});
    return out;
  }
  void tell(std::string) override {}
  const std::string& name() const override { return name_; }

private:
  const std::string name_;
  Living& living_;
  const bool leads_;
};

/// What several zoods have together: a store, and who of them lives.
struct SharedStore {
  TemporaryDirectory directory;
  std::unique_ptr<store::Store> store = [this] {
    auto opened = store::open_sqlite({directory.path() / "zood", {}, 5'000});
    REQUIRE(opened);
    return *std::move(opened);
  }();
  Living living;
};

} // namespace zoo::test
