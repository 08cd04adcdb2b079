// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

/// How etcd's API v3 looks in JSON (etcd api/etcdserverpb/rpc.proto by its gateway): bytes are
/// base64, 64-bit numbers are strings, and a member that is missing has its type's zero value.
/// For daemon/store/etcd only.
namespace zoo::store::etcd {

/// A key of etcd's with what it holds. Revisions are etcd's own.
struct KeyValue {
  std::string key, value;
  std::int64_t created = 0, modified = 0; ///< 0: the key does not exist
};

/// 0 if the member is missing.
std::int64_t number(const nlohmann::json& object, const char* name);
bool flag(const nlohmann::json& object, const char* name); ///< false if the member is missing
std::int64_t header_revision(const nlohmann::json& answer);
/// Code::internal: what etcd sent is not what its API says.
Result<KeyValue> read_key_value(const nlohmann::json& object);
/// The first of an answer to a range request, or one that does not exist.
Result<KeyValue> first_of(const nlohmann::json& range_answer);

/// The end of the range of all keys that begin with `prefix`; "\0" (all keys) if there is none.
std::string end_of_prefix(std::string_view prefix);

// Requests, and parts of a transaction. An empty `end` means the one key.
nlohmann::json range(std::string_view key, std::string_view end = {});
nlohmann::json keys_only(nlohmann::json range);
nlohmann::json request_range(nlohmann::json range);
nlohmann::json request_put(std::string_view key, std::string_view value, std::int64_t lease = 0);
nlohmann::json request_removal(std::string_view key, std::string_view end = {});
nlohmann::json modified_is(std::string_view key, std::int64_t revision); ///< 0: does not exist
nlohmann::json created_is(std::string_view key, std::int64_t revision);  ///< likewise
nlohmann::json exists(std::string_view key);

/// Where zood's records are under a prefix: <prefix>r/<kind>/<key>, the kind with % and / escaped.
/// Beside them: s/ what lives as long as a zood (sessions), w/ marks of writers, m/ what is true of
/// the store as a whole.
class Layout {
public:
  explicit Layout(std::string prefix) : prefix_(std::move(prefix)) {}
  const std::string& prefix() const { return prefix_; }
  std::string records() const { return prefix_ + "r/"; }
  std::string kind(std::string_view kind) const;
  std::string record(std::string_view kind, std::string_view key) const;
  std::string session(std::string_view name) const { return prefix_ + "s/" + std::string(name); }
  std::string writer(std::string_view name) const { return prefix_ + "w/" + std::string(name); }
  std::string meta(std::string_view name) const { return prefix_ + "m/" + std::string(name); }
  /// Kind and key of what record() made; Code::invalid for another one.
  Result<std::pair<std::string, std::string>> names_of(std::string_view key) const;

private:
  std::string prefix_;
};

} // namespace zoo::store::etcd
