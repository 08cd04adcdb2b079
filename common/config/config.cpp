// SPDX-License-Identifier: Apache-2.0
#include "common/config/config.hpp"

#include "common/config/loader.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <stdexcept>

namespace zoo::config {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t factor;
};
constexpr Unit k_times[] = {
    {"ms", 1}, {"s", 1'000}, {"m", 60'000}, {"h", 3'600'000}, {"d", 86'400'000}};
constexpr Unit k_sizes[] = {{"Ki", 1ll << 10}, {"Mi", 1ll << 20}, {"Gi", 1ll << 30},
                            {"k", 1'000},      {"M", 1'000'000},  {"G", 1'000'000'000}};

/// The digits at the beginning; nothing if there are none or too many.
std::optional<std::int64_t> take_number(std::string_view& text) {
  std::int64_t value = 0;
  if (text.empty() || text[0] < '0' || text[0] > '9') return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

} // namespace

std::string_view type_name(Type type) {
  switch (type) {
  case Type::string:
    return "string";
  case Type::path:
    return "path";
  case Type::duration:
    return "duration";
  case Type::size:
    return "size";
  case Type::integer:
    return "integer";
  case Type::boolean:
    return "boolean";
  case Type::list:
    return "list";
  case Type::choice:
    return "choice";
  case Type::address:
    return "address";
  }
  return "string";
}

Result<std::chrono::milliseconds> parse_duration(std::string_view text) {
  const auto bad = [given = text] {
    return fail(Code::usage, "'{}' is not a duration: write 250ms, 30s, 10m, 1h30m or 365d", given);
  };
  if (text == "0") return std::chrono::milliseconds(0);
  std::int64_t total = 0;
  std::int64_t last_factor = std::numeric_limits<std::int64_t>::max();
  if (text.empty()) return bad();
  while (!text.empty()) {
    const auto number = take_number(text);
    if (!number) return bad();
    const auto end = std::min(text.find_first_of("0123456789"), text.size());
    const auto* unit = std::find_if(std::begin(k_times), std::end(k_times), [&](const Unit& each) {
      return each.name == text.substr(0, end);
    });
    // Units fall, as in 1h30m: "30m1h" or "1s1s" is more likely a slip.
    if (unit == std::end(k_times) || unit->factor >= last_factor) return bad();
    std::int64_t part = 0;
    if (__builtin_mul_overflow(*number, unit->factor, &part) ||
        __builtin_add_overflow(total, part, &total)) {
      return bad();
    }
    last_factor = unit->factor;
    text.remove_prefix(end);
  }
  return std::chrono::milliseconds(total);
}

Result<std::uint64_t> parse_size(std::string_view text) {
  const auto bad = [given = text] {
    return fail(Code::usage, "'{}' is not a size: write bytes, or 64Ki, 3Mi, 1Gi, 10k, 5M", given);
  };
  auto number = take_number(text);
  if (!number) return bad();
  if (!text.empty()) {
    const auto* unit = std::find_if(std::begin(k_sizes), std::end(k_sizes),
                                    [&](const Unit& each) { return each.name == text; });
    if (unit == std::end(k_sizes) || __builtin_mul_overflow(*number, unit->factor, &*number)) {
      return bad();
    }
  }
  return static_cast<std::uint64_t>(*number);
}

std::string Address::text() const {
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port)
                                             : fmt::format("[{}]:{}", host, port);
}

Result<Address> parse_address(std::string_view text) {
  const auto bad = [&] {
    return fail(Code::usage,
                "'{}' is not an address: write HOST:PORT, like 127.0.0.1:7443 or "
                "[::1]:7443",
                text);
  };
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return bad();
  auto host = text.substr(0, colon);
  auto port = text.substr(colon + 1);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
    if (host.find_first_not_of("0123456789abcdefABCDEF:.%") != host.npos) return bad();
  } else if (host.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                    "0123456789.-_") != host.npos) {
    return bad();
  }
  const auto number = take_number(port);
  if (host.empty() || !number || *number > 65535 || !port.empty()) return bad();
  return Address{std::string(host), static_cast<std::uint16_t>(*number)};
}

Values::Values(std::span<const Key> keys) : keys_(keys) {
  for (const auto& key : keys_) {
    Entry entry;
    if (key.type == Type::list) entry.value = std::vector<std::string>();
    if (!key.default_text.empty()) {
      auto value = parse_text(key, key.default_text);
      if (!value) {
        throw std::logic_error(fmt::format("default of {}: {}", key.name, value.error().text()));
      }
      entry.value = std::move(*value);
    }
    entries_.push_back(std::move(entry));
  }
}

std::size_t Values::index(std::string_view name) const {
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    if (keys_[i].name == name) return i;
  }
  throw std::logic_error(fmt::format("no configuration key {}", name));
}

template <class T>
const T& Values::value(std::string_view name, std::initializer_list<Type> types) const {
  const auto at = index(name);
  const auto& asked = keys_[at];
  if (std::find(types.begin(), types.end(), asked.type) == types.end()) {
    throw std::logic_error(
        fmt::format("configuration key {} is a {}", name, type_name(asked.type)));
  }
  static const T k_unset{};
  const auto* held = std::get_if<T>(&entries_[at].value);
  return held == nullptr ? k_unset : *held;
}

const std::string& Values::string(std::string_view name) const {
  return value<std::string>(name, {Type::string, Type::choice, Type::address});
}
std::filesystem::path Values::path(std::string_view name) const {
  return value<std::string>(name, {Type::path});
}
std::chrono::milliseconds Values::duration(std::string_view name) const {
  return std::chrono::milliseconds(value<std::int64_t>(name, {Type::duration}));
}
std::uint64_t Values::size(std::string_view name) const {
  return static_cast<std::uint64_t>(value<std::int64_t>(name, {Type::size}));
}
std::int64_t Values::integer(std::string_view name) const {
  return value<std::int64_t>(name, {Type::integer});
}
bool Values::boolean(std::string_view name) const { return value<bool>(name, {Type::boolean}); }
const std::vector<std::string>& Values::list(std::string_view name) const {
  return value<std::vector<std::string>>(name, {Type::list});
}

bool Values::is_set(std::string_view name) const { return entries_[index(name)].set; }

Result<void> Values::set(std::string_view name, std::string_view text) {
  const auto found =
      std::find_if(keys_.begin(), keys_.end(), [&](const Key& each) { return each.name == name; });
  if (found == keys_.end()) return fail(Code::usage, "{}", unknown_key(keys_, name));
  auto value = parse_text(*found, text);
  if (!value) return fail(Code::usage, "{}: {}", name, value.error().message());
  entries_[index(name)] = {std::move(*value), true};
  return {};
}

std::vector<const Key*> Values::differing(const Values& other) const {
  std::vector<const Key*> out;
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    if (!(entries_[i] == other.entries_[other.index(keys_[i].name)])) out.push_back(&keys_[i]);
  }
  return out;
}

} // namespace zoo::config
