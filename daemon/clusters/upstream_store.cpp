// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/upstream_store.hpp"

#include "common/api/tenant.hpp"
#include "common/kube/json_reads.hpp"
#include "daemon/clusters/sync/calls.hpp"

#include <algorithm>

namespace zoo::clusters {

Result<void> may_miss_order(const Record& record, std::string_view uid) {
  const auto& known = record.place.upstream_store;
  if (!known.empty() && known == uid) return {};
  const auto what =
      known.empty()
          ? fmt::format("it is not known whether the upstream, whose namespace kube-system has UID "
                        "{}, is the one that ordered it",
                        uid)
          : fmt::format("the upstream is not what it was: its namespace kube-system has UID {}, "
                        "and had {}",
                        uid, known);
  return fail(Code::unavailable,
              "{}; the virtual cluster stays. If its order never comes back, delete the cluster "
              "with `zooctl cluster delete {} -n {}`",
              what, record.name(), record.space());
}

tenants::RoomPlace place_of_room(const Record& record, const std::string& uid) {
  using Is = tenants::RoomPlace::Is;
  const auto& known = record.place.upstream_store;
  if (known.empty() || known == uid) return {};
  const auto annotations = kube::texts_at(record.object, "/metadata/annotations");
  const auto left = annotations.find(k_leave_annotation);
  if (left != annotations.end() && left->second == known) return {Is::given_up, {}};
  return {Is::elsewhere,
          fmt::format("the upstream that it was in: namespace kube-system there has UID {}, and "
                      "the upstream's has {}. If that one never comes back, leave what is in it: "
                      "`kubectl annotate virtualcluster {} -n {} {}={}` at zood's admin API",
                      known, uid, record.name(), record.space(), k_leave_annotation, known)};
}

Result<tenants::RoomPlace> place_of_room(store::Store& store, upstream::ControlApi& api,
                                         const api::Tenant& tenant) {
  if (!tenant.of_cluster) return tenants::RoomPlace{};
  ZOO_TRY(const auto records, all_records(store));
  const auto found = std::find_if(records.begin(), records.end(), [&tenant](const auto& each) {
    return each.place.id == tenant.id;
  });
  if (found == records.end() || found->place.upstream_store.empty()) return tenants::RoomPlace{};
  ZOO_TRY(const auto uid, sync::store_uid(api));
  return place_of_room(*found, uid);
}

} // namespace zoo::clusters
