// SPDX-License-Identifier: Apache-2.0
#include "daemon/tenants/footprint.hpp"

#include "common/crypto/digest.hpp"
#include "common/kube/client.hpp"
#include "daemon/translate/framer.hpp"
#include "daemon/translate/headers.hpp"
#include "daemon/translate/inside.hpp"
#include "daemon/translate/watch_event.hpp"
#include "daemon/upstream/control_api.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <set>

namespace zoo::tenants {
namespace {

using nlohmann::json;
using upstream::ControlApi;

constexpr std::size_t k_page = 500;
constexpr std::size_t k_most_alone = 100; ///< more are read with everybody's

constexpr std::array<std::pair<std::string_view, std::string_view>, 15> k_private{{
    {"admissionregistration.k8s.io", "mutatingadmissionpolicies"},
    {"admissionregistration.k8s.io", "mutatingadmissionpolicybindings"},
    {"admissionregistration.k8s.io", "mutatingwebhookconfigurations"},
    {"admissionregistration.k8s.io", "validatingadmissionpolicies"},
    {"admissionregistration.k8s.io", "validatingadmissionpolicybindings"},
    {"admissionregistration.k8s.io", "validatingwebhookconfigurations"},
    {"certificates.k8s.io", "certificatesigningrequests"},
    {"certificates.k8s.io", "clustertrustbundles"},
    {"networking.k8s.io", "ingressclasses"},
    {"node.k8s.io", "runtimeclasses"},
    {"rbac.authorization.k8s.io", "clusterroles"},
    {"resource.k8s.io", "deviceclasses"},
    {"scheduling.k8s.io", "priorityclasses"},
    {"storage.k8s.io", "storageclasses"},
    {"storage.k8s.io", "volumeattributesclasses"},
}};

std::string name_prefix(std::string_view id) { return std::string(id) + "-"; }

bool has_verb(const json& verbs, std::string_view verb) {
  return std::find(verbs.begin(), verbs.end(), verb) != verbs.end();
}

/// Of an item of a list of one namespace, or of all.
std::string key_of(const json& item, bool one_namespace) {
  const auto metadata = item.value("metadata", json::object());
  const auto name_space = metadata.value("namespace", std::string());
  const auto name = metadata.value("name", std::string());
  return name_space.empty() || one_namespace ? name : name_space + "/" + name;
}

/// The kinds of the groups that are wanted, in one of upstream's discovery documents.
class KindReader final : public translate::FrameHandler {
public:
  KindReader(const std::function<bool(std::string_view)>& wanted, std::vector<Kind>& out)
      : wanted_(wanted), out_(out) {}

