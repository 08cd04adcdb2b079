// SPDX-License-Identifier: Apache-2.0
#include "daemon/virtuals/validate.hpp"

#include "common/base/text.hpp"
#include "common/crypto/digest.hpp"
#include "common/kube/client.hpp"
#include "daemon/translate/text.hpp"
#include "daemon/upstream/control_api.hpp"
#include "daemon/virtuals/board.hpp"
#include "daemon/virtuals/change.hpp"
#include "daemon/virtuals/object.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>

namespace zoo::virtuals {
namespace {

using nlohmann::json;

/// The names that the object has upstream, and in the tenant.
struct Names {
  std::string upstream, tenant;
  std::string upstream_group, tenant_group; ///< of an APIService

  std::string outward(std::string text) const {
    translate::replace_all(text, upstream, tenant);
    translate::replace_all(text, upstream_group, tenant_group);
    return text;
  }
};

/// The name of an IPAddress is an address. Which ones the cluster uses is nobody's business: asked
/// is with one that nobody has (RFC 3849), unless the name is none and upstream shall say so.
std::string stand_in(const std::string& name) {
  std::array<unsigned char, 16> bytes{};
  std::array<char, INET6_ADDRSTRLEN> text{};
  const int family = name.find(':') == std::string::npos ? AF_INET : AF_INET6;
  const bool address = inet_pton(family, name.c_str(), bytes.data()) == 1 &&
                       inet_ntop(family, bytes.data(), text.data(), text.size()) == name;
  if (!address) return name;
  std::string out = "2001:db8";
  const auto random = crypto::random_bytes(12);
  for (std::size_t i = 0; i < 6; ++i) {
    const auto part = random ? static_cast<unsigned char>((*random)[2 * i]) * 256u +
                                   static_cast<unsigned char>((*random)[2 * i + 1])
                             : 1u;
    out += fmt::format(":{:x}", part == 0 ? 1 : part);
  }
  return out;
}

Names names_of(const Kind& kind, const json& object, const translate::Mapping& mapping) {
  Names out;
  out.tenant = member(object.value("metadata", json::object()), "name");
  out.upstream = mapping.name_in(out.tenant);
  if (kind.resource == "ipaddresses") out.upstream = stand_in(out.tenant);
  if (kind.resource != "apiservices") return out;
  // Its name is made of its version and group: the group alone is told apart.
  out.upstream = out.tenant;
  out.tenant_group = member(object.value("spec", json::object()), "group");
  out.upstream_group = mapping.group_in(out.tenant_group);
  const auto end = "." + out.tenant_group;
  if (!out.tenant_group.empty() && out.tenant.ends_with(end))
    out.upstream = out.tenant.substr(0, out.tenant.size() - end.size()) + "." + out.upstream_group;
  return out;
}

/// Admission taints every new node until its kubelet reports; of a change, which is asked as if it
/// were a creation, that taint is none.
void drop_first_taint(const json& object, json& spec) {
  if (member(object.value("metadata", json::object()), "resourceVersion").empty()) return;
  const auto asked = object.value("spec", json::object());
  const auto had = asked.is_object() ? asked.value("taints", json::array()) : json::array();
  const auto taints = spec.find("taints");
  if (taints == spec.end() || !taints->is_array()) return;
  json kept = json::array();
  for (const auto& each : *taints) {
    const bool ours = std::find(had.begin(), had.end(), each) != had.end();
    if (ours || member(each, "key") != "node.kubernetes.io/not-ready") kept.push_back(each);
  }
  if (kept.empty()) {
    spec.erase(taints);
  } else {
    *taints = std::move(kept);
  }
}

} // namespace

Result<std::int64_t> next_revision(upstream::ControlApi& api) {
  const json wanted{{"apiVersion", "v1"},
                    {"kind", "ConfigMap"},
                    {"metadata", {{"name", "zoo-revisions"}, {"namespace", "zoo-system"}}},
                    {"data", {{"last", crypto::uuid_v4()}}}};
  ZOO_TRY(const auto answer,
          api.apply("/api/v1/namespaces/zoo-system/configmaps/zoo-revisions", wanted));
  if (const auto revision = version_of(answer); revision > 0) return revision;
  return fail(Code::unavailable, "the upstream's resourceVersions are no numbers");
}

Result<Verdict> ask_upstream(upstream::ControlApi& api, const Kind& kind, const json& object,
                             const translate::Mapping& mapping, std::string_view strictness) {
  const auto names = names_of(kind, object, mapping);
  json asked{{"apiVersion", kind.api_version()},
             {"kind", kind.kind},
             {"metadata", {{"name", names.upstream}}}};
  for (const auto& [name, value] : object.items())
    if (name != "apiVersion" && name != "kind" && name != "metadata" &&
        (name != "status" || (kind.beside && kind.has_status)))
      asked[name] = value; // what nobody knows is upstream's to refuse
  const auto& metadata = object.at("metadata");
  for (const auto* name : {"labels", "annotations", "finalizers", "ownerReferences"})
    if (metadata.contains(name)) asked["metadata"][name] = metadata[name];
  if (!names.upstream_group.empty() && asked["spec"].is_object())
    asked["spec"]["group"] = names.upstream_group;

  auto path = (kind.group.empty() ? kube::path({"api", kind.version, kind.resource})
                                  : kube::path({"apis", kind.group, kind.version, kind.resource})) +
              "?dryRun=All&fieldManager=zood";
  if (strictness == "Strict" || strictness == "Warn" || strictness == "Ignore")
    path += "&fieldValidation=" + std::string(strictness);
  ZOO_TRY(auto response,
          api.request("POST", path, "application/json", dump(asked), "application/json"));
  Verdict out;
  for (const auto& [name, value] : response.headers)
    if (text::iequals(name, "Warning")) out.warnings.push_back(names.outward(value));
  auto answer = json::parse(response.body, nullptr, false);
  out.accepted = response.status >= 200 && response.status < 300;
  if (!answer.is_object())
    return fail(Code::unavailable, "the upstream's answer is not JSON (status {})",
                response.status);
  if (out.accepted) {
    out.spec = answer.value("spec", json::object());
    if (kind.status_on_create) out.object_status = answer.value("status", json());
    if (kind.resource == "nodes") drop_first_taint(object, out.spec);
    if (!names.upstream_group.empty()) out.spec["group"] = names.tenant_group;
    return out;
  }
  if (response.status == 401 ||
      (response.status == 403 && answer.value("reason", "") == "Forbidden"))
    return fail(Code::unavailable, "zood may not check this object upstream: {}",
                member(answer, "message"));
  out.status = response.status;
  out.body = names.outward(dump(answer));
  return out;
}

} // namespace zoo::virtuals
