// SPDX-License-Identifier: Apache-2.0
#include "daemon/keeper/plan.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <set>

namespace zoo::keeper {
namespace {

using nlohmann::json;

constexpr std::array<std::pair<ComponentState::Phase, std::string_view>, 5> k_phases = {{
    {ComponentState::Phase::stopped, "stopped"},
    {ComponentState::Phase::waiting, "waiting"},
    {ComponentState::Phase::starting, "starting"},
    {ComponentState::Phase::running, "running"},
    {ComponentState::Phase::stopping, "stopping"},
}};

constexpr std::int64_t k_highest_number = 1 << 24; ///< as many as loopback has addresses

const json* member(const json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

Result<std::string> text_of(const json& object, const char* key) {
  const auto* value = member(object, key);
  if (value == nullptr) return std::string();
  if (!value->is_string()) return fail(Code::invalid, "{} is not a string", key);
  auto text = value->get<std::string>();
  if (text.size() > k_longest_argument)
    return fail(Code::invalid, "{} has more than {} characters", key, k_longest_argument);
  if (text.find('\0') != text.npos) return fail(Code::invalid, "{} holds a NUL", key);
  return text;
}

Result<std::vector<std::string>> texts_of(const json& object, const char* key) {
  std::vector<std::string> out;
  const auto* value = member(object, key);
  if (value == nullptr) return out;
  if (!value->is_array()) return fail(Code::invalid, "{} is not a list", key);
  if (value->size() > k_most_arguments)
    return fail(Code::invalid, "{} has more than {} members", key, k_most_arguments);
  for (const auto& each : *value) {
    ZOO_TRY(auto text, text_of(json{{key, each}}, key));
    out.push_back(std::move(text));
  }
  return out;
}

Result<std::int64_t> number_of(const json& object, const char* key, std::int64_t most) {
  const auto* value = member(object, key);
  if (value == nullptr) return std::int64_t{0};
  if (!value->is_number_integer()) return fail(Code::invalid, "{} is not a whole number", key);
  if (value->is_number_unsigned() && value->get<std::uint64_t>() > static_cast<std::uint64_t>(most))
    return fail(Code::invalid, "{} is above {}", key, most);
  const auto number = value->get<std::int64_t>();
  if (number < 0 || number > most)
    return fail(Code::invalid, "{} is not between 0 and {}", key, most);
  return number;
}

/// An IPv4 address of the loopback network: the keeper asks nobody else whether it answers.
bool is_loopback(std::string_view text) {
  if (!text.starts_with("127.") || text.size() > 15) return false;
  int dots = 0, digits = 0, value = 0;
  for (const char c : text) {
    if (c == '.') {
      if (digits == 0) return false;
      ++dots, digits = 0, value = 0;
      continue;
    }
    if (c < '0' || c > '9' || ++digits > 3) return false;
    value = value * 10 + (c - '0');
    if (value > 255) return false;
  }
  return dots == 3 && digits > 0;
}

} // namespace

std::string_view phase_name(ComponentState::Phase phase) {
  for (const auto& [each, name] : k_phases)
    if (each == phase) return name;
  return "";
}

bool PlanState::ready() const {
  return !components.empty() &&
         std::all_of(components.begin(), components.end(),
                     [](const auto& each) { return each.phase == ComponentState::Phase::running; });
}

bool PlanState::gone() const {
  return std::all_of(components.begin(), components.end(),
                     [](const auto& each) { return each.pid == 0; });
}

bool is_id(std::string_view text) {
  return text.size() == 6 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
         });
}

bool is_version(std::string_view text) {
  if (text.empty() || text.size() > 20) return false;
  int dots = 0;
  char before = '.';
  for (const char c : text) {
    if (c == '.' ? before == '.' : (c < '0' || c > '9')) return false;
    dots += c == '.' ? 1 : 0;
    before = c;
  }
  return dots == 2 && before != '.';
}

bool is_component_name(std::string_view text) {
  return !text.empty() && text.size() <= 40 && text.front() != '-' && text.back() != '-' &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= 'a' && c <= 'z') || c == '-'; });
}

