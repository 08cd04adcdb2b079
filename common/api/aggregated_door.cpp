// SPDX-License-Identifier: Apache-2.0
#include "common/api/aggregated_door.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace zoo::api::aggregated {
namespace {

using nlohmann::json;

/// A text inside an object of strings; "" where there is none.
std::string text_in(const json& object, const json::json_pointer& place, std::string_view key) {
  if (!object.is_object() || !object.contains(place)) return {};
  const auto& map = object.at(place);
  if (!map.is_object()) return {};
  const auto found = map.find(key);
  return found != map.end() && found->is_string() ? found->get<std::string>() : std::string();
}

const json& list_in(const json& object, const char* key) {
  static const json none = json::array();
  if (!object.is_object()) return none;
  const auto found = object.find(key);
  return found != object.end() && found->is_array() ? *found : none;
}

void add_endpoints(const json& slice, std::vector<std::string>& out) {
  for (const auto& port : list_in(slice, "ports")) {
    if (!port.is_object() || !port.contains("port") || !port["port"].is_number()) continue;
    for (const auto& endpoint : list_in(slice, "endpoints")) {
      for (const auto& address : list_in(endpoint, "addresses")) {
        if (!address.is_string()) continue;
        const auto ip = address.get<std::string>();
        const bool six = ip.find(':') != std::string::npos;
        out.push_back(
            fmt::format("{}{}{}:{}", six ? "[" : "", ip, six ? "]" : "", port["port"].get<int>()));
      }
    }
  }
}

} // namespace

bool is_own(const json& api_service) {
  static const json::json_pointer labels("/metadata/labels"), service("/spec/service");
  return text_in(api_service, labels, k_label) == k_label_value ||
         (text_in(api_service, service, "name") == k_service &&
          text_in(api_service, service, "namespace") == k_namespace);
}

bool is_off(const json& name_space) {
  static const json::json_pointer annotations("/metadata/annotations");
  return text_in(name_space, annotations, k_switch) == k_off;
}

State read_state(const json* name_space, const json* api_service, const json* slices) {
  State out;
  out.off = name_space != nullptr && is_off(*name_space);
  if (api_service != nullptr) {
    out.registered = is_own(*api_service);
    out.foreign = !out.registered;
    const auto status = api_service->find("status");
    if (status != api_service->end()) {
      static const json::json_pointer whole("");
      for (const auto& one : list_in(*status, "conditions")) {
        if (text_in(one, whole, "type") != "Available") continue;
        out.available = text_in(one, whole, "status");
        out.reason = text_in(one, whole, "reason");
        out.message = text_in(one, whole, "message");
      }
    }
  }
  if (slices != nullptr) {
    for (const auto& slice : list_in(*slices, "items"))
      add_endpoints(slice, out.endpoints);
  }
  return out;
}

json to_json(const State& state) {
  return {{"off", state.off},
          {"registered", state.registered},
          {"foreign", state.foreign},
          {"available", state.available},
          {"reason", state.reason},
          {"message", state.message},
          {"endpoints", state.endpoints}};
}

} // namespace zoo::api::aggregated
