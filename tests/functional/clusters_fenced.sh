#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: keeper clusters app
# timeout: 300
# What the kernel holds a control plane to: files of its own cluster (Landlock), bounds of a cgroup below the keeper's, which the next keeper finds
# again, and, where the keeper is root, the rights of a user of its own (clusters.uid_base), beside a zood that is not root: of all keys
# and tokens that zood has, its programs read those of their own cluster. Where the machine
# has one of these not, control planes work all the same, and doctor says what is not in force.
. "$(dirname "$0")/../e2e/lib.sh"
. "$(dirname "$0")/clusters/lib.bash"
# shellcheck source=tests/upstream/go-env.sh
. "$zoo_root/tests/upstream/go-env.sh"

base=0 as_unit=() # clusters.uid_base; what the keeper's unit lets it do
if ((EUID == 0)); then
  as_unit=(setpriv --bounding-set "-all,$(sed -n 's/^CapabilityBoundingSet=//p' "$zoo_root/packaging/systemd/zood-keeper-users.conf" | tr 'A-Z ' 'a-z,' | sed 's/cap_/+/g')")
  base=1900000000 zood_user=1899999999
  TMPDIR=$(mktemp -d /tmp/zoo.XXXXXX) # with a way to it for everybody
  chmod 711 "$TMPDIR"
  zood_dir=$TMPDIR/zood
  install -d -m 700 -o "$zood_user" -g "$zood_user" "$zood_dir"
  install -m 400 -o "$zood_user" "$ZOO_E2E_KUBECONFIG" "$TMPDIR/upstream.kubeconfig"
  install -m 755 "$ZOO_BUILD/bin/zood" "$TMPDIR/zood.program"
  ZOO_E2E_KUBECONFIG=$TMPDIR/upstream.kubeconfig ZOO_ZOOD=$TMPDIR/zood.other
  install -m 755 /dev/stdin "$ZOO_ZOOD" <<SH
#!/bin/sh
umask 077
exec setpriv --reuid $zood_user --regid $zood_user --clear-groups "$TMPDIR/zood.program" "\$@"
SH
else
  note "only root can give control planes users of their own: nothing is said of them"
fi

