// SPDX-License-Identifier: Apache-2.0
#include "daemon/resources/discovery.hpp"

#include "common/crypto/digest.hpp"
#include "daemon/resources/negotiate.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace zoo::resources {
namespace {

using nlohmann::json;

json api_group(const ServedGroup& group) {
  const json version{{"groupVersion", group.group_version()}, {"version", group.version}};
  return {
      {"name", group.name}, {"versions", json::array({version})}, {"preferredVersion", version}};
}

json resource_list(const ServedGroup& group) {
  json out{{"kind", "APIResourceList"},
           {"apiVersion", "v1"},
           {"groupVersion", group.group_version()},
           {"resources", json::array()}};
  for (const auto& resource : group.resources) {
    json one{{"name", resource.name},
             {"singularName", resource.singular},
             {"namespaced", resource.namespaced},
             {"kind", resource.kind},
             {"verbs", resource.verbs}};
    if (!resource.short_names.empty()) one["shortNames"] = resource.short_names;
    if (!resource.categories.empty()) one["categories"] = resource.categories;
    out["resources"].push_back(std::move(one));
  }
  return out;
}

json aggregated_group(const ServedGroup& group) {
  json resources = json::array();
  for (const auto& resource : group.resources) {
    const std::string name = resource.name;
    const json kind{{"group", group.name}, {"version", group.version}, {"kind", resource.kind}};
    if (const auto slash = name.find('/'); slash != std::string::npos) {
      resources.back()["subresources"].push_back({{"subresource", name.substr(slash + 1)},
                                                  {"responseKind", kind},
                                                  {"verbs", resource.verbs}});
      continue;
    }
    json one{{"resource", name},
             {"responseKind", kind},
             {"scope", resource.namespaced ? "Namespaced" : "Cluster"},
             {"singularResource", resource.singular},
             {"verbs", resource.verbs}};
    if (!resource.short_names.empty()) one["shortNames"] = resource.short_names;
    if (!resource.categories.empty()) one["categories"] = resource.categories;
    resources.push_back(std::move(one));
  }
  return {{"metadata", {{"name", group.name}, {"creationTimestamp", nullptr}}},
          {"versions", json::array({{{"version", group.version},
                                     {"freshness", "Current"},
                                     {"resources", std::move(resources)}}})}};
}

/// Aggregated discovery in the first version the client names, else nothing.
std::optional<Answer> aggregated(const Request& request, json items) {
  for (const auto& entry : parse_accept(request.headers.get("accept"))) {
    if (entry.type != "application/json") continue;
    if (entry.as.empty()) return {};
    if (entry.as != "APIGroupDiscoveryList" || entry.group != "apidiscovery.k8s.io" ||
        (entry.version != "v2" && entry.version != "v2beta1"))
      continue;
    auto answer = json_answer(200, {{"kind", "APIGroupDiscoveryList"},
                                    {"apiVersion", "apidiscovery.k8s.io/" + entry.version},
                                    {"metadata", json::object()},
                                    {"items", std::move(items)}});
    answer.content_type =
        "application/json;g=apidiscovery.k8s.io;v=" + entry.version + ";as=APIGroupDiscoveryList";
    answer.headers.add("Vary", "Accept");
    return answer;
  }
  return {};
}

/// /api and /api/<version>.
std::optional<Answer> core_answer(const Request& request, std::span<const ServedGroup> groups) {
  const auto& path = request.segments;
  json items = json::array(), versions = json::array();
  for (const auto& group : groups) {
    if (!group.name.empty()) continue;
    if (path.size() == 2 && path[1] == group.version)
      return cacheable(request, json_answer(200, resource_list(group)));
    items.push_back(aggregated_group(group));
    versions.push_back(group.version);
  }
  if (path.size() != 1) return {};
  if (auto whole = aggregated(request, std::move(items))) return cacheable(request, *whole);
  return cacheable(request, json_answer(200, {{"kind", "APIVersions"},
                                              {"versions", std::move(versions)},
                                              {"serverAddressByClientCIDRs", json::array()}}));
}

} // namespace

Answer cacheable(const Request& request, Answer answer) {
  const auto tag =
      "\"" + crypto::hex_encode(crypto::view(crypto::sha256(answer.content_type + answer.body))) +
      "\"";
  answer.headers.add("ETag", tag);
  answer.headers.add("Cache-Control", "public");
  const auto known = request.headers.get("if-none-match");
  if (known.find(tag) != std::string_view::npos) {
    answer.status = 304;
    answer.body.clear();
  }
  return answer;
}

std::vector<ServedGroup> groups_of(std::span<const KindPtr> kinds) {
  std::vector<ServedGroup> out;
  for (const auto& kind : kinds) {
    auto at = std::find_if(out.begin(), out.end(), [&](const ServedGroup& group) {
      return group.name == kind->group && group.version == kind->version;
    });
    if (at == out.end()) at = out.insert(at, {kind->group, kind->version, {}});
    ServedResource served{kind->resource,   kind->kind,      {}, kind->singular, kind->short_names,
                          kind->categories, kind->namespaced};
    for (const auto verb : kind->verbs) {
      const auto& untold = kind->untold;
      if (std::find(untold.begin(), untold.end(), verb) == untold.end())
        served.verbs.emplace_back(verb_name(verb));
    }
    std::sort(served.verbs.begin(), served.verbs.end());
    at->resources.push_back(std::move(served));
    for (const auto& action : kind->actions)
      at->resources.push_back({.name = kind->resource + "/" + action.name,
                               .kind = action.kind,
                               .verbs = {std::string(action.verb())},
                               .namespaced = kind->namespaced});
  }
  return out;
}

std::optional<Answer> discovery_answer(const Request& request,
                                       std::span<const ServedGroup> groups) {
  const auto& path = request.segments;
  if (!path.empty() && path[0] == "api") return core_answer(request, groups);
  if (path.empty() || path[0] != "apis" || path.size() > 3) return {};
  if (path.size() == 1) {
    json items = json::array(), list = json::array();
    for (const auto& group : groups) {
      if (group.name.empty()) continue;
      items.push_back(aggregated_group(group));
      list.push_back(api_group(group));
    }
    if (auto whole = aggregated(request, std::move(items))) return cacheable(request, *whole);
    return cacheable(request, json_answer(200, {{"kind", "APIGroupList"},
                                                {"apiVersion", "v1"},
                                                {"groups", std::move(list)}}));
  }
  for (const auto& group : groups) {
    if (group.name.empty() || path[1] != group.name) continue;
    if (path.size() == 2) {
      auto one = api_group(group);
      one["kind"] = "APIGroup";
      one["apiVersion"] = "v1";
      return cacheable(request, json_answer(200, one));
    }
    if (path[2] == group.version) return cacheable(request, json_answer(200, resource_list(group)));
  }
  return {};
}

} // namespace zoo::resources
