// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/quota/usage.hpp"

#include <map>
#include <string>

/// How the limit of one owner is shared out among its namespaces. Pure: any thread.
namespace zoo::quota {

/// The slice of one namespace: its ResourceQuota, as it was read last.
struct Slice {
  ResourceList spec;   ///< spec.hard
  ResourceList hard;   ///< status.hard, which is what the ResourceQuota plugin goes by
  ResourceList used;   ///< status.used
  ResourceList wanted; ///< that was refused for want of room a moment ago, beyond `used`
};
using Slices = std::map<std::string, Slice, std::less<>>; ///< by namespace

/// What a slice takes of the limit: of each name the largest of `spec`, `hard` and `used`. `hard`
/// may become `spec` at any moment, by kube-controller-manager, and `used` may stand above both.
ResourceList taken(const Slice& slice);
ResourceList taken(const Slices& slices);

using Targets = std::map<std::string, ResourceList, std::less<>>; ///< by namespace

/// What each namespace should be allowed, of each name of `limit`. The sum is never above the
/// limit. While more is used than the limit allows, slices are cut below what is used, so that
/// nothing grows. Else each namespace keeps what it uses, gets what it wanted where there is room,
/// and some of what is free; what lies idle in one goes to another that has next to nothing. A
/// second call with the targets in place changes nothing.
Targets distribute(const ResourceList& limit, const Slices& slices);

} // namespace zoo::quota
