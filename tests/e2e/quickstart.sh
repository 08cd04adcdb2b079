#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: packaging app cli
# timeout: 900
# packaging/quickstart: comes up, can be run again, goes down, and comes up again with what it had.
. "$(dirname "$0")/lib.sh"
quickstart=$zoo_root/packaging/quickstart state=$TMPDIR/q
export ZOO_BUILD
# Whatever happens, nothing of it stays up.
at_end() { "$quickstart" stop --dir "$state" >/dev/null 2>&1; }

check_fails "an impossible tenant's ID is refused" 'exactly six' "$quickstart" --dir "$state" --tenant Foo
check_fails "an unknown option is refused" 'no option --nonsense' "$quickstart" --nonsense
check_fails "a kubeconfig that is not there is refused" 'cannot be read' "$quickstart" --dir "$TMPDIR/none" --upstream "$TMPDIR/nowhere"

output=$("$quickstart" --dir "$state" 2>&1)
status=$?
printf '%s\n' "$output"
expect "the first run succeeds" 0 $status
expect "shows two Running pods to the tenant, and the same two upstream" 4 "$(grep -cE '^hello-.* +1/1 +Running' <<<"$output")"
expect_match "says what to do next" 'packaging/quickstart stop' "$output"
tenant() { "$KUBECTL" --kubeconfig "$state/foofoo.kubeconfig" "$@"; }
expect "the tenant sees the pods in its own namespace" 2 "$(tenant get pods --namespace default -o name | wc -l)"
expect_no_match "the tenant sees no prefix" 'foofoo-' "$(tenant get pods,namespaces -A -o yaml)"
pods=$(tenant get pods -o name | sort)

output=$("$quickstart" --dir "$state" 2>&1)
expect "the second run succeeds" 0 $?
expect_match "the second run finds zood" 'zood runs already' "$output"
expect "the second run leaves the pods alone" "$pods" "$(tenant get pods -o name | sort)"

output=$("$quickstart" --dir "$state" --accounts 2>&1)
expect "with accounts it succeeds" 0 $?
john() { "$KUBECTL" --kubeconfig "$state/john.kubeconfig" "$@"; }
expect_match "and says how john goes on" "KUBECONFIG=$state/john.kubeconfig" "$output"
check "john makes a namespace" john create namespace quick-web
expect "which is all that he sees" namespace/quick-web "$(john get namespaces -o name)"
expect "the tenant has its pods still" "$pods" "$(tenant get pods -o name | sort)"

check "stops" "$quickstart" stop --dir "$state"
expect "nothing of it runs any more" "" "$("$ZOO_UPSTREAM" status --dir "$state/upstream")"
check_fails "nobody answers the tenant" 'refused|connect' tenant get pods --request-timeout=5s

check "comes up again" "$quickstart" --dir "$state"
expect "the pods are still there" "$pods" "$(tenant get pods -o name | sort)"
expect "and john's namespace, through the same address" namespace/quick-web "$(john get namespaces -o name)"
