// SPDX-License-Identifier: Apache-2.0
#include "common/base/json_text.hpp"
#include "common/kube/yaml.hpp"
#include "common/kube/yaml_scalar.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>

namespace zoo::kube {
namespace {

/// U+0080..U+00A0, U+2028, U+2029, U+FEFF: line ends, or not to be seen.
std::size_t awkward_length(std::string_view text) {
  const auto at = [&](std::size_t i) {
    return i < text.size() ? static_cast<std::uint8_t>(text[i]) : 0;
  };
  if (at(0) == 0xc2 && at(1) <= 0xa0) return 2;
  if (at(0) == 0xe2 && at(1) == 0x80 && (at(2) == 0xa8 || at(2) == 0xa9)) return 3;
  if (at(0) == 0xef && at(1) == 0xbb && at(2) == 0xbf) return 3;
  if (at(0) == 0xef && at(1) == 0xbf && at(2) >= 0xbe) return 3;
  return 0;
}

bool printable(std::string_view text, bool lines) {
  if (!is_utf8(text)) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<std::uint8_t>(text[i]);
    if ((byte < 0x20 && !(lines && byte == '\n')) || byte == 0x7f) return false;
    if (awkward_length(text.substr(i)) != 0) return false;
  }
  return true;
}

bool is_plain(std::string_view text) {
  if (text.empty() || !printable(text, false)) return false;
  constexpr std::string_view k_indicators = "-?:,[]{}#&*!|>'\"%@` ";
  if (k_indicators.find(text.front()) != text.npos) return false;
  if (text.back() == ' ' || text.back() == ':') return false;
  if (text.find(": ") != text.npos || text.find(" #") != text.npos) return false;
  if (text == "..." || text.starts_with("... ")) return false;
  return !reads_as_other(text);
}

std::string double_quoted(std::string_view text) {
  const auto quoted = json_quote(text);
  std::string out;
  for (std::size_t i = 0; i < quoted.size();) {
    const auto length = awkward_length(std::string_view(quoted).substr(i));
    if (length == 0) {
      out += quoted[i++];
      continue;
    }
    std::uint32_t point = static_cast<std::uint8_t>(quoted[i]) & (length == 2 ? 0x1f : 0x0f);
    for (std::size_t k = 1; k < length; ++k)
      point = point << 6 | (static_cast<std::uint8_t>(quoted[i + k]) & 0x3f);
    out += fmt::format("\\u{:04x}", point);
    i += length;
  }
  return out;
}

/// A block scalar gives exactly this text back, whatever reads it.
bool is_block(std::string_view text) {
  if (text.find('\n') == text.npos || !printable(text, true)) return false;
  if (text.front() == ' ' || text.front() == '\n') return false;
  return text.find(" \n") == text.npos && text.back() != ' ';
}

template <class Json>
class YamlWriter {
public:
  std::string write(const Json& value) {
    if (is_empty(value) || !value.is_structured()) {
      scalar(value, 0);
      out_ += '\n';
    } else {
      block(value, 0);
    }
    return std::move(out_);
  }

private:
  static bool is_empty(const Json& value) { return value.is_structured() && value.empty(); }

  void indent(std::size_t level) { out_.append(level, ' '); }

  /// `level`: where the lines of a block scalar stand.
  void scalar(const Json& value, std::size_t level) {
    if (value.is_object()) {
      out_ += "{}";
    } else if (value.is_array()) {
      out_ += "[]";
    } else if (value.is_string()) {
      text(value.template get_ref<const std::string&>(), level);
    } else {
      out_ += value.dump();
    }
  }

  void text(std::string_view value, std::size_t level) {
    if (!is_block(value)) {
      out_ += yaml_scalar(value);
      return;
    }
    const bool ends = value.back() == '\n';
    const bool several = ends && value.size() > 1 && value[value.size() - 2] == '\n';
    out_ += several ? "|+" : ends ? "|" : "|-";
    if (ends) value.remove_suffix(1);
    for (;;) {
      const auto line = value.substr(0, value.find('\n'));
      out_ += '\n';
      if (!line.empty()) {
        indent(level);
        out_ += line;
      }
      if (line.size() == value.size()) return;
      value.remove_prefix(line.size() + 1);
    }
  }

  /// A mapping or list with something in it. Its first line begins where the writer stands.
  void block(const Json& value, std::size_t level) {
    bool first = true;
    if (value.is_object()) {
      for (const auto& [key, member] : value.items()) {
        if (!first) indent(level);
        first = false;
        out_ += yaml_scalar(key);
        out_ += ':';
        if (!member.is_structured() || member.empty()) {
          out_ += ' ';
          scalar(member, level + 2);
          out_ += '\n';
          continue;
        }
        out_ += '\n';
        const auto deeper = member.is_array() ? level : level + 2;
        indent(deeper);
        block(member, deeper);
      }
      return;
    }
    for (const auto& member : value) {
      if (!first) indent(level);
      first = false;
      out_ += "- ";
      if (!member.is_structured() || member.empty()) {
        scalar(member, level + 2);
        out_ += '\n';
      } else {
        block(member, level + 2);
      }
    }
  }

  std::string out_;
};

} // namespace

std::string yaml_scalar(std::string_view text) {
  return is_plain(text) ? std::string(text) : double_quoted(text);
}

std::string json_to_yaml(const nlohmann::json& value) {
  return YamlWriter<nlohmann::json>().write(value);
}
std::string json_to_yaml(const nlohmann::ordered_json& value) {
  return YamlWriter<nlohmann::ordered_json>().write(value);
}

} // namespace zoo::kube
