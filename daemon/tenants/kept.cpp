// SPDX-License-Identifier: Apache-2.0
#include "daemon/tenants/kept.hpp"

#include "common/base/log.hpp"
#include "common/kube/client.hpp"
#include "daemon/tenants/ensure.hpp"
#include "daemon/tenants/footprint.hpp"
#include "daemon/tenants/manifests.hpp"
#include "daemon/translate/inside.hpp"
#include "daemon/upstream/bootstrap.hpp"
#include "daemon/upstream/control_api.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

namespace zoo::tenants {
namespace {

using nlohmann::json;
using upstream::ControlApi;

constexpr std::string_view k_config_maps = "/api/v1/configmaps";
constexpr std::string_view k_policies = "/apis/networking.k8s.io/v1/networkpolicies";

std::string config_maps_in(std::string_view space) {
  return kube::path({"api", "v1", "namespaces", space, "configmaps"});
}

std::string policies_in(std::string_view space) {
  return kube::path({"apis", "networking.k8s.io", "v1", "namespaces", space, "networkpolicies"});
}

std::string name_of(const json& manifest) {
  return manifest.at("metadata").at("name").get<std::string>();
}

std::string path_of(const KeptObject& object) {
  return object.collection + kube::path({name_of(object.manifest)});
}

/// Where it differs; "": it is right. What somebody has added to a ConfigMap's data changes nothing
/// of what is read there; in a policy each addition means something.
std::string difference(const json& actual, const json& wanted) {
  if (wanted.at("kind") == "ConfigMap") {
    std::string where;
    const auto data = actual.value("data", json::object());
    return upstream::covers(data, wanted.at("data"), where) ? "" : "/data" + where;
  }
  const auto spec = actual.value("spec", json::object());
  for (const auto& [member, value] : wanted.at("spec").items()) {
    if (spec.value(member, json()) != value) return "/spec/" + member;
  }
  return "";
}

/// A ConfigMap can be made unchangeable: it is made anew then.
Result<void> write_kept(ControlApi& api, const KeptObject& object) {
  auto done = ensure(api, object.collection, object.manifest);
  if (done || done.error().code() != Code::invalid) return done;
  ZOO_TRY_VOID(api.remove_unless(path_of(object), [&](const json& actual) {
    return difference(actual, object.manifest).empty(); // made right meanwhile
  }));
  return ensure(api, object.collection, object.manifest);
}

/// The objects of one kind, each by its namespace.
using Wanted = std::map<std::string, KeptObject>;

struct AllWanted {
  Wanted maps, policies;
  void add(std::string_view id, const std::string& space, const KeptTerms& terms) {
    for (auto& each : kept_objects(id, space, terms)) {
      auto& of_kind = each.manifest.at("kind") == "ConfigMap" ? maps : policies;
      of_kind.emplace(space, std::move(each));
    }
  }
};

/// Takes those away that are as they should be. `prefix`: of the keys that are read.
Result<void> drop_good(ControlApi& api, std::string_view kind, std::string_view name,
                       std::string_view prefix, std::size_t page, Wanted& wanted) {
  if (wanted.empty()) return {};
  return range_objects(api, kind, prefix, page, 0, false,
                       {{"fieldSelector", fmt::format("metadata.name={}", name)}},
                       [&](const json& item) {
                         const auto at = wanted.find(found_of(item).name_space);
                         if (at != wanted.end() && difference(item, at->second.manifest).empty())
                           wanted.erase(at);
                       });
}

Result<void> repair_all(ControlApi& api, std::string_view id, const Wanted& wanted) {
  Result<void> out;
  for (const auto& [space, object] : wanted) {
    auto done = write_kept(api, object);
    if (done) {
      log::warning("tenants", "tenant {}: restored {}", id, path_of(object));
    } else if (done.error().code() != Code::not_found && out) { // the namespace has gone meanwhile
      out = fail(std::move(done).error());
    }
  }
  return out;
}

Result<void> remove_policies(ControlApi& api, std::string_view id,
                             const std::vector<std::string>& spaces) {
  // Without a selector: with one upstream would read on, to the end of everybody's, for a page.
  ZOO_TRY(const auto found, range(api, k_policies, std::string(id) + "-"));
  for (const auto& each : found) {
    if (each.name != translate::k_network_baseline || each.terminating) continue;
    if (std::find(spaces.begin(), spaces.end(), each.name_space) == spaces.end()) continue;
    const auto path = policies_in(each.name_space) + kube::path({each.name});
    ZOO_TRY_VOID(api.remove_read(path, each.uid));
    log::info("tenants", "tenant {}: removed {}", id, path);
  }
  return {};
}

/// What is to be told of one that is not as it should be; none, if it is by now, or its namespace
/// goes.
Result<std::optional<std::string>> fault_of(ControlApi& api, std::string_view space,
                                            const KeptObject& object) {
  const auto actual = api.get(path_of(object));
  std::string where;
  if (actual) {
    where = difference(*actual, object.manifest);
    if (where.empty()) return std::optional<std::string>();
  } else if (actual.error().code() != Code::not_found) {
    return fail(actual.error());
  }
  const auto now = api.get(kube::path({"api", "v1", "namespaces", space}));
  if (!now && now.error().code() != Code::not_found) return fail(now.error());
  if (!now || found_of(*now).terminating) return std::optional<std::string>();
  return std::optional(actual ? "different at " + where : std::string("missing"));
}

} // namespace

std::vector<KeptObject> kept_objects(std::string_view id, std::string_view upstream_name,
                                     const KeptTerms& terms) {
  std::vector<KeptObject> out;
  out.push_back(
      {config_maps_in(upstream_name), root_ca_manifest(id, upstream_name, terms.authorities)});
  if (terms.guards.isolated)
    out.push_back({policies_in(upstream_name), network_manifest(id, upstream_name, terms.guards)});
  return out;
}

std::vector<access::NewObject> kept_texts(const access::View& view,
                                          std::string_view upstream_name) {
  std::vector<access::NewObject> out;
  if (view.authorities == nullptr) return out;
  const KeptTerms terms{*view.authorities, view.guards};
  for (auto& each : kept_objects(view.mapping.id(), upstream_name, terms))
    out.push_back({std::move(each.collection), each.manifest.dump()});
  return out;
}

Result<void> make_kept(ControlApi& api, std::string_view id, const std::string& upstream_name,
                       const KeptTerms& terms) {
  for (const auto& each : kept_objects(id, upstream_name, terms))
    ZOO_TRY_VOID(write_kept(api, each));
  return {};
}

Result<void> repair_kept(ControlApi& api, std::string_view id,
                         const std::vector<std::string>& spaces, const KeptTerms& terms) {
  const auto prefix = std::string(id) + "-";
  const auto page = spaces.size() + 1;
  AllWanted wanted;
  auto& [maps, policies] = wanted;
  for (const auto& space : spaces)
    wanted.add(id, space, terms);
  ZOO_TRY_VOID(drop_good(api, k_config_maps, translate::k_root_ca, prefix, page, maps));
  const auto repaired = repair_all(api, id, maps);
  if (!terms.guards.isolated) {
    ZOO_TRY_VOID(remove_policies(api, id, spaces));
    return repaired;
  }
  ZOO_TRY_VOID(drop_good(api, k_policies, translate::k_network_baseline, prefix, page, policies));
  const auto others = repair_all(api, id, policies);
  return repaired ? others : repaired;
}

Result<bool> all_have_authorities(ControlApi& api) {
  constexpr std::size_t k_page = 500;
  std::set<std::string> without;
  ZOO_TRY_VOID(range_objects(api, "/api/v1/namespaces", {}, k_page, 0, true,
                             {{"labelSelector", std::string(k_tenant_label)}},
                             [&](const json& item) {
                               const auto found = found_of(item);
                               if (!found.terminating) without.insert(found.name);
                             }));
  if (without.empty()) return true;
  ZOO_TRY_VOID(
      range_objects(api, k_config_maps, {}, k_page, 0, true,
                    {{"fieldSelector", fmt::format("metadata.name={}", translate::k_root_ca)}},
                    [&](const json& item) { without.erase(found_of(item).name_space); }));
  return without.empty();
}

Result<std::vector<KeptFault>>
kept_faults(ControlApi& api, const std::map<std::string, std::string>& spaces,
            const std::function<KeptTerms(const std::string&)>& terms_of) {
  constexpr std::size_t k_page = 500, k_most = 50;
  AllWanted wanted;
  auto& [maps, policies] = wanted;
  std::map<std::string, KeptTerms> terms;
  for (const auto& [space, id] : spaces) {
    auto known = terms.find(id);
    if (known == terms.end()) known = terms.emplace(id, terms_of(id)).first;
    wanted.add(id, space, known->second);
  }
  std::vector<KeptFault> out;
  ZOO_TRY_VOID(drop_good(api, k_config_maps, translate::k_root_ca, {}, k_page, maps));
  std::set<std::string> unwanted;
  ZOO_TRY_VOID(range_objects(
      api, k_policies, {}, k_page, 0, false,
      {{"fieldSelector", fmt::format("metadata.name={}", translate::k_network_baseline)}},
      [&](const json& item) {
        const auto space = found_of(item).name_space;
        const auto at = policies.find(space);
        if (at == policies.end()) {
          if (spaces.contains(space)) unwanted.insert(space);
        } else if (difference(item, at->second.manifest).empty()) {
          policies.erase(at);
        }
      }));
  const auto title = [](std::string_view kind, std::string_view name, std::string_view space) {
    return fmt::format("{} {} in namespace {}", kind, name, space);
  };
  for (const auto& [kind, wrong] :
       {std::pair("config map", &maps), std::pair("network policy", &policies)}) {
    for (const auto& [space, object] : *wrong) {
      if (out.size() >= k_most) return out;
      ZOO_TRY(const auto fault, fault_of(api, space, object));
      if (fault)
        out.push_back({title(kind, name_of(object.manifest), space), *fault, spaces.at(space)});
    }
  }
  for (const auto& space : unwanted) {
    if (out.size() >= k_most) return out;
    out.push_back({title("network policy", translate::k_network_baseline, space), "not wanted",
                   spaces.at(space)});
  }
  return out;
}

} // namespace zoo::tenants
