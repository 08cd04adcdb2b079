// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/sync/pod_step.hpp"

namespace zoo::clusters::sync {

std::string_view step_name(PodStep step) {
  switch (step) {
  case PodStep::nothing:
    return "nothing";
  case PodStep::create:
    return "create";
  case PodStep::change:
    return "change";
  case PodStep::stop:
    return "stop";
  case PodStep::replace:
    return "replace";
  case PodStep::evict:
    return "evict";
  case PodStep::finish:
    return "finish";
  case PodStep::foreign:
    return "foreign";
  }
  return "nothing";
}

namespace {

/// It goes, in good time.
bool ends_soon(const PodThere& there) { return there.leaving && there.grace <= k_longest_grace; }

} // namespace

PodStep next_step(const std::optional<PodHere>& here, const std::optional<PodThere>& there,
                  bool was_there) {
  if (!here) {
    const bool ours = there && !there->owner.empty();
    return ours && !ends_soon(*there) ? PodStep::stop : PodStep::nothing;
  }
  if (here->given_up) {
    const bool ours = there && there->owner == here->uid;
    if (ours && !ends_soon(*there)) return PodStep::stop;
    return here->leaving && !ours ? PodStep::finish : PodStep::nothing;
  }
  if (!there) {
    if (here->leaving || was_there || here->ran) return PodStep::finish;
    return here->bound && !here->ended ? PodStep::create : PodStep::nothing;
  }
  if (there->owner.empty()) return here->leaving ? PodStep::finish : PodStep::foreign;
  if (there->owner != here->uid) return ends_soon(*there) ? PodStep::nothing : PodStep::replace;
  if (here->stranded && !ends_soon(*there)) return PodStep::stop;
  if (there->leaving) return here->leaving ? PodStep::nothing : PodStep::evict;
  if (here->leaving) return PodStep::stop;
  return there->hash != here->hash && !here->ended ? PodStep::change : PodStep::nothing;
}

} // namespace zoo::clusters::sync
