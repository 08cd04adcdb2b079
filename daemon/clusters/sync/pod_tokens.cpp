// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/sync/pod_tokens.hpp"

#include "common/crypto/digest.hpp"
#include "common/kube/json_reads.hpp"

#include <algorithm>

namespace zoo::clusters::sync {
namespace {

using nlohmann::json;

constexpr std::int64_t k_usual_seconds = 3600; ///< of a source that says nothing
constexpr std::int64_t k_least_seconds = 600;  ///< kube-apiserver refuses less

template <class Take>
void each_source(json& spec, Take&& take) {
  const auto volumes = spec.find("volumes");
  if (volumes == spec.end() || !volumes->is_array()) return;
  for (auto& volume : *volumes) {
    if (!volume.is_object() || !volume.contains("projected")) continue;
    auto& projected = volume["projected"];
    if (!projected.is_object() || !projected.contains("sources")) continue;
    auto& sources = projected["sources"];
    if (!sources.is_array()) continue;
    for (auto& source : sources)
      if (source.is_object() && source.contains("serviceAccountToken")) take(source);
  }
}

std::string key_of(std::size_t number) { return fmt::format("token-{}", number); }

} // namespace

std::string token_secret_name(std::string_view pod_uid) {
  return std::string(k_token_secret) + std::string(pod_uid);
}

std::vector<TokenWant> token_wants(const json& pod) {
  std::vector<TokenWant> out;
  auto spec = pod.value("spec", json::object());
  each_source(spec, [&](const json& source) {
    const auto& wanted = source["serviceAccountToken"];
    TokenWant want;
    want.key = key_of(out.size());
    want.audience = kube::text_at(wanted, "/audience");
    want.seconds = k_usual_seconds;
    if (wanted.is_object() && wanted.contains("expirationSeconds") &&
        wanted["expirationSeconds"].is_number_integer())
      want.seconds = wanted["expirationSeconds"].get<std::int64_t>();
    want.seconds = std::max(want.seconds, k_least_seconds);
    if (out.size() < k_most_tokens) out.push_back(std::move(want));
  });
  return out;
}

std::size_t token_bytes(const json& pod) {
  constexpr std::size_t k_token = 2048; // a JWT without its audience, as the Secret has it
  std::size_t out = 0;
  for (const auto& each : token_wants(pod))
    out += k_token + 2 * each.audience.size();
  return out;
}

std::size_t token_bytes_there(const json& pod) {
  constexpr std::size_t k_token = 2048 + k_longest_audience;
  std::size_t out = 0;
  for (const auto& volume : kube::list_at(pod, "/spec/volumes"))
    for (const auto& source : kube::list_at(volume, "/projected/sources"))
      if (kube::text_at(source, "/secret/name").starts_with(k_token_secret))
        out += k_token * kube::list_at(source, "/secret/items").size();
  return out;
}

Result<void> dress_tokens(json& spec, std::string_view secret) {
  std::size_t number = 0;
  each_source(spec, [&](json& source) {
    auto path = kube::text_at(source, "/serviceAccountToken/path");
    if (path.empty()) path = "token";
    source = {{"secret",
               {{"name", secret},
                {"items", json::array({{{"key", key_of(number)}, {"path", std::move(path)}}})}}}};
    ++number;
  });
  if (number <= k_most_tokens) return {};
  return fail(Code::invalid, "spec.volumes: a pod has {} tokens at most, and this one asks for {}",
              k_most_tokens, number);
}

json token_secret(std::string_view name_space, std::string_view pod, std::string_view pod_uid,
                  std::string_view upstream_pod,
                  const std::vector<std::pair<std::string, std::string>>& tokens) {
  json data = json::object();
  for (const auto& [key, token] : tokens)
    data[key] = crypto::base64_encode(token);
  return {
      {"apiVersion", "v1"},
      {"kind", "Secret"},
      {"metadata",
       {{"name", token_secret_name(pod_uid)},
        {"namespace", name_space},
        {"labels", json::object()},
        {"annotations", json::object()},
        {"ownerReferences",
         json::array(
             {{{"apiVersion", "v1"}, {"kind", "Pod"}, {"name", pod}, {"uid", upstream_pod}}})}}},
      {"type", "Opaque"},
      {"data", std::move(data)}};
}

std::int64_t token_renewal(std::int64_t now, std::int64_t ends) {
  return now + std::max<std::int64_t>((ends - now) * 4 / 5, 0);
}

} // namespace zoo::clusters::sync