Result<Component> component_of(const json& value) {
  if (!value.is_object()) return fail(Code::invalid, "a component is not an object");
  Component out;
  ZOO_TRY(out.name, text_of(value, "name"));
  if (!is_component_name(out.name))
    return fail(Code::invalid, "'{}' is no name of a component", out.name);
  ZOO_TRY(out.arguments, texts_of(value, "arguments"));
  ZOO_TRY(out.environment, texts_of(value, "environment"));
  for (const auto& each : out.environment)
    if (each.empty() || each.find('=') == each.npos || each.front() == '=')
      return fail(Code::invalid, "environment of {}: '{}' is not NAME=value", out.name, each);
  ZOO_TRY(out.after, texts_of(value, "after"));
  ZOO_TRY(out.address, text_of(value, "address"));
  if (!is_loopback(out.address))
    return fail(Code::invalid, "address of {}: '{}' is not in 127.0.0.0/8", out.name, out.address);
  ZOO_TRY(const auto port, number_of(value, "port", 65'535));
  if (port == 0) return fail(Code::invalid, "{} has no port", out.name);
  out.port = static_cast<std::uint16_t>(port);
  ZOO_TRY(out.writes, texts_of(value, "writes"));
  // A plan of a version before this says nothing of it.
  if (member(value, "writes") == nullptr && out.name == "etcd") out.writes = {"etcd"};
  for (const auto& each : out.writes)
    if (!is_component_name(each))
      return fail(Code::invalid, "writes of {}: '{}' is no name of a directory of its cluster",
                  out.name, each);
  return out;
}

Result<Plan> plan_of(const json& value) {
  if (!value.is_object()) return fail(Code::invalid, "a plan is an object");
  Plan out;
  ZOO_TRY(out.id, text_of(value, "id"));
  if (!is_id(out.id)) return fail(Code::invalid, "id is not six characters of a-z and 0-9");
  ZOO_TRY(out.version, text_of(value, "version"));
  if (!is_version(out.version))
    return fail(Code::invalid, "version of {} is not one such as 1.36.3", out.id);
  const auto* run = member(value, "run");
  if (run == nullptr || !run->is_boolean())
    return fail(Code::invalid, "run of {} is neither true nor false", out.id);
  out.run = run->get<bool>();
  const auto* components = member(value, "components");
  if (components == nullptr || !components->is_array() || components->empty() ||
      components->size() > k_most_components)
    return fail(Code::invalid, "{} has no components, or more than {}", out.id, k_most_components);
  std::set<std::string> known;
  for (const auto& each : *components) {
    ZOO_TRY(auto component, component_of(each));
    for (const auto& before : component.after)
      if (!known.contains(before))
        return fail(Code::invalid, "{} comes after '{}', which does not stand before it",
                    component.name, before);
    if (!known.insert(component.name).second)
      return fail(Code::invalid, "there are two components '{}'", component.name);
    out.components.push_back(std::move(component));
  }
  if (const auto* limits = member(value, "limits"); limits != nullptr) {
    if (!limits->is_object()) return fail(Code::invalid, "limits of {} are not an object", out.id);
    ZOO_TRY(const auto memory, number_of(*limits, "memory", 1LL << 52));
    ZOO_TRY(const auto weight, number_of(*limits, "weight", 10'000));
    out.limits = {static_cast<std::uint64_t>(memory), static_cast<unsigned>(weight)};
  }
  ZOO_TRY(const auto number, number_of(value, "number", k_highest_number));
  out.number = static_cast<std::uint32_t>(number);
  return out;
}

json to_json(const Component& component) {
  return {{"name", component.name},
          {"arguments", component.arguments},
          {"environment", component.environment},
          {"after", component.after},
          {"address", component.address},
          {"port", component.port},
          {"writes", component.writes}};
}

json to_json(const Plan& plan) {
  json components = json::array();
  for (const auto& each : plan.components)
    components.push_back(to_json(each));
  return {{"id", plan.id},
          {"version", plan.version},
          {"run", plan.run},
          {"components", std::move(components)},
          {"limits", {{"memory", plan.limits.memory}, {"weight", plan.limits.weight}}},
          {"number", plan.number}};
}

Result<PlanState> state_of(const json& value) {
  if (!value.is_object()) return fail(Code::invalid, "a state is an object");
  PlanState out;
  ZOO_TRY(out.id, text_of(value, "id"));
  if (!is_id(out.id)) return fail(Code::invalid, "id is not six characters of a-z and 0-9");
  ZOO_TRY(out.version, text_of(value, "version"));
  const auto* run = member(value, "run");
  out.run = run != nullptr && run->is_boolean() && run->get<bool>();
  const auto* components = member(value, "components");
  if (components == nullptr || !components->is_array() || components->size() > k_most_components)
    return fail(Code::invalid, "{} has no components", out.id);
  for (const auto& each : *components) {
    if (!each.is_object()) return fail(Code::invalid, "a component is not an object");
    ComponentState component;
    ZOO_TRY(component.name, text_of(each, "name"));
    ZOO_TRY(const auto phase, text_of(each, "phase"));
    const auto found = std::find_if(k_phases.begin(), k_phases.end(),
                                    [&phase](const auto& known) { return known.second == phase; });
    if (!is_component_name(component.name) || found == k_phases.end())
      return fail(Code::invalid, "component '{}' is in phase '{}'", component.name, phase);
    component.phase = found->first;
    ZOO_TRY(component.pid, number_of(each, "pid", 1LL << 30));
    ZOO_TRY(const auto restarts, number_of(each, "restarts", 1LL << 52));
    component.restarts = static_cast<std::uint64_t>(restarts);
    ZOO_TRY(const auto failures, number_of(each, "failures", 1LL << 52));
    component.failures = static_cast<std::uint64_t>(failures);
    ZOO_TRY(component.since, number_of(each, "since", 1LL << 52));
    ZOO_TRY(component.ended, text_of(each, "ended"));
    out.components.push_back(std::move(component));
  }
  return out;
}

json to_json(const PlanState& state) {
  json components = json::array();
  for (const auto& each : state.components)
    components.push_back({{"name", each.name},
                          {"phase", phase_name(each.phase)},
                          {"pid", each.pid},
                          {"restarts", each.restarts},
                          {"failures", each.failures},
                          {"since", each.since},
                          {"ended", each.ended}});
  return {{"id", state.id},
          {"version", state.version},
          {"run", state.run},
          {"components", std::move(components)}};
}

} // namespace zoo::keeper