cgroups=$(awk '/ - cgroup2 / { print $5; exit }' /proc/self/mountinfo)/zoo-test-$$
mkdir "$cgroups" 2>/dev/null || { note "no cgroup can be made here: nothing is said of bounds"; cgroups=; }
at_end() {
  end_keeper
  if ((base != 0 && zoo_failures == 0)); then rm -rf "$TMPDIR"; fi
  [[ -n $cgroups ]] || return 0
  local each
  for each in "$cgroups"/*/ "$cgroups"; do rmdir "$each" 2>/dev/null; done
  [[ ! -d $cgroups ]] || failed "no cgroup is left" <<<"$(find "$cgroups" -type d)"
}

# a_keeper [BASE]: as the unit starts it, in the cgroup that is handed to it.
a_keeper() {
  # shellcheck disable=SC2016
  bash -c '[[ -z $1 ]] || echo $$ >"$1/cgroup.procs" || exit 219; exec "${@:2}"' - "$cgroups" \
    "${as_unit[@]}" "$ZOO_BUILD/bin/zood" --keeper ${cgroups:+--delegated} --dir "$zood_dir" --binaries "$TMPDIR/kubernetes" --uid-base "${1:-$base}" >>"$TMPDIR/keeper.log" 2>&1 &
  disown # it may be killed
}
cgroup_of() { sed -n 's/^0:://p' "/proc/$1/cgroup"; }
listens() { [[ -S $zood_dir/clusters/keeper.sock ]] && [[ -d /proc/$(keeper_pid) ]]; }
# another_keeper [BASE]: in place of one that is killed.
another_keeper() {
  local before
  before=$(keeper_pid)
  kill -KILL "$before"
  if [[ -n $cgroups ]]; then
    # As systemd does it: the program that ends it in a child of the cgroup, then the next one in the cgroup itself.
    mkdir -p "$cgroups/.control"
    # shellcheck disable=SC2016
    check "a keeper that was killed is cleared up after" bash -c 'echo $$ >"$1/.control/cgroup.procs"; exec "$2" --keeper --release --dir "$3"' - \
      "$cgroups" "$ZOO_BUILD/bin/zood" "$zood_dir"
    rmdir "$cgroups/.control"
  fi
  a_keeper "$@"
  another() { listens && [[ $(keeper_pid) != "$before" ]]; }
  eventually "the next one starts in its place" 30 another
}

export INVOCATION_ID=of-a-service-manager # zood starts no keeper itself
start_clusters "  uid_base: $base"
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

keeper=$(keeper_pid)
[[ -z $cgroups ]] || expect "the keeper is beside it" "/${cgroups##*/}/keeper" "$(cgroup_of "$keeper" | grep -o "/${cgroups##*/}/.*")"
another_keeper
same_processes() { [[ $(component_pids t1) == "$before" ]]; }
eventually "with the processes that run" 30 same_processes
[[ -z $cgroups ]] || expect "which are where they were" "/${cgroups##*/}/$id" "$(cgroup_of "$etcd" | grep -o "/${cgroups##*/}/.*")"

# ---- users of their own ----
if ((base != 0)); then
  expect_match "doctor tells that each has a user of its own" '; each runs as a user of its own$' "$(doctor)"
  require "another cluster" ctl cluster create t2
  other=$(cluster_id t2)
  user_of() { stat -c %u "/proc/$1"; }
  rights_of() { awk '/^(Uid|Gid|Groups|CapEff):/ { $1 = $1; print }' "/proc/$1/status" | tr '\n' ' '; }
  one=$(user_of "$etcd") two=$(user_of "$(component_pid t2 etcd)")
  ((one > base && two > base && one != two)) || failed "each has another one" <<<"$one $two"
  for component in etcd kube-apiserver kube-controller-manager kube-scheduler; do
    expect "$component of one is that user's and nobody else's" "Uid: $one $one $one $one Gid: $one $one $one $one Groups: CapEff: 0000000000000000 " \
      "$(rights_of "$(component_pid t1 "$component")")"
    expect "$component of the other one likewise" "$two" "$(user_of "$(component_pid t2 "$component")")"
  done
  # in_place DIRECTORY UID COMMAND...: by that user who was led there, as programs are: he has no way of his own.
  in_place() { (cd "$zood_dir/$1" && setpriv --reuid "$2" --regid "$2" --clear-groups "${@:3}"); }
  # Python itself is read by root: it may be in root's directory.
  connects() {
    (cd "$zood_dir/$1" && python3 -c 'import os, socket, sys
door, user = socket.socket(socket.AF_UNIX), int(sys.argv[1])
os.setgroups([]), os.setresgid(user, user, user), os.setresuid(user, user, user)
door.connect(sys.argv[2])' "$2" "$3")
  }
  check "a user reads keys of his own cluster" in_place "clusters/$id" "$one" cat pki/apiserver.key
  check "and its data" in_place "clusters/$id" "$one" ls etcd/member
  check "and reaches its egress door" connects "clusters/$id" "$one" egress.sock
  check_fails "but not keys of the other one" 'Permission denied' in_place "clusters/$other" "$one" cat pki/apiserver.key
  check_fails "nor its data" 'Permission denied' in_place "clusters/$other" "$one" ls etcd
  check_fails "nor its egress door" 'PermissionError' connects "clusters/$other" "$one" egress.sock
  check_fails "nor what its programs say" 'Permission denied' in_place "clusters/$other" "$one" cat log/etcd.log
  check_fails "nor its directory" 'Permission denied' in_place clusters "$one" ls "$other"
  check_fails "he writes no keys" 'Permission denied' in_place "clusters/$id" "$one" sh -c 'echo >pki/apiserver.key'
  check_fails "and makes no files" 'Permission denied' in_place "clusters/$id" "$one" touch new
  check_fails "zood's socket is closed to him" 'PermissionError' connects . "$one" zood.sock
  check_fails "and the keeper's" 'PermissionError' connects clusters "$one" keeper.sock
  check_fails "zood's keys" 'Permission denied' in_place . "$one" cat master.key
  check_fails "the environment of the other one's programs" 'Permission denied' in_place . "$one" cat "/proc/$(component_pid t2 etcd)/environ"
  check_fails "and these end by no signal of his" 'not permitted' in_place . "$one" bash -c "kill -0 $(component_pid t2 etcd)"
  # All files of zood's directory and the host's credential, by whole paths and from where the programs of t1 begin. Its own begin with "./".
  seeker=$(go_program "$zoo_root/tests/functional/clusters/seeker") || { failed "build the seeker" <<<"see above"; exit 1; }
  programs=$TMPDIR/kubernetes/$zoo_clusters_version
  install -m 755 "$seeker" "$programs/seeker"
  # files_in FILE WORD: of which a seeker has said that. secrets_in FILE: what it has found; files of etcd may be put aside meanwhile.
  files_in() { sed -nE "s/^seek: $2 //p" "$1" | sed "s|^$zood_dir/clusters/$id/|./|" | sort -u; }
  secrets_in() { files_in "$1" found | grep -v '/etcd/'; }
  # look_as_root: the list of files, and what root finds in these. It changes with the certificates.
  look_as_root() (
    cd "$zood_dir/clusters/$id" || exit
    {
      find . -type f
      find ../.. -path "../../clusters/$id" -prune -o -type f -print
      find "$zood_dir" "$ZOO_E2E_KUBECONFIG" -type f
      printf '/proc/%s/environ\n' "${zood_pids[$zood_dir]}" "$(component_pid t2 etcd)"
    } | install -m 644 /dev/stdin "$programs/seek.list"
    "$programs/seeker" "$programs/seek.list" >"$TMPDIR/all"
  )
  check "root looks at all of it" look_as_root
  for each in ./pki/apiserver.key ./pki/ca.key ./pki/sa.key "../../clusters/$other/pki/ca.key" ../../master.key ../../upstream.token "$ZOO_E2E_KUBECONFIG"; do
    check "root finds $each" grep -qxF -- "$each" <(secrets_in "$TMPDIR/all")
  done
  # finds_its_own WHO FILE
  finds_its_own() {
    expect "$1 finds the keys of its cluster" "$(secrets_in "$TMPDIR/all" | grep '^\./')" "$(secrets_in "$2" | grep '^\./')"
    expect "and nothing of what is not its own" "" "$(files_in "$2" '(found|read)' | grep -v '^\./')"
  }
  in_place "clusters/$id" "$one" "$programs/seeker" "$programs/seek.list" >"$TMPDIR/by-user"
  finds_its_own "its user" "$TMPDIR/by-user"
  # seek_inside WHO: the same by a program of t1's control plane, in place of its scheduler for a moment.
  seek_inside() {
    local log=$zood_dir/clusters/$id/log/kube-scheduler.log lines pid
    lines=$(wc -l <"$log") pid=$(component_pid t1 kube-scheduler)
    mv "$programs/kube-scheduler" "$programs/aside" && ln "$programs/seeker" "$programs/kube-scheduler"
    kill -KILL "$pid"
    sought() { tail -n "+$((lines + 1))" "$log" | says_line -xF 'seek: end'; }
    eventually "$1 looks for secrets" 60 sought
    tail -n "+$((lines + 1))" "$log" >"$TMPDIR/inside"
    pid=$(component_pid t1 kube-scheduler)
    mv -f "$programs/aside" "$programs/kube-scheduler"
    kill -KILL "$pid"
    scheduler_runs() { [[ $(field t1 '.status.components[] | select(.name == "kube-scheduler") | "\(.phase) \(.pid)"') =~ ^running\ ([0-9]+)$ && ${BASH_REMATCH[1]} != "$pid" ]]; }
    eventually "its scheduler is there again" 60 scheduler_runs
    finds_its_own "$1" "$TMPDIR/inside"
    expect "nothing of zood's was left open to it" "" "$(grep -F "seek: holds $zood_dir" "$TMPDIR/inside" | grep -vF -- "$log")"
  }
  seek_inside "its program"
  expect "keys are zood's and the group's that is he" "640 $zood_user $one" "$(stat -c '%a %u %g' "$zood_dir/clusters/$id/pki/ca.key")"
  expect "data his own" "700 $one $one" "$(stat -c '%a %u %g' "$zood_dir/clusters/$id/etcd")"
  check "the next certificates" ctl cluster certs rotate t1
  expect "are readable for him at once" "" "$(find "$zood_dir/clusters/$id/pki" -type f ! '(' -perm 640 -gid "$one" ')')"
  shown() { openssl s_client -connect "$zood_address" -servername "$(field t1 .status.serverName)" </dev/null 2>/dev/null | openssl x509 -noout -serial; }
  shows_next() { [[ $(shown) == "$(openssl x509 -noout -serial -in "$zood_dir/clusters/$id/pki/apiserver.crt")" ]]; }
  eventually "and shown" 90 shows_next
  in_cluster t1 apply -f - >/dev/null <<YAML
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: outside}
webhooks:
- name: outside.example.com
  clientConfig: {url: "https://127.0.0.1:9/"}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
  sideEffects: None
  admissionReviewVersions: [v1]
YAML
  refused() { [[ $(in_cluster t1 create configmap seen -n mine --dry-run=server 2>&1) == *clusters.egress_allow* ]]; }
  eventually "its API server asks zood for its way out" 30 refused

  # Switched off: what runs keeps its user, and what starts anew is zood's.
  another_keeper 0
  expect_match "doctor tells of a keeper that was told something else" "started with clusters.uid_base 0, and zood with $base" "$(doctor)"
  expect "what runs keeps its user" "$one" "$(user_of "$etcd")"
  check "it stops" ctl cluster pause t1
  check "it starts" ctl cluster resume t1
  expect "as zood's user" "$zood_user" "$(user_of "$(component_pid t1 etcd)")"
  check "with its data" in_cluster t1 get namespace mine
  check "root looks at all of it" look_as_root
  in_place "clusters/$id" "$zood_user" "$programs/seeker" "$programs/seek.list" >"$TMPDIR/by-user"
  expect "that user alone may read all that zood may" "$(secrets_in "$TMPDIR/all")" "$(secrets_in "$TMPDIR/by-user")"
  ((landlock <= 0)) || seek_inside "its program behind its fence alone"
  expect "all of it is zood's again" "" "$(find "$zood_dir/clusters/$id" ! -user "$zood_user" -o -perm /077)"
  another_keeper
  expect_match "doctor tells who keeps another user" "one runs as another user than they would start as now, until they are paused and resumed: $id" "$(doctor)"
  check "the other one goes" ctl cluster delete t2
  expect "with all that was its user's" "" "$(find "$zood_dir/clusters" -user "$two" -o -group "$two" -o -name "$other")"
  expect "and no process of his" "" "$(ps -u "$two" -o stat=,args= | grep -v '^Z')" # one that nobody waits for has ended, too
fi
check "it goes" ctl cluster delete t1
[[ -z $cgroups ]] || expect "with its cgroup" "" "$(find "$cgroups" -name "$id")"
expect "and its directory" "" "$(find "$zood_dir/clusters" -name "$id")"
expect "and its processes" "" "$(processes_in "$zood_dir/clusters")"
