// SPDX-License-Identifier: Apache-2.0
#include "common/api/terms.hpp"

#include "common/api/network_peer.hpp"
#include "common/api/tenant.hpp"
#include "common/base/text.hpp"
#include "common/kube/quantity.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

namespace zoo::api {
namespace {

using Json = nlohmann::json;

constexpr std::array<std::string_view, k_counted> k_names = {
    "namespaces",         "customresourcedefinitions", "webhooks", "policies",
    "services.nodeports", "services.loadbalancers",    "objects",  "bytes"};

/// Beside them in spec.quota.
constexpr std::string_view k_hard = "hard";

constexpr std::array<std::string_view, 10> k_guards = {
    "nodeNames",     "adminAccess",  "endpoints", "serviceStatus", "conversionWebhooks",
    "volumeDrivers", "ingressHosts", "priority",  "network",       "networkFrom"};
constexpr std::array<std::string_view, 5> k_flow = {"maxRequestsInflight", "maxMutationsInflight",
                                                    "maxLongRunning", "maxBufferedBytes", "weight"};

constexpr std::uint64_t k_most_requests = 1'000'000;

Result<Json> section(const std::string& text, std::string_view path,
                     std::span<const std::string_view> known) {
  if (text.empty()) return Json::object();
  auto json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return fail(Code::invalid, "{} must be a mapping", path);
  for (const auto& [key, value] : json.items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    const auto meant = text::nearest(key, known);
    return fail(Code::invalid, "unknown field '{}.{}'{}", path, key,
                meant ? fmt::format(", did you mean '{}'?", *meant)
                      : fmt::format(": there are {}", fmt::join(known, ", ")));
  }
  return json;
}

/// 20, "20", "512Mi", "5k": as quantities of Kubernetes, but whole.
Result<std::uint64_t> amount(const Json& value, const std::string& path) {
  if (value.is_number_unsigned()) return value.get<std::uint64_t>();
  if (value.is_string()) {
    constexpr std::array<std::pair<std::string_view, std::uint64_t>, 9> k_units = {
        {{"", 1},
         {"k", 1'000},
         {"M", 1'000'000},
         {"G", 1'000'000'000},
         {"T", 1'000'000'000'000},
         {"Ki", 1ULL << 10},
         {"Mi", 1ULL << 20},
         {"Gi", 1ULL << 30},
         {"Ti", 1ULL << 40}}};
    const auto& text = value.get_ref<const std::string&>();
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
    for (const auto& [name, factor] : k_units) {
      if (error == std::errc() && unit == name && number <= INT64_MAX / factor)
        return number * factor;
    }
  }
  return fail(Code::invalid, "{} must be a whole number, perhaps with Ki, Mi, Gi, k, M or G", path);
}

Result<std::optional<std::uint32_t>> places(const Json& flow, const char* key,
                                            std::uint64_t least) {
  const auto at = flow.find(key);
  if (at == flow.end() || at->is_null()) return std::optional<std::uint32_t>();
  ZOO_TRY(const auto number, amount(*at, fmt::format("spec.flow.{}", key)));
  if (number < least || number > k_most_requests) {
    return fail(Code::invalid, "spec.flow.{} must be from {} to {}", key, least, k_most_requests);
  }
  return std::optional(static_cast<std::uint32_t>(number));
}

Result<std::optional<bool>> flag(const Json& guards, const char* key) {
  const auto at = guards.find(key);
  if (at == guards.end() || at->is_null()) return std::optional<bool>();
  if (!at->is_boolean()) return fail(Code::invalid, "spec.guards.{} must be true or false", key);
  return std::optional(at->get<bool>());
}

Result<std::optional<std::vector<std::string>>> words(const Json& guards, const char* key) {
  using Words = std::optional<std::vector<std::string>>;
  const auto at = guards.find(key);
  if (at == guards.end() || at->is_null()) return Words();
  std::vector<std::string> out;
  bool good = at->is_array() && at->size() <= 1000;
  if (good) {
    for (const auto& each : *at) {
      good = good && each.is_string();
      if (good) out.push_back(each.get<std::string>());
    }
  }
  if (!good) return fail(Code::invalid, "spec.guards.{} must be a list of strings", key);
  return Words(std::move(out));
}

Result<GuardTerms> read_guards(const Tenant& tenant) {
  GuardTerms out;
  ZOO_TRY(const auto guards, section(tenant.guards_json, "spec.guards", k_guards));
  ZOO_TRY(out.node_names, flag(guards, "nodeNames"));
  ZOO_TRY(out.admin_access, flag(guards, "adminAccess"));
  ZOO_TRY(out.endpoints, flag(guards, "endpoints"));
  ZOO_TRY(out.service_status, flag(guards, "serviceStatus"));
  ZOO_TRY(out.conversion_webhooks, flag(guards, "conversionWebhooks"));
  ZOO_TRY(out.volume_drivers, words(guards, "volumeDrivers"));
  ZOO_TRY(out.ingress_hosts, words(guards, "ingressHosts"));
  if (const auto at = guards.find("priority"); at != guards.end() && !at->is_null()) {
    if (!at->is_number_integer() || at->get<std::int64_t>() > 1'000'000'000 ||
        at->get<std::int64_t>() < INT32_MIN) {
      return fail(Code::invalid, "spec.guards.priority must be a whole number up to 1000000000");
    }
    out.priority = at->get<std::int64_t>();
  }
  if (const auto at = guards.find("network"); at != guards.end() && !at->is_null()) {
    const auto word = at->is_string() ? at->get<std::string>() : std::string();
    if (word != k_isolated && word != k_open)
      return fail(Code::invalid, "spec.guards.network must be {} or {}", k_open, k_isolated);
    out.isolated = word == k_isolated;
  }
  ZOO_TRY(out.network_from, words(guards, "networkFrom"));
  if (out.network_from) {
    if (const auto good = check_network_peers(*out.network_from); !good)
      return fail(Error(good.error()).context("spec.guards.networkFrom"));
  }
  return out;
}

Result<QuotaTerms> read_quota(const Json& quota) {
  QuotaTerms out;
  for (std::size_t i = 0; i < k_counted; ++i) {
    const std::string name(k_names[i]);
    const auto at = quota.find(name);
    if (at == quota.end()) continue;
    auto& slot = out[static_cast<Counted>(i)];
    if (at->is_null()) continue;
    ZOO_TRY(slot, amount(*at, "spec.quota." + name));
  }
  return out;
}

/// Kubernetes takes names without a domain that it knows alone (k8s.io/kubernetes
/// pkg/apis/core/helper, IsStandardQuotaResourceName).
constexpr std::array<std::string_view, 19> k_hard_names = {"cpu",
                                                           "memory",
                                                           "ephemeral-storage",
                                                           "requests.cpu",
                                                           "requests.memory",
                                                           "requests.storage",
                                                           "requests.ephemeral-storage",
                                                           "limits.cpu",
                                                           "limits.memory",
                                                           "limits.ephemeral-storage",
                                                           "persistentvolumeclaims",
                                                           "pods",
                                                           "services",
                                                           "services.nodeports",
                                                           "services.loadbalancers",
                                                           "replicationcontrollers",
                                                           "resourcequotas",
                                                           "secrets",
                                                           "configmaps"};
constexpr std::size_t k_longest_name = 317, k_longest_template = 63;

Result<void> check_hard_name(const std::string& name) {
  const auto plain = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_' || c == '/';
  };
  if (std::find(k_hard_names.begin(), k_hard_names.end(), name) != k_hard_names.end()) return {};
  const auto slash = name.find('/');
  const bool qualified = slash != std::string::npos && slash != 0 && slash + 1 < name.size();
  if (qualified && name.size() <= k_longest_name && std::all_of(name.begin(), name.end(), plain))
    return {};
  const auto meant = text::nearest(name, k_hard_names);
  return fail(Code::invalid, "spec.quota.hard: '{}' is nothing that a ResourceQuota counts{}", name,
              meant ? fmt::format(", did you mean '{}'?", *meant)
                    : std::string(": pods, requests.cpu, count/deployments.apps and the like"));
}

Result<HardQuota> read_hard(const Json& quota) {
  HardQuota out;
  const auto at = quota.find(k_hard);
  if (at == quota.end() || at->is_null()) return out;
  if (!at->is_object()) return fail(Code::invalid, "spec.quota.hard must be a mapping");
  if (at->size() > k_most_hard)
    return fail(Code::invalid, "spec.quota.hard has {} names, and may have {}", at->size(),
                k_most_hard);
  for (const auto& [name, value] : at->items()) {
    ZOO_TRY_VOID(check_hard_name(name));
    if (!value.is_string() && !value.is_number())
      return fail(Code::invalid, "spec.quota.hard['{}'] must be a quantity", name);
    const auto quantity =
        kube::Quantity::parse(value.is_string() ? value.get<std::string>() : value.dump());
    if (!quantity || quantity->negative())
      return fail(Code::invalid, "spec.quota.hard['{}'] must be a quantity of 0 or more: {}", name,
                  value.dump());
    out.emplace(name, quantity->text());
  }
  return out;
}

Result<TemplateWish> read_wish(const Json& entry, const std::string& path) {
  constexpr std::array<std::string_view, 2> k_members = {"template", "parameters"};
  if (!entry.is_object()) return fail(Code::invalid, "{} must be a mapping", path);
  ZOO_TRY(const auto members, section(entry.dump(), path, k_members));
  TemplateWish out;
  const auto text_in = [](const Json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  out.name = text_in(members, "template");
  if (out.name.empty() || out.name.size() > k_longest_template)
    return fail(Code::invalid, "{}.template must be the name of a Template, of at most {} letters",
                path, k_longest_template);
  const auto values = members.find("parameters");
  if (values == members.end() || values->is_null()) return out;
  if (!values->is_array()) return fail(Code::invalid, "{}.parameters must be a list", path);
  for (const auto& each : *values) {
    const auto name = each.is_object() ? text_in(each, "name") : std::string();
    if (name.empty() || each.size() > 2 || !each.contains("value") || !each["value"].is_string())
      return fail(Code::invalid, "{}.parameters: each has a name and a value, both strings", path);
    if (!out.parameters.emplace(name, text_in(each, "value")).second)
      return fail(Code::invalid, "{}.parameters: '{}' stands there twice", path, name);
  }
  return out;
}

Result<std::vector<TemplateWish>> read_templates(const Tenant& tenant) {
  std::vector<TemplateWish> out;
  if (tenant.templates_json.empty()) return out;
  const auto list = Json::parse(tenant.templates_json, nullptr, false);
  if (!list.is_array()) return fail(Code::invalid, "spec.templates must be a list");
  if (list.size() > k_most_templates)
    return fail(Code::invalid, "spec.templates has {} entries, and may have {}", list.size(),
                k_most_templates);
  for (std::size_t i = 0; i < list.size(); ++i) {
    ZOO_TRY(auto wish, read_wish(list[i], fmt::format("spec.templates[{}]", i)));
    out.push_back(std::move(wish));
  }
  return out;
}

Result<FlowTerms> read_flow(const Tenant& tenant) {
  FlowTerms out;
  ZOO_TRY(const auto flow, section(tenant.flow_json, "spec.flow", k_flow));
  ZOO_TRY(out.requests, places(flow, "maxRequestsInflight", 0));
  ZOO_TRY(out.mutations, places(flow, "maxMutationsInflight", 0));
  ZOO_TRY(out.long_running, places(flow, "maxLongRunning", 0));
  ZOO_TRY(out.weight, places(flow, "weight", 1));
  if (const auto at = flow.find("maxBufferedBytes"); at != flow.end() && !at->is_null()) {
    ZOO_TRY(out.buffered, amount(*at, "spec.flow.maxBufferedBytes"));
  }
  const auto note = tenant.annotations.find(std::string(k_inflight_annotation));
  if (note != tenant.annotations.end() && !out.requests) {
    std::uint32_t number = 0;
    const auto* const last = note->second.data() + note->second.size();
    const auto [end, error] = std::from_chars(note->second.data(), last, number);
    if (error != std::errc() || end != last || number > k_most_requests) {
      return fail(Code::invalid, "annotation {} must be a number up to {}, not '{}'",
                  k_inflight_annotation, k_most_requests, note->second);
    }
    out.requests = number;
  }
  return out;
}

template <class T>
void take(T& into, const std::optional<T>& own) {
  if (own) into = *own;
}

} // namespace

std::string_view counted_name(Counted what) { return k_names[static_cast<std::size_t>(what)]; }

Guards merged(Guards defaults, const GuardTerms& own) {
  take(defaults.node_names, own.node_names);
  take(defaults.admin_access, own.admin_access);
  take(defaults.endpoints, own.endpoints);
  take(defaults.service_status, own.service_status);
  take(defaults.conversion_webhooks, own.conversion_webhooks);
  take(defaults.volume_drivers, own.volume_drivers);
  take(defaults.ingress_hosts, own.ingress_hosts);
  take(defaults.priority, own.priority);
  take(defaults.isolated, own.isolated);
  take(defaults.network_from, own.network_from);
  return defaults;
}

Quota merged(Quota defaults, const QuotaTerms& own) {
  for (const auto& [what, ceiling] : own) {
    if (ceiling) {
      defaults[what] = *ceiling;
    } else {
      defaults.erase(what);
    }
  }
  return defaults;
}

Flow merged(Flow defaults, const FlowTerms& own) {
  take(defaults.requests, own.requests);
  take(defaults.mutations, own.mutations);
  take(defaults.long_running, own.long_running);
  take(defaults.buffered, own.buffered);
  take(defaults.weight, own.weight);
  return defaults;
}

Result<Terms> terms_of(const Tenant& tenant) {
  Terms out;
  ZOO_TRY(out.guards, read_guards(tenant));
  std::vector<std::string_view> known(k_names.begin(), k_names.end());
  known.push_back(k_hard);
  ZOO_TRY(const auto quota, section(tenant.quota_json, "spec.quota", known));
  ZOO_TRY(out.quota, read_quota(quota));
  ZOO_TRY(out.hard, read_hard(quota));
  ZOO_TRY(out.templates, read_templates(tenant));
  ZOO_TRY(out.flow, read_flow(tenant));
  return out;
}

} // namespace zoo::api
