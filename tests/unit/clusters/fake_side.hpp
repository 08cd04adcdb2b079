// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/clusters/sync/own_watch.hpp"
#include "daemon/upstream/control_api.hpp"

#include <nlohmann/json.hpp>

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

namespace zoo::tests {

/// One of the two API servers between which the syncer stands: objects by path, with UIDs and
/// resourceVersions that it holds writers to, lists in pages, watches of whole collections, and a
/// log of all requests. It has a namespace kube-system from the start. Any thread.
class FakeSide {
public:
  struct Call {
    std::string method, path, query, user; ///< user: "" or the one that is impersonated
    nlohmann::json body;                   ///< null: none
    bool writes() const { return method != "GET"; }
    std::string line() const { return method + " " + path; }
  };
  /// What a request is answered instead; nothing: as usual. An Error is a broken connection. It is
  /// called under a lock, and must not call the FakeSide.
  using Fault = std::function<std::optional<Result<http_client::Response>>(const Call&)>;

  explicit FakeSide(std::string name);

  std::unique_ptr<upstream::ActingApi> connect();
  /// In the place of hear_once(): lists, then waits until `stop`, or until break_watches().
  Result<void> hear(const clusters::sync::OwnWatch& watch, const std::stop_token& stop);
  /// Waits until a watch of the collection has listed all of it. False: it has not within a minute.
  bool heard(const std::string& collection);

  /// Waits until the requests so far are so. False: they are not within a minute.
  bool wait_for(const std::function<bool(const std::vector<Call>& calls)>& so);

  /// Makes the object, or puts it in the place of one of its name, with its UID unless `object` has
  /// another one. Watches are told of it.
  nlohmann::json put(const std::string& path, nlohmann::json object);
  void drop(const std::string& path); ///< by somebody else than the syncer; watches are told
  void tell(const std::string& path); ///< watches are told how it is now
  /// From now on it is another store: kube-system and all that `kept` says have other UIDs, and
  /// nothing else is there. Watches are told nothing.
  void replace(const std::function<bool(const std::string& path)>& kept);
  void break_watches(); ///< each ends with an error

  bool has(const std::string& path) const;
  nlohmann::json at(const std::string& path) const; ///< null: it is not there
  std::string uid_of(const std::string& path) const;

  void set_fault(Fault fault);
  /// Changes what is about to be stored: an API server that knows fewer fields.
  void set_prune(std::function<void(nlohmann::json& object)> prune);
  void set_page(std::size_t most); ///< items of a page of a list

  std::vector<Call> calls() const;
  std::vector<Call> writes() const;       ///< those that are no reads
  std::vector<std::string> lines() const; ///< of writes()
  void forget_calls();

private:
  class Connection;
  struct Watch {
    const clusters::sync::OwnWatch* what = nullptr;
    bool broken = false;
  };
  Result<http_client::Response> handle(Call call);
  http_client::Response answer(const Call& call);
  http_client::Response list(const Call& call) const;
  http_client::Response make(const Call& call, const std::string& collection);
  http_client::Response change(const Call& call, const std::string& path, bool status);
  http_client::Response remove(const Call& call);
  void stamp(const std::string& path, nlohmann::json& object);
  void store(const std::string& path, nlohmann::json object);
  void tell_watches(const std::string& path, const nlohmann::json& object, bool gone);

  const std::string name_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::map<std::string, nlohmann::json> objects_;
  std::vector<Call> calls_;
  std::set<Watch*> watches_;
  Fault fault_;
  std::function<void(nlohmann::json&)> prune_;
  std::size_t page_ = 500;
  int uids_ = 0, versions_ = 100;
};

/// A Status with this code, as API servers send it.
http_client::Response refusal(int code, const std::string& reason, const std::string& message);

/// Does the request name the object that it is about, by UID or resourceVersion, so that it does
/// nothing to another one of its name? What makes something needs none.
bool is_guarded(const FakeSide::Call& call);

} // namespace zoo::tests
