// SPDX-License-Identifier: Apache-2.0
#include "common/config/loader.hpp"

#include "common/base/file.hpp"
#include "common/base/text.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <set>
#include <sstream>

namespace zoo::config {
namespace {

std::string bounds(const Key& key) {
  constexpr auto k_none = std::numeric_limits<std::int64_t>::max();
  const auto shown = [&](std::int64_t value) {
    if (key.type == Type::duration) {
      return value % 1000 == 0 ? fmt::format("{}s", value / 1000) : fmt::format("{}ms", value);
    }
    if (key.type == Type::size && value != 0 && value % (1 << 20) == 0) {
      return fmt::format("{}Mi", value >> 20);
    }
    if (key.type == Type::size && value != 0 && value % 1024 == 0) {
      return fmt::format("{}Ki", value >> 10);
    }
    return fmt::format("{}", value);
  };
  return key.maximum == k_none
             ? fmt::format("at least {}", shown(key.minimum))
             : fmt::format("from {} to {}", shown(key.minimum), shown(key.maximum));
}

Result<Value> bounded(const Key& key, std::int64_t value, std::string_view text) {
  if (value < key.minimum || value > key.maximum) {
    return fail(Code::usage, "'{}' is out of range: it must be {}", text, bounds(key));
  }
  return Value(value);
}

Result<Value> choice(const Key& key, std::string_view text) {
  if (std::find(key.choices.begin(), key.choices.end(), text) != key.choices.end()) {
    return Value(std::string(text));
  }
  const auto near = text::nearest(text, key.choices);
  return fail(Code::usage, "'{}' is none of {}{}", text, fmt::join(key.choices, ", "),
              near ? fmt::format(", did you mean '{}'?", *near) : "");
}

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> out;
  for (const auto item : text::split(text, ',')) {
    if (const auto trimmed = text::trim(item); !trimmed.empty()) out.emplace_back(trimmed);
  }
  return out;
}

std::vector<std::string_view> names_of(std::span<const Key> keys) {
  std::vector<std::string_view> out;
  for (const auto& key : keys)
    out.push_back(key.name);
  return out;
}

} // namespace

Result<Value> parse_text(const Key& key, std::string_view text) {
  if (text.empty() && key.type != Type::list) return fail(Code::usage, "the value is empty");
  switch (key.type) {
  case Type::string:
  case Type::path:
    if (std::any_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x20; })) {
      return fail(Code::usage, "the value holds a control character");
    }
    return Value(std::string(text));
  case Type::duration: {
    ZOO_TRY(const auto value, parse_duration(text));
    return bounded(key, value.count(), text);
  }
  case Type::size: {
    ZOO_TRY(const auto value, parse_size(text));
    return bounded(key, static_cast<std::int64_t>(value), text);
  }
  case Type::integer: {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) {
      return fail(Code::usage, "'{}' is not an integer", text);
    }
    return bounded(key, value, text);
  }
  case Type::boolean:
    if (text == "true") return Value(true);
    if (text == "false") return Value(false);
    return fail(Code::usage, "'{}' is not a boolean: write true or false", text);
  case Type::list:
    return Value(split_list(text));
  case Type::choice:
    return choice(key, text);
  case Type::address: {
    ZOO_TRY(const auto address, parse_address(text));
    return Value(address.text());
  }
  }
  return fail(Code::internal, "key {} has no type", key.name);
}

