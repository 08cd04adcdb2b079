#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: accounts access cli app
# timeout: 600
# The tour of docs/accounts.md: each of its commands is run, and answers what stands there; ages, addresses, times and the
# width of columns may differ. ZOO_TEST_ACCEPT=1 writes what this run answers into the page instead.
. "$(dirname "$0")/lib.sh"

page=$zoo_root/docs/accounts.md
# An EndpointSlice takes no loopback address: kube-apiserver comes by the machine's own.
ip=$(hostname -I | tr ' ' '\n' | grep -m 1 -E '^[0-9]+(\.[0-9]+){3}$') || skip "this machine has no IPv4 address but loopback"
# The names of the tour are fixed: the upstream is its own.
own_upstream --apiserver-arg --enable-aggregator-routing=true
start_zood_with "accounts: {enabled: true, listen: '127.0.0.1:0', aggregated: {listen: '$ip:0'}}"
available() { [[ $(upstream get apiservice v1alpha1.tenancy.kiosk.sh -o 'jsonpath={.status.conditions[?(@.type=="Available")].status}') == True ]]; }
eventually "kube-apiserver reaches the aggregated door" 60 available

# What the tour takes as given: where the cluster and zood are, and the certificate that john has for the cluster.
DOOR=$(sed -n 's/.*the account door listens on //p' "$zood_dir.log" | tail -1)
export DOOR UPSTREAM=$ZOO_E2E_KUBECONFIG ZOO_DIR=$zood_dir KUBECACHEDIR=$TMPDIR/tour-cache
mkdir "$TMPDIR/bin" "$TMPDIR/tour"
ln -s "$KUBECTL" "$TMPDIR/bin/kubectl"
ln -s "$(realpath "$ZOO_BUILD/bin/zooctl")" "$TMPDIR/bin/zooctl"
PATH=$TMPDIR/bin:$PATH
cd "$TMPDIR/tour" || exit 1
new_user john
mv "$TMPDIR"/john.{crt,key} .

# The same text for all that differs from run to run.
plain() {
  sed -E 's/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z/TIME/g; s/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/UID/g; s/[0-9]+(\.[0-9]+){3}:[0-9]+/ADDRESS/g
    s/\b([0-9]+[dhms])+\b/AGE/g; s/^[0-9]+ checks/COUNT checks/; s/ +/ /g; s/ $//; /^$/d'
}
# answers COMMAND WANTED: it prints that. What it asks about may take a moment to be heard of.
answers() { said=$(eval "$1" 2>&1 </dev/null) || :; [[ $(plain <<<"$said") == "$(plain <<<"$2")" ]] || { printf '%s\n' "$said"; return 1; }; }

run_command() { # COMMAND WANTED
  if [[ $1 == "export "* ]]; then
    eval "$1"
  elif [[ -n ${ZOO_TEST_ACCEPT:-} ]]; then
    said=$(eval "$1" 2>&1 </dev/null) || :
    upstream get --raw /readyz >/dev/null
  else
    eventually "$1" 30 answers "$1" "$2"
  fi
}

command='' wanted='' commands=0
flush() {
  [[ -n $command ]] || return 0
  commands=$((commands + 1)) said=
  run_command "$command" "$wanted"
  printf '    $ %s\n' "$command" >>"$TMPDIR/page"
  [[ -z $said ]] || sed -E '/^ *$/d; s/^/    /; s/ +$//' <<<"$said" >>"$TMPDIR/page"
  command='' wanted=''
}
in_tour=
while IFS= read -r line; do
  case $line in
    '    $ '*) if [[ -n $in_tour ]]; then flush && command=${line#'    $ '} && continue; fi ;;
    '    '*) if [[ -n $command ]]; then wanted+=${wanted:+$'\n'}${line#'    '} && continue; fi ;;
    *) flush ;;
  esac
  if [[ $line == '## '* ]]; then [[ $line == '## A tour' ]] && in_tour=yes || in_tour=; fi
  printf '%s\n' "$line" >>"$TMPDIR/page"
done <"$page"
flush
check "the page has a tour" test "$commands" -gt 20
if [[ -n ${ZOO_TEST_ACCEPT:-} ]]; then cp "$TMPDIR/page" "$page"; fi
