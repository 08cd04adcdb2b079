// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/resources/kind.hpp"
#include "daemon/resources/request.hpp"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace zoo::resources {

/// One resource or subresource ("tenants/status") as discovery tells of it.
struct ServedResource {
  std::string name, kind;
  std::vector<std::string> verbs;
  std::string singular = {};
  std::vector<std::string> short_names = {}, categories = {};
  bool namespaced = false;
};

struct ServedGroup {
  std::string name, version;
  std::vector<ServedResource> resources; ///< subresources follow theirs
  std::string group_version() const { return name.empty() ? version : name + "/" + version; }
};

/// The groups of these kinds, in the order of the kinds.
std::vector<ServedGroup> groups_of(std::span<const KindPtr> kinds);

/// /api and /api/<version> of the core group; /apis (as APIGroupList, and aggregated per KEP-3352),
/// /apis/<group> and /apis/<group>/<version> of the others; nothing if the path is none of them.
/// Pure.
std::optional<Answer> discovery_answer(const Request& request, std::span<const ServedGroup> groups);

/// For what a client may keep: adds ETag, and answers 304 if it has it already.
Answer cacheable(const Request& request, Answer answer);

} // namespace zoo::resources
