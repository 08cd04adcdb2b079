#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: clusters cli
# timeout: 300
# What one does with a virtual cluster that runs: connect and disconnect in kubectl's own file, kubectl, ServiceAccounts, logs that are
# followed, and an authority that follows another one while clients of both are let in.
. "$(dirname "$0")/../e2e/lib.sh"
. "$(dirname "$0")/clusters/lib.bash"
at_end() { end_keeper; }

start_clusters
require "a cluster" ctl cluster create t1
id=$(cluster_id t1)
export HOME=$TMPDIR/home
mkdir -p "$HOME"
kubectl_of() { env -u KUBECONFIG "$KUBECTL" "$@"; } # with the file of that home
ctl_home() { env -u KUBECONFIG PATH="${KUBECTL%/*}:$PATH" "$ZOO_BUILD/bin/zooctl" --dir "$zood_dir" "$@"; }

# ---- connect and disconnect ---------------------------------------------------------------------------------------------

check "kubectl has a context of its user's own" kubectl_of config set-context mine --cluster=mine --user=mine
check "which is current" kubectl_of config use-context mine
check "and one of the cluster's name" kubectl_of config set-context t1 --cluster=mine --user=mine
check_fails "which connect leaves as it is" "has a context 't1' that was not made by .zooctl cluster connect" ctl_home cluster connect t1
check "until its user takes it away" kubectl_of config delete-context t1
expect_match "connect says what is current" 'the current context is now t1' "$(ctl_home cluster connect t1 2>&1)"
check "kubectl works in the cluster" kubectl_of create namespace made
expect "its file is its user's alone" 600 "$(stat -c %a "$HOME/.kube/config")"
check_fails "a context of somebody else stays" 'was not made by .zooctl cluster connect' ctl_home cluster disconnect mine
expect_match "disconnect goes back" 'the current context is mine' "$(ctl_home cluster disconnect 2>&1)"
expect "nothing is left of it" "mine" "$(kubectl_of config get-contexts -o name)"
expect_no_match "nor of its credential" 'client-key-data' "$(cat "$HOME/.kube/config")"
check_fails "what is not there is told" "has no context 't1'" ctl_home cluster disconnect t1

# ---- kubectl ---------------------------------------------------------------------------------------------------------------

expect "kubectl in the cluster" namespace/made "$(ctl_home cluster kubectl t1 -- get namespace made -o name)"
expect "ends as kubectl does" 1 "$(ctl_home cluster kubectl t1 -- get namespace none >/dev/null 2>&1; echo $?)"
expect "options of kubectl's, without --" namespace/made "$(ctl_home cluster kubectl t1 get namespace made -o name)"
expect "its kubeconfig is in no file" "" "$(grep -rlI client-key-data "$HOME" "$TMPDIR" --exclude-dir=zood --exclude-dir=upstream 2>/dev/null)"

# ---- a ServiceAccount ------------------------------------------------------------------------------------------------------

check "an account" ctl_home cluster kubectl t1 -- create serviceaccount deployer -n made
check "connect as one" ctl_home cluster connect t1 --service-account made/deployer --ttl 1h --kubeconfig-file "$TMPDIR/deployer.kubeconfig"
expect "is that one" system:serviceaccount:made:deployer "$("$KUBECTL" --kubeconfig "$TMPDIR/deployer.kubeconfig" auth whoami -o json | jq -r .status.userInfo.username)"
expect "with its rights alone" no "$("$KUBECTL" --kubeconfig "$TMPDIR/deployer.kubeconfig" auth can-i '*' '*')"
expect_no_match "and nothing of the administrator" 'client-certificate-data|client-key-data' "$(cat "$TMPDIR/deployer.kubeconfig")"
expect "for one command, by the direct port" system:serviceaccount:made:deployer \
  "$(ctl_home cluster connect t1 --direct --service-account made/deployer -- kubectl auth whoami -o json | jq -r .status.userInfo.username)"
check_fails "one that is not there" 'serviceaccounts "none" not found' ctl_home cluster connect t1 --service-account made/none --print
check_fails "what is no account" 'is not NAMESPACE/NAME' ctl_home cluster connect t1 --service-account deployer --print
check_fails "a time for no token" 'goes with --service-account' ctl_home cluster connect t1 --ttl 1h --print

# ---- logs --------------------------------------------------------------------------------------------------------------------

