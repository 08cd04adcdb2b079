// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/translate/mapping.hpp"

#include <nlohmann/json.hpp>

#include <memory>
#include <string>
#include <string_view>

/// A pod of a virtual cluster as it is to be upstream. Pure.
namespace zoo::clusters::sync {

// What stands on each pod that zood makes upstream for a cluster. Tenants can write none of these
// names: translate::rewrite() refuses them inward.
inline constexpr const char* k_hash_annotation = "clusters.zoo.kubezoo.io/hash";
inline constexpr const char* k_node_annotation = "clusters.zoo.kubezoo.io/node";
/// The keys of the annotations and labels that come from the cluster, as keys_text() has them: what
/// is taken away there is taken away here, and what somebody else has added stays.
/// The name is of a version that wrote down annotations alone.
inline constexpr const char* k_keys_annotation = "clusters.zoo.kubezoo.io/annotations";
/// The label by which upstream's pods of all clusters are followed: the cluster's ID.
inline constexpr const char* k_id_label = "clusters.zoo.kubezoo.io/id";

// What containers read of their pod by the downward API, and what is another one upstream.
inline constexpr const char* k_own_namespace = "virtual-cluster/namespace";
inline constexpr const char* k_own_uid = "virtual-cluster/uid";
inline constexpr const char* k_own_account = "virtual-cluster/service-account";
inline constexpr const char* k_own_node = "virtual-cluster/node";

/// Labels or annotations of the cluster's, at a JSON pointer, without those that are zood's.
nlohmann::json plain_texts(const nlohmann::json& object, const char* pointer);
/// The value of k_keys_annotation of an object with the labels and annotations of `metadata`: a
/// JSON object of their keys.
std::string keys_text(const nlohmann::json& metadata);
/// Gives the metadata of an object upstream the labels and annotations of `wish`, metadata as well.
/// `known`: the value of k_keys_annotation there, which names what zood has put there before; what
/// others have added stays.
void put_texts(nlohmann::json& metadata, const nlohmann::json& wish, std::string_view known);

/// Code::invalid: a pod that is not upstream yet has what it cannot have there, a trust bundle that
/// is not optional, a certificate, or a token with a long audience. Its containers would start
/// without the files of the former two.
Result<void> check_new_pod(const nlohmann::json& pod);

struct DressTerms {
  std::string id; ///< of the cluster
  /// The pod's node is one of upstream's, to which it is held; else it is the share's, and upstream
  /// chooses one.
  bool named_node = true;
  std::string dns{};   ///< the address at which the cluster's names are asked for; "": nowhere
  bool fenced = false; ///< a quota holds what it asks for (share_fence.hpp)
  /// ClusterIP of the cluster's own API server, which containers are told; "": none is known.
  std::string api_address{};
  /// Of which PriorityClasses stay; null: none.
  std::shared_ptr<const translate::SharedNames> shared{};
  /// Nodes of the upstream that other clusters have alone; null: none. Of a share.
  std::shared_ptr<const std::vector<std::string>> reserved{};
};

struct Dressed {
  /// In the cluster's names, for translate::rewrite().
  nlohmann::json pod;
  /// What cannot go through that, since tenants may not write it: added behind it.
  nlohmann::json annotations, labels;
  /// What a pod is given later alone, each by a request of its own: ephemeral containers, and the
  /// conditions of readiness gates, which somebody in the cluster has set. Lists.
  nlohmann::json ephemeral = nlohmann::json::array(), gates = nlohmann::json::array();
  bool has_later() const { return !ephemeral.empty() || !gates.empty(); }
  /// Of all of it but for what of DNS, of the fence and of the nodes of others nobody ever changes
  /// upstream: 16 hex digits.
  std::string hash;
};

/// What is left out: what upstream sets itself or cannot know (owners, finalizers, priority), what
/// the cluster's scheduler has decided (node selectors, spread), and whatever would give the pod a
/// credential of the upstream: it has upstream's ServiceAccount `default` without its token, and no
/// projected certificate or trust bundle; projected tokens are the cluster's (pod_tokens.hpp). What
/// it names is named as it is called upstream (mirror_kind.hpp). A pod that asks the cluster's DNS
/// asks that of `terms`, never the upstream's. Code::invalid, in the cluster's words, for what
/// cannot be had there.
Result<Dressed> dress(const nlohmann::json& pod, const DressTerms& terms);

/// Does the pod ask the cluster's DNS for names (dnsPolicy ClusterFirst, which is what pods have
/// that say nothing)?
bool asks_cluster_dns(const nlohmann::json& pod);

/// What of resources the cluster's pod has otherwise than upstream's, as a strategic merge patch of
/// pods/resize; null if nothing. What upstream has added stays.
nlohmann::json resources_change(const nlohmann::json& there, const nlohmann::json& wish);
/// Those of Dressed::ephemeral that upstream's does not have; they are never changed.
nlohmann::json new_ephemeral(const nlohmann::json& there, const Dressed& wish);
/// Those of Dressed::gates that upstream's has otherwise, or not.
nlohmann::json other_gates(const nlohmann::json& there, const Dressed& wish);

/// `there`, a pod upstream as it is (in the cluster's names, annotations of zood's own apart), with
/// what of a dressed one may be changed later: labels, annotations, images, tolerations, the
/// deadline. `known`: the value of k_keys_annotation there, or "".
nlohmann::json dressed_again(nlohmann::json there, const Dressed& wish, std::string_view known);

} // namespace zoo::clusters::sync
