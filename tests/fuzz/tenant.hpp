// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/translate/mapping.hpp"

#include <memory>

/// The tenant of the fuzz targets: one class and one API group are shared with it.
inline const zoo::translate::Mapping& fuzz_tenant() {
  static const zoo::translate::Mapping mapping("abc123", [] {
    auto shared = std::make_shared<zoo::translate::SharedNames>();
    shared->classes[0].insert("standard");
    shared->groups.insert("shared.example.org");
    return shared;
  }());
  return mapping;
}
