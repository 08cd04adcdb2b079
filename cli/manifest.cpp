// SPDX-License-Identifier: Apache-2.0
#include "cli/manifest.hpp"

#include "common/api/tenant.hpp"
#include "common/base/file.hpp"
#include "common/base/text.hpp"
#include "common/kube/yaml.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>

namespace zoo::cli {
namespace {

using nlohmann::json;

constexpr std::size_t k_limit = 8u << 20;
constexpr std::size_t k_depth = 256;

bool is_blank(std::string_view text) {
  for (const auto line : text::split(text, '\n')) {
    const auto content = text::trim(line);
    if (!content.empty() && content.front() != '#' && content != "---" && content != "...") {
      return false;
    }
  }
  return true;
}

bool only_directives(std::string_view text) {
  bool any = false;
  for (const auto line : text::split(text, '\n')) {
    const auto content = text::trim(line);
    if (content.empty() || content.front() == '#') continue;
    if (line.front() != '%') return false;
    any = true;
  }
  return any;
}

/// YAML documents begin at "---" in the first column, also inside a block scalar (YAML 1.2 9.1.2).
/// Each is led by as many line ends as stood before it, so that errors name the file's lines.
std::vector<std::string> split_yaml(std::string_view text) {
  std::vector<std::string> out;
  std::string current;
  std::size_t number = 0;
  for (const auto line : text::split(text, '\n')) {
    const bool begins = line.starts_with("---") &&
                        (line.size() == 3 || line[3] == ' ' || line[3] == '\t' || line[3] == '\r');
    if (begins && !only_directives(current)) {
      if (!is_blank(current)) out.push_back(current);
      current.assign(number, '\n');
    }
    current += line;
    current += '\n';
    ++number;
  }
  if (!is_blank(current)) out.push_back(current);
  return out;
}

/// Texts of the JSON values that follow each other; what is no JSON stays for the parser.
std::vector<std::string_view> split_json(std::string_view text) {
  std::vector<std::string_view> out;
  std::size_t begin = 0, depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') {
        ++i;
      } else if (c == '"') {
        quoted = false;
      }
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if ((c == '}' || c == ']') && depth > 0 && --depth == 0) {
      out.push_back(text.substr(begin, i + 1 - begin));
      begin = i + 1;
    }
  }
  if (!text::trim(text.substr(begin)).empty()) out.push_back(text.substr(begin));
  return out;
}

Result<json> parse_json(std::string_view text) {
  std::vector<std::set<std::string>> keys;
  std::string problem;
  const auto watch_keys = [&](int depth, json::parse_event_t event, json& value) {
    if (static_cast<std::size_t>(depth) > k_depth) problem = "nested too deeply";
    if (event == json::parse_event_t::object_start) keys.emplace_back();
    if (event == json::parse_event_t::object_end) keys.pop_back();
    if (event == json::parse_event_t::key && !keys.back().insert(value.get<std::string>()).second) {
      problem = fmt::format("the key '{}' occurs twice in one object", value.get<std::string>());
    }
    return problem.empty();
  };
  try {
    auto value = json::parse(text, watch_keys);
    if (!problem.empty()) return fail(Code::bad_request, "{}", problem);
    return value;
  } catch (const json::exception& error) {
    if (!problem.empty()) return fail(Code::bad_request, "{}", problem);
    const std::string_view what = error.what();
    const auto at = what.find("parse error");
    return fail(Code::bad_request, "this is not JSON: {}",
                what.substr(at == std::string_view::npos ? 0 : at));
  }
}

