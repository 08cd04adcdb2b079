// SPDX-License-Identifier: Apache-2.0
#include "common/api/virtual_cluster.hpp"

#include "common/config/config.hpp"

#include <arpa/inet.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <unordered_set>

namespace zoo::api {
namespace {

using nlohmann::json;

constexpr std::size_t k_most_nodes = 10'000;
constexpr std::size_t k_most_sans = 64;
constexpr unsigned k_most_virtual_nodes = 100, k_most_weight = 10'000, k_most_limit = 10'000;

const json* at(const json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

Result<std::string> text(const json& object, const char* key, std::string_view shown) {
  const auto* value = at(object, key);
  if (value == nullptr) return std::string();
  if (!value->is_string()) return fail(Code::invalid, "{} must be a string", shown);
  return value->get<std::string>();
}

/// RFC 1123: what may name a node, and stand in a certificate.
bool is_dns_name(std::string_view name) {
  if (name.empty() || name.size() > 253) return false;
  std::size_t label = 0;
  char before = '.';
  for (const char c : name) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (c == '.') {
      if (before == '.' || before == '-') return false;
      label = 0;
    } else if (!(letter || (c == '-' && before != '.')) || ++label > 63) {
      return false;
    }
    before = c;
  }
  return before != '.' && before != '-';
}

bool is_ip(const std::string& text) {
  unsigned char bytes[16];
  return ::inet_pton(AF_INET, text.c_str(), bytes) == 1 ||
         ::inet_pton(AF_INET6, text.c_str(), bytes) == 1;
}

/// `seen`: those that `out` has.
Result<void> add_node(ClusterSpec& out, std::unordered_set<std::string>& seen, std::string name,
                      std::string_view shown) {
  if (!is_dns_name(name)) return fail(Code::invalid, "{} '{}' is no name of a node", shown, name);
  if (seen.insert(name).second) out.nodes.push_back(std::move(name));
  if (out.nodes.size() > k_most_nodes)
    return fail(Code::invalid, "spec.promoteResources.nodes must be {} at most", k_most_nodes);
  return {};
}

Result<void> read_promoted(ClusterSpec& out, const json& promoted) {
  constexpr std::string_view k_nodes = "spec.promoteResources.nodes";
  constexpr std::string_view k_infos = "spec.promoteResources.nodeInfos";
  if (!promoted.is_object()) return fail(Code::invalid, "spec.promoteResources must be an object");
  std::unordered_set<std::string> seen;
  if (const auto* nodes = at(promoted, "nodes")) {
    if (!nodes->is_array()) return fail(Code::invalid, "{} must be a list of names", k_nodes);
    for (const auto& each : *nodes) {
      if (!each.is_string()) return fail(Code::invalid, "{} must be a list of names", k_nodes);
      ZOO_TRY_VOID(add_node(out, seen, each.get<std::string>(), k_nodes));
    }
  }
  if (const auto* infos = at(promoted, "nodeInfos")) { // Kosmos' later form of the same
    if (!infos->is_array()) return fail(Code::invalid, "{} must be a list", k_infos);
    for (const auto& each : *infos) {
      ZOO_TRY(auto name, text(each, "nodeName", "spec.promoteResources.nodeInfos[].nodeName"));
      ZOO_TRY_VOID(add_node(out, seen, std::move(name), k_infos));
    }
  }
  const auto* resources = at(promoted, "resources");
  if (resources == nullptr) return {};
  if (!resources->is_object())
    return fail(Code::invalid, "spec.promoteResources.resources must be an object");
  for (const auto& [name, value] : resources->items()) {
    if (!value.is_string() && !value.is_number())
      return fail(Code::invalid, "spec.promoteResources.resources.{} must be a quantity", name);
    const auto written = value.is_string() ? value.get<std::string>() : value.dump();
    const auto quantity = kube::Quantity::parse(written);
    if (!quantity || quantity->negative())
      return fail(Code::invalid,
                  "spec.promoteResources.resources.{} must be a quantity such as 10, 500m or "
                  "100Gi, not '{}'",
                  name, written);
    out.resources.emplace(name, *quantity);
  }
  return {};
}

/// A whole number of 1 to `most`; `usual` where there is none.
Result<unsigned> number(const json& object, const char* key, unsigned usual, unsigned most) {
  const auto* value = at(object, key);
  if (value == nullptr) return usual;
  const bool good = value->is_number_integer() && value->get<std::int64_t>() >= 1 &&
                    value->get<std::int64_t>() <= most;
  if (!good) return fail(Code::invalid, "spec.{} must be a number of 1 to {}", key, most);
  return value->get<unsigned>();
}

/// `of`: the field that the object is.
Result<bool> flag(const json& object, const char* key, std::string_view of = "spec") {
  const auto* value = at(object, key);
  if (value == nullptr) return false;
  if (!value->is_boolean()) return fail(Code::invalid, "{}.{} must be true or false", of, key);
  return value->get<bool>();
}

/// spec.limits: how many Services and nodePorts the cluster may have.
Result<void> read_limits(ClusterSpec& out, const json& spec) {
  const auto* limits = at(spec, "limits");
  if (limits == nullptr) return {};
  if (!limits->is_object()) return fail(Code::invalid, "spec.limits must be an object");
  const auto count = [&](const char* key, std::optional<unsigned>& into) -> Result<void> {
    const auto* value = at(*limits, key);
    if (value == nullptr) return {};
    const bool good = value->is_number_integer() && value->get<std::int64_t>() >= 0 &&
                      value->get<std::int64_t>() <= k_most_limit;
    if (!good)
      return fail(Code::invalid, "spec.limits.{} must be a number of 0 to {}", key, k_most_limit);
    into = value->get<unsigned>();
    return {};
  };
  ZOO_TRY_VOID(count("services", out.services));
  return count("nodePorts", out.node_ports);
}

/// How it has what it has of the upstream.
Result<void> read_manner(ClusterSpec& out, const json& spec) {
  ZOO_TRY(out.virtual_nodes, number(spec, "virtualNodes", 1, k_most_virtual_nodes));
  if (out.virtual_nodes > 1 && !out.nodes.empty())
    return fail(Code::invalid, "spec.virtualNodes divides a share, and cannot go with "
                               "spec.promoteResources.nodes, which are nodes by name");
  ZOO_TRY(out.exclusive, flag(spec, "exclusive"));
  if (out.exclusive && out.nodes.empty())
    return fail(Code::invalid, "spec.exclusive needs spec.promoteResources.nodes: only nodes by "
                               "name can be one cluster's alone");
  ZOO_TRY(out.weight, number(spec, "weight", 100, k_most_weight));
  ZOO_TRY(const auto dns, text(spec, "dns", "spec.dns"));
  if (!dns.empty() && dns != "coredns" && dns != "none")
    return fail(Code::invalid, "spec.dns must be coredns or none, not '{}'", dns);
  out.dns = dns != "none";
  if (const auto* sync = at(spec, "sync")) {
    if (!sync->is_object()) return fail(Code::invalid, "spec.sync must be an object");
    ZOO_TRY(out.disruption_budgets, flag(*sync, "podDisruptionBudgets", "spec.sync"));
  }
  return {};
}

Result<void> read_names(ClusterSpec& out, const json& spec) {
  const auto add = [&out](const json& value, std::string_view shown) -> Result<void> {
    if (!value.is_string()) return fail(Code::invalid, "{} must be a string", shown);
    auto name = value.get<std::string>();
    const auto bare = name.starts_with("*.") ? name.substr(2) : name;
    if (!is_ip(name) && !is_dns_name(bare))
      return fail(Code::invalid, "{} '{}' is neither a DNS name nor an IP address", shown, name);
    if (out.extra_sans.size() >= k_most_sans)
      return fail(Code::invalid, "{} must be {} at most", shown, k_most_sans);
    out.extra_sans.push_back(std::move(name));
    return {};
  };
  if (const auto* one = at(spec, "externalIP"); one != nullptr && *one != "")
    ZOO_TRY_VOID(add(*one, "spec.externalIP"));
  for (const char* key : {"externalIps", "extraSANs"}) {
    const auto* all = at(spec, key);
    if (all == nullptr) continue;
    if (!all->is_array()) return fail(Code::invalid, "spec.{} must be a list of strings", key);
    for (const auto& each : *all)
      ZOO_TRY_VOID(add(each, fmt::format("spec.{}", key)));
  }
  return {};
}

} // namespace

Result<ClusterSpec> cluster_spec(const json& object) {
  ClusterSpec out;
  const auto* spec = at(object, "spec");
  if (spec == nullptr) return out;
  if (!spec->is_object()) return fail(Code::invalid, "spec must be an object");
  ZOO_TRY_VOID(text(*spec, "kubeconfig", "spec.kubeconfig"));
  if (const auto* promoted = at(*spec, "promoteResources"))
    ZOO_TRY_VOID(read_promoted(out, *promoted));
  ZOO_TRY_VOID(read_names(out, *spec));
  ZOO_TRY_VOID(read_manner(out, *spec));
  ZOO_TRY_VOID(read_limits(out, *spec));
  ZOO_TRY(out.version, text(*spec, "version", "spec.version"));
  if (out.version.starts_with('v')) out.version.erase(0, 1);
  const auto dots = std::count(out.version.begin(), out.version.end(), '.');
  if (!out.version.empty() &&
      (dots != 2 || out.version.find_first_not_of("0123456789.") != std::string::npos ||
       out.version.size() > 20))
    return fail(Code::invalid, "spec.version must be one such as 1.36.3, not '{}'", out.version);
  ZOO_TRY(const auto placement, text(*spec, "placement", "spec.placement"));
  if (!placement.empty() && placement != "local")
    return fail(Code::invalid,
                "spec.placement must be local: the control plane runs beside zood, not '{}'",
                placement);
  ZOO_TRY(out.paused, flag(*spec, "paused"));
  if (const auto* sleep = at(*spec, "sleep")) {
    if (!sleep->is_object()) return fail(Code::invalid, "spec.sleep must be an object");
    ZOO_TRY(const auto after, text(*sleep, "after", "spec.sleep.after"));
    if (!after.empty()) {
      const auto time = config::parse_duration(after);
      if (!time || time->count() < 1'000)
        return fail(Code::invalid,
                    "spec.sleep.after must be a duration of a second or more, such as 30m, not "
                    "'{}'",
                    after);
      out.sleep_after = *time;
    }
  }
  for (const char* key : {"kubeInKubeConfig", "promotePolicies", "pluginSet", "pluginOptions"})
    if (at(*spec, key) != nullptr) out.unused.push_back(fmt::format("spec.{}", key));
  return out;
}

} // namespace zoo::api
