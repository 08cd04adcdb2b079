// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/translate/mapping.hpp"

#include <cstdint>

namespace zoo::translate {

/// Whose rules say which kinds and paths a client may reach at all, before any right is asked.
enum class KindRules : std::uint8_t {
  platform, ///< some kinds are hidden or read-only, and paths that reach other tenants are refused
  upstream, ///< upstream alone judges: of a client that goes there with his own rights
};

/// For whom a kind is looked up or a path is made: in which names he speaks, and whose rules about
/// kinds hold for him. `mapping` outlives it. A mapping alone is held to the platform's rules,
/// whether it has a prefix or not.
struct Viewer {
  /// Not explicit: a mapping may stand where a viewer is wanted.
  Viewer(const Mapping& names, KindRules held_to = KindRules::platform)
      : mapping(names), rules(held_to) {}

  bool fenced() const { return rules == KindRules::platform; }

  const Mapping& mapping;
  KindRules rules;
};

} // namespace zoo::translate
