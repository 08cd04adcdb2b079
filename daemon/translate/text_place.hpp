// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace zoo::translate {

/// What the place of a word in a text for people says about whose it is.
enum class Place : std::uint8_t {
  nothing, ///< the place does not tell
  own,     ///< a name that the tenant gave: `pod foofoo-web`, `team/foofoo-web`, `image "foofoo-x"`
  perhaps, ///< likely a name that zood has prefixed: `in foofoo-team`, `foofoo-team/web`
  prefixed, ///< a name that zood has prefixed: `namespaces "foofoo-team"`, `foofoo-example.com/v1`
};

/// The place of the word that begins at `at` and has its prefix up to `name`. Pure; any thread.
Place place_of(std::string_view text, std::size_t at, std::size_t name);

} // namespace zoo::translate
