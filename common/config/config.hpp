// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "common/config/key.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace zoo::config {

/// Durations in milliseconds, sizes in bytes; monostate: unset.
using Value =
    std::variant<std::monostate, std::string, std::int64_t, bool, std::vector<std::string>>;

/// The checked value of every key of a table: as the file says, else its default. Immutable but
/// for set(); copy it freely. The getters ask for a key by name; a name or a type that is not in
/// the table is a bug and throws std::logic_error.
class Values {
public:
  /// The defaults.
  explicit Values(std::span<const Key> keys = zood_keys());

  const std::string& string(std::string_view name) const;  ///< string, choice, address; "" if unset
  std::filesystem::path path(std::string_view name) const; ///< empty if unset
  std::chrono::milliseconds duration(std::string_view name) const;
  std::uint64_t size(std::string_view name) const; ///< bytes
  std::int64_t integer(std::string_view name) const;
  bool boolean(std::string_view name) const;
  const std::vector<std::string>& list(std::string_view name) const; ///< {"*"} means all

  bool is_set(std::string_view name) const; ///< given by the file or by set(), not by default

  /// For the command line: the text of a value as the file would have it. Code::usage.
  Result<void> set(std::string_view name, std::string_view text);

  /// Keys whose values differ, in the table's order: on reload, those that are not reloadable.
  std::vector<const Key*> differing(const Values& other) const;

  std::span<const Key> keys() const { return keys_; }

private:
  friend class Loader;
  struct Entry {
    Value value;
    bool set = false;
    bool operator==(const Entry& other) const { return value == other.value; }
  };
  std::size_t index(std::string_view name) const;
  template <class T>
  const T& value(std::string_view name, std::initializer_list<Type> types) const;

  std::span<const Key> keys_;
  std::vector<Entry> entries_; ///< one for each of keys_
};

/// Reads zood.yaml. All that is wrong is reported at once, a line each, as
/// "zood.yaml:3:1: unknown key 'listn', did you mean 'listen'?" in one Error{usage}. Relative
/// paths are taken relative to the file's directory.
Result<Values> load(std::string_view yaml, std::string_view file_name,
                    std::span<const Key> keys = zood_keys());

/// Reads the file (at most 1 MiB) and loads it.
Result<Values> load_file(const std::filesystem::path& file,
                         std::span<const Key> keys = zood_keys());

/// A file with every key, its doc and its default, all commented out: loads as the defaults.
std::string example(std::span<const Key> keys = zood_keys());

/// The KEYS section of zood.yaml(5) in scdoc(5).
std::string man_rows(std::span<const Key> keys = zood_keys());

/// The texts of values, for the command line too. Code::usage, with the rule.
Result<std::chrono::milliseconds> parse_duration(std::string_view text);
Result<std::uint64_t> parse_size(std::string_view text);
struct Address {
  std::string host; ///< without the brackets of IPv6
  std::uint16_t port = 0;
  std::string text() const; ///< "[::1]:80"
};
Result<Address> parse_address(std::string_view text);

} // namespace zoo::config
