// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Objects of a virtual cluster that are upstream, too, as the table of their kinds has it. A kind
/// is a row: which of its objects are wanted there, how they are to be there, and what of
/// upstream's is shown in the cluster. Pure.
namespace zoo::clusters::sync {

/// An object as it is to be upstream.
struct MirrorWish {
  /// In the cluster's names, for translate::rewrite().
  nlohmann::json object;
  /// What cannot go through that, since tenants may not write it: added behind it.
  nlohmann::json annotations, labels;
  std::string hash;      ///< of all of it but the UID: 16 hex digits
  std::size_t bytes = 0; ///< of all of it
};

struct MirrorTerms {
  std::string id;         ///< of the cluster
  bool named_node = true; ///< its nodes are the upstream's; else they have other names there
  std::shared_ptr<const std::vector<std::string>> nodes = {}; ///< those, by name; null: none

  /// Is it one of the upstream's that the cluster has, under that name?
  bool has_node(std::string_view name) const {
    return named_node && nodes != nullptr &&
           std::find(nodes->begin(), nodes->end(), name) != nodes->end();
  }
};

struct MirrorKind {
  std::string_view group, version, resource, kind;
  /// Only those that a pod names are wanted; else all that `wanted` takes.
  bool referenced = false;
  bool (*wanted)(const nlohmann::json& object) = nullptr;
  /// The members beside metadata that go down; what is written later replaces these as a whole.
  std::vector<std::string> members{};
  /// Brings them into the form that they have upstream. Code::invalid, in the cluster's words.
  Result<void> (*dress)(nlohmann::json& object, const MirrorTerms& terms) = nullptr;
  /// What of upstream's has to stay where an object is changed: puts it into `next`. Null: nothing.
  void (*keep)(nlohmann::json& next, const nlohmann::json& there) = nullptr;
  /// What of upstream's is shown in the cluster: merge patches of the object (null: nothing) and of
  /// its status. `own`: the object in the cluster; `there`: upstream's, in the cluster's names.
  nlohmann::json (*shown)(const nlohmann::json& own, const nlohmann::json& there) = nullptr;
  nlohmann::json (*shown_status)(const nlohmann::json& own, const nlohmann::json& there) = nullptr;
  /// What cannot be changed upstream is deleted there and made anew.
  bool remade = false;
  /// How many nodePorts it takes of those that the cluster may have (MirrorLimits). Null: as many
  /// objects of this kind as there is room for may be upstream.
  std::uint32_t (*ports)(const nlohmann::json& object) = nullptr;
  /// It is upstream for those clusters alone whose spec says so (MirrorOptions).
  bool optional = false;

  bool goes_up() const { return shown != nullptr || shown_status != nullptr; }
  std::string collection(std::string_view name_space = {}) const; ///< path of its objects
  std::string path(std::string_view name_space, std::string_view name) const;
};

/// What one cluster may have upstream of what all share: Services, and the nodePorts of these. A
/// nodePort is one for the health of a load balancer, too.
struct MirrorLimits {
  std::uint32_t services = 1'000, node_ports = 50;
  bool operator==(const MirrorLimits&) const = default;
};

/// Which optional kinds of one cluster are upstream.
struct MirrorOptions {
  bool disruption_budgets = false;
  bool operator==(const MirrorOptions&) const = default;
};

/// All rows; the index is the number of a kind.
std::span<const MirrorKind> mirror_kinds();
/// -1: there is no such row.
int mirror_kind_of(std::string_view resource);

/// Are objects of this kind upstream?
bool is_on(const MirrorKind& kind, const MirrorOptions& options);

/// The name upstream of an object of the cluster. The same but for ConfigMaps that upstream, or
/// zood, keeps in each namespace, and names of Secrets with tokens: what the cluster calls so has
/// ".cluster" behind its name.
std::string name_there(const MirrorKind& kind, std::string_view name);
/// The way back; nothing for what name_there() never makes.
std::optional<std::string> name_here(const MirrorKind& kind, std::string_view name);

/// Code::invalid, in the cluster's words, for what cannot be upstream.
Result<MirrorWish> dress_object(const MirrorKind& kind, const nlohmann::json& object,
                                const MirrorTerms& terms);

/// `there`, an object upstream as it is (in the cluster's names), with what is wished now. What
/// others have added to its labels and annotations stays. `known`: the value of k_keys_annotation.
nlohmann::json dressed_anew(const MirrorKind& kind, nlohmann::json there, const MirrorWish& wish,
                            std::string_view known);

// ---- what is to be done about one ----

struct MirrorHere {
  std::string uid, hash;
  std::uint32_t ports = 0; ///< MirrorKind::ports
  std::uint32_t bytes = 0; ///< MirrorWish::bytes
  bool operator==(const MirrorHere&) const = default;
};

/// Upstream's owner annotation while the cluster has not given out a UID yet: the object was made
/// from within the cluster's own request for it.
inline constexpr std::string_view k_unborn = "unborn";

struct MirrorThere {
  std::string uid;   ///< upstream's
  std::string owner; ///< its UID in the cluster; k_unborn; "": zood has not made it
  std::string hash;
  bool leaving = false;
  std::uint64_t version = 0;
  std::int64_t made = 0; ///< Unix seconds
};
MirrorThere mirror_there(const nlohmann::json& object);

enum class MirrorStep : std::uint8_t {
  nothing,
  create,
  change,
  replace, ///< upstream's is of an earlier object of this name: it goes first
  remove,
  wait,    ///< the cluster's may come yet
  foreign, ///< somebody else has an object of this name upstream, which stays
};
std::string_view step_name(MirrorStep step);

/// How long one without a UID waits for the cluster's.
inline constexpr std::int64_t k_unborn_seconds = 30;

/// `here`: nothing if it is not wanted upstream. `now`: Unix seconds.
MirrorStep mirror_step(const std::optional<MirrorHere>& here,
                       const std::optional<MirrorThere>& there, std::int64_t now);

// ---- which objects a pod names ----

/// Calls `each` with every name of a ConfigMap or Secret in a pod's spec: environment, volumes,
/// credentials for images. What `each` does to the name stays.
void each_reference(
    nlohmann::json& pod_spec,
    const std::function<void(std::string_view resource, nlohmann::json& name)>& each);
/// Of one pod; further ones are not upstream.
inline constexpr std::size_t k_most_references = 512;
/// "<number of the kind>/<namespace>/<name>", each once.
std::vector<std::string> references_of(const nlohmann::json& pod);

} // namespace zoo::clusters::sync
