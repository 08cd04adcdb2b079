// SPDX-License-Identifier: Apache-2.0
#include "daemon/resources/api.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace zoo::resources {
namespace {

using nlohmann::json;

Answer answered(const Kind& kind, Result<Answer> answer, std::string_view name) {
  return answer ? *std::move(answer) : failure_of(kind, answer.error(), name);
}

/// "GET, POST" of what a collection or one object allows.
std::string allowed(const Kind& kind, bool named) {
  std::vector<std::string_view> out;
  if (kind.has(named ? Verb::get : Verb::list)) out.emplace_back("GET");
  if (!named && kind.has(Verb::create)) out.emplace_back("POST");
  if (named && kind.has(Verb::update)) out.emplace_back("PUT");
  if (named && kind.has(Verb::patch)) out.emplace_back("PATCH");
  if (named && kind.has(Verb::remove)) out.emplace_back("DELETE");
  return fmt::format("{}", fmt::join(out, ", "));
}

} // namespace

Api::Api(Parts parts)
    : parts_(std::move(parts)), groups_(groups_of(parts_.kinds)),
      openapi_(std::make_shared<const OpenApi>(parts_.kinds, parts_.title)) {
  groups_.insert(groups_.end(), parts_.others.begin(), parts_.others.end());
}

bool Api::has_group(std::string_view group) const {
  return std::any_of(parts_.kinds.begin(), parts_.kinds.end(),
                     [&](const KindPtr& kind) { return kind->group == group; });
}

std::optional<Answer> Api::handle(const Request& request) const {
  for (auto answer : {discovery_answer(request, groups_), openapi_->answer(request)})
    if (answer) return reads(request) ? std::move(answer) : wrong_method(request, "GET");
  const auto& path = request.segments;
  const bool core = !path.empty() && path[0] == "api";
  if (!core && (path.empty() || path[0] != "apis")) return {};
  const std::size_t version = core ? 1 : 2;
  if (path.size() <= version) return {};
  const std::string_view group = core ? std::string_view() : path[1];
  if (!has_group(group)) return {};
  Target target;
  if (auto wrong = find(request, group, version, target)) return wrong;
  return serve(request, target);
}

std::optional<Answer> Api::find(const Request& request, std::string_view group, std::size_t version,
                                Target& target) const {
  const auto& path = request.segments;
  std::vector<std::string_view> versions, resources;
  for (const auto& kind : parts_.kinds) {
    if (kind->group != group) continue;
    versions.emplace_back(kind->version);
    if (kind->version == path[version]) resources.emplace_back(kind->resource);
  }
  if (resources.empty()) return nothing_here(parts_.name, "version", path[version], versions);
  const auto kind_at = [&](std::size_t at) {
    for (const auto& kind : parts_.kinds)
      if (at < path.size() && kind->group == group && kind->version == path[version] &&
          kind->resource == path[at])
        return kind;
    return KindPtr();
  };
  std::size_t at = version + 1;
  if (path.size() > at + 1 && path[at] == "namespaces" && !kind_at(at)) {
    auto kind = kind_at(at + 2);
    if (kind && kind->namespaced) {
      target.key.space = path[at + 1];
      at += 2;
    } else {
      for (const auto& each : parts_.kinds)
        if (!kind && each->group == group && each->version == path[version]) kind = each;
      return failure(Error(Code::not_found, fmt::format("{}s have no namespace: ask for /{}/{}/{}",
                                                        kind->kind, group.empty() ? "api" : "apis",
                                                        kind->api_version(), kind->resource)));
    }
  }
  target.kind = kind_at(at);
  // `watch/tenants`: the deprecated form, which nothing has sent since 2018.
  if (!target.kind)
    return nothing_here(parts_.name, "resource", at < path.size() ? path[at] : "", resources);
  if (at + 1 < path.size()) target.key.name = path[at + 1];
  if (at + 2 < path.size()) target.sub = path[at + 2];
  if (at + 3 < path.size() ||
      (target.kind->namespaced && target.key.space.empty() && !target.key.name.empty())) {
    std::vector<std::string_view> known;
    for (const auto& action : target.kind->actions)
      known.emplace_back(action.name);
    return nothing_here(parts_.name, "subresource", target.sub, known);
  }
  return {};
}

Answer Api::serve(const Request& request, const Target& target) const {
  const auto& kind = *target.kind;
  if (target.key.name.empty()) return collection(request, target);
  if (!target.sub.empty()) return subresource(request, target);
  const auto& method = request.method;
  const auto& name = target.key.name;
  if (reads(request) && kind.has(Verb::get))
    return answered(kind, get(request, target, method == "GET"), name);
  if (method == "PUT" && kind.has(Verb::update))
    return answered(kind, update(request, target), name);
  if (method == "PATCH" && kind.has(Verb::patch))
    return answered(kind, patch(request, target), name);
  if (method == "DELETE" && kind.has(Verb::remove))
    return answered(kind, remove(request, target), name);
  return wrong_method(request, allowed(kind, true));
}

Answer Api::collection(const Request& request, const Target& target) const {
  const auto& kind = *target.kind;
  if (reads(request)) {
    const auto watches = request.flag("watch");
    if (!watches) return failure_of(kind, watches.error(), "");
    if (*watches && kind.has(Verb::watch)) return answered(kind, watch(request, target), "");
    if (!*watches && kind.has(Verb::list)) return answered(kind, list(request, target), "");
  }
  if (request.method == "POST" && kind.has(Verb::create) &&
      (!kind.namespaced || !target.key.space.empty()))
    return answered(kind, create(request, target), "");
  return wrong_method(request, allowed(kind, false));
}

Answer Api::subresource(const Request& request, const Target& target) const {
  const auto& kind = *target.kind;
  std::vector<std::string_view> known;
  for (const auto& action : kind.actions) {
    known.emplace_back(action.name);
    if (action.name != target.sub) continue;
    const bool fits = action.method == "GET" ? reads(request) : request.method == action.method;
    if (!fits) return wrong_method(request, action.method);
    return answered(
        kind, action.answer ? action.answer(request, target.key) : get(request, target, false),
        target.key.name);
  }
  return nothing_here(parts_.name, "subresource", target.sub, known);
}

Answer Api::show(int status, const Kind& kind, const json& object, const Write& write,
                 std::vector<std::string> warnings) const {
  const auto& representation = write.representation;
  json body;
  switch (representation.shape) {
  case Shape::object:
    body = object;
    break;
  case Shape::metadata:
    body = partial_metadata(object, representation.version);
    break;
  case Shape::table:
    body = table_of(kind, object, representation.version, write.row, parts_.now(), true);
    body["metadata"] = {{"resourceVersion", std::to_string(version_of(object))}};
    break;
  }
  auto answer = render(status, body, representation);
  answer.object = key_of(object).name;
  answer.warnings = std::move(warnings);
  return answer;
}

} // namespace zoo::resources
