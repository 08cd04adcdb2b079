// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/json_pointer.hpp"

#include "common/base/json_text.hpp"
#include "common/base/text.hpp"

#include <algorithm>

namespace zoo::translate {
namespace {

constexpr std::size_t k_max_segments = 64;

} // namespace

Result<Segments> parse_pointer(std::string_view pointer) {
  Segments out;
  if (pointer.empty()) return out;
  if (pointer.front() != '/')
    return fail(Code::bad_request, "JSON patch path {} does not begin with '/'",
                json_quote(pointer));
  for (const auto raw : text::split(pointer.substr(1), '/')) {
    std::string segment;
    for (std::size_t i = 0; i < raw.size(); ++i) {
      if (raw[i] != '~') {
        segment += raw[i];
      } else if (i + 1 < raw.size() && (raw[i + 1] == '0' || raw[i + 1] == '1')) {
        segment += raw[++i] == '0' ? '~' : '/';
      } else {
        return fail(Code::bad_request, "JSON patch path {} has an escape that is none",
                    json_quote(pointer));
      }
    }
    out.push_back(std::move(segment));
  }
  if (out.size() > k_max_segments)
    return fail(Code::bad_request, "JSON patch path has more than {} segments", k_max_segments);
  return out;
}

std::string format_pointer(const Segments& segments) {
  std::string out;
  for (const auto& segment : segments) {
    out += '/';
    for (const char c : segment) {
      if (c == '~') {
        out += "~0";
      } else if (c == '/') {
        out += "~1";
      } else {
        out += c;
      }
    }
  }
  return out;
}

bool is_index(std::string_view segment) {
  return segment == "-" ||
         (!segment.empty() &&
          std::all_of(segment.begin(), segment.end(), [](char c) { return c >= '0' && c <= '9'; }));
}

} // namespace zoo::translate
