// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/sync/service_review.hpp"

#include "common/crypto/digest.hpp"
#include "common/kube/json_reads.hpp"

#include <array>

namespace zoo::clusters::sync {
namespace {

using nlohmann::json;

// As kube-apiserver does (k8s.io/apiserver/pkg/storage/names); a Service's name is a DNS label.
constexpr std::size_t k_longest_name = 63, k_random = 5;

/// What is given out once, and stays.
constexpr std::array k_given = {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy",
                                "healthCheckNodePort"};

json answer(std::string_view uid, json response) {
  response["uid"] = uid;
  return {{"apiVersion", "admission.k8s.io/v1"},
          {"kind", "AdmissionReview"},
          {"response", std::move(response)}};
}

json set(std::string path, json value) {
  return {{"op", "add"}, {"path", std::move(path)}, {"value", std::move(value)}};
}

} // namespace

bool takes_addresses(const json& service) {
  return kube::text_at(service, "/spec/type") != "ExternalName" &&
         kube::text_at(service, "/spec/clusterIP") != "None";
}

Result<ServiceReview> read_review(std::string_view body,
                                  const std::function<std::string(std::size_t)>& random) {
  const auto review = kube::parse_foreign(body);
  const auto at = [&](const char* pointer) { return kube::text_at(review, pointer); };
  ServiceReview out;
  out.uid = at("/request/uid");
  if (out.uid.empty() || at("/kind") != "AdmissionReview")
    return fail(Code::bad_request, "it is no AdmissionReview");
  if (!at("/request/kind/group").empty() || at("/request/kind/kind") != "Service" ||
      at("/request/resource/resource") != "services")
    return fail(Code::bad_request, "zood.internal/services is asked about Services alone");
  const auto operation = at("/request/operation");
  out.creates = operation == "CREATE";
  const json::json_pointer dry("/request/dryRun"), object("/request/object");
  out.dry_run = review.contains(dry) && review.at(dry).is_boolean() && review.at(dry).get<bool>();
  const auto space = at("/request/namespace");
  if (review.contains(object) && review.at(object).is_object()) out.object = review.at(object);
  if ((!out.creates && operation != "UPDATE") || !at("/request/subResource").empty() ||
      !out.object.is_object()) {
    out.passes = true;
    return out;
  }
  if (!out.object["metadata"].is_object()) out.object["metadata"] = json::object();
  auto& metadata = out.object["metadata"];
  metadata["namespace"] = space;
  auto name = kube::text_at(metadata, "/name");
  const auto begin = kube::text_at(metadata, "/generateName");
  const bool has_addresses = takes_addresses(out.object);
  if (out.creates && name.empty() && !begin.empty() && has_addresses) {
    name = begin.substr(0, k_longest_name - k_random) + random(k_random);
    metadata["name"] = name;
    out.given_name = name;
  }
  out.passes = name.empty() || !has_addresses || (space == "default" && name == "kubernetes");
  return out;
}

json allocation_patch(const ServiceReview& review, const json& upstream) {
  json out = json::array();
  if (!review.given_name.empty()) out.push_back(set("/metadata/name", review.given_name));
  // What is only tried is given nothing, and upstream's answer holds none of its addresses.
  if (review.dry_run) return out;
  const auto spec = review.object.value("spec", json::object());
  const auto given = upstream.value("spec", json::object());
  for (const char* key : k_given)
    if (given.contains(key) && given[key] != spec.value(key, json()))
      out.push_back(set(fmt::format("/spec/{}", key), given[key]));
  // Both sides have the same ports in the same order, since one was made of the other.
  const auto& ports = kube::list_at(spec, "/ports");
  const auto& theirs = kube::list_at(given, "/ports");
  for (std::size_t at = 0; at < ports.size() && at < theirs.size(); ++at) {
    if (!theirs[at].is_object() || !theirs[at].contains("nodePort")) continue;
    if (ports[at].value("nodePort", json()) != theirs[at]["nodePort"])
      out.push_back(set(fmt::format("/spec/ports/{}/nodePort", at), theirs[at]["nodePort"]));
  }
  return out;
}

std::string review_passed(std::string_view uid, const json& patch, const std::string& warning) {
  json response = {{"allowed", true}};
  if (!patch.empty()) {
    response["patchType"] = "JSONPatch";
    response["patch"] = crypto::base64_encode(kube::text_of(patch));
  }
  if (!warning.empty()) response["warnings"] = json::array({warning});
  return kube::text_of(answer(uid, std::move(response)));
}

std::string review_refused(std::string_view uid, const Error& why) {
  const int code = why.code() == Code::forbidden     ? 403
                   : why.code() == Code::bad_request ? 400
                                                     : 422;
  return kube::text_of(
      answer(uid, {{"allowed", false}, {"status", {{"code", code}, {"message", why.message()}}}}));
}

} // namespace zoo::clusters::sync
