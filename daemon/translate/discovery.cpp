// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/discovery.hpp"

#include "common/base/json_text.hpp"
#include "daemon/translate/discovery_json.hpp"
#include "daemon/translate/rules.hpp"
#include "daemon/translate/target.hpp"

#include <algorithm>
#include <set>

namespace zoo::translate {
namespace {

CatalogResource parse_resource(JsonNode node) {
  CatalogResource out;
  out.name = node["resource"].string();
  out.singular = node["singularResource"].string();
  const auto kind = node["responseKind"];
  out.kind = kind["kind"].string();
  out.kind_group = kind["group"].string();
  out.kind_version = kind["version"].string();
  out.namespaced = node["scope"].string() == "Namespaced";
  out.verbs = node["verbs"].strings();
  out.short_names = node["shortNames"].strings();
  out.categories = node["categories"].strings();
  for (auto each = node["subresources"].first(); each; each = each.next()) {
    const auto sub_kind = each["responseKind"];
    out.subresources.push_back({each["subresource"].string(), sub_kind["kind"].string(),
                                sub_kind["group"].string(), sub_kind["version"].string(),
                                each["verbs"].strings()});
  }
  return out;
}

CatalogGroup parse_group(JsonNode item) {
  CatalogGroup group;
  group.name = item["metadata"]["name"].string();
  for (auto version = item["versions"].first(); version; version = version.next()) {
    CatalogVersion parsed;
    parsed.version = version["version"].string();
    parsed.freshness = version["freshness"].string();
    for (auto each = version["resources"].first(); each; each = each.next())
      parsed.resources.push_back(parse_resource(each));
    group.versions.push_back(std::move(parsed));
  }
  return group;
}

std::string string_array(const std::vector<std::string>& values) {
  std::string out = "[";
  for (const auto& value : values) {
    if (out.size() > 1) out += ',';
    append_json_quoted(out, value);
  }
  return out + ']';
}

/// `{"group":...,"version":...,"kind":...}`: the group of a kind outward.
std::string response_kind(const Mapping& mapping, std::string_view group, std::string_view version,
                          std::string_view kind) {
  const auto own = mapping.group_out(group);
  return fmt::format("{{\"group\":{},\"version\":{},\"kind\":{}}}",
                     json_quote(own.value_or(std::string_view())), json_quote(version),
                     json_quote(kind));
}

std::string aggregated_resource(const Mapping& mapping, const CatalogResource& resource) {
  auto out = fmt::format(
      "{{\"resource\":{},\"responseKind\":{},\"scope\":\"{}\",\"singularResource\":{},\"verbs\":{}",
      json_quote(resource.name),
      response_kind(mapping, resource.kind_group, resource.kind_version, resource.kind),
      resource.namespaced ? "Namespaced" : "Cluster", json_quote(resource.singular),
      string_array(resource.verbs));
  if (!resource.short_names.empty()) out += ",\"shortNames\":" + string_array(resource.short_names);
  if (!resource.categories.empty()) out += ",\"categories\":" + string_array(resource.categories);
  if (!resource.subresources.empty()) {
    out += ",\"subresources\":[";
    for (const auto& each : resource.subresources) {
      if (&each != &resource.subresources.front()) out += ',';
      out += fmt::format(
          "{{\"subresource\":{},\"responseKind\":{},\"verbs\":{}}}", json_quote(each.name),
          response_kind(mapping, each.group, each.version, each.kind), string_array(each.verbs));
    }
    out += ']';
  }
  return out + '}';
}

/// One APIResource; group and version are written only where they differ from the list's.
std::string legacy_resource(const Mapping& mapping, const CatalogResource& resource,
                            std::string_view group, std::string_view version,
                            const CatalogSubresource* sub) {
  const auto name = sub ? resource.name + "/" + sub->name : resource.name;
  const auto& kind_group = sub ? sub->group : resource.kind_group;
  const auto& kind_version = sub ? sub->version : resource.kind_version;
  auto out = fmt::format("{{\"name\":{},\"singularName\":{},\"namespaced\":{}", json_quote(name),
                         json_quote(sub ? "" : resource.singular), resource.namespaced);
  if (!kind_version.empty() && (kind_group != group || kind_version != version)) {
    const auto own = mapping.group_out(kind_group);
    out += fmt::format(",\"group\":{},\"version\":{}", json_quote(own.value_or(std::string_view())),
                       json_quote(kind_version));
  }
  out += fmt::format(",\"kind\":{},\"verbs\":{}", json_quote(sub ? sub->kind : resource.kind),
                     string_array(sub ? sub->verbs : resource.verbs));
  if (!sub && !resource.short_names.empty())
    out += ",\"shortNames\":" + string_array(resource.short_names);
  if (!sub && !resource.categories.empty())
    out += ",\"categories\":" + string_array(resource.categories);
  return out + '}';
}

bool any_visible(const Viewer& viewer, const CatalogGroup& group, const CatalogVersion& version) {
  return std::any_of(version.resources.begin(), version.resources.end(),
                     [&](const CatalogResource& each) {
                       return visible_resource(viewer, group.name, each).has_value();
                     });
}

/// The versions of a group that hold anything for the tenant.
std::vector<const CatalogVersion*> visible_versions(const Viewer& viewer,
                                                    const CatalogGroup& group) {
  std::vector<const CatalogVersion*> out;
  for (const auto& version : group.versions) {
    if (any_visible(viewer, group, version)) out.push_back(&version);
  }
  return out;
}

/// `"name":...,"versions":[...],"preferredVersion":{...}`, as APIGroup and its list have it.
std::string group_members(const Viewer& viewer, const CatalogGroup& group, std::string_view name) {
  const auto versions = visible_versions(viewer, group);
  const auto entry = [&](const CatalogVersion* version) {
    return fmt::format("{{\"groupVersion\":{},\"version\":{}}}",
                       json_quote(fmt::format("{}/{}", name, version->version)),
                       json_quote(version->version));
  };
  auto out = fmt::format("\"name\":{},\"versions\":[", json_quote(name));
  for (const auto* version : versions) {
    if (version != versions.front()) out += ',';
    out += entry(version);
  }
  out += ']';
  if (!versions.empty()) out += ",\"preferredVersion\":" + entry(versions.front());
  return out;
}

} // namespace

bool CatalogResource::has_verb(std::string_view verb) const {
  return std::find(verbs.begin(), verbs.end(), verb) != verbs.end();
}

namespace {

/// nullopt: the tenant does not see it.
std::optional<Treatment> visible_as(const Viewer& viewer, std::string_view upstream_group,
                                    const CatalogResource& resource) {
  if (!viewer.fenced()) return Treatment::served;
  const auto* facts = find_facts(upstream_group, resource.name);
  const bool custom = !builtin_group(upstream_group);
  const bool shared_cluster =
      custom && !upstream_group.starts_with(viewer.mapping.prefix()) && !resource.namespaced;
  const auto treatment =
      facts ? facts->treatment : (shared_cluster ? Treatment::read_only : Treatment::served);
  if (treatment == Treatment::hidden) return std::nullopt;
  // A kind of a built-in group that this zood has no rules for: how it would have to be fenced is
  // not known either.
  if (!custom && find_resource(upstream_group, "", resource.name) == nullptr) return std::nullopt;
  return treatment;
}

} // namespace

std::optional<CatalogResource> visible_resource(const Viewer& viewer,
                                                std::string_view upstream_group,
                                                const CatalogResource& resource) {
  const auto treatment = visible_as(viewer, upstream_group, resource);
  if (!treatment) return std::nullopt;
  auto out = resource;
  const bool mixed = *treatment == Treatment::mixed;
  if (*treatment != Treatment::read_only && !mixed) return out;
  const auto reduce = [](std::vector<std::string>& verbs) {
    std::erase_if(verbs, [](const std::string& verb) {
      return verb != "get" && verb != "list" && verb != "watch";
    });
  };
  std::erase_if(out.subresources,
                [](const CatalogSubresource& each) { return each.name != "status"; });
  if (mixed) return out;
  reduce(out.verbs);
  for (auto& each : out.subresources)
    reduce(each.verbs);
  return out;
}

Result<void> Catalog::Reader::feed(std::string_view chunk) {
  size_ += chunk.size();
  if (size_ > k_limit)
    return fail(Code::too_large, "upstream's discovery document is larger than {} bytes", k_limit);
  if (auto fed = framer_.feed(chunk); !fed)
    return fail(std::move(fed).error().context("in upstream's discovery document"));
  if (broken_) return fail(Code::internal, "upstream's discovery document is not JSON");
  return {};
}

Result<Catalog::Document> Catalog::Reader::finish() {
  const auto tree = JsonTree::parse(around_);
  if (!framer_.finish() || !tree)
    return fail(Code::internal, "upstream's discovery document is not JSON");
  const auto root = tree->root();
  if (root["kind"].string() != "APIGroupDiscoveryList" || !root["items"].is(JsonType::array))
    return fail(Code::internal, "upstream's discovery document is no APIGroupDiscoveryList");
  return std::move(out_);
}

void Catalog::Reader::on_frame(std::string_view value) {
  if (at_ < before_.size() && before_[at_]->text == value) return out_.push_back(before_[at_++]);
  const auto tree = JsonTree::parse(value);
  if (!tree) {
    broken_ = true;
    return;
  }
  auto group = parse_group(tree->root());
  // One that was there before sets the place behind itself, one that is new leaves it.
  if (const auto* old = catalog_.named(group.name)) {
    const auto place = old->place;
    if (place < before_.size() && before_[place].get() == old->read) {
      at_ = place + 1;
      if (before_[place]->text == value) return out_.push_back(before_[place]);
    }
  }
  out_.push_back(std::make_shared<const Read>(Read{std::move(group), std::string(value)}));
}

Result<Catalog> Catalog::parse(std::string_view api_json, std::string_view apis_json) {
  const Catalog none;
  Reader api(none, Reader::Of::api), apis(none, Reader::Of::apis);
  ZOO_TRY_VOID(api.feed(api_json));
  ZOO_TRY_VOID(apis.feed(apis_json));
  ZOO_TRY(auto first, api.finish());
  ZOO_TRY(auto second, apis.finish());
  return none.renewed(std::move(first), std::move(second));
}

Catalog Catalog::renewed(std::optional<Document> api, std::optional<Document> apis) const {
  Catalog out;
  if (!api) api = api_;
  if (!apis) apis = apis_;
  out.api_ = *std::move(api);
  out.apis_ = *std::move(apis);
  out.by_name_.reserve(out.api_.size() + out.apis_.size());
  for (const auto* document : {&out.api_, &out.apis_}) {
    for (std::size_t place = 0; place < document->size(); ++place) {
      const auto* read = (*document)[place].get();
      out.by_name_.push_back({read, place});
      if (builtin_group(read->group.name)) out.builtin_.push_back(&read->group);
    }
  }
  const auto name = [](const Named& each) -> const std::string& { return each.read->group.name; };
  const auto less = [&](const Named& a, const Named& b) { return name(a) < name(b); };
  const auto same = [&](const Named& a, const Named& b) { return name(a) == name(b); };
  auto& all = out.by_name_;
  std::stable_sort(all.begin(), all.end(), less);
  all.erase(std::unique(all.begin(), all.end(), same), all.end());
  return out;
}

namespace {

/// The place of the first group that is not called less than `name`.
template <typename Groups>
auto from_name(const Groups& groups, std::string_view name) {
  return std::lower_bound(
      groups.begin(), groups.end(), name,
      [](const auto& each, std::string_view sought) { return each.read->group.name < sought; });
}

} // namespace

const Catalog::Named* Catalog::named(std::string_view group) const {
  const auto found = from_name(by_name_, group);
  return found == by_name_.end() || found->read->group.name != group ? nullptr : &*found;
}

const CatalogGroup* Catalog::find_group(std::string_view group) const {
  const auto* found = named(group);
  return found == nullptr ? nullptr : &found->read->group;
}

const CatalogResource* Catalog::find(std::string_view group, std::string_view version,
                                     std::string_view resource) const {
  const auto* found = find_group(group);
  if (found == nullptr) return nullptr;
  for (const auto& each : found->versions) {
    if (each.version != version) continue;
    for (const auto& candidate : each.resources) {
      if (candidate.name == resource) return &candidate;
    }
  }
  return nullptr;
}

std::string Catalog::preferred_version(std::string_view group) const {
  const auto* found = find_group(group);
  return found == nullptr || found->versions.empty() ? "" : found->versions.front().version;
}

const CatalogResource* Catalog::find_visible(const Viewer& viewer, std::string_view group,
                                             std::string_view version,
                                             std::string_view resource) const {
  const auto upstream = viewer.mapping.group_in(group);
  const auto* found = find(upstream, version, resource);
  return found != nullptr && visible_as(viewer, upstream, *found) ? found : nullptr;
}

std::vector<const CatalogGroup*> Catalog::groups_with_prefix(std::string_view prefix) const {
  std::vector<const CatalogGroup*> out;
  auto at = from_name(by_name_, prefix);
  for (; at != by_name_.end() && at->read->group.name.starts_with(prefix); ++at)
    out.push_back(&at->read->group);
  return out;
}

std::vector<Catalog::Seen> Catalog::seen(const Viewer& viewer) const {
  std::vector<Seen> out;
  if (viewer.mapping.identity()) {
    for (const auto& each : apis_) {
      if (!each->group.name.empty()) out.push_back({&each->group, each->group.name});
    }
    return out;
  }
  for (const auto* group : builtin_) {
    if (!group->name.empty()) out.push_back({group, group->name});
  }
  std::set<std::string_view> taken;
  for (const auto& shared : viewer.mapping.shared().groups) {
    const auto* group = find_group(shared);
    if (group == nullptr || builtin_group(shared)) continue;
    out.push_back({group, group->name});
    taken.insert(group->name);
  }
  for (const auto* group : groups_with_prefix(viewer.mapping.prefix())) {
    const auto name = viewer.mapping.group_out(group->name);
    if (name && !name->empty() && !taken.contains(*name))
      out.push_back({group, std::string(*name)});
  }
  std::erase_if(out,
                [&](const Seen& each) { return visible_versions(viewer, *each.group).empty(); });
  return out;
}

std::optional<Catalog::Seen> Catalog::seen_group(const Viewer& viewer,
                                                 std::string_view tenant_group) const {
  const auto* group = find_group(viewer.mapping.group_in(tenant_group));
  if (group == nullptr || visible_versions(viewer, *group).empty()) return std::nullopt;
  return Seen{group, std::string(tenant_group)};
}

std::string Catalog::api_versions(std::string_view server_address) const {
  std::vector<std::string> versions;
  if (const auto* core = find_group("")) {
    for (const auto& each : core->versions)
      versions.push_back(each.version);
  }
  return fmt::format("{{\"kind\":\"APIVersions\",\"versions\":{},\"serverAddressByClientCIDRs\":"
                     "[{{\"clientCIDR\":\"0.0.0.0/0\",\"serverAddress\":{}}}]}}",
                     string_array(versions), json_quote(server_address));
}

std::string Catalog::group_list(const Viewer& viewer) const {
  std::string out = "{\"kind\":\"APIGroupList\",\"apiVersion\":\"v1\",\"groups\":[";
  bool first = true;
  for (const auto& each : seen(viewer)) {
    out += first ? "{" : ",{";
    first = false;
    out += group_members(viewer, *each.group, each.name) + '}';
  }
  return out + "]}";
}

std::optional<std::string> Catalog::group(const Viewer& viewer, std::string_view group) const {
  const auto found = group.empty() ? std::nullopt : seen_group(viewer, group);
  if (!found) return std::nullopt;
  return "{\"kind\":\"APIGroup\",\"apiVersion\":\"v1\"," +
         group_members(viewer, *found->group, found->name) + '}';
}

std::optional<std::string> Catalog::resource_list(const Viewer& viewer, std::string_view group,
                                                  std::string_view version) const {
  const auto found = seen_group(viewer, group);
  if (!found) return std::nullopt;
  for (const auto* each : visible_versions(viewer, *found->group)) {
    if (each->version != version) continue;
    const auto name = group.empty() ? std::string(version) : fmt::format("{}/{}", group, version);
    auto out = fmt::format(
        "{{\"kind\":\"APIResourceList\",\"apiVersion\":\"v1\",\"groupVersion\":{},\"resources\":[",
        json_quote(name));
    bool first = true;
    for (const auto& candidate : each->resources) {
      const auto resource = visible_resource(viewer, found->group->name, candidate);
      if (!resource) continue;
      // Bodyless subresource-only entries (a resource without verbs) have no line of their own.
      if (!resource->verbs.empty()) {
        out += first ? "" : ",";
        first = false;
        out += legacy_resource(viewer.mapping, *resource, found->group->name, version, nullptr);
      }
      for (const auto& sub : resource->subresources) {
        out += first ? "" : ",";
        first = false;
        out += legacy_resource(viewer.mapping, *resource, found->group->name, version, &sub);
      }
    }
    return out + "]}";
  }
  return std::nullopt;
}

std::string Catalog::aggregated(const Viewer& viewer, bool core) const {
  std::string out = "{\"kind\":\"APIGroupDiscoveryList\",\"apiVersion\":\"apidiscovery.k8s.io/v2\","
                    "\"metadata\":{},\"items\":[";
  std::vector<Seen> groups;
  if (core) {
    if (const auto* group = find_group("")) groups.push_back({group, ""});
  } else {
    groups = seen(viewer);
  }
  bool first_group = true;
  for (const auto& each : groups) {
    out += first_group ? "" : ",";
    first_group = false;
    out += core ? std::string("{\"metadata\":{}")
                : "{\"metadata\":{\"name\":" + json_quote(each.name) + '}';
    out += ",\"versions\":[";
    bool first_version = true;
    for (const auto* version : visible_versions(viewer, *each.group)) {
      out += first_version ? "" : ",";
      first_version = false;
      out += "{\"version\":" + json_quote(version->version) + ",\"resources\":[";
      bool first = true;
      for (const auto& candidate : version->resources) {
        const auto resource = visible_resource(viewer, each.group->name, candidate);
        if (!resource) continue;
        out += first ? "" : ",";
        first = false;
        out += aggregated_resource(viewer.mapping, *resource);
      }
      out += ']';
      if (!version->freshness.empty()) out += ",\"freshness\":" + json_quote(version->freshness);
      out += '}';
    }
    out += "]}";
  }
  return out + "]}";
}

} // namespace zoo::translate
