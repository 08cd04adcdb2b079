#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: gateway translate
# step: verify
# kube-public and kube-node-lease appear to exist, cost nothing, and are made at the first write.
. "$(dirname "$0")/../e2e/lib.sh"

start_zood
new_tenant a
four="default kube-node-lease kube-public kube-system"
names() { as "$a" get namespaces "$@" -o 'jsonpath={.items[*].metadata.name}'; }
there() { upstream get namespaces "$a-$1" -o name 2>/dev/null; }

expect "a list shows them in order" "$four" "$(names)"
expect "in pages, too" "$four" "$(names --chunk-size=1)"
expect "and in pages of three" "$four" "$(names --chunk-size=3)"
expect_match "as a table" '^kube-public +Active +[0-9]' "$(as "$a" get namespaces --no-headers)"
expect "one chosen by its name" kube-public "$(names --field-selector metadata.name=kube-public)"
expect "all but one" "default kube-node-lease kube-system" "$(names --field-selector metadata.name!=kube-public)"
expect "by the label of its name" kube-node-lease "$(names -l 'kubernetes.io/metadata.name in (kube-node-lease)')"
expect_match "the same as a table" '^kube-public +Active' "$(as "$a" get namespaces -l kubernetes.io/metadata.name=kube-public --no-headers)"
expect "none of a label that they lack" "" "$(names -l team=x)"
expect "nor are they left out for one" "$four" "$(names -l 'team!=x')"
expect "in pages, and by what they have" "kube-node-lease kube-public" \
  "$(names -l 'pod-security.kubernetes.io/enforce=baseline,kubernetes.io/metadata.name in (kube-public,kube-node-lease)' --chunk-size=1)"
expect_match "as a table" '^kube-public +Active' "$(as "$a" get namespaces -l '!team' --no-headers)"
expect_match "get, as a table" '^kube-public +Active' "$(as "$a" get namespace kube-public --no-headers)"
yaml=$(as "$a" get namespace kube-public -o yaml)
expect_match "get, as an object" '^  name: kube-public$' "$yaml"
expect_no_match "without a prefix or a label of ours" "$a|kubezoo" "$yaml"
expect "the same UID in a list" "$(as "$a" get namespace kube-public -o 'jsonpath={.metadata.uid}')" \
  "$(as "$a" get namespaces -o json | jq -r '.items[] | select(.metadata.name == "kube-public").metadata.uid')"
expect "a resourceVersion that does not change" "1 1" "$(as "$a" get namespace kube-public kube-node-lease -o 'jsonpath={.items[*].metadata.resourceVersion}')"
check "describe" as "$a" describe namespace kube-node-lease
expect "what is in one: nothing" "" "$(as "$a" get configmaps -n kube-public -o name)"
check_fails "what is not in one is not found" 'configmaps "x" not found' as "$a" get configmap x -n kube-public
check_fails "it may not be made" 'AlreadyExists|already exists' as "$a" create namespace kube-public --dry-run=none
"$KUBECTL" --kubeconfig "$TMPDIR/$a.kubeconfig" get namespaces -w -o name >"$TMPDIR/watch" 2>&1 &
watcher=$!
eventually "a watch begins with them" 30 grep -q namespace/kube-node-lease "$TMPDIR/watch"
kill "$watcher" && wait "$watcher" 2>/dev/null
expect "none of this was a write into kube-node-lease" "" "$(there kube-node-lease)"

lease='{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"node-1","namespace":"kube-node-lease"},"spec":{"holderIdentity":"node-1"}}'
check "the first write into it" as "$a" create -f - <<<"$lease"
expect "made it" "namespace/$a-kube-node-lease" "$(there kube-node-lease)"
check "a second write" as "$a" label lease node-1 -n kube-node-lease x=y
expect "the list is the same" "$four" "$(names)"
check "a write of it" as "$a" label namespace kube-public purpose=notices
expect "is kept" notices "$(as "$a" get namespace kube-public -o 'jsonpath={.metadata.labels.purpose}')"
expect "by what it has" kube-public "$(names -l purpose=notices)"
expect "not by what it has not" "default kube-node-lease kube-system" "$(names -l 'purpose!=notices')"
expect "nor in pages" "default kube-node-lease kube-system" "$(names -l '!purpose' --chunk-size=1)"
expect "nor as it begins a watch" "default kube-node-lease kube-system" \
  "$(as "$a" get --raw '/api/v1/namespaces?watch=1&timeoutSeconds=2&labelSelector=purpose!%3Dnotices' | jq -r .object.metadata.name | sort | xargs)"
check_fails "it may not be deleted" 'may not be deleted' as "$a" delete namespace kube-public
check_fails "nor all together" 'MethodNotAllowed|does not allow this method' as "$a" delete --raw /api/v1/namespaces
check_fails "nor by a label" 'MethodNotAllowed|does not allow this method' as "$a" delete --raw '/api/v1/namespaces?labelSelector=kubernetes.io/metadata.name%3Ddefault'
expect "none is going" "Active Active Active Active" "$(as "$a" get namespaces -o 'jsonpath={.items[*].status.phase}')"
new_tenant b
expect "a neighbour has them new" "$four" "$(as "$b" get namespaces -o 'jsonpath={.items[*].metadata.name}')"
expect "and empty" "" "$(as "$b" get leases -n kube-node-lease -o name)"
# One that the platform takes from the tenant.
check "a namespace" as "$a" create namespace leaving
version=$(as "$a" get --raw /api/v1/namespaces | jq -r .metadata.resourceVersion)
check "its label goes" upstream label namespace "$a-leaving" tenant.kubezoo.io/id-
expect "who watches is told" "DELETED leaving" \
  "$(as "$a" get --raw "/api/v1/namespaces?watch=1&timeoutSeconds=5&resourceVersion=$version" | jq -r 'select(.type == "DELETED") | .type + " " + .object.metadata.name')"
check "it is nobody's, and goes" upstream delete namespace "$a-leaving" --timeout=120s

check "the tenant goes" ctl tenant delete "$a" --wait
expect "with them" "" "$(upstream get namespaces -o name | grep "/$a-")"
