// SPDX-License-Identifier: Apache-2.0
#include "daemon/upstream/outright.hpp"

#include "common/kube/json_reads.hpp"
#include "daemon/upstream/control_api.hpp"

#include <nlohmann/json.hpp>

namespace zoo::upstream {

Result<void> remove_outright(ControlApi& api, std::string_view path, std::string_view uid) {
  ZOO_TRY_VOID(api.remove_read(path, uid));
  const auto left = api.get(path);
  if (!left && left.error().code() == Code::not_found) return {};
  if (!left) return fail(left.error());
  if (kube::text_at(*left, "/metadata/uid") != uid ||
      kube::list_at(*left, "/metadata/finalizers").empty())
    return {};
  const auto done = api.merge_patch(path, {{"metadata", {{"uid", uid}, {"finalizers", nullptr}}}});
  if (!done && done.error().code() != Code::not_found) return fail(done.error());
  return {};
}

} // namespace zoo::upstream
