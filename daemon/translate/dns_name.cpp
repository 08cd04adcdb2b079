// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/dns_name.hpp"

namespace zoo::translate {
namespace {

/// Where in `name` the namespace stands.
struct SpacePlace {
  std::size_t at, size;
};

/// Takes `end` and the dot in front of it off `name`.
bool cut_labels(std::string_view& name, std::string_view end) {
  if (end.empty() || name.size() <= end.size() + 1 || !name.ends_with(end) ||
      name[name.size() - end.size() - 1] != '.')
    return false;
  name.remove_suffix(end.size() + 1);
  return true;
}

std::optional<SpacePlace> space_in(std::string_view name, std::string_view domain) {
  if (name.ends_with('.')) name.remove_suffix(1);
  cut_labels(name, domain);
  if (!cut_labels(name, "svc")) return std::nullopt;
  const auto dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0 || dot + 1 == name.size()) return std::nullopt;
  return SpacePlace{dot + 1, name.size() - dot - 1};
}

} // namespace

std::string service_name_in(const Mapping& mapping, std::string_view name) {
  std::string out(name);
  if (const auto space = space_in(name, mapping.shared().domain))
    out.replace(space->at, space->size, mapping.name_in(name.substr(space->at, space->size)));
  return out;
}

std::optional<std::string> service_name_out(const Mapping& mapping, std::string_view name) {
  std::string out(name);
  const auto space = space_in(name, mapping.shared().domain);
  if (!space) return out;
  const auto own = mapping.name_out(name.substr(space->at, space->size));
  if (!own) return std::nullopt;
  out.replace(space->at, space->size, *own);
  return out;
}

} // namespace zoo::translate
