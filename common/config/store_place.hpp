// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "common/base/secret.hpp"
#include "common/config/config.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace zoo::config {

/// Where a store is and how it is reached: what store.* of a zood.yaml says, with what the files
/// hold that it names. So zooctl can tell a running zood of another place.
struct StorePlace {
  std::string driver = "sqlite";
  std::string file; ///< of sqlite
  // Of etcd:
  std::vector<std::string> endpoints;
  std::string prefix, server_name, username;
  std::string ca_pem, certificate_pem;
  Secret key_pem, password;

  /// "/var/lib/zood/zood.db", "https://a:2379,https://b:2379 /zood/default/": for people.
  std::string text() const;
};

/// Reads the files. Errors of reading them, with the key that names the file.
Result<StorePlace> store_place(const Values& values);

/// For the admin API: it holds a key and a password.
nlohmann::json to_json(const StorePlace& place);
/// Code::invalid: not what to_json() makes.
Result<StorePlace> store_place_of(const nlohmann::json& object);

} // namespace zoo::config
