// SPDX-License-Identifier: Apache-2.0
#include "common/templates/parameters.hpp"

#include "common/kube/yaml.hpp"

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace zoo::templates {
namespace {

using nlohmann::json;

constexpr std::size_t k_longest_expression = 4'096;
constexpr std::int64_t k_expression_memory = 1 << 20;
/// Of a value that `${{NAME}}` stands for.
constexpr kube::YamlLimits k_value_limits{64u << 10, 256u << 10, 4'096, 32, false};

/// "${{NAME}}" and nothing else: its name. A name has no '}'.
std::optional<std::string_view> whole_name(std::string_view text) {
  constexpr std::string_view k_open = "${{", k_close = "}}";
  if (!text.starts_with(k_open) || !text.ends_with(k_close)) return {};
  if (text.size() <= k_open.size() + k_close.size()) return {};
  const auto name = text.substr(k_open.size(), text.size() - k_open.size() - k_close.size());
  if (name.find('}') != std::string_view::npos) return {};
  return name;
}

/// Where a parameter begins and ends in a text: one or more '$', and a name in braces.
struct Place {
  std::size_t begin, brace, end; ///< `brace`: of '{'; `end`: behind '}'
};
std::optional<Place> next_place(std::string_view text, std::size_t from) {
  for (auto begin = text.find('$', from); begin != std::string_view::npos;
       begin = text.find('$', begin)) {
    const auto brace = text.find_first_not_of('$', begin);
    if (brace == std::string_view::npos) return {};
    if (text[brace] != '{') {
      begin = brace;
      continue;
    }
    const auto close = text.find('}', brace);
    if (close == std::string_view::npos) return {};
    if (close > brace + 1) return Place{begin, brace, close + 1};
    begin = close;
  }
  return {};
}

bool equal_in_any_case(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) {
           return std::tolower(static_cast<unsigned char>(x)) ==
                  std::tolower(static_cast<unsigned char>(y));
         });
}

Result<void> check_value(const Parameter& parameter, const std::string& value,
                         std::string_view of) {
  if (parameter.validation.empty()) return {};
  if (parameter.validation.size() > k_longest_expression)
    return fail(Code::invalid,
                "parameter \"{}\" of template \"{}\": its validation is longer than {} bytes",
                parameter.name, of, k_longest_expression);
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(k_expression_memory);
  const RE2 expression(parameter.validation, options);
  if (!expression.ok())
    return fail(Code::invalid,
                "parameter \"{}\" of template \"{}\": its validation \"{}\" is no regular "
                "expression: {}",
                parameter.name, of, parameter.validation, expression.error());
  if (RE2::FullMatch(value, expression)) return {};
  return fail(Code::invalid,
              "parameter \"{}\" of template \"{}\": the value \"{}\" does not match \"{}\"",
              parameter.name, of, value, parameter.validation);
}

} // namespace

Result<json> substitute(std::string_view text, const Lookup& lookup) {
  if (const auto name = whole_name(text)) {
    ZOO_TRY(const auto value, lookup(*name));
    if (!value) return json(text);
    auto read = kube::yaml_to_json(*value, k_value_limits);
    if (!read)
      return fail(Code::invalid, "the value of ${{{{{}}}}} is no YAML: {}", *name,
                  read.error().message());
    auto out = json::parse(*read, nullptr, false);
    if (out.is_discarded())
      return fail(Code::invalid, "the value of ${{{{{}}}}} is no YAML", *name);
    return out;
  }
  std::string out;
  std::size_t done = 0;
  while (const auto place = next_place(text, done)) {
    out.append(text.substr(done, place->begin - done));
    const auto as_it_stands = text.substr(place->begin, place->end - place->begin);
    done = place->end;
    if (place->brace - place->begin > 1) { // "$${NAME}": one '$' goes
      out.append(as_it_stands.substr(1));
      continue;
    }
    ZOO_TRY(const auto value, lookup(text.substr(place->brace + 1, place->end - place->brace - 2)));
    out.append(value ? std::string_view(*value) : as_it_stands);
  }
  out.append(text.substr(done));
  return json(std::move(out));
}

Result<void> substitute_all(json& value, const Lookup& lookup) {
  if (value.is_string()) {
    ZOO_TRY(value, substitute(value.get_ref<const std::string&>(), lookup));
    return {};
  }
  if (!value.is_structured()) return {};
  for (auto& each : value)
    ZOO_TRY_VOID(substitute_all(each, lookup));
  return {};
}

Result<Values> choose_values(const std::vector<Parameter>& declared, const Values& given,
                             std::string_view of) {
  std::vector<std::string_view> names;
  for (const auto& parameter : declared)
    names.emplace_back(parameter.name);
  for (const auto& [name, value] : given) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    if (names.empty())
      return fail(Code::invalid,
                  "parameter \"{}\" is not declared by template \"{}\" (it declares none)", name,
                  of);
    return fail(Code::invalid,
                "parameter \"{}\" is not declared by template \"{}\" (it declares {})", name, of,
                fmt::join(names, ", "));
  }
  Values out;
  for (const auto& parameter : declared) {
    const auto own = given.find(parameter.name);
    // A default that is wrong is told, also where it is not used.
    if (parameter.value) ZOO_TRY_VOID(check_value(parameter, *parameter.value, of));
    if (own != given.end()) {
      ZOO_TRY_VOID(check_value(parameter, own->second, of));
      out.insert_or_assign(parameter.name, own->second);
    } else if (parameter.value) {
      out.insert_or_assign(parameter.name, *parameter.value);
    } else if (parameter.required) {
      return fail(Code::invalid, "parameter \"{}\" of template \"{}\" is required and has no value",
                  parameter.name, of);
    } else {
      out.insert_or_assign(parameter.name, std::string());
    }
  }
  return out;
}

Lookup lookup_in(const Surroundings& at, const Values& values) {
  return [&at, &values](std::string_view name) -> Result<std::optional<std::string>> {
    const std::array<std::pair<std::string_view, const std::string*>, 3> texts{
        {{"namespace", &at.name_space}, {"account", &at.account}, {"tenant", &at.tenant}}};
    for (const auto& [predefined, value] : texts) {
      if (!equal_in_any_case(name, predefined)) continue;
      if (value->empty())
        return fail(Code::invalid, "${{{}}} has no value: no {} owns namespace \"{}\"", name,
                    predefined, at.name_space);
      return *value;
    }
    const std::array<std::pair<std::string_view, const Values*>, 4> maps{
        {{"namespace.metadata.labels.", &at.namespace_labels},
         {"namespace.metadata.annotations.", &at.namespace_annotations},
         {"account.metadata.labels.", &at.account_labels},
         {"account.metadata.annotations.", &at.account_annotations}}};
    for (const auto& [start, map] : maps) {
      if (!equal_in_any_case(name.substr(0, start.size()), start)) continue;
      const auto found = map->find(name.substr(start.size()));
      if (found == map->end())
        return fail(Code::invalid, "${{{}}} has no value at namespace \"{}\"", name, at.name_space);
      return found->second;
    }
    const auto found = values.find(name);
    if (found == values.end()) return std::optional<std::string>();
    return found->second;
  };
}

} // namespace zoo::templates
