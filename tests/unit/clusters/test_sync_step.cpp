// SPDX-License-Identifier: Apache-2.0
// What is done about a pod, as the tables of Virtual Cluster (CAPN) have it: `pod dws`, `pod uws`
// and `pod checker`, under their names.
#include "daemon/clusters/sync/pod_step.hpp"

#include <doctest/doctest.h>

using namespace zoo::clusters::sync;

namespace {

struct Row {
  const char* name;
  std::optional<PodHere> here;
  std::optional<PodThere> there;
  bool was_there;
  PodStep step;
};

const PodHere k_here{"v1", "h1"};
const PodThere k_there{"p1", "v1", "h1"};
PodHere here(auto&& change) {
  auto out = k_here;
  change(out);
  return out;
}
PodThere there(auto&& change) {
  auto out = k_there;
  change(out);
  return out;
}

} // namespace

TEST_CASE("what is done about a pod") {
  const auto leaving = [](auto& pod) { pod.leaving = true; };
  const auto other_owner = [](PodThere& pod) { pod.owner = "v0"; };
  const auto lingers = [](PodThere& pod) {
    pod.leaving = true;
    pod.grace = k_longest_grace + 1;
  };
  const auto stranded = [](PodHere& pod) { pod.stranded = true; };
  const auto nobodys = [](PodThere& pod) { pod.owner.clear(); };
  const Row rows[] = {
      // from the cluster down
      {"new Pod", k_here, {}, false, PodStep::create},
      {"load pod which under deletion (no host pod)", here(leaving), {}, false, PodStep::finish},
      // CAPN rejects a pod that names its node itself; here it is one as any other.
      {"new pod with nodeName (rejected)", k_here, {}, false, PodStep::create},
      {"new Pod on a node that the cluster does not have",
       here([](PodHere& pod) { pod.bound = false; }),
       {},
       false,
       PodStep::nothing},
      {"already exists", k_here, k_there, true, PodStep::nothing},
      {"existing different uid one", k_here, there(other_owner), true, PodStep::replace},
      {"existing different uid one, which goes", k_here, there([&](PodThere& pod) {
         other_owner(pod);
         pod.leaving = true;
       }),
       true, PodStep::nothing},
      {"delete Pod", here(leaving), k_there, true, PodStep::stop},
      {"delete vPod while pPod running", {}, k_there, true, PodStep::stop},
      {"already gone", {}, {}, true, PodStep::nothing},
      {"terminating vPod but running pPod", here(leaving), k_there, true, PodStep::stop},
      {"both terminating", here(leaving), there(leaving), true, PodStep::nothing},
      {"no diff", k_here, k_there, true, PodStep::nothing},
      {"diff in container", here([](PodHere& pod) { pod.hash = "h2"; }), k_there, true,
       PodStep::change},
      {"diff but uid is wrong", here([](PodHere& pod) { pod.hash = "h2"; }), there(other_owner),
       true, PodStep::replace},
      // from upstream up
      {"pPod not found", k_here, {}, true, PodStep::finish},
      {"pPod is deleted", k_here, there(leaving), true, PodStep::evict},
      {"not created by syncer", k_here, there(nobodys), false, PodStep::foreign},
      {"not created by syncer, and the vPod goes", here(leaving), there(nobodys), false,
       PodStep::finish},
      {"not created by syncer, vPod not found", {}, there(nobodys), false, PodStep::nothing},
      {"vPod not found", {}, k_there, true, PodStep::stop},
      {"vPod not found, pPod goes", {}, there(leaving), true, PodStep::nothing},
      // nobody has it any more, and it has years to end
      {"vPod not found, pPod goes by and by", {}, there(lingers), true, PodStep::stop},
      {"different uid one goes by and by", k_here, there([&](PodThere& pod) {
         lingers(pod);
         other_owner(pod);
       }),
       true, PodStep::replace},
      {"both terminating, by and by", here(leaving), there(lingers), true, PodStep::nothing},
      // its node was taken away, and the cluster lets nothing go
      {"stranded", here(stranded), k_there, true, PodStep::stop},
      {"stranded, and the vPod goes", here([&](PodHere& pod) {
         stranded(pod);
         leaving(pod);
       }),
       there(lingers), true, PodStep::stop},
      {"stranded, and the pPod goes", here(stranded), there(leaving), true, PodStep::evict},
      {"stranded, no pPod any more", here(stranded), {}, true, PodStep::finish},
      // upstream had no room for it
      {"given up, upstream still tries", here([](PodHere& pod) { pod.given_up = true; }), k_there,
       true, PodStep::stop},
      {"given up, upstream's goes", here([](PodHere& pod) { pod.given_up = true; }), there(leaving),
       true, PodStep::nothing},
      {"given up: it stays to be looked at",
       here([](PodHere& pod) { pod.given_up = true; }),
       {},
       true,
       PodStep::nothing},
      {"given up, and deleted",
       here([](PodHere& pod) { pod.given_up = pod.leaving = true; }),
       {},
       true,
       PodStep::finish},
      // what a patrol finds
      {"pPod exists/vPod not", {}, k_there, false, PodStep::stop},
      {"uid differs", k_here, there(other_owner), false, PodStep::replace},
      {"spec differs", here([](PodHere& pod) { pod.hash = "h2"; }), k_there, false,
       PodStep::change},
      {"spec differs of one that has ended", here([](PodHere& pod) {
         pod.hash = "h2";
         pod.ended = true;
       }),
       k_there, true, PodStep::nothing},
      {"scheduled+deleting no pPod", here(leaving), {}, false, PodStep::finish},
      {"scheduled not deleting no pPod", k_here, {}, false, PodStep::create},
      {"scheduled not deleting no pPod, that ran upstream",
       here([](PodHere& pod) { pod.ran = true; }),
       {},
       false,
       PodStep::finish},
      {"ended before it was upstream",
       here([](PodHere& pod) { pod.ended = true; }),
       {},
       false,
       PodStep::nothing},
  };
  for (const auto& row : rows) {
    CAPTURE(row.name);
    CHECK(step_name(next_step(row.here, row.there, row.was_there)) == step_name(row.step));
  }
}
