// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/translate/mapping.hpp"

#include <memory>

/// A tenant as the tests of this folder see it: ID abc123, with a few of the platform's classes.
namespace zoo::translate::test {

inline Mapping tenant(std::string id = "abc123") {
  auto shared = std::make_shared<SharedNames>();
  shared->classes[static_cast<std::size_t>(Overlay::storage_class)].insert("standard");
  shared->groups.insert("shared.example.org");
  return {std::move(id), shared};
}

} // namespace zoo::translate::test