std::string unknown_key(std::span<const Key> keys, std::string_view name) {
  std::vector<std::string> shown;
  std::set<std::string> seen;
  // Keys and sections of the same level first: "certficate" under tls is tls.certificate.
  const auto dot = name.rfind('.');
  const auto parent = dot == std::string_view::npos ? std::string_view() : name.substr(0, dot + 1);
  for (const auto& key : keys) {
    if (!key.name.starts_with(parent)) continue;
    const auto end = std::min(key.name.find('.', parent.size()), key.name.size());
    if (seen.insert(std::string(key.name.substr(0, end))).second) {
      shown.emplace_back(key.name.substr(parent.size(), end - parent.size()));
    }
  }
  const auto last = name.substr(parent.size());
  const std::vector<std::string_view> here(shown.begin(), shown.end());
  if (const auto near = text::nearest(last, here)) {
    return fmt::format("unknown key '{}', did you mean '{}{}'?", name, parent, *near);
  }
  if (const auto near = text::nearest(name, names_of(keys))) {
    return fmt::format("unknown key '{}', did you mean '{}'?", name, *near);
  }
  // The right word in the wrong place.
  for (const auto& key : keys) {
    const auto at = key.name.rfind('.');
    if (at != std::string_view::npos && key.name.substr(at + 1) == last) {
      return fmt::format("unknown key '{}', did you mean '{}'?", name, key.name);
    }
  }
  return fmt::format("unknown key '{}'", name);
}

/// Sees that documents follow one another: yaml-cpp makes an empty document of a "," outside
/// of all lists, does not read on, and makes the next one of the same, without end.
class Documents final : public YAML::EventHandler {
public:
  static void check(const std::string& yaml) {
    std::istringstream stream(yaml);
    YAML::Parser parser(stream);
    for (Documents each; parser.HandleNextDocument(each);) {
    }
  }
  void OnDocumentStart(const YAML::Mark& mark) override {
    if (mark.pos <= begun_) throw YAML::ParserException(mark, "a mark that belongs to nothing");
    begun_ = mark.pos;
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}

private:
  int begun_ = -1;
};

/// Walks the file's tree and gathers values and complaints.
class Loader {
public:
  Loader(std::string_view file_name, std::span<const Key> keys)
      : file_name_(file_name), values_(keys),
        directory_(std::filesystem::path(file_name).parent_path()) {}

  Result<Values> load(std::string_view yaml) {
    try {
      const std::string whole(yaml);
      Documents::check(whole);
      const auto documents = YAML::LoadAll(whole);
      if (documents.size() > 1) complain(documents[1].Mark(), "a second document");
      if (!documents.empty()) section(documents.front(), "");
    } catch (const YAML::Exception& e) {
      complain(e.mark, e.msg);
    }
    pair("tls.certificate", "tls.key");
    pair("pki.ca_certificate", "pki.ca_key");
    if (complaints_.empty()) return std::move(values_);
    return fail(Code::usage, "{}", fmt::join(complaints_, "\n"));
  }

private:
  void complain(const YAML::Mark& mark, std::string_view what) {
    if (mark.is_null()) {
      complaints_.push_back(fmt::format("{}: {}", file_name_, what));
    } else {
      complaints_.push_back(
          fmt::format("{}:{}:{}: {}", file_name_, mark.line + 1, mark.column + 1, what));
    }
  }

  const Key* find(std::string_view name) const {
    const auto keys = values_.keys();
    const auto found =
        std::find_if(keys.begin(), keys.end(), [&](const Key& key) { return key.name == name; });
    return found == keys.end() ? nullptr : &*found;
  }

  bool is_section(const std::string& name) const {
    const auto keys = values_.keys();
    return std::any_of(keys.begin(), keys.end(),
                       [&](const Key& key) { return key.name.starts_with(name + "."); });
  }

