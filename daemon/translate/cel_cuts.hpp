// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/translate/mapping.hpp"

#include <string>

namespace zoo::translate {

/// What cel_in() puts around a piece of an expression, for one tenant. The forms differ in what is
/// known of the piece's type. For cel*.cpp only.
struct CelCuts {
  explicit CelCuts(const Mapping& mapping)
      : string(".replace('" + mapping.prefix() + "', '', 1)"), string_of_any(string + ")"),
        any(")].map(zoo, type(zoo) == string && zoo.startsWith('" + mapping.prefix() +
            "') ? dyn(zoo.substring(" + std::to_string(mapping.prefix().size()) + ")) : zoo)[0]"),
        list(")].map(zoo, type(zoo) == list ? dyn(zoo.map(each, type(each) == string && "
             "each.startsWith('" +
             mapping.prefix() + "') ? dyn(each.substring(" +
             std::to_string(mapping.prefix().size()) + ")) : each)) : zoo)[0]"),
        optional(".optMap(all, [dyn(all" + any + ")"),
        optional_list(".optMap(all, [dyn(all" + list + ")") {}

  /// Behind a string.
  std::string string;
  /// Behind a string of an object, with "dyn(" in front: of an object's member the compiler knows
  /// no type, and a map or list literal takes no string beside others of that kind.
  std::string string_of_any;
  /// Behind a value of any type, with "[dyn(" in front: cut if it is a string with the prefix.
  std::string any;
  /// The same for a list of strings.
  std::string list;
  /// Behind an optional that holds such a value, or such a list.
  std::string optional, optional_list;
};

inline constexpr std::string_view k_dyn_open = "dyn(";
inline constexpr std::string_view k_list_open = "[dyn(";

} // namespace zoo::translate
