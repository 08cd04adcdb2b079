// SPDX-License-Identifier: Apache-2.0
// The validator agrees with another strict one; what it takes, the scanners understand.
#include "daemon/translate/json.hpp"

#include "tests/fuzz/invariant.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace zoo::translate;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const char* const end = text.data() + text.size();
  const char* const begin = skip_space(text.data(), end);
  const char* const found = skip_value(begin, end); // must not read beyond, whatever it is
  const bool valid = check_json(text).has_value();
  // Go, and so we, take an escaped lone surrogate; a byte order mark, and a NUL for the end, are
  // only the other's.
  const bool differs =
      text.find("\\ud") != std::string_view::npos || text.find("\\uD") != std::string_view::npos ||
      text.starts_with("\xEF\xBB\xBF") || text.find('\0') != std::string_view::npos || size > 9'000;
  const bool accepted = nlohmann::json::accept(text);
  // A number too large for a double is JSON nevertheless.
  const bool large = valid && !accepted && text.find_first_of("0123456789") != text.npos;
  if (!differs && !large) invariant(valid == accepted, "two validators agree", text);
  if (valid) {
    invariant(found != nullptr, "a value has an end", text);
    invariant(skip_space(found, end) == end, "and nothing behind it", text);
    if (*begin == '"') {
      const auto inner = std::string_view(begin + 1, static_cast<std::size_t>(found - begin - 2));
      const auto plain = unescape_json(inner);
      if (!differs)
        invariant(plain == nlohmann::json::parse(text).get<std::string>(), "strings agree", text);
    }
  }
  return 0;
}
