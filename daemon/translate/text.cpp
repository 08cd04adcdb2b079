// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/text.hpp"

namespace zoo::translate {
namespace {

bool word(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

} // namespace

std::string text_out(const Mapping& mapping, std::string_view text, std::string_view own) {
  const std::string_view prefix = mapping.prefix();
  if (mapping.identity()) return std::string(text);
  const bool confusing = own.starts_with(prefix);
  const auto is_own = [&](std::size_t at) {
    const auto behind = at + own.size();
    return confusing && text.substr(at).starts_with(own) &&
           (behind == text.size() || (!word(text[behind]) && text[behind] != '-'));
  };
  std::string out;
  std::size_t copied = 0;
  for (auto at = text.find(prefix); at != std::string_view::npos;) {
    const bool start = at == 0 || (!word(text[at - 1]) && text[at - 1] != '-');
    auto behind = at + prefix.size();
    if (start && is_own(at)) {
      at = text.find(prefix, at + own.size());
    } else if (start && behind < text.size() && word(text[behind])) {
      out.append(text, copied, at - copied);
      copied = behind;
      if (is_own(behind)) behind += own.size();
      at = text.find(prefix, behind);
    } else {
      at = text.find(prefix, at + 1);
    }
  }
  return out.append(text, copied, std::string_view::npos);
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  if (from.empty() || from == to) return;
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

} // namespace zoo::translate
