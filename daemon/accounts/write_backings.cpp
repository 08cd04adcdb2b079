// SPDX-License-Identifier: Apache-2.0
#include "daemon/accounts/write_backings.hpp"

namespace zoo::accounts {

using nlohmann::json;
using resources::Written;

Result<void> SpaceBacking::admit(const resources::Who& caller, resources::Verb verb,
                                 const resources::Key& key) {
  ZOO_TRY_VOID(ViewBacking::admit(caller, verb, key));
  return part().admit(caller, verb, key.name);
}

Result<void> SpaceBacking::admit_apply(const resources::Who& caller, const resources::Key& key) {
  ZOO_TRY_VOID(ViewBacking::admit(caller, resources::Verb::patch, key));
  return part().admit_apply(caller, key.name);
}

Result<Written> SpaceBacking::apply(const resources::Who& caller, const resources::Key& key,
                                    json config, const resources::WriteOptions& options) {
  return part().apply(caller, key.name, std::move(config), options);
}

Result<void> NamespaceBacking::admit(const resources::Who& caller, resources::Verb verb,
                                     const resources::Key& key) {
  ZOO_TRY_VOID(ViewBacking::admit(caller, verb, key));
  const bool writes = verb == resources::Verb::create || verb == resources::Verb::patch;
  return writes ? spaces_.admit(caller, verb, key.name) : Result<void>();
}

Result<void> NamespaceBacking::admit_apply(const resources::Who& caller,
                                           const resources::Key& key) {
  return spaces_.admit_apply(caller, key.name);
}

Result<Written> NamespaceBacking::create(const resources::Who& caller, json object,
                                         const resources::WriteOptions& options) {
  return spaces_.create_namespace(caller, std::move(object), options);
}

Result<Written> NamespaceBacking::apply(const resources::Who& caller, const resources::Key& key,
                                        json config, const resources::WriteOptions& options) {
  return spaces_.apply_namespace(caller, key.name, std::move(config), options);
}

} // namespace zoo::accounts
