# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced by end-to-end and functional scripts: a zood of the script's own in front of a real control plane, tenants,
# and assertions. tests/run gives the environment; by hand, all that is needed is a running upstream:
#
#   ZOO_E2E_KUBECONFIG=$(tests/upstream/up start --dir /tmp/up --nodes 3) tests/e2e/SCRIPT.sh
#
#   . "$(dirname "$0")/lib.sh"            (tests/functional: ../e2e/lib.sh)
#   start_zood [ZOOD ARGUMENTS...]        ends by itself with the script
#   new_tenant id [CREATE ARGUMENTS...]   a tenant with a fresh ID, left in the variable id
#   check "lists its pods" as "$id" get pods
#   expect "one namespace" 1 "$(as "$id" get ns -o name | wc -l)"
#
# A failed check is told and counted and the script goes on; `require` ends it. The exit status is 1 when a check
# failed, 125 after `skip`. What the script needs of the disk is under TMPDIR, kept by tests/run on failure.
set -uo pipefail

zoo_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
ZOO_BUILD=${ZOO_BUILD:-$zoo_root/build/dev}
ZOO_UPSTREAM=${ZOO_UPSTREAM:-$zoo_root/tests/upstream/up}
# Short, for the path of a Unix socket has room for 107 characters.
if [[ -z ${ZOO_RUN:-} ]]; then
  TMPDIR=$(mktemp -d "${TMPDIR:-/tmp}/zoo.XXXXXX")
  export TMPDIR
  zoo_own_tmpdir=$TMPDIR
fi
KUBECTL=${KUBECTL:-$("$ZOO_UPSTREAM" kubectl-path)}
export KUBECACHEDIR=$TMPDIR/kube-cache
unset KUBECONFIG ZOO_DIR ZOO_SOCKET

zood_dir=$TMPDIR/zood # of the zood that ctl, as and new_tenant speak to
zood_address=         # host:port of its tenants' listener
declare -A zood_pids=()
zoo_checks=0 zoo_failures=0

# ---- assertions ---------------------------------------------------------------------------------------------------

note() { printf '    %s\n' "$*"; }

passed() {
  zoo_checks=$((zoo_checks + 1))
  printf 'ok  %s\n' "$1"
}

