// SPDX-License-Identifier: Apache-2.0
#include "daemon/templates/instance.hpp"

#include "common/api/tenant.hpp"
#include "common/kube/json_reads.hpp"

#include <utility>

namespace zoo::templates {
namespace {

using kube::text_at;
using nlohmann::json;

std::int64_t number(const json& object, const char* pointer) {
  const json::json_pointer at(pointer);
  if (!object.contains(at) || !object.at(at).is_number_integer()) return 0;
  return object.at(at).get<std::int64_t>();
}

bool flag(const json& object, const char* pointer) {
  const json::json_pointer at(pointer);
  return object.contains(at) && object.at(at) == json(true);
}

std::string member(const json& object, const char* pointer, std::string_view key) {
  const json::json_pointer at(pointer);
  if (!object.contains(at) || !object.at(at).is_object()) return {};
  const auto found = object.at(at).find(key);
  return found != object.at(at).end() && found->is_string() ? found->get<std::string>()
                                                            : std::string();
}

json references(const std::vector<ObjectRef>& objects) {
  auto out = json::array();
  for (const auto& each : objects)
    out.push_back({{"apiVersion", each.api_version}, {"kind", each.kind}, {"name", each.name}});
  return out;
}

} // namespace

std::optional<Instance> read_instance(const json& object) {
  if (!object.is_object()) return {};
  Instance out;
  out.name = text_at(object, "/metadata/name");
  out.name_space = text_at(object, "/metadata/namespace");
  if (out.name.empty() || out.name_space.empty()) return {};
  out.uid = text_at(object, "/metadata/uid");
  out.generation = number(object, "/metadata/generation");
  out.deleting = !text_at(object, "/metadata/deletionTimestamp").empty();
  out.kept = member(object, "/metadata/labels", k_kept_label) == "true";
  out.no_owner = member(object, "/metadata/annotations", k_no_owner) == "true";
  out.template_name = text_at(object, "/spec/template");
  out.sync = flag(object, "/spec/sync");
  for (const auto& each : kube::list_at(object, "/spec/parameters")) {
    if (auto name = text_at(each, "/name"); !name.empty())
      out.values.insert_or_assign(std::move(name), text_at(each, "/value"));
  }
  out.deployed = text_at(object, "/status/status") == "Deployed";
  out.failed = text_at(object, "/status/status") == "Failed";
  out.reason = text_at(object, "/status/reason");
  out.was_kept = flag(object, "/status/kept");
  out.observed = number(object, "/status/observedGeneration");
  out.applied_version = text_at(object, "/status/templateResourceVersion");
  for (const auto& each : kube::list_at(object, "/status/objects")) {
    ObjectRef ref{text_at(each, "/apiVersion"), text_at(each, "/kind"), text_at(each, "/name")};
    if (!ref.name.empty()) out.objects.push_back(std::move(ref));
  }
  return out;
}

json status_of(const Instance& instance, const json& before, const Report& report) {
  const auto now = api::rfc3339(report.now);
  const bool deployed = report.what == Report::What::deployed;
  const bool failed = report.what == Report::What::failed;
  json out = before.is_object() ? before : json::object();
  out["objects"] = references(report.objects);
  if (!deployed && !failed && (instance.deployed || instance.failed)) return out;
  out["status"] = deployed ? "Deployed" : failed ? "Failed" : "";
  out.erase("reason");
  out.erase("message");
  if (failed) {
    out["reason"] = report.reason;
    out["message"] = report.message;
  }
  if (deployed) {
    out["templateResourceVersion"] = report.template_version;
    out["kept"] = instance.kept;
  }
  if (deployed || failed) out["observedGeneration"] = instance.generation;
  json condition = {{"type", "Ready"},
                    {"status", deployed ? "True" : "False"},
                    {"reason", deployed ? std::string("Deployed") : report.reason},
                    {"message", report.message},
                    {"observedGeneration", instance.generation},
                    {"lastTransitionTime", now}};
  const auto first = "/conditions/0"_json_pointer;
  const auto old = before.is_object() && before.contains(first) ? before.at(first) : json();
  if (old.is_object() && old.value("status", json()) == condition["status"])
    condition["lastTransitionTime"] = old.value("lastTransitionTime", now);
  out["conditions"] = json::array({condition});
  if (deployed && out != before) out["observedAt"] = now;
  return out;
}

} // namespace zoo::templates
