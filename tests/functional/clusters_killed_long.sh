#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: clusters keeper
# step: all
# timeout: 1800
# zood is killed at each step of a virtual cluster's life that its code names; etcd, kube-apiserver and the keeper at three of them each:
# creation and deletion finish, the cluster has one ID, and nothing is left, nor upstream.
. "$(dirname "$0")/../e2e/lib.sh"
. "$(dirname "$0")/clusters/lib.bash"
. "$(dirname "$0")/clusters/killed.bash"
at_end() { end_keeper; }

mapfile -t steps < <(sed -n 's/^.*[^a-z]step("\([CDN][0-9] [^"]*\)".*/\1/p' "$zoo_root"/daemon/clusters/*.cpp | sort -u)
for each in C1 C9 N0 N1 N2 D1 D6; do expect_match "the code names step $each" "^$each " "$(printf '%s\n' "${steps[@]}")"; done
start_clusters

for step in "${steps[@]}"; do
  if [[ $step == D* ]]; then
    require "one that runs" ctl cluster create a --cpu 1
    with_pod
    id=$(cluster_id a)
    ids+=("$id")
    kill_zood_at "$step" cluster delete a --no-wait
  else
    kill_zood_at "$step" cluster create a --cpu 1 --no-wait
    [[ $step != N* ]] || with_pod
    id=$(cluster_id a)
    check "it is deleted" ctl cluster delete a
  fi
  leaves_nothing "$id"
done

for each in 'etcd C5 reach' 'etcd C8 helpers' 'etcd D3 reclaim' 'kube-apiserver C6 bootstrap' 'kube-apiserver N2 sync' 'kube-apiserver D3 reclaim' \
  'keeper C4 run' 'keeper C7 run helpers' 'keeper D4 end'; do
  component=${each%% *} step=${each#* }
  if [[ $step == D* ]]; then
    require "one that runs" ctl cluster create a --cpu 1
    with_pod
    id=$(cluster_id a)
    ids+=("$id")
    kill_at "$step" "$component" cluster delete a --no-wait
  else
    kill_at "$step" "$component" cluster create a --cpu 1 --no-wait
    [[ $step != N* ]] || with_pod
    id=$(cluster_id a)
    check "it is deleted" ctl cluster delete a
  fi
  leaves_nothing "$id"
done
ids_rest
