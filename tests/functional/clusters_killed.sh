#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: clusters keeper
# timeout: 600
# zood is killed at seven moments of a virtual cluster's life, and etcd and the keeper in between: both creation and deletion
# finish, and nothing is left, nor upstream.
. "$(dirname "$0")/../e2e/lib.sh"
. "$(dirname "$0")/clusters/lib.bash"
at_end() { end_keeper; }

start_clusters

# kill_at STEP COMMAND...: zood, as soon as its log says that it has begun with it after the command.
kill_at() {
  local step=$1 before end=$((SECONDS + 60))
  shift
  before=$(grep -c "step $step" "$zood_dir.log")
  "$@" >/dev/null 2>&1 &
  local command=$!
  while (($(grep -c "step $step" "$zood_dir.log") <= before)); do
    ((SECONDS < end)) || { failed "step $step" <<<"it did not come"; return; }
    sleep 0.02
  done
  stop_zood KILL
  kill "$command" 2>/dev/null
  wait "$command" 2>/dev/null
  passed "zood is killed at $step"
}

# with_pod: cluster a has something upstream.
with_pod() {
  require "a pod is made" in_cluster a run x --image=registry.example/x
  upstream_has() { upstream get pod x -n "$(cluster_id a)-default"; }
  eventually "and comes upstream" 60 upstream_has
}

for step in 'C3 furnish' 'C6 bootstrap' 'N0 tenant' 'N2 sync'; do
  kill_at "$step" ctl cluster create a --cpu 1 --no-wait
  start_clusters
  eventually "and creation goes on" 60 phase_is a Initialized
  check "to its end" in_cluster a get namespaces
  [[ $step != N* ]] || with_pod
  first=$(cluster_id a)
  check "it goes" ctl cluster delete a
  expect "with all" "" "$(processes_in "$zood_dir/clusters/$first")$(upstream get ns -l "tenant.kubezoo.io/id=$first" -o name)"
done

require "one that runs" ctl cluster create a --cpu 1
for step in 'D3 reclaim' 'D4 end' 'D5 clear'; do
  id=$(cluster_id a)
  with_pod
  kill_at "$step" ctl cluster delete a --no-wait
  start_clusters
  gone() { ! ctl cluster get a 2>/dev/null; }
  eventually "and deletion goes on" 60 gone
  expect "no process is left" "" "$(processes_in "$zood_dir/clusters/$id")"
  expect "nor a namespace upstream" "" "$(upstream get ns -l "tenant.kubezoo.io/id=$id" -o name)"
  expect "no file" "" "$(find "$zood_dir/clusters" -mindepth 1 -maxdepth 1 -type d)"
  require "the same name comes back" ctl cluster create a --cpu 1
  expect "as another" other "$([[ $(cluster_id a) != "$id" ]] && echo other)"
done

ctl cluster create b --no-wait >/dev/null
etcd_of_b() { pgrep -f "$zood_dir/clusters/$(cluster_id b)/etcd" >/dev/null; }
eventually "while another one starts" 30 etcd_of_b
kill -KILL "$(keeper_pid)"
eventually "the keeper is killed, and it starts" 60 phase_is b Initialized
kill -KILL "$(component_pid b etcd)"
check "with its etcd killed it goes" ctl cluster delete b
id=$(cluster_id a)
ctl cluster delete a --no-wait >/dev/null
kill -KILL "$(keeper_pid)"
gone() { ! ctl cluster get a 2>/dev/null; }
eventually "and so it does without its keeper" 60 gone
expect "nothing is left of either" "" "$(processes_in "$zood_dir/clusters")"
