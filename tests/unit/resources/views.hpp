// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/resources/api.hpp"

#include <nlohmann/json.hpp>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

/// A kind whose objects are computed for each caller: spaces, of which everybody sees those that he
/// has a right to. One thread.
namespace zoo::resources::test {

class Spaces final : public Backing {
public:
  Result<void> admit(const Who& caller, Verb verb, const Key& key) override;
  Result<ObjectPtr> get(const Who& caller, const Key& key) override;
  Result<Page> list(const Who& caller, std::string_view space, const Key& after,
                    std::size_t limit) override;
  Result<std::unique_ptr<Subscription>>
  watch(const Who& caller, std::int64_t revision,
        std::function<void(const Change&)> on_change) override;
  Result<Written> create(const Who& caller, nlohmann::json object,
                         const WriteOptions& options) override;
  Result<Written> update(const Who& caller, nlohmann::json object,
                         const WriteOptions& options) override;
  Result<Written> remove(const Who& caller, const Key& key, const Preconditions& expected,
                         const WriteOptions& options) override;

  /// What happens behind the API's back.
  void put(const std::string& name, const std::string& account,
           std::map<std::string, std::string> labels = {});
  void erase(const std::string& name);
  void grant(const std::string& user, const std::string& name);
  void revoke(const std::string& user, const std::string& name);
  void may_write(const std::string& user) { writers_.insert(user); }
  void may_create(const std::string& user) { creators_.insert(user); }
  void forget(std::int64_t until) { oldest_ = until; } ///< older changes cannot be resumed
  /// Runs once, just before the next write looks at the object.
  void before_write(std::function<void()> hook) { hook_ = std::move(hook); }
  std::int64_t revision() const { return revision_; }
  std::size_t watchers() const { return watchers_.size(); }

private:
  struct Told {
    std::set<std::string> users;
    Change change;
  };
  struct Watcher {
    std::string user;
    std::function<void(const Change&)> on_change;
  };
  bool sees(const std::string& user, const std::string& name) const;
  std::set<std::string> seers(const std::string& name) const;
  void tell(Change::Type type, nlohmann::json object, std::set<std::string> users);

  std::map<std::string, nlohmann::json> spaces_;
  std::map<std::string, std::set<std::string>> rights_; ///< by user
  std::set<std::string> writers_, creators_;
  std::vector<Told> told_;
  std::map<int, Watcher> watchers_;
  std::function<void()> hook_;
  int last_watcher_ = 0;
  std::int64_t revision_ = 100, oldest_ = 0;
};

/// A running watch, read without a loop.
class Watching {
public:
  explicit Watching(const std::shared_ptr<WatchFeed>& feed) : feed_(feed), encoder_(feed->plan()) {}
  /// What it has told since the last call: "ADDED a@101".
  std::vector<std::string> told();
  /// The same as JSON.
  std::vector<nlohmann::json> lines();

private:
  std::shared_ptr<WatchFeed> feed_;
  WatchEncoder encoder_;
  bool begun_ = false;
};

struct Views {
  Views();
  using Headers = std::vector<http::Header>;
  Answer ask(const std::string& user, const std::string& method, const std::string& target,
             const std::string& body = "", const Headers& headers = {});
  Watching watch(const std::string& user, const std::string& query);
  /// Names of a list, and "..." if there is another page.
  std::string names(const std::string& user, const std::string& query = "");

  std::shared_ptr<Spaces> spaces = std::make_shared<Spaces>();
  std::optional<Api> api;
  std::string next; ///< continue token of the last names()
};

nlohmann::json body_of(const Answer& answer);

inline const std::string k_group = "/apis/tenancy.example.io/v1alpha1";
inline const std::string k_spaces = k_group + "/spaces";
inline const http::Header k_json{"Content-Type", "application/json"};
inline const http::Header k_merge{"Content-Type", "application/merge-patch+json"};
inline const http::Header k_apply{"Content-Type", "application/apply-patch+yaml"};
inline const http::Header k_strategic{"Content-Type", "application/strategic-merge-patch+json"};

} // namespace zoo::resources::test
