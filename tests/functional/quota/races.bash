# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced by quota_races.sh and quota_races_long.sh, behind e2e/lib.sh: an upstream with two API servers, zood, an account with four spaces, and
# the rounds of rounds.py.

# second_apiserver: beside that of own_upstream, on the same etcd; its address in $second_server.
second_apiserver() {
  local pid port arguments=() one
  pid=$(head -n 1 "$up/run/apiserver.pid")
  port=$(($(<"$up/port") + 5))
  while IFS= read -r -d '' one; do arguments+=("$one"); done <"/proc/$pid/cmdline"
  for ((i = 0; i < ${#arguments[@]}; ++i)); do
    [[ ${arguments[i]} == --secure-port ]] && arguments[i + 1]=$port
  done
  (cd "$up" && exec "${arguments[@]}" --endpoint-reconciler-type none </dev/null >"$TMPDIR/apiserver-2.log" 2>&1) &
  second_pid=$!
  second_server=127.0.0.1:$port
  ready() { upstream --server "https://$second_server" get --raw /readyz; }
  eventually "a second API server is ready" 120 ready
}

races_begin() {
  own_upstream
  at_end() { kill "$second_pid" 2>/dev/null; }
  second_apiserver
  config=$'accounts:\n  enabled: true\nbroker: {servers: ["127.0.0.1:'$(<"$up/port")'", "'$second_server'"]}'
  start_zood_with "$config"
  require "an account" upstream apply -f - <<<'{"apiVersion":"config.kiosk.sh/v1alpha1","kind":"Account","metadata":{"name":"team"},"spec":{"subjects":[]}}'
  quota_of 10
  for one in a b c d; do
    require "a namespace" upstream create namespace $one
    require "of the account" upstream label namespace $one kiosk.sh/account=team
  done
  for one in plain1 plain2; do require "a namespace of nobody's" upstream create namespace $one; done
  require "with a plain ResourceQuota" upstream -n plain1 create quota plain --hard=pods=10
  require "and one with two" upstream -n plain2 create quota plain --hard=pods=3
  require "of other names" upstream -n plain2 create quota other --hard=services=1000
  sums() { [[ $(upstream get resourcequota -A -l zoo.kubezoo.io/managed=true -o json | jq '[.items[].status.hard.pods | tonumber] | add') == "$1" ]]; }
  eventually "the limit is handed out" 60 sums 10
  asked
}

quota_of() { # PODS
  require "a quota of $1 pods" upstream apply -f - <<<'{"apiVersion":"config.kiosk.sh/v1alpha1","kind":"AccountQuota","metadata":{"name":"all"},"spec":{"account":"team","quota":{"hard":{"pods":"'"$1"'"}}}}'
}

# asked: waits until upstream asks zood, and what was let in by one before it does not matter any more.
asked() {
  stands() { [[ $(upstream get validatingwebhookconfiguration zoo-quota -o json 2>/dev/null | jq -r '.webhooks[0].clientConfig.url') == *:$(broker_port)/* ]]; }
  eventually "upstream asks zood" 60 stands
}
broker_port() { sed -n 's/.*the broker of quotas listens on .*:\([0-9]*\)$/\1/p' "$zood_dir.log" | tail -1; }

# plain MODE NAMESPACE ROUNDS, ours MODE NAMESPACES ROUNDS [LIMIT [OPTION...]]: what rounds.py prints is in $TMPDIR/rounds.
plain() { run_rounds "$1" --namespaces "$2" --rounds "$3" --limit "$([[ $1 == second ]] && echo 3 || echo 10)"; }
ours() { run_rounds "$1" --namespaces "$2" --rounds "$3" --limit "${4:-10}" "${@:5}"; }
run_rounds() {
  "$zoo_root/tests/functional/quota/rounds.py" --kubeconfig "$ZOO_E2E_KUBECONFIG" --server "https://$second_server" "$@" >"$TMPDIR/rounds" 2>"$TMPDIR/rounds.err" ||
    failed "rounds.py $*" <"$TMPDIR/rounds.err"
  note "$(cat "$TMPDIR/rounds")"
}
field() { jq -r ".$1" "$TMPDIR/rounds"; }
