// SPDX-License-Identifier: Apache-2.0
#include "common/base/text.hpp"
#include "common/config/config.hpp"

#include <algorithm>
#include <vector>

namespace zoo::config {
namespace {

constexpr std::size_t k_width = 96;

/// Words in lines that begin with `lead` and end before the margin.
std::string wrapped(std::string_view words, std::string_view lead) {
  std::string out;
  std::string line;
  for (const auto word : text::split(words, ' ')) {
    if (!line.empty() && lead.size() + line.size() + 1 + word.size() > k_width) {
      out += fmt::format("{}{}\n", lead, line);
      line.clear();
    }
    if (!line.empty()) line += ' ';
    line += word;
  }
  return out + fmt::format("{}{}\n", lead, line);
}

std::string shown_default(const Key& key) {
  if (key.type == Type::list) {
    if (key.default_text == "*") return "\"*\""; // YAML takes a bare one for an alias
    return key.default_text.empty() ? "[]" : fmt::format("[{}]", key.default_text);
  }
  return std::string(key.default_text);
}

/// What stands in for the default of a key that has none.
std::string_view placeholder(Type type) {
  switch (type) {
  case Type::path:
    return "/PATH";
  case Type::address:
    return "HOST:PORT";
  default:
    return "VALUE";
  }
}

std::string type_words(const Key& key) {
  if (key.type == Type::choice) return fmt::format("one of {}", fmt::join(key.choices, ", "));
  if (key.type == Type::list) return "list of strings";
  return std::string(type_name(key.type));
}

/// scdoc reads _ and * as markup, and \ as its escape.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '_' || c == '*' || c == '\\' || c == '#') out += '\\';
    out += c;
  }
  return out;
}

} // namespace

std::string example(std::span<const Key> keys) {
  std::string out =
      "# zood.yaml: every key with its default. See zood.yaml(5). After a change:\n"
      "# zood --check-config --config FILE; keys marked (reload) take effect on SIGHUP.\n";
  std::vector<std::string_view> sections; // that the line above stands in
  for (const auto& key : keys) {
    auto levels = text::split(key.name, '.');
    const auto word = levels.back();
    levels.pop_back();
    out += '\n';
    for (std::size_t i = 0; i < levels.size(); ++i) {
      const bool open = i < sections.size() &&
                        std::equal(levels.begin(), levels.begin() + i + 1, sections.begin());
      if (!open) out += fmt::format("#{}{}:\n", std::string(2 * i, ' '), levels[i]);
    }
    sections = levels;
    const std::string indent(2 * levels.size(), ' ');
    const auto doc =
        fmt::format("{} ({}{})", key.doc, type_words(key), key.reloadable ? "; reload" : "");
    out += wrapped(doc, fmt::format("{}# ", indent));
    const auto value = shown_default(key);
    const auto given = value.empty() ? std::string(placeholder(key.type)) : value;
    out += fmt::format("#{}{}: {}\n", indent, word, given);
  }
  return out;
}

std::string man_rows(std::span<const Key> keys) {
  std::string out;
  for (const auto& key : keys) {
    out += fmt::format("*{}* ({})\n", escaped(key.name), escaped(type_words(key)));
    out += wrapped(escaped(key.doc), "\t");
    std::string facts;
    if (!key.default_text.empty()) {
      facts = fmt::format("Default: {}.", escaped(shown_default(key)));
    }
    if (key.reloadable) facts += facts.empty() ? "Reloadable." : " Reloadable.";
    if (!facts.empty()) out += "\n" + wrapped(facts, "\t");
    out += '\n';
  }
  return out;
}

} // namespace zoo::config
