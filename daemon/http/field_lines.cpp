// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/field_lines.hpp"

#include "daemon/http/syntax.hpp"

namespace zoo::http {

Result<FieldLines> FieldLines::make(const Headers& fields) {
  FieldLines out;
  for (const auto& [name, value] : fields) {
    if (!is_token(name) || !is_field_value(value))
      return fail(Code::bad_request, "a header field holds characters that cannot be sent");
    append_field_line(out.text_, name, value);
  }
  return out;
}

void append_field_line(std::string& out, std::string_view name, std::string_view value) {
  constexpr std::string_view k_colon = ": ", k_end = "\r\n";
  const auto at = out.size();
  out.resize(at + name.size() + k_colon.size() + value.size() + k_end.size());
  char* to = out.data() + at;
  for (const auto part : {name, k_colon, value, k_end})
    to += part.copy(to, part.size());
}

} // namespace zoo::http
