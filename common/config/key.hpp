// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

/// One table of keys makes the loader, --check-config, the example file and the manual page.
namespace zoo::config {

enum class Type {
  string,
  path,     ///< absolute, or relative to the configuration file
  duration, ///< 250ms, 30s, 1h30m, 365d
  size,     ///< bytes: 512, 64Ki, 3Mi, 1G
  integer,
  boolean,
  list,    ///< of strings; the one string "*" stands for all
  choice,  ///< one of Key::choices
  address, ///< host:port; port 0 lets the system choose
};

std::string_view type_name(Type type);

struct Key {
  std::string_view name; ///< dotted path: "tls.certificate" is key certificate of mapping tls
  Type type = Type::string;
  std::string_view default_text = {}; ///< as in the file; lists are separated by ", "; empty: unset
  std::string_view doc = {};          ///< sentences for zood.yaml(5) and the example file
  bool reloadable = false;            ///< SIGHUP takes it over
  std::span<const std::string_view> choices = {};
  std::int64_t minimum = 0; ///< of integers, sizes (bytes) and durations (milliseconds)
  std::int64_t maximum = std::numeric_limits<std::int64_t>::max();
};

/// Every key of zood.yaml, in the order of the example file.
std::span<const Key> zood_keys();

} // namespace zoo::config
