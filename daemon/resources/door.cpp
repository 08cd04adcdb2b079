// SPDX-License-Identifier: Apache-2.0
#include "daemon/resources/door.hpp"

namespace zoo::resources {

RequestFacts facts_of(const Request& request) {
  RequestFacts out;
  const auto& path = request.segments;
  const bool named = path.size() > 4;
  const bool watches = request.flag("watch").value_or(false);
  const auto& method = request.method;
  out.verb = method == "GET" || method == "HEAD" ? (named || path.size() != 4 ? "get"
                                                    : watches                 ? "watch"
                                                                              : "list")
             : method == "POST"                  ? "create"
             : method == "PUT"                   ? "update"
             : method == "PATCH"                 ? "patch"
             : method == "DELETE"                ? "delete"
                                                 : method;
  if (path.size() < 4 || path[0] != "apis") return out;
  out.group = path[1];
  out.version = path[2];
  out.resource = path[3];
  if (named) out.name = path[4];
  if (path.size() > 5) out.subresource = path[5];
  return out;
}

} // namespace zoo::resources
