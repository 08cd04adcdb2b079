#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: keeper clusters app
# timeout: 300
# What the kernel holds a control plane to: files of its own cluster (Landlock), and bounds of a cgroup below the keeper's, which the next
# keeper finds again. Where the machine has either not, control planes work all the same, and doctor says what is not in force.
. "$(dirname "$0")/../e2e/lib.sh"
. "$(dirname "$0")/clusters/lib.bash"

cgroups=$(awk '/ - cgroup2 / { print $5; exit }' /proc/self/mountinfo)/zoo-test-$$
mkdir "$cgroups" 2>/dev/null || { note "no cgroup can be made here: nothing is said of bounds"; cgroups=; }
at_end() {
  end_keeper
  [[ -n $cgroups ]] || return 0
  local each
  for each in "$cgroups"/*/ "$cgroups"; do rmdir "$each" 2>/dev/null; done
  [[ ! -d $cgroups ]] || failed "no cgroup is left" <<<"$(find "$cgroups" -type d)"
}

# a_keeper: as the unit starts it, in the cgroup that is handed to it.
a_keeper() {
  # shellcheck disable=SC2016
  bash -c '[[ -z $1 ]] || echo $$ >"$1/cgroup.procs" || exit 219; exec "${@:2}"' - "$cgroups" \
    "$ZOO_BUILD/bin/zood" --keeper ${cgroups:+--delegated} --dir "$zood_dir" --binaries "$TMPDIR/kubernetes" >>"$TMPDIR/keeper.log" 2>&1 &
}
cgroup_of() { sed -n 's/^0:://p' "/proc/$1/cgroup"; }
listens() { [[ -S $zood_dir/clusters/keeper.sock ]] && [[ -d /proc/$(keeper_pid) ]]; }

export INVOCATION_ID=of-a-service-manager # zood starts no keeper itself
start_clusters
a_keeper
eventually "a keeper runs" 30 listens
require "a cluster" ctl cluster create t1
id=$(cluster_id t1)
landlock=$(python3 -c 'import ctypes; print(ctypes.CDLL(None).syscall(444, None, 0, 1))') # its version, or -1
((landlock > 0)) || note "this kernel has no Landlock"
for component in etcd kube-apiserver kube-controller-manager kube-scheduler; do
  pid=$(component_pid t1 "$component")
  # It is the first half of a fence.
  ((landlock <= 0)) || expect "$component gains no privileges" 1 "$(awk '/^NoNewPrivs:/ { print $2 }' "/proc/$pid/status")"
  [[ -z $cgroups ]] || expect "$component is in its cluster's cgroup" "/${cgroups##*/}/$id" "$(cgroup_of "$pid" | grep -o "/${cgroups##*/}/.*")"
done
doctor() { ctl doctor -o json | jq -r '.findings[] | select(.subject == "virtual clusters") | .message'; }
doctor_warns() { doctor | grep -c 'can open keys and data of the others'; }
expect "doctor warns where there is no fence" "$((landlock > 0 ? 0 : 1))" "$(doctor_warns)"
expect_match "doctor tells of limits" '1 of 1 are as they should be; (the kernel holds each|the limits of their memory are soft: )' "$(doctor)"
check "the cluster works" in_cluster t1 create namespace mine
check "its controllers, too" in_cluster t1 wait --for=create serviceaccount/default -n mine --timeout=30s
before=$(component_pids t1)
etcd=$(component_pid t1 etcd)

if [[ -n $cgroups ]]; then
  keeper=$(keeper_pid)
  expect "the keeper is beside it" "/${cgroups##*/}/keeper" "$(cgroup_of "$keeper" | grep -o "/${cgroups##*/}/.*")"
  # As systemd does it: the program that ends it in a child of the cgroup, then the next one in the cgroup itself.
  kill -KILL "$keeper"
  mkdir -p "$cgroups/.control"
  # shellcheck disable=SC2016
  check "a keeper that was killed is cleared up after" bash -c 'echo $$ >"$1/.control/cgroup.procs"; exec "$2" --keeper --release --dir "$3"' - \
    "$cgroups" "$ZOO_BUILD/bin/zood" "$zood_dir"
  a_keeper
  another() { listens && [[ $(keeper_pid) != "$keeper" ]]; }
  eventually "the next one starts in its place" 30 another
  same_processes() { [[ $(component_pids t1) == "$before" ]]; }
  eventually "with the processes that run" 30 same_processes
  expect "which are where they were" "/${cgroups##*/}/$id" "$(cgroup_of "$etcd" | grep -o "/${cgroups##*/}/.*")"
  rmdir "$cgroups/.control"
fi
check "it goes" ctl cluster delete t1
[[ -z $cgroups ]] || expect "with its cgroup" "" "$(find "$cgroups" -name "$id")"
expect "and its processes" "" "$(processes_in "$zood_dir/clusters")"