  void section(const YAML::Node& node, const std::string& prefix) {
    if (node.IsNull()) return; // nothing in it, or only comments
    if (!node.IsMap()) {
      complain(node.Mark(), prefix.empty()
                                ? std::string("the file must be a mapping of keys to values")
                                : fmt::format("'{}' must be a mapping of keys to values", prefix));
      return;
    }
    for (const auto& member : node) {
      if (!member.first.IsScalar()) {
        complain(member.first.Mark(), "a key must be a word");
        continue;
      }
      const auto& word = member.first.Scalar();
      const auto name = prefix.empty() ? word : prefix + "." + word;
      const bool nested = word.find('.') == std::string::npos;
      const auto* key = nested ? find(name) : nullptr;
      if (key == nullptr && !(nested && is_section(name))) {
        auto complaint = unknown_key(values_.keys(), name);
        if (!nested && find(name) != nullptr) {
          const auto dot = name.rfind('.');
          complaint = fmt::format("unknown key '{}': write '{}' as a mapping with '{}' in it", name,
                                  name.substr(0, dot), name.substr(dot + 1));
        }
        complain(member.first.Mark(), complaint);
        continue;
      }
      const auto [first, added] = marks_.try_emplace(name, member.first.Mark());
      if (!added) {
        complain(member.first.Mark(), fmt::format("key '{}' occurs twice, first in line {}", name,
                                                  first->second.line + 1));
      } else if (key != nullptr) {
        value(*key, member.second, member.first.Mark());
      } else {
        section(member.second, name);
      }
    }
  }

  void value(const Key& key, const YAML::Node& node, const YAML::Mark& mark) {
    if (node.IsNull()) {
      complain(mark, fmt::format("'{}' has no value: give one, or remove the line", key.name));
      return;
    }
    auto parsed = key.type == Type::list ? list(node) : scalar(key, node);
    if (!parsed) {
      complain(node.Mark(), fmt::format("{}: {}", key.name, parsed.error().message()));
      return;
    }
    if (auto* path = std::get_if<std::string>(&*parsed);
        path != nullptr && key.type == Type::path) {
      *path = (directory_ / *path).lexically_normal().string();
    }
    values_.entries_[values_.index(key.name)] = {std::move(*parsed), true};
  }

  static Result<Value> scalar(const Key& key, const YAML::Node& node) {
    if (!node.IsScalar()) {
      return fail(Code::usage, "a {} is wanted, not a {}", type_name(key.type),
                  node.IsMap() ? "mapping" : "list");
    }
    const bool quoted = node.Tag() == "!";
    if (quoted && (key.type == Type::boolean || key.type == Type::integer)) {
      return fail(Code::usage, "a {} is wanted, not a string in quotes", type_name(key.type));
    }
    return parse_text(key, node.Scalar());
  }

  static Result<Value> list(const YAML::Node& node) {
    if (node.IsScalar() && node.Scalar() == "*") return Value(std::vector<std::string>{"*"});
    if (!node.IsSequence()) {
      return fail(Code::usage, "a list is wanted, not a {}: write [a, b], or \"*\" for all",
                  node.IsMap() ? "mapping" : "single word");
    }
    std::vector<std::string> out;
    for (const auto& item : node) {
      if (!item.IsScalar() || item.Scalar().empty()) {
        return fail(Code::usage, "item {} of the list is not a word", out.size() + 1);
      }
      out.push_back(item.Scalar());
    }
    return Value(std::move(out));
  }

  void pair(const char* one, const char* other) {
    if (find(one) == nullptr || find(other) == nullptr) return;
    for (const auto& [given, missing] : {std::pair(one, other), std::pair(other, one)}) {
      const auto mark = marks_.find(given);
      if (mark != marks_.end() && marks_.find(missing) == marks_.end()) {
        complain(mark->second, fmt::format("'{}' is given without '{}'", given, missing));
      }
    }
  }

  std::string file_name_;
  Values values_;
  std::filesystem::path directory_;
  std::map<std::string, YAML::Mark, std::less<>> marks_;
  std::vector<std::string> complaints_;
};

Result<Values> load(std::string_view yaml, std::string_view file_name, std::span<const Key> keys) {
  return Loader(file_name, keys).load(yaml);
}

Result<Values> load_file(const std::filesystem::path& file, std::span<const Key> keys) {
  ZOO_TRY(const auto yaml, file::read(file, 1u << 20));
  return load(yaml, file.string(), keys);
}

} // namespace zoo::config
