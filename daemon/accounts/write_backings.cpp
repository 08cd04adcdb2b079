// SPDX-License-Identifier: Apache-2.0
#include "daemon/accounts/write_backings.hpp"

#include <nlohmann/json.hpp>

#include <utility>

namespace zoo::accounts {

using nlohmann::json;
using resources::Written;

Result<void> SpaceBacking::admit(const resources::Who& caller, resources::Verb verb,
                                 const resources::Key& key) {
  ZOO_TRY_VOID(ViewBacking::admit(caller, verb, key));
  return writes_.spaces().admit(caller, verb, key.name);
}

Result<Written> SpaceBacking::create(const resources::Who& caller, json object,
                                     const resources::WriteOptions& options) {
  return writes_.spaces().create(caller, std::move(object), options);
}

Result<Written> SpaceBacking::update(const resources::Who& caller, json object,
                                     const resources::WriteOptions& options) {
  return writes_.spaces().update(caller, std::move(object), options);
}

Result<Written> SpaceBacking::remove(const resources::Who& caller, const resources::Key& key,
                                     const resources::Preconditions& expected,
                                     const resources::WriteOptions& options) {
  return writes_.spaces().remove(caller, key, expected, options);
}

Result<Written> AccountBacking::create(const resources::Who& caller, json object,
                                       const resources::WriteOptions& options) {
  return writes_.accounts().create(caller, std::move(object), options);
}

Result<Written> AccountBacking::update(const resources::Who& caller, json object,
                                       const resources::WriteOptions& options) {
  return writes_.accounts().update(caller, std::move(object), options);
}

Result<Written> AccountBacking::remove(const resources::Who& caller, const resources::Key& key,
                                       const resources::Preconditions& expected,
                                       const resources::WriteOptions& options) {
  return writes_.accounts().remove(caller, key, expected, options);
}

Result<void> NamespaceBacking::admit(const resources::Who& caller, resources::Verb verb,
                                     const resources::Key& key) {
  ZOO_TRY_VOID(ViewBacking::admit(caller, verb, key));
  if (verb != resources::Verb::create) return {};
  return writes_.spaces().admit(caller, verb, key.name);
}

Result<Written> NamespaceBacking::create(const resources::Who& caller, json object,
                                         const resources::WriteOptions& options) {
  return writes_.spaces().create_namespace(caller, std::move(object), options);
}

} // namespace zoo::accounts