Result<void> add(json object, std::vector<json>& out) {
  if (!object.is_object()) {
    return fail(Code::bad_request, "a manifest is an object with apiVersion and kind, not {} {}",
                object.type_name()[0] == 'a' ? "an" : "a", object.type_name());
  }
  const auto kind = object.contains("kind") && object["kind"].is_string()
                        ? object["kind"].get<std::string>()
                        : std::string();
  if ((kind == "List" || kind == "TenantList") && object.contains("items") &&
      object["items"].is_array()) {
    for (auto& item : object["items"])
      ZOO_TRY_VOID(add(std::move(item), out));
    return {};
  }
  if (!kind.empty() && kind != api::k_tenant_kind) {
    return fail(Code::bad_request,
                "zooctl takes Tenants only, and this is a {}: apply it with kubectl", kind);
  }
  ZOO_TRY(const auto tenant, api::from_json(object));
  if (tenant.id.empty()) return fail(Code::invalid, "metadata.name is missing: it is the ID");
  out.push_back(std::move(object));
  return {};
}

/// Calls `each` with every document that is not empty.
Result<void> each_document(std::string_view text, std::string_view name,
                           const std::function<Result<void>(json)>& each) {
  const bool is_json = text::trim(text).starts_with('{');
  std::vector<std::string> documents;
  if (is_json) {
    for (const auto one : split_json(text))
      documents.emplace_back(one);
  } else {
    documents = split_yaml(text);
  }
  for (std::size_t i = 0; i < documents.size(); ++i) {
    const auto place = [&](Error error) {
      return documents.size() == 1 ? std::move(error).context("in {}", name)
                                   : std::move(error).context("in document {} of {}", i + 1, name);
    };
    if (!is_json) {
      auto converted = kube::yaml_to_json(documents[i]);
      if (!converted) return fail(place(std::move(converted).error()));
      if (*converted == "null") continue;
      documents[i] = *std::move(converted);
    }
    auto object = parse_json(documents[i]);
    if (!object) return fail(place(std::move(object).error()));
    if (auto done = each(*std::move(object)); !done) return fail(place(std::move(done).error()));
  }
  return {};
}

/// A file, or standard input for "-".
Result<std::string> read_text(std::string_view file, std::istream& input) {
  if (file != "-") return file::read(std::filesystem::path(file), k_limit);
  std::string text;
  char block[16384];
  while (input.read(block, sizeof block) || input.gcount() > 0) {
    text.append(block, static_cast<std::size_t>(input.gcount()));
    if (text.size() > k_limit)
      return fail(Code::too_large, "standard input is larger than {} bytes", k_limit);
  }
  return text;
}

} // namespace

Result<std::vector<json>> parse_manifests(std::string_view text, std::string_view name) {
  std::vector<json> out;
  ZOO_TRY_VOID(each_document(
      text, name, [&](json object) -> Result<void> { return add(std::move(object), out); }));
  if (out.empty()) return fail(Code::usage, "{} holds no Tenant", name);
  return out;
}

Result<std::vector<json>> read_manifests(std::string_view file, std::istream& input) {
  ZOO_TRY(const auto text, read_text(file, input));
  return parse_manifests(text, file == "-" ? "standard input" : file);
}

Result<json> read_objects(std::string_view file, std::istream& input) {
  ZOO_TRY(const auto text, read_text(file, input));
  const auto name = file == "-" ? std::string_view("standard input") : file;
  auto out = json::array();
  ZOO_TRY_VOID(each_document(text, name, [&](json object) -> Result<void> {
    if (!object.is_object()) return fail(Code::bad_request, "a manifest is an object");
    auto items = object.value("kind", json()) == "List" ? object.value("items", json())
                                                        : json::array({object});
    for (auto& item : items)
      out.push_back(std::move(item));
    return {};
  }));
  if (out.empty()) return fail(Code::usage, "{} holds no object", name);
  return out;
}

std::string tenant_id(const json& tenant) {
  const auto metadata = tenant.find("metadata");
  if (metadata == tenant.end() || !metadata->is_object()) return {};
  const auto name = metadata->find("name");
  return name != metadata->end() && name->is_string() ? name->get<std::string>() : std::string();
}

} // namespace zoo::cli
