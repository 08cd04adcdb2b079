// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/quota/shares.hpp"

#include <string>
#include <vector>

/// In which order slices are written, so that at no moment their sum is above the limit. Pure: any
/// thread.
namespace zoo::quota {

/// What one slice is to allow from now on, of every name of the limit.
struct Move {
  std::string space;
  ResourceList hard;
};

/// What is to shrink, be it in spec or in status. First of all: only what these leave is free.
std::vector<Move> lowered(const ResourceList& limit, const Slices& slices, const Targets& targets);

/// What may grow, as far as what the slices have taken leaves room for it; `slices` as they are
/// when everything was lowered. A slice in which upstream has not counted everything yet gets
/// nothing: nobody knows what it needs.
std::vector<Move> raised(const ResourceList& limit, const Slices& slices, const Targets& targets);

/// Has upstream counted what there is under each of these names?
bool counted(const Slice& slice, const ResourceList& names);

/// Of these names what `list` has; of the others nothing.
ResourceList of_names(const ResourceList& list, const ResourceList& names);

} // namespace zoo::quota