log=$zood_dir/clusters/$id/log/etcd.log
"$ZOO_BUILD/bin/zooctl" --dir "$zood_dir" cluster logs -f t1 etcd --tail 1 >"$TMPDIR/followed" 2>"$TMPDIR/follow.err" &
follower=$!
followed() { says_line -F -- "$1" <"$TMPDIR/followed"; }
echo "the first of the test" >>"$log"
eventually "what is written is printed" 30 followed "the first of the test"
cp "$log" "$log.1" && : >"$log" # as the keeper puts it aside
echo "the second of the test" >>"$log"
eventually "after the log was put aside, too" 30 followed "the second of the test"
expect "each line once" 1 "$(grep -c 'the first of the test' "$TMPDIR/followed")"
expect "without a word" "" "$(cat "$TMPDIR/follow.err")"
stop_zood || failed "zood ends" <<<"status $?"
told() { says_line -F -- "$1" <"$TMPDIR/follow.err"; }
eventually "which is told to whoever follows" 30 told "the log goes on when zood answers again"
echo "the third of the test" >>"$log"
start_clusters
eventually "the log goes on where it was" 60 followed "the third of the test"
check "which is told, too" told "zood answers again"
expect "each line once all the same" 1 "$(grep -c 'the second of the test' "$TMPDIR/followed")"
kill "$follower"
wait "$follower" 2>/dev/null
check_status "a component that is not there" 64 ctl_home cluster logs t1 kubelet

# ---- an authority follows another ---------------------------------------------------------------------------------------------

authorities() { openssl storeutl -noout -text -certs "$1" 2>/dev/null | sed -n 's/^ *Subject: CN *= *//p' | paste -sd ' '; }
ca_of() { grep -m 1 certificate-authority-data "$1" | awk '{ print $2 }' | base64 -d >"$1.ca" && authorities "$1.ca"; }
works() { "$KUBECTL" --kubeconfig "$1" get namespace made -o name --request-timeout=10s; }
pids() { component_pids t1 | grep -E '^(etcd|kube-apiserver) '; }
check "a kubeconfig of before" ctl cluster connect t1 --kubeconfig-file "$TMPDIR/first.kubeconfig"
kept=$(pids)
check_fails "use comes after announce" 'is settled, after which it is not used' ctl cluster certs rotate-ca t1 --stage use
expect_match "it is announced" 'the next authority is announced: hand out' "$(ctl cluster certs rotate-ca t1 2>&1)"
expect_match "which is told again when asked again" 'the next authority is announced' "$(ctl cluster certs rotate-ca t1 2>&1)"
expect "certs shows both" "ca ca-next" "$(ctl cluster certs check t1 -o json | jq -r '[.items[] | select(.authority and (.name | startswith("ca"))) | .name] | join(" ")')"
check "a kubeconfig of now" ctl cluster connect t1 --kubeconfig-file "$TMPDIR/second.kubeconfig"
expect "trusts both" "$id-ca $id-ca-1" "$(ca_of "$TMPDIR/second.kubeconfig")"
check "and works" works "$TMPDIR/second.kubeconfig"
check "as that of before" works "$TMPDIR/first.kubeconfig"
root_ca() { in_cluster t1 get configmap kube-root-ca.crt -n made -o json | jq -r '.data["ca.crt"]' >"$TMPDIR/root.ca" && authorities "$TMPDIR/root.ca"; }
pods_trust() { [[ $(root_ca) == "$1" ]]; }
eventually "pods trust both, too" 60 pods_trust "$id-ca $id-ca-1"
check "the next one signs" ctl cluster certs rotate-ca t1 --stage use
shown_by() { openssl s_client -connect "$zood_address" -servername "$(field t1 .status.serverName)" </dev/null 2>/dev/null | openssl x509 -noout -issuer; }
shows_next() { [[ $(shown_by) == *"$id-ca-1" ]]; }
eventually "the API server shows its certificate" 90 shows_next
check "who has heard of it goes on with what he has" works "$TMPDIR/second.kubeconfig"
check_fails "who has not is told" 'certificate signed by unknown authority' works "$TMPDIR/first.kubeconfig"
check "a kubeconfig of then" ctl cluster connect t1 --kubeconfig-file "$TMPDIR/third.kubeconfig"
check "works" works "$TMPDIR/third.kubeconfig"
healthy() { [[ $(field t1 '[.status.components[] | select(.phase == "running")] | length') == 4 ]]; }
eventually "all components run" 60 healthy
check "its controllers work" in_cluster t1 create namespace later
check "they sign by the next one" in_cluster t1 wait --for=create serviceaccount/default -n later --timeout=30s
check "the one before it is forgotten" ctl cluster certs rotate-ca t1 --stage settle
refused() { ! works "$TMPDIR/second.kubeconfig" && [[ $(works "$TMPDIR/second.kubeconfig" 2>&1) == *Unauthorized* || $(works "$TMPDIR/second.kubeconfig" 2>&1) == *"must be logged in"* ]]; }
eventually "with what it has signed" 90 refused
check "what the next one has signed works" works "$TMPDIR/third.kubeconfig"
expect "kubeconfigs trust it alone" "$id-ca-1" "$(ctl cluster connect t1 --kubeconfig-file "$TMPDIR/fourth.kubeconfig" 2>/dev/null; ca_of "$TMPDIR/fourth.kubeconfig")"
eventually "and so do pods" 60 pods_trust "$id-ca-1"
expect "neither etcd nor the API server was started anew" "$kept" "$(pids)"
check "certificates are good" ctl cluster certs check t1
check "it goes" ctl cluster delete t1
expect_no_match "zood took nothing for an error of its own" ' (error|critical) ' "$(cat "$zood_dir.log")"
