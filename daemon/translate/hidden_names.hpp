// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

/// Objects in a tenant's namespaces that zood keeps for itself: no write of a tenant reaches them,
/// and no answer shows them but those that a tenant may know of. One table, for every way on which
/// a name could be read or written. Constant data that lives for ever; any thread.
namespace zoo::translate {

/// Such names of one kind, in upstream's spelling.
struct HiddenNames {
  std::string_view group, resource, kind;
  std::string_view name;   ///< the object that zood keeps in each namespace
  std::string_view prefix; ///< all names that begin so are hidden, too; "": none
  bool shown = false;      ///< reads show them

  bool hides(std::string_view other) const {
    return other == name || (!prefix.empty() && other.starts_with(prefix));
  }
  /// Can a field selector leave all of them out? It compares whole names.
  bool selectable() const { return prefix.empty(); }
};

/// By resource, or by kind; null: zood keeps nothing of that kind.
const HiddenNames* hidden_names(std::string_view group, std::string_view resource);
const HiddenNames* hidden_names_of_kind(std::string_view group, std::string_view kind);

/// Is it an object of that name that zood keeps for itself? Reads show it if HiddenNames::shown.
bool hidden_object(std::string_view group, std::string_view resource, std::string_view name);

} // namespace zoo::translate
