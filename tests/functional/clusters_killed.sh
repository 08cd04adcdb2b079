#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: clusters keeper
# timeout: 900
# zood is killed at four moments of a virtual cluster's life (at all of them in clusters_killed_long.sh), and etcd and the keeper in
# between; and a cluster is deleted before it is there: creation and deletion finish, and nothing is left, nor upstream, but IDs, which rest.
. "$(dirname "$0")/../e2e/lib.sh"
. "$(dirname "$0")/clusters/lib.bash"
. "$(dirname "$0")/clusters/killed.bash"
at_end() { end_keeper; }

start_clusters

for step in 'C6 bootstrap' 'N2 sync'; do
  kill_zood_at "$step" cluster create a --cpu 1 --no-wait
  [[ $step != N* ]] || with_pod
  first=$(cluster_id a)
  check "it is deleted" ctl cluster delete a
  leaves_nothing "$first"
done

require "one that runs" ctl cluster create a --cpu 1
for step in 'D3 reclaim' 'D5 clear'; do
  id=$(cluster_id a)
  ids+=("$id")
  with_pod
  kill_zood_at "$step" cluster delete a --no-wait
  leaves_nothing "$id"
  require "the same name comes back" ctl cluster create a --cpu 1
  expect "as another" other "$([[ $(cluster_id a) != "$id" ]] && echo other)"
done
ids+=("$(cluster_id a)")

# ---- before it is there -----------------------------------------------------------------------------------------------------

check "it is deleted" ctl cluster delete a
check "another one is to be made" ctl cluster create a --cpu 1 --no-wait
etcd_runs() { pgrep -f "^etcd .*$zood_dir/clusters/"; }
eventually "its etcd runs" 30 etcd_runs
expect "and no more than that" Preparing "$(field a .status.phase)"
id=$(cluster_id a)
ids+=("$id")
check "it is deleted before it is there" ctl cluster delete a
leaves_nothing "$id"
check "a third one has an API server" on_step 'C6 bootstrap' - cluster create a --cpu 1 --no-wait
id=$(cluster_id a)
ids+=("$id")
check "and is deleted before it is there" ctl cluster delete a
leaves_nothing "$id"

# ---- its programs and the keeper ----------------------------------------------------------------------------------------------

require "one that runs" ctl cluster create a --cpu 1
ctl cluster create b --no-wait >/dev/null
etcd_of_b() { pgrep -f "$zood_dir/clusters/$(cluster_id b)/etcd" >/dev/null; }
eventually "while another one starts" 30 etcd_of_b
kill -KILL "$(keeper_pid)"
eventually "the keeper is killed, and it starts" 60 phase_is b Initialized
kill -KILL "$(component_pid b etcd)"
check "with its etcd killed it goes" ctl cluster delete b
id=$(cluster_id a)
ids+=("$id")
ctl cluster delete a --no-wait >/dev/null
kill -KILL "$(keeper_pid)"
gone() { ! ctl cluster get a 2>/dev/null; }
eventually "and so it does without its keeper" 60 gone
expect "nothing is left of either" "" "$(processes_in "$zood_dir/clusters")"

# ---- their IDs ------------------------------------------------------------------------------------------------------------------

ids_rest
python3 -c 'import sqlite3, sys, time
with sqlite3.connect(sys.argv[1]) as db:
    db.execute("UPDATE records SET value = ? WHERE kind = ? AND key = ?", (b"{\"until\":%d}" % (time.time() - 1), "virtualcluster-id", sys.argv[2]))' \
  "$zood_dir/zood.db" "$id"
others=$(stored virtualcluster-id | jq -r .key | grep -vxF -- "$id" | sort)
start_clusters
stop_zood || failed "zood drains and ends with status 0" <<<"$zood_dir: status $?"
expect "one whose days are over is forgotten, and it alone" "$others" "$(stored virtualcluster-id | jq -r .key | sort)"
