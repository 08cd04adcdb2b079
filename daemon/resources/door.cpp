// SPDX-License-Identifier: Apache-2.0
#include "daemon/resources/door.hpp"

namespace zoo::resources {

RequestFacts facts_of(const Request& request) {
  RequestFacts out;
  const auto& path = request.segments;
  // "namespaces", and which one, may stand before the kind.
  const std::size_t kind = path.size() > 5 && path[3] == "namespaces" ? 5 : 3;
  const bool named = path.size() > kind + 1;
  const bool watches = request.flag("watch").value_or(false);
  const auto& method = request.method;
  out.verb = method == "GET" || method == "HEAD" ? (named || path.size() != kind + 1 ? "get"
                                                    : watches                        ? "watch"
                                                                                     : "list")
             : method == "POST"                  ? "create"
             : method == "PUT"                   ? "update"
             : method == "PATCH"                 ? "patch"
             : method == "DELETE"                ? "delete"
                                                 : method;
  if (path.size() < 4 || path[0] != "apis") return out;
  out.group = path[1];
  out.version = path[2];
  if (kind == 5) out.name_space = path[4];
  out.resource = path[kind];
  if (named) out.name = path[kind + 1];
  if (path.size() > kind + 2) out.subresource = path[kind + 2];
  return out;
}

} // namespace zoo::resources