  void on_frame(std::string_view text) override {
    any_ = true;
    if (const auto key = translate::object_key(text); key && !wanted_(key->name)) return;
    const auto group = json::parse(text, nullptr, false);
    if (!group.is_object()) {
      broken_ = true;
      return;
    }
    const auto name = group.value("metadata", json::object()).value("name", std::string());
    std::set<std::string> seen;
    // Versions come in order of preference.
    for (const auto& version : group.value("versions", json::array())) {
      for (const auto& resource : version.value("resources", json::array())) {
        Kind kind;
        kind.resource = resource.value("resource", "");
        if (kind.resource.empty() || !seen.insert(kind.resource).second) continue;
        kind.group = name;
        kind.version = version.value("version", "");
        kind.namespaced = resource.value("scope", "") == "Namespaced";
        const auto verbs = resource.value("verbs", json::array());
        // Of a definition that is going upstream names neither create, update nor patch, and takes
        // patches all the same.
        const bool going = !has_verb(verbs, "create") && !has_verb(verbs, "update");
        kind.removable = has_verb(verbs, "list") && has_verb(verbs, "delete") &&
                         (has_verb(verbs, "patch") || going);
        out_.push_back(std::move(kind));
      }
    }
  }
  bool broken() const { return broken_; }
  bool any() const { return any_; } ///< a group, wanted or not

private:
  const std::function<bool(std::string_view)>& wanted_;
  std::vector<Kind>& out_;
  bool broken_ = false, any_ = false;
};

std::optional<Volume> volume_of(const json& item, std::string_view prefix) {
  const auto found = found_of(item);
  const auto spec = item.value("spec", json::object());
  const auto claim = spec.value("claimRef", json::object()).value("namespace", std::string());
  // A volume of the tenant's name that somebody else claims is somebody else's by now.
  if (!(claim.empty() ? found.name : claim).starts_with(prefix)) return std::nullopt;
  const auto annotations =
      item.value("metadata", json::object()).value("annotations", json::object());
  return Volume{found.name, found.uid, claim,
                annotations.contains("pv.kubernetes.io/provisioned-by") &&
                    spec.value("persistentVolumeReclaimPolicy", "") == "Delete",
                found.terminating};
}

/// Whether the document has any group, wanted or not.
Result<bool> add_kinds(ControlApi& api, std::string_view root,
                       const std::function<bool(std::string_view)>& wanted,
                       std::vector<Kind>& out) {
  ZOO_TRY(const auto document, api.request("GET", root, {}, {}, translate::k_aggregated_accept));
  if (document.status != 200) return fail(kube::error_of(document));
  KindReader reader(wanted, out);
  translate::Framer framer(translate::Shape::list, document.body.size(), reader);
  ZOO_TRY_VOID(framer.feed(document.body));
  ZOO_TRY_VOID(framer.finish());
  if (reader.broken())
    return fail(Code::unavailable, "the upstream's discovery at {} is not JSON", root);
  return reader.any();
}

} // namespace

std::string_view id_of_name(std::string_view name) {
  constexpr std::size_t k_id = 6; // bytes of a tenant's ID (api::validate_id)
  return name.size() > k_id + 1 && name[k_id] == '-' ? name.substr(0, k_id) : std::string_view();
}

std::string position(std::string_view prefix, std::int64_t revision) {
  const json token = {{"v", "meta.k8s.io/v1"},
                      {"rv", revision},
                      {"start", std::string(prefix) + std::string(1, '\0')}};
  return crypto::base64url_encode(token.dump());
}

std::int64_t revision_of(const json& list) {
  const auto text = list.value("/metadata/resourceVersion"_json_pointer, std::string());
  std::int64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size() && out > 0 ? out : k_latest;
}

std::string Kind::collection(std::string_view name_space) const {
  auto out = group.empty() ? kube::path({"api", version}) : kube::path({"apis", group, version});
  if (!name_space.empty()) out += kube::path({"namespaces", name_space});
  return out + kube::path({resource});
}

std::string Kind::title() const { return group.empty() ? resource : resource + "." + group; }

Result<std::vector<Kind>> discover(ControlApi& api,
                                   const std::function<bool(std::string_view)>& wanted) {
  std::vector<Kind> out;
  ZOO_TRY(const bool core, add_kinds(api, "/api", wanted, out));
  ZOO_TRY(const bool others, add_kinds(api, "/apis", wanted, out));
  if (!core && !others) {
    return fail(Code::unavailable, "the upstream's aggregated discovery is empty: Kubernetes 1.33 "
                                   "or newer is needed");
  }
  return out;
}

std::vector<Kind> private_cluster_kinds(const std::vector<Kind>& kinds) {
  std::vector<Kind> out;
  for (const auto& kind : kinds) {
    const std::pair<std::string_view, std::string_view> key{kind.group, kind.resource};
    if (!kind.namespaced && std::find(k_private.begin(), k_private.end(), key) != k_private.end()) {
      out.push_back(kind);
    }
  }
  return out;
}

Found found_of(const json& object) {
  const auto metadata = object.value("metadata", json::object());
  Found out;
  out.name = metadata.value("name", "");
  out.name_space = metadata.value("namespace", "");
  out.uid = metadata.value("uid", "");
  out.resource_version = metadata.value("resourceVersion", "");
  out.terminating = metadata.contains("deletionTimestamp");
  const auto labels = metadata.value("labels", json::object());
  if (const auto label = labels.find(k_tenant_label); label != labels.end()) {
    out.labelled = true;
    out.label = label->is_string() ? label->get<std::string>() : std::string();
  }
  if (const auto inside = labels.find(translate::k_inside);
      inside != labels.end() && inside->is_string()) {
    out.inside = inside->get<std::string>();
  }
  for (const auto& finalizer : metadata.value("finalizers", json::array()))
    if (finalizer.is_string()) out.finalizers.push_back(finalizer.get<std::string>());
  return out;
}

Result<void> range_objects(ControlApi& api, std::string_view collection, std::string_view prefix,
                           std::size_t page, std::size_t most, bool metadata_only,
                           const kube::Query& selectors,
                           const std::function<void(const json&)>& each) {
  std::size_t count = 0;
  bool whole = prefix.empty();
  const bool one_namespace = collection.find("/namespaces/") != std::string_view::npos;
  std::string next = whole ? std::string() : position(prefix);
  std::size_t smaller = 1; // what pages are divided by
  for (bool first = true;;) {
    const auto limit = std::max<std::size_t>(1, (whole ? k_page : page) / smaller);
    kube::Query query{{"limit", std::to_string(limit)}};
    if (!next.empty()) query.emplace_back("continue", next);
    query.insert(query.end(), selectors.begin(), selectors.end());
    auto list = api.get(kube::with_query(collection, query),
                        metadata_only ? k_metadata_list : std::string_view());
    if (!list) {
      const auto code = list.error().code();
      // Large objects, which may be those of strangers behind the range.
      if (code == Code::too_large && limit > 1) {
        smaller *= 2;
        continue;
      }
      if (first && !whole &&
          (code == Code::bad_request || code == Code::expired || code == Code::invalid)) {
        whole = true; // a position of our making is not taken here: read all
        next.clear();
        continue;
      }
      return fail(std::move(list).error());
    }
    first = false;
    const auto items = list->find("items");
    const bool empty = items == list->end() || !items->is_array() || items->empty();
    if (!empty) {
      for (const auto& item : *items) {
        const auto key = key_of(item, one_namespace);
        if (!key.starts_with(prefix)) {
          if (whole || key < prefix) continue; // before it: the position was not taken
          return {};
        }
        each(item);
        if (++count == most) return {};
      }
    }
    next = list->value("metadata", json::object()).value("continue", "");
    if (next.empty() || (empty && !whole)) return {};
  }
}

Result<std::vector<Found>> range(ControlApi& api, std::string_view collection,
                                 std::string_view prefix, std::size_t most,
                                 std::string_view field_selector) {
  std::vector<Found> out;
  const std::size_t page = most == 0 ? 50 : most;
  kube::Query selectors;
  if (!field_selector.empty()) selectors = {{"fieldSelector", std::string(field_selector)}};
  ZOO_TRY_VOID(range_objects(api, collection, prefix, page, most, true, selectors,
                             [&out](const json& item) { out.push_back(found_of(item)); }));
  return out;
}

Result<bool> takes_positions(ControlApi& api) {
  const auto page = api.get(
      kube::with_query("/api/v1/namespaces", {{"limit", "1"}, {"continue", position("kube-p")}}),
      k_metadata_list);
  if (!page) {
    const auto code = page.error().code();
    const bool refused =
        code == Code::bad_request || code == Code::expired || code == Code::invalid;
    return refused ? Result<bool>(false) : fail(page.error());
  }
  const auto items = page->value("items", json::array());
  return items.size() == 1 && found_of(items.front()).name == "kube-public" &&
         !page->value("/metadata/continue"_json_pointer, std::string()).empty();
}

std::string_view group_of_crd(std::string_view name) {
  const auto dot = name.find('.');
  return dot == std::string_view::npos ? std::string_view() : name.substr(dot + 1);
}

Result<void> crds_of(ControlApi& api, const std::vector<std::string>& ids,
                     const std::function<void(const json&)>& each) {
  // In this order: one that gets its label between the two is met twice, not never.
  for (const auto& selector : {fmt::format("!{}", k_tenant_label),
                               fmt::format("{} in ({})", k_tenant_label, fmt::join(ids, ","))}) {
    ZOO_TRY_VOID(
        range_objects(api, k_crds, {}, k_page, 0, true, {{"labelSelector", selector}}, each));
  }
  return {};
}

Result<std::vector<Found>> tenant_crds(ControlApi& api, std::string_view id) {
  std::vector<Found> out;
  const auto prefix = name_prefix(id);
  ZOO_TRY_VOID(crds_of(api, {std::string(id)}, [&](const json& item) {
    auto found = found_of(item);
    const auto group = group_of_crd(found.name);
    if (group.starts_with(prefix) && group.size() > prefix.size()) out.push_back(std::move(found));
  }));
  return out;
}

Result<void> list_nothing(ControlApi& api, const Kind& kind) {
  const kube::Query query{
      {"labelSelector", "zoo.kubezoo.io/nothing"}, {"limit", "1"}, {"resourceVersion", "0"}};
  ZOO_TRY_VOID(api.get(kube::with_query(kind.collection(), query), k_metadata_list));
  return {};
}

Result<std::vector<Volume>> tenant_volumes(ControlApi& api, std::string_view id,
                                           const std::optional<Names>& claimed) {
  std::vector<Volume> out;
  const auto prefix = name_prefix(id);
  const auto take = [&](const json& item) {
    if (auto volume = volume_of(item, prefix)) out.push_back(*std::move(volume));
  };
  if (!claimed || claimed->size() > k_most_alone) {
    ZOO_TRY_VOID(range_objects(api, k_volumes, {}, k_page, 0, false, {}, take));
    return out;
  }
  ZOO_TRY(const auto named, range(api, k_volumes, prefix));
  auto names = *claimed;
  for (const auto& each : named)
    names.insert(each.name);
  for (const auto& name : names) {
    const auto item = api.get(std::string(k_volumes) + kube::path({name}));
    if (!item && item.error().code() != Code::not_found) return fail(item.error());
    if (item) take(*item);
  }
  return out;
}

} // namespace zoo::tenants