# failed WHAT: what went wrong is read from standard input. Of a long text the last lines, where programs say why they ended, come
# first: tests/run repeats six lines of it at the end of its own output.
failed() {
  local lines
  zoo_checks=$((zoo_checks + 1)) zoo_failures=$((zoo_failures + 1))
  mapfile -t lines
  printf 'NOT %s (line %s)\n' "$1" "$(caller_line)"
  ((${#lines[@]} <= 6)) || printf '    %s\n' "${lines[0]}" "${lines[@]: -4}" '--- the whole:'
  printf '    %s\n' "${lines[@]}"
}

# The line of the script itself, not of this file.
caller_line() {
  local depth=0
  while [[ ${BASH_SOURCE[depth]:-} == "${BASH_SOURCE[0]}" ]]; do depth=$((depth + 1)); done
  echo "${BASH_LINENO[depth - 1]}"
}

# check WHAT COMMAND...: it succeeds.
check() {
  local what=$1 output status
  shift
  output=$("$@" 2>&1)
  status=$?
  if ((status == 0)); then passed "$what"; else failed "$what" <<<"exit status $status of: $*"$'\n'"$output"; fi
}

# check_fails WHAT TEXT COMMAND...: it fails, and says TEXT (an extended regular expression) in what it prints.
check_fails() {
  local what=$1 text=$2 output status
  shift 2
  output=$("$@" 2>&1)
  status=$?
  if ((status == 0)); then
    failed "$what" <<<"succeeded: $*"$'\n'"$output"
  elif ! grep -Eq -- "$text" <<<"$output"; then
    failed "$what" <<<"failed with status $status as it should, but did not say /$text/:"$'\n'"$output"
  else
    passed "$what"
  fi
}

# check_status WHAT STATUS COMMAND...: it ends with exactly this exit status.
check_status() {
  local what=$1 want=$2 output status
  shift 2
  output=$("$@" 2>&1)
  status=$?
  if ((status == want)); then passed "$what"; else failed "$what" <<<"exit status $status, not $want, of: $*"$'\n'"$output"; fi
}

# expect WHAT WANTED GOT: the two texts are equal.
expect() {
  if [[ $2 == "$3" ]]; then
    passed "$1"
  else
    failed "$1" < <(diff -u --label wanted --label got <(printf '%s\n' "$2") <(printf '%s\n' "$3"))
  fi
}

# expect_match WHAT REGULAR-EXPRESSION TEXT, expect_no_match: some line matches, or none does.
expect_match() {
  if grep -Eq -- "$2" <<<"$3"; then passed "$1"; else failed "$1" <<<"no line matches /$2/ in:"$'\n'"$3"; fi
}
expect_no_match() {
  local lines
  if lines=$(grep -E -- "$2" <<<"$3"); then failed "$1" <<<"/$2/ matches:"$'\n'"$lines"; else passed "$1"; fi
}

# COMMAND | says_line ARGUMENTS of grep: some line matches. It reads to the end, for a command whose output nobody reads any more
# fails, and the pipeline with it (tests/lint/waits).
says_line() {
  local lines
  lines=$(grep "$@") && [[ -n $lines ]]
}

# eventually WHAT SECONDS COMMAND...: it succeeds before the time is over, which is half a minute at least: whole seconds are
# counted, and what is promised sooner is measured in benchmarks, not here. The command has no input (tests/lint/waits).
eventually() {
  local what=$1 seconds=$2 end output
  shift 2
  ((seconds >= 30)) || seconds=30
  end=$((SECONDS + seconds))
  until output=$("$@" 2>&1); do
    if ((SECONDS >= end)); then
      failed "$what" <<<"not within ${seconds}s: $*"$'\n'"$output"
      return 0
    fi
    sleep 0.1
  done
  passed "$what"
}

# require WHAT COMMAND...: check, without which the rest makes no sense.
require() {
  local before=$zoo_failures
  check "$@"
  ((zoo_failures == before)) || exit 1
}

# skip WHY: this cannot run here.
skip() {
  echo "SKIP: $*"
  exit 125
}

# ---- zood ---------------------------------------------------------------------------------------------------------

# start_zood [ARGUMENTS...]: a zood ($ZOO_BUILD/bin/zood, or ZOO_ZOOD) in zood_dir on a free port, in front of the shared upstream unless the arguments
# name another, and waits until it is ready to serve tenants: until then lists over all namespaces are answered 503.
start_zood() {
  local zood=${ZOO_ZOOD:-$ZOO_BUILD/bin/zood} log=$zood_dir.log pid end answer given=" $* "
  local arguments=(--dir "$zood_dir")
  [[ -x $zood ]] || { echo "there is no $zood: build it first"; exit 1; }
  if [[ $given != *" --upstream "* ]]; then
    [[ -n ${ZOO_E2E_KUBECONFIG:-} ]] || { echo "ZOO_E2E_KUBECONFIG is not set: the administrator's kubeconfig of an upstream"; exit 1; }
    arguments+=(--upstream "$ZOO_E2E_KUBECONFIG")
  fi
  [[ $given == *" --listen "* ]] || arguments+=(--listen 127.0.0.1:0)
  "$zood" "${arguments[@]}" "$@" </dev/null >>"$log" 2>&1 &
  pid=$!
  zood_pids[$zood_dir]=$pid
  end=$((SECONDS + 60))
  until answer=$("$ZOO_BUILD/bin/zooctl" --dir "$zood_dir" status -o json 2>&1) && zood_address=$(jq -er 'select(.ready).listen' <<<"$answer" 2>/dev/null); do
    if ! kill -0 "$pid" 2>/dev/null; then
      wait "$pid"
      zoo_die "zood ended with status $? before it was ready"
    fi
    ((SECONDS < end)) || zoo_die "zood was not ready within 60s; zooctl status says: $answer"
    sleep 0.1
  done
  # shellcheck disable=SC2034 # for the scripts
  zood_port=${zood_address##*:}
}

# start_zood_with YAML [ARGUMENTS...]: the same with that for its configuration, which stays in $TMPDIR/zood.yaml.
start_zood_with() {
  printf '%s\n' "$1" >"$TMPDIR/zood.yaml"
  start_zood --config "$TMPDIR/zood.yaml" "${@:2}"
}

zoo_die() {
  failed "start zood" <<<"$1; the end of its log:"$'\n'"$(tail -n 40 "$zood_dir.log")"
  exit 1
}

# stop_zood [SIGNAL]: ends the zood of zood_dir, with TERM unless told otherwise, and waits; its status is returned.
stop_zood() {
  local pid=${zood_pids[$zood_dir]:-} tries status
  [[ -n $pid ]] || return 0
  kill "-${1:-TERM}" "$pid" 2>/dev/null
  # Twice what zood gives streams to end by themselves (drain_timeout).
  for ((tries = 0; tries < 1200; ++tries)); do
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.05
  done
  if kill -KILL "$pid" 2>/dev/null; then note "zood did not end within 60s and was killed"; fi
  wait "$pid" 2>/dev/null
  status=$?
  unset "zood_pids[$zood_dir]"
  return $status
}

# reload_zood: SIGHUP for the zood of zood_dir, and waits until it says once more that it is done.
reload_zood() {
  local before
  before=$(grep -c 'app: reloaded' "$zood_dir.log")
  kill -HUP "${zood_pids[$zood_dir]}"
  eventually "SIGHUP reloads" 30 zoo_reloaded_after "$before"
}

zoo_reloaded_after() { (($(grep -c 'app: reloaded' "$zood_dir.log") > $1)); }

ctl() { "$ZOO_BUILD/bin/zooctl" --dir "$zood_dir" "$@"; }

# ---- tenants ------------------------------------------------------------------------------------------------------

# random_id: a tenant's ID that nothing else has. Letters beyond f first, so that no UID or hash contains it.
random_id() {
  local letters=ghjkmnpqrstvwxyz all=abcdefghijkmnpqrstuvwxyz23456789 id='' i
  for ((i = 0; i < 3; ++i)); do id+=${letters:RANDOM % ${#letters}:1}; done
  for ((i = 0; i < 3; ++i)); do id+=${all:RANDOM % ${#all}:1}; done
  echo "$id"
}

# new_tenant VARIABLE [ARGUMENTS of create...]: creates one with a fresh ID and exports its administrator's kubeconfig.
new_tenant() {
  local -n zoo_new_id=$1
  shift
  zoo_new_id=$(random_id)
  require "create tenant $zoo_new_id" ctl tenant create "$zoo_new_id" --wait "$@"
  export_kubeconfig "$zoo_new_id"
}

# export_kubeconfig ID [ARGUMENTS of export...]: into the file that `as` uses.
export_kubeconfig() {
  local id=$1
  shift
  rm -f "$TMPDIR/$id.kubeconfig"
  require "export the kubeconfig of $id" ctl kubeconfig export "$id" "$@" -o "$TMPDIR/$id.kubeconfig"
}

# unpack NAME [KUBECONFIG]: its authority, certificate, key and server as $TMPDIR/NAME.{ca,crt,key,server}, for curl and
# openssl. KUBECONFIG is $TMPDIR/NAME.kubeconfig unless told otherwise.
unpack() (
  umask 077
  json=$("$KUBECTL" config view --raw --kubeconfig "${2:-$TMPDIR/$1.kubeconfig}" -o json)
  jq -r '.clusters[0].cluster."certificate-authority-data"' <<<"$json" | base64 -d >"$TMPDIR/$1.ca"
  jq -r '.users[0].user."client-certificate-data"' <<<"$json" | base64 -d >"$TMPDIR/$1.crt"
  jq -r '.users[0].user."client-key-data"' <<<"$json" | base64 -d >"$TMPDIR/$1.key"
  jq -r '.clusters[0].cluster.server' <<<"$json" >"$TMPDIR/$1.server"
)

# fetch NAME PATH: from zood with what `unpack NAME` has made; what does not end by itself is cut off.
fetch() { curl -sN --max-time 20 --cacert "$TMPDIR/$1.ca" --cert "$TMPDIR/$1.crt" --key "$TMPDIR/$1.key" "https://$zood_address$2"; }

# begins NAME PATH: the names of the state that a watch of that path begins with, a line each.
begins() {
  fetch "$1" "$2?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=1" |
    jq -r 'select(.type == "ADDED").object.metadata.name'
}

# as ID ARGUMENTS...: kubectl as that tenant.
as() {
  local id=$1
  shift
  "$KUBECTL" --kubeconfig "$TMPDIR/$id.kubeconfig" "$@"
}

# upstream ARGUMENTS...: kubectl as the upstream's administrator.
upstream() { "$KUBECTL" --kubeconfig "$ZOO_E2E_KUBECONFIG" "$@"; }

# new_user NAME [GROUP...]: an ordinary user of the upstream, with a certificate of it: $TMPDIR/NAME.crt and NAME.key, in the form of a key
# that all clients read.
new_user() {
  local name=$1 file=$TMPDIR/$1 subject=
  shift
  (($# == 0)) || subject=$(printf '/O=%s' "$@")
  (umask 077 && openssl ecparam -name prime256v1 -genkey -noout -out "$file.key" 2>/dev/null)
  openssl req -new -key "$file.key" -out "$file.csr" -subj "$subject/CN=$name" 2>/dev/null
  upstream apply -f - >/dev/null <<YAML
apiVersion: certificates.k8s.io/v1
kind: CertificateSigningRequest
metadata: {name: $name}
spec: {request: $(base64 -w0 <"$file.csr"), signerName: kubernetes.io/kube-apiserver-client, usages: [client auth]}
YAML
  require "the certificate of $name is approved" upstream certificate approve "$name"
  eventually "and signed" 30 zoo_signed "$name"
}
zoo_signed() { upstream get csr "$1" -o 'jsonpath={.status.certificate}' | base64 -d >"$TMPDIR/$1.crt" && [[ -s $TMPDIR/$1.crt ]]; }

# kubeconfig_of_door FILE NAME DOOR CA: of new_user NAME at that account door.
kubeconfig_of_door() {
  local config=("$KUBECTL" --kubeconfig "$1" config)
  "${config[@]}" set-cluster door --server "https://$3" --certificate-authority "$4" --embed-certs
  "${config[@]}" set-credentials me --client-certificate "$TMPDIR/$2.crt" --client-key "$TMPDIR/$2.key" --embed-certs
  "${config[@]}" set-context door --cluster door --user me
  "${config[@]}" use-context door
} >/dev/null

# account_door: host:port of the account door of the zood that was started last.
account_door() { sed -n 's/.*the account door listens on //p' "$zood_dir.log" | tail -1; }

# own_upstream [ARGUMENTS of `up start`...]: for a script that needs one alone. Its directory is $up; it ends with the script, after every zood:
# an API server whose clients still watch takes its time to end.
zoo_own_upstreams=()
own_upstream() {
  local version=
  # Of the shared one's version, which in the suite `older` is another one.
  [[ -n ${ZOO_E2E_KUBECONFIG:-} ]] && version=$(upstream version -o json | jq -r '.serverVersion.gitVersion | ltrimstr("v")')
  grep -qxF -- "${version:-none}" <<<"$("$ZOO_UPSTREAM" versions)" || version=
  up=$TMPDIR/upstream
  zoo_own_upstreams+=("$up")
  ZOO_E2E_KUBECONFIG=$("$ZOO_UPSTREAM" start --dir "$up" --port 0 --timeout 400 ${version:+--kubernetes "$version"} "$@") || exit 1
}

# established NAMES COMMAND...: waits until these definitions are, by that kubectl; `--all` are all. One that was made a moment ago
# has conditions that are null, which `kubectl wait` takes for an error.
established() {
  local names said end=$((SECONDS + 120))
  read -ra names <<<"$1"
  shift
  until said=$("$@" wait --for=condition=Established crd "${names[@]}" --timeout=120s 2>&1); do
    if [[ $said != *"accessor error"* ]] || ((SECONDS >= end)); then echo "$said"; return 1; fi
    sleep 0.1
  done
}

# silent_server NAME [ADDRESS]: a listener at 127.0.0.1, or that address, that takes connections and says nothing; its port in $silent_port, its process in $silent. A line
# "asked" in $TMPDIR/NAME for each connection.
silent_server() {
  python3 -u -c 'import socket, sys
door, kept = socket.create_server((sys.argv[1], 0)), []
print(door.getsockname()[1])
while True:
    kept.append(door.accept()[0])
    print("asked")' "${2:-127.0.0.1}" >"$TMPDIR/$1" &
  silent=$!
  eventually "$1 listens" 30 test -s "$TMPDIR/$1"
  silent_port=$(head -n 1 "$TMPDIR/$1")
}
end_silent_server() {
  kill "$silent"
  wait "$silent" 2>/dev/null || :
}

# volume NAME NAMESPACE: as a provisioner makes it for a claim there.
volume() {
  jq -cn --arg name "$1" --arg space "$2" '{apiVersion: "v1", kind: "PersistentVolume", metadata: {name: $name}, spec: {capacity: {storage: "1Gi"},
    accessModes: ["ReadWriteOnce"], storageClassName: "none", csi: {driver: "csi.example.com", volumeHandle: $name}, claimRef: {namespace: $space, name: "data"}}}'
}
# attachment NAME VOLUME
attachment() {
  jq -cn --arg name "$1" --arg volume "$2" '{apiVersion: "storage.k8s.io/v1", kind: "VolumeAttachment",
    metadata: {name: $name}, spec: {attacher: "csi.example.com", nodeName: "none", source: {persistentVolumeName: $volume}}}'
}

# allow_conversions ID: by the guard of its Tenant, until upstream's own policy, which zood tells of it, lets them through, too.
allow_conversions() {
  local id=$1 manifest
  require "the platform lets $id convert" ctl tenant apply -f - <<<"{\"apiVersion\":\"tenant.kubezoo.io/v1alpha1\",\"kind\":\"Tenant\",\"metadata\":{\"name\":\"$id\"},\"spec\":{\"guards\":{\"conversionWebhooks\":true}}}"
  manifest=$(jq -nc '{apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", metadata: {name: "allowed.example.com"}, spec: {group: "example.com", scope: "Cluster",
    names: {plural: "allowed", kind: "Allowed"}, conversion: {strategy: "Webhook", webhook: {conversionReviewVersions: ["v1"], clientConfig: {service: {name: "hook", namespace: "default"}}}},
    versions: [{name: "v1", served: true, storage: true, schema: {openAPIV3Schema: {type: "object"}}}]}}')
  zoo_converts() { as "$1" create --dry-run=server -f - <<<"$2"; }
  eventually "which holds" 130 zoo_converts "$id" "$manifest" # others who share the upstream write the same ConfigMap
}

# list_costs TEST returned|fetched RESOURCE COMMAND...: so many objects of that kind upstream's watch cache returns, or looks at,
# while the command runs; TEST is of arithmetic, as '<= 16'. What other scripts ask for meanwhile counts, too: ask again.
list_costs() {
  local objects
  objects=$(zoo_listed "$2" "$3")
  "${@:4}" >/dev/null || { echo "failed: ${*:4}"; return 1; }
  objects=$(($(zoo_listed "$2" "$3") - objects))
  ((objects $1)) || { echo "$2 $objects"; return 1; }
}

zoo_listed() {
  # A label says the resource; in Kubernetes 1.33 its path in etcd.
  upstream get --raw /metrics | awk -v counter="^apiserver_cache_list_$1_objects_total.*[\"/]$2\"" \
    '$0 ~ counter { n += $NF } END { print n + 0 }'
}

# crd_manifest GROUP PLURAL KIND SCOPE MORE: MORE are members of spec.
crd_manifest() {
  cat <<YAML
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: $2.$1}
spec:
  group: $1
  scope: $4
  names: {plural: $2, singular: ${2%s}, kind: $3, categories: [all]}
  $5
YAML
}

# ---- the end ------------------------------------------------------------------------------------------------------

# A script's own at_end, if it has one, comes first: what it has started beside zood ends there.
zoo_finish() {
  local status=$?
  trap - EXIT
  if declare -F at_end >/dev/null; then at_end; fi
  for zood_dir in "${!zood_pids[@]}"; do
    stop_zood || failed "zood drains and ends with status 0" <<<"$zood_dir: status $?"
  done
  for up in ${zoo_own_upstreams[@]+"${zoo_own_upstreams[@]}"}; do "$ZOO_UPSTREAM" stop --dir "$up" >/dev/null; done
  if ((status == 125)); then exit 125; fi
  if ((zoo_failures > 0 || status != 0)); then
    for log in "$TMPDIR"/*.log; do
      [[ -s $log ]] || continue
      echo "--- the end of $(basename "$log")"
      tail -n 30 "$log"
    done
    echo "$zoo_failures of $zoo_checks checks failed; the script ended with status $status"
    exit 1
  fi
  [[ -n ${zoo_own_tmpdir:-} ]] && rm -rf "$zoo_own_tmpdir"
  echo "$zoo_checks checks passed"
  exit 0
}
trap zoo_finish EXIT
trap 'exit 143' TERM
trap 'exit 130' INT
