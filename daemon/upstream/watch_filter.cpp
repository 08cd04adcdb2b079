// SPDX-License-Identifier: Apache-2.0
#include "daemon/upstream/watch_filter.hpp"

#include "common/base/text.hpp"

#include <algorithm>
#include <array>

namespace zoo::upstream {
namespace {

/// Fields that the API server selects by, where its answer can be read off the object
/// (k8s.io/kubernetes pkg/registry, the kinds' strategy.go). Others get a watch of their own.
struct Selectable {
  std::string_view path, field; ///< of the kind; as the selector spells it
  std::string_view absent = "";
};
constexpr auto k_selectable = std::to_array<Selectable>({
    {"/api/v1/pods", "spec.nodeName"},
    {"/api/v1/pods", "spec.restartPolicy"},
    {"/api/v1/pods", "spec.schedulerName"},
    {"/api/v1/pods", "spec.serviceAccountName"},
    {"/api/v1/pods", "spec.hostNetwork", "false"},
    {"/api/v1/pods", "status.phase"},
    {"/api/v1/pods", "status.podIP"},
    {"/api/v1/pods", "status.nominatedNodeName"},
    {"/api/v1/secrets", "type"},
    {"/api/v1/namespaces", "status.phase"},
    {"/api/v1/nodes", "spec.unschedulable", "false"},
    {"/api/v1/services", "spec.type"},
    {"/api/v1/services", "spec.clusterIP"},
    {"/api/v1/events", "involvedObject.kind"},
    {"/api/v1/events", "involvedObject.namespace"},
    {"/api/v1/events", "involvedObject.name"},
    {"/api/v1/events", "involvedObject.uid"},
    {"/api/v1/events", "involvedObject.apiVersion"},
    {"/api/v1/events", "involvedObject.resourceVersion"},
    {"/api/v1/events", "involvedObject.fieldPath"},
    {"/api/v1/events", "reason"},
    {"/api/v1/events", "type"},
});

std::vector<std::string_view> segments_of(std::string_view path) {
  std::vector<std::string_view> out;
  while (!path.empty()) {
    path.remove_prefix(1); // each begins with a slash
    const auto end = std::min(path.find('/'), path.size());
    out.push_back(path.substr(0, end));
    path.remove_prefix(end);
  }
  return out;
}

std::string text_of(translate::JsonNode node) {
  return node.is(translate::JsonType::string) ? node.string() : std::string(node.raw());
}

} // namespace

SharedPlace shared_place(std::string_view path) {
  const auto parts = segments_of(path);
  // api/VERSION/namespaces/NS/RESOURCE, apis/GROUP/VERSION/namespaces/NS/RESOURCE
  const std::size_t at = !parts.empty() && parts[0] == "api" ? 2 : 3;
  if (parts.size() != at + 3 || parts[at] != "namespaces") return {std::string(path), ""};
  SharedPlace out;
  for (std::size_t i = 0; i < at; ++i)
    out.path += "/" + std::string(parts[i]);
  out.path += "/" + std::string(parts[at + 2]);
  out.key_prefix = std::string(parts[at + 1]) + "/";
  return out;
}

std::optional<WatchFilter> WatchFilter::make(std::string_view path, const translate::Params& params,
                                             bool partial) {
  WatchFilter out;
  if (const auto* text = translate::find_param(params, "labelSelector"); text && !text->empty()) {
    auto labels = translate::parse_label_selector(*text);
    if (!labels) return std::nullopt; // upstream says what is wrong with it
    out.labels_ = *std::move(labels);
  }
  if (const auto* text = translate::find_param(params, "fieldSelector"); text && !text->empty()) {
    auto terms = translate::parse_field_selector(*text);
    if (!terms) return std::nullopt;
    for (auto& term : *terms) {
      if (term.key == "metadata.name" || term.key == "metadata.namespace") {
        out.names_.push_back(std::move(term));
        continue;
      }
      const auto* const known =
          std::find_if(k_selectable.begin(), k_selectable.end(), [&](const Selectable& each) {
            return each.path == path && each.field == term.key;
          });
      if (partial || known == k_selectable.end()) return std::nullopt;
      Field field;
      for (const auto part : text::split(term.key, '.'))
        field.path.emplace_back(part);
      field.absent = known->absent;
      field.equal = term.equal;
      field.value = std::move(term.value);
      out.fields_.push_back(std::move(field));
    }
  }
  out.keeps_keys_ = !out.fields_.empty() || !out.labels_.empty();
  return out;
}

bool WatchFilter::matches(EventView& event) const {
  const std::string_view key = event.event().key;
  const auto slash = key.find('/');
  const auto name = slash == std::string_view::npos ? key : key.substr(slash + 1);
  const auto space = slash == std::string_view::npos ? std::string_view() : key.substr(0, slash);
  for (const auto& term : names_) {
    if (((term.key == "metadata.name" ? name : space) == term.value) != term.equal) return false;
  }
  if (!keeps_keys_) return true;
  const auto object = event.object();
  const auto labels = object["metadata"]["labels"];
  for (const auto& wanted : labels_) {
    const auto label = labels[wanted.key];
    const auto value = label ? std::optional(label.string()) : std::nullopt;
    if (!translate::fulfils(wanted, value)) return false;
  }
  return std::all_of(fields_.begin(), fields_.end(), [&](const Field& field) {
    auto node = object;
    for (const auto& part : field.path)
      node = node[part];
    return ((node ? text_of(node) : field.absent) == field.value) == field.equal;
  });
}

void WatchFilter::remember(std::string key) {
  const auto size = key.size();
  if (keys_.insert(std::move(key)).second) key_bytes_ += size + k_key;
}

std::optional<translate::EventType> WatchFilter::apply(EventView& event) {
  using enum translate::EventType;
  const auto& what = event.event();
  const bool now = matches(event);
  if (!keeps_keys_) return now ? std::optional(what.type) : std::nullopt;
  if (what.type == deleted || !now) {
    if (keys_.erase(what.key) == 0) return std::nullopt;
    key_bytes_ -= what.key.size() + k_key;
    return deleted;
  }
  const bool added_now = keys_.insert(what.key).second;
  if (added_now) key_bytes_ += what.key.size() + k_key;
  return added_now ? added : what.type;
}

} // namespace zoo::upstream
