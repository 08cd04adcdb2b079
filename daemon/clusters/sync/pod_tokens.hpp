// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// Tokens of the cluster's ServiceAccounts in its pods. Upstream's kubelets would ask upstream for
/// them; so zood asks the cluster, and a Secret that belongs to the pod upstream holds them. Pure.
namespace zoo::clusters::sync {

/// A token that a pod is to have.
struct TokenWant {
  std::string key;      ///< in the Secret
  std::string audience; ///< "": the cluster's API server
  std::int64_t seconds = 0;
};

/// Of one pod; more are refused.
inline constexpr std::size_t k_most_tokens = 16;
/// Bytes of a token's audience, for which Kubernetes itself has no limit. The Secret has it in
/// base64 within base64, 16/9 of its bytes.
inline constexpr std::size_t k_longest_audience = 1024;

/// On such a Secret: the name of its pod, and when the first of its tokens ends (Unix seconds).
inline constexpr const char* k_token_annotation = "clusters.zoo.kubezoo.io/token-of";
inline constexpr const char* k_ends_annotation = "clusters.zoo.kubezoo.io/token-ends";

/// With this begin the names of such Secrets, and of no others.
inline constexpr std::string_view k_token_secret = "zoo-token-";
/// No other pod has had this name for its Secret, nor will have.
std::string token_secret_name(std::string_view pod_uid);

/// What a pod's projected volumes ask for, in their order.
std::vector<TokenWant> token_wants(const nlohmann::json& pod);

/// Bytes that the Secret with all of them has about, at most; 0 of a pod without tokens.
std::size_t token_bytes(const nlohmann::json& pod);
/// What token_bytes() says of a pod, about, by the pod as it is upstream. Upstream does not know
/// the audiences of its tokens: each counts as one of k_longest_audience / 2 bytes.
std::size_t token_bytes_there(const nlohmann::json& pod);

/// Puts the Secret in the place of each such source of a pod's spec. Code::invalid: too many.
Result<void> dress_tokens(nlohmann::json& spec, std::string_view secret);

/// The Secret upstream. `tokens`: by TokenWant::key. `upstream_pod`: its UID there, with which the
/// Secret goes. In the cluster's names; annotations and labels that tenants may not write are added
/// behind translate::rewrite().
nlohmann::json token_secret(std::string_view name_space, std::string_view pod,
                            std::string_view pod_uid, std::string_view upstream_pod,
                            const std::vector<std::pair<std::string, std::string>>& tokens);

/// When to ask for tokens again that were got at `now` and end at `ends`: at four fifths of it.
std::int64_t token_renewal(std::int64_t now, std::int64_t ends);

} // namespace zoo::clusters::sync
