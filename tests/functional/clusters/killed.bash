# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced behind clusters/lib.bash: the life of a virtual cluster `a`, which asks for a share, and what is killed during it.
ids=() # of the clusters that were there

# on_step STEP WHOM ARGUMENTS of zooctl...: as on_step.py has it.
on_step() { "$zoo_root/tests/functional/clusters/on_step.py" "$zood_dir.log" "$1" "$2" "$ZOO_BUILD/bin/zooctl" --dir "$zood_dir" "${@:3}"; }

# stored KIND: zood's records of that kind as JSON, {"key", "value"} a line. zood does not run: it has its store for itself.
stored() {
  rm -rf "$TMPDIR/stored" && mkdir "$TMPDIR/stored" && cp "$zood_dir"/zood.db* "$TMPDIR/stored" && python3 -c 'import json, sqlite3, sys
for key, value in sqlite3.connect(sys.argv[1]).execute("SELECT key, value FROM records WHERE kind = ?", (sys.argv[2],)):
    print(json.dumps({"key": key, "value": json.loads(value)}))' "$TMPDIR/stored/zood.db" "$1"
}

directories() { find "$zood_dir/clusters" -mindepth 1 -maxdepth 1 -type d -printf '%f\n'; }

# kill_zood_at STEP ARGUMENTS of zooctl...: zood, when it begins with that step because of the command, and starts another one.
kill_zood_at() {
  local known
  check "zood is killed at $1" on_step "$1" "${zood_pids[$zood_dir]}" "${@:2}"
  stop_zood KILL
  known=$(stored virtualcluster | jq -r '.value.place.id // ""')
  start_clusters
  [[ "$2 $3" != "cluster create" ]] || comes_up "$known"
}

# kill_at STEP COMPONENT ARGUMENTS of zooctl...: that program of the cluster's, or its keeper.
kill_at() {
  local whom="$2:$zood_dir/clusters" before
  before=$(keeper_pid)
  if [[ $2 == keeper ]]; then whom=$before; fi
  check "$2 is killed at $1" on_step "$1" "$whom" "${@:3}"
  # What is killed during deletion need not come back.
  [[ "$3 $4" == "cluster create" ]] || return 0
  comes_back() {
    if [[ $1 == keeper ]]; then [[ $(keeper_pid) != "$before" ]]; else [[ $(field a ".status.components[] | select(.name == \"$1\") | .restarts") -ge 1 ]]; fi
  }
  eventually "it is started again" 60 comes_back "$2"
  comes_up ""
}

# comes_up ID: the cluster that is being made comes to its end, with that ID if there is one already.
comes_up() {
  local id
  eventually "creation goes on" 60 phase_is a Initialized
  eventually "to its end" 60 in_cluster a get namespaces
  id=$(cluster_id a)
  ids+=("$id")
  [[ -z $1 ]] || expect "with the ID that it has got" "$1" "$id"
  expect "and with one directory" "$id" "$(directories)"
}

# with_pod: the cluster has something upstream.
with_pod() {
  require "a pod is made" in_cluster a run x --image=registry.example/x
  upstream_has() { upstream get pod x -n "$(cluster_id a)-default"; }
  eventually "and comes upstream" 60 upstream_has
}

# leaves_nothing ID: deletion, which was begun, comes to its end.
leaves_nothing() {
  gone() { ! ctl cluster get a 2>/dev/null; }
  eventually "it goes" 60 gone
  check_status "with its record" 4 ctl cluster get a
  expect "with its processes" "" "$(processes_in "$zood_dir/clusters")"
  expect "its directory" "" "$(directories)"
  expect "and all that it had upstream" "" "$(upstream get namespaces,clusterroles,clusterrolebindings -o name | grep -F -- "$1")"
}

# ids_rest: zood ends; nothing of the clusters is in its store but their IDs, which are given to no other cluster for 30 days.
ids_rest() {
  local now
  stop_zood || failed "zood drains and ends with status 0" <<<"$zood_dir: status $?"
  now=$(date +%s)
  expect "no record of them is left" "" "$(stored virtualcluster; stored tenant)"
  expect "their IDs rest" "" "$(comm -23 <(printf '%s\n' "${ids[@]}" | sort -u) <(stored virtualcluster-id | jq -r .key | sort))"
  expect "each for 30 days" "" "$(stored virtualcluster-id | jq -c --argjson now "$now" '(.value.until - $now) as $rest | select($rest > 2592000 or $rest < 2592000 - 3600)')"
}
