// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/clusters/authorities.hpp"
#include "daemon/store/store.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

/// Virtual clusters as records of the store: kind "virtualcluster", key "<namespace>/<name>". The
/// store's revision is the resourceVersion.
namespace zoo::clusters {

inline constexpr std::string_view k_record_kind = "virtualcluster";
/// IDs that were given out, also those of clusters that are gone: key is the ID, the value
/// {"until": Unix seconds} says when it may be given out again (0: while its cluster is there).
inline constexpr std::string_view k_id_kind = "virtualcluster-id";

/// What zood keeps of a cluster beside the object that clients see. Each member is set by one step
/// of the controller and stays.
struct Place {
  std::string id;           ///< six characters; "": it has none yet
  std::uint32_t number = 0; ///< which address of clusters.addresses is its own; 0: none yet
  std::uint16_t port = 0;   ///< its direct port; 0: none yet
  std::string version;      ///< of Kubernetes, chosen
  std::uint32_t epoch = 1;  ///< of its credentials: those of an earlier one are refused
  /// Random, another one for each epoch: see administrators_group(). "": of a cluster that was made
  /// before there was one, until its next epoch.
  std::string mark;
  std::uint32_t rotation = 0; ///< times that its certificates were made anew by wish
  /// How far one authority of its certificates has followed another, and the number of such steps.
  AuthorityStage authority = AuthorityStage::settled;
  std::uint32_t authority_turn = 0;
  bool asleep = false; ///< it was stopped since nobody asked, and a connection starts it
  /// UIDs of namespace kube-system in it and upstream, by which either is known again; "": not yet.
  std::string own_store, upstream_store;
  /// Which of the upstream's it has, and whether it has them alone (grant.hpp).
  std::vector<std::string> nodes;
  bool exclusive = false;
  /// ClusterIP by which its pods reach its API server, on both sides; "": it has none yet.
  std::string api_address;
  std::string upstream; ///< UID of the object of the upstream that ordered it; "": none did
  bool operator==(const Place&) const = default;
};

struct Record {
  nlohmann::json object; ///< as clients see it; spec.kubeconfig is never in it
  Place place;
  std::int64_t revision = 0;

  std::string space() const;
  std::string name() const;
  std::string key() const; ///< "<namespace>/<name>"
  std::string uid() const;
  std::string phase() const;
  bool deleting() const; ///< metadata.deletionTimestamp is set
};

std::string key_of(std::string_view space, std::string_view name);

/// Sets metadata.resourceVersion. Code::internal for what cannot be read.
Result<Record> record_of(const store::Record& record);
Result<Record> read_record(store::Store& store, std::string_view key); ///< Code::not_found
Result<std::vector<Record>> all_records(store::Store& store);
/// With the record's revision as precondition (0: it must not exist); returns it as written.
Result<Record> write_record(store::Store& store, Record record);
/// Reads, changes, writes; again if somebody else wrote in between. `change` says false if there is
/// nothing to write. Code::conflict if it is another cluster by now (`uid`).
Result<Record> change_record(store::Store& store, std::string_view key, std::string_view uid,
                             const std::function<bool(Record&)>& change);

/// Sets status.conditions[type]; the time changes with the status. True: something is another.
bool set_condition(nlohmann::json& object, std::string_view type, bool holds,
                   std::string_view reason, std::string_view message);
bool holds(const Record& record, std::string_view type); ///< is that condition True?
std::string now_text();                                  ///< RFC 3339
Result<std::string> random_mark();                       ///< for Place::mark

} // namespace zoo::clusters
