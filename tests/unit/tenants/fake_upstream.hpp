// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/upstream/control_api.hpp"

#include <nlohmann/json.hpp>

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace zoo::tests {

/// Objects by path, enough of an API server for a controller: create, get, list (range positions
/// and pages), patch, delete with finalizers and UIDs as preconditions. Namespaces vanish with what
/// is in them. Faults are put in by `fault`. Any thread.
class FakeUpstream {
public:
  using Fault = std::function<std::optional<http_client::Response>(const std::string& method,
                                                                   const std::string& path)>;

  http_client::Response handle(const std::string& method, const std::string& target,
                               const std::string& body);
  std::unique_ptr<upstream::ControlApi> connect();

  bool has(const std::string& path) const;
  void put(const std::string& path, nlohmann::json object); ///< of a new UID
  /// Before the next DELETE of `path` is looked at, this object has taken the name of what was
  /// there.
  void remake_before_delete(const std::string& path, nlohmann::json object);
  nlohmann::json at(const std::string& path) const;
  std::size_t size() const;
  void set_fault(Fault fault);
  std::vector<std::string> requests() const;

  bool refuse_positions = false; ///< answers range reads with 400

private:
  http_client::Response list(const std::string& collection, const std::string& query) const;
  http_client::Response remove(const std::string& path, const std::string& body);
  nlohmann::json made(const std::string& path, nlohmann::json object);
  std::string next_uid() { return "uid-" + std::to_string(++uids_); }

  mutable std::mutex mutex_;
  std::map<std::string, nlohmann::json> objects_, remade_;
  int uids_ = 0;
  std::vector<std::string> requests_;
  Fault fault_;
};

http_client::Response status(int code, const std::string& reason, const std::string& message);

} // namespace zoo::tests
