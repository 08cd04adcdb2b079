// SPDX-License-Identifier: Apache-2.0
#include "common/base/metric_text.hpp"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

namespace zoo {
namespace {

void append_escaped(std::string& out, std::string_view text, bool quotes) {
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '\\' || (quotes && c == '"')) out += '\\';
    out += c;
  }
}

std::string_view word(MetricText::Type type) {
  switch (type) {
  case MetricText::Type::counter:
    return "counter";
  case MetricText::Type::gauge:
    return "gauge";
  case MetricText::Type::histogram:
    return "histogram";
  }
  return "untyped";
}

} // namespace

void MetricText::family(std::string_view name, Type type, std::string_view help) {
  name_ = name;
  text_ += "# HELP " + name_ + ' ';
  append_escaped(text_, help, false);
  fmt::format_to(std::back_inserter(text_), "\n# TYPE {} {}\n", name, word(type));
}

void MetricText::sample(double value, std::span<const Label> labels, std::string_view suffix) {
  text_ += name_;
  text_ += suffix;
  char before = '{';
  for (const auto& [name, content] : labels) {
    text_ += before;
    text_ += name;
    text_ += "=\"";
    append_escaped(text_, content, true);
    text_ += '"';
    before = ',';
  }
  if (!labels.empty()) text_ += '}';
  if (std::trunc(value) == value && std::fabs(value) < 9e15) {
    fmt::format_to(std::back_inserter(text_), " {}\n", static_cast<std::int64_t>(value));
  } else {
    fmt::format_to(std::back_inserter(text_), " {}\n", value);
  }
}

} // namespace zoo
