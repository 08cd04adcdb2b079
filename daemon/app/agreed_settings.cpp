// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/agreed_settings.hpp"

#include "common/crypto/digest.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>
#include <string_view>

namespace zoo::app {
namespace {

using nlohmann::json;

/// Names of keys, or how they begin.
constexpr std::string_view k_agreed[] = {
    "advertise",          "guards.",     "nodes.",        "quota.",          "shared.",
    "tenants.",           "limits.body", "limits.object", "limits.requests", "limits.mutations",
    "limits.long_running"};

json value_of(const config::Values& values, const config::Key& key) {
  switch (key.type) {
  case config::Type::path:
    return values.path(key.name).string();
  case config::Type::duration:
    return values.duration(key.name).count();
  case config::Type::size:
    return values.size(key.name);
  case config::Type::integer:
    return values.integer(key.name);
  case config::Type::boolean:
    return values.boolean(key.name);
  case config::Type::list: {
    auto list = values.list(key.name);
    std::sort(list.begin(), list.end());
    return list;
  }
  case config::Type::string:
  case config::Type::choice:
  case config::Type::address:
    return values.string(key.name);
  }
  return {};
}

} // namespace

json agreed_settings(const config::Values& values) {
  auto out = json::object();
  for (const auto* key : values.differing(config::Values())) {
    const bool agreed =
        std::any_of(std::begin(k_agreed), std::end(k_agreed),
                    [&](std::string_view name) { return key->name.starts_with(name); });
    if (!agreed) continue;
    out[std::string(key->name)] = crypto::short_digest(value_of(values, *key).dump());
  }
  return out;
}

std::vector<std::string> differing_settings(const json& own, const json& other) {
  if (!own.is_object() || !other.is_object()) return {};
  std::set<std::string> out;
  for (const auto* side : {&own, &other}) {
    for (const auto& [key, value] : side->items())
      if (own.value(key, json()) != other.value(key, json())) out.insert(key);
  }
  return {out.begin(), out.end()};
}

} // namespace zoo::app
