#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: upstream gateway
# step: all
# timeout: 900
# A tenant's definitions are found by their label, so that nobody else's are read; those without one are found as well.
. "$(dirname "$0")/../e2e/lib.sh"

own_upstream # what others read there is not counted
shared=shared-$(random_id).example.org
start_zood_with "shared: {groups: [\"$shared\"]}"
new_tenant a
new_tenant b
group=example.com

# definition PLURAL GROUP
definition() { crd_manifest "$2" "$1" "${1^}" Namespaced 'versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]'; }
names() { as "$a" get crd -o name "$@" 2>&1 | sed 's|.*/||' | xargs; }
label() { upstream get crd "$1" -o json | jq -r '.metadata.labels["tenant.kubezoo.io/id"]'; }
is() { [[ $(names) == "$1" ]]; }
own="things.$group widgets.$group"

# ---- what upstream has, and what the tenant sees of it
for plural in widgets things; do check "create $plural" as "$a" create -f - <<<"$(definition $plural $group)"; done
for plural in things others more still; do check "the neighbour's $plural" as "$b" create -f - <<<"$(definition $plural $group)"; done
expect "upstream has the tenant's label" "$a $b" "$(label "things.$a-$group") $(label "things.$b-$group")"
expect "the tenant has none" "{}" "$(as "$a" get crd "things.$group" -o json | jq -c '.metadata.labels // {}')"
expect_no_match "nor its managed field" 'tenant.kubezoo.io' "$(as "$a" get crd "things.$group" -o yaml --show-managed-fields)"
expect "its own definitions" "$own" "$(names)"
expect "in pages" "$own" "$(names --chunk-size=1)"
expect_match "as a table" '^widgets\.example\.com +' "$(as "$a" get crd)"
expect_no_match "in its metadata alone" 'tenant.kubezoo.io' "$(as "$a" get crd --show-labels)"
check "a label of its own" as "$a" label crd "things.$group" team=x
expect "stands beside it" "x $a" "$(upstream get crd "things.$a-$group" -o json | jq -r '.metadata.labels | .team + " " + .["tenant.kubezoo.io/id"]')"
expect "is selected by" "things.$group" "$(names -l team=x)"
expect "and against" "widgets.$group" "$(names -l '!team')"
check_fails "the tenant label is not its own to set" 'reserved' as "$a" label crd "things.$group" tenant.kubezoo.io/id="$b"
check_fails "nor by a JSON patch" 'reserved' as "$a" patch crd "things.$group" --type json -p '[{"op":"add","path":"/metadata/labels/tenant.kubezoo.io~1id","value":"'"$b"'"}]'
check "server-side apply" as "$a" apply --server-side --force-conflicts -f - <<<"$(definition widgets $group)"
expect "keeps it" "$a" "$(label "widgets.$a-$group")"
check "replace" as "$a" replace -f - <<<"$(as "$a" get crd "widgets.$group" -o json | jq 'del(.metadata.resourceVersion) | .metadata.annotations.seen = "1"')"
expect "keeps it, too" "$a" "$(label "widgets.$a-$group")"

# ---- nobody else's are read
five_lists() { for _ in 1 2 3 4 5; do names; done; }
eventually "five lists return ten objects" 30 list_costs "== 10" returned customresourcedefinitions five_lists

# ---- those that have lost it, or never had it
check "a patch that takes all labels" as "$a" patch crd "things.$group" --type merge -p '{"metadata":{"labels":null}}'
expect "takes the tenant's own" "$a {}" "$(label "things.$a-$group") $(as "$a" get crd "things.$group" -o json | jq -c '.metadata.labels // {}')"
check "a label of its own" as "$a" label crd "things.$group" team=x
check "so does a JSON patch" as "$a" patch crd "things.$group" --type json -p '[{"op":"remove","path":"/metadata/labels"}]'
expect "and leaves the label" "$a" "$(label "things.$a-$group")"
expect "the list is the same" "$own" "$(names)"
check "a label of its own again" as "$a" label crd "things.$group" team=x
check "is moved within" as "$a" patch crd "things.$group" --type json -p '[{"op":"move","from":"/metadata/labels/team","path":"/metadata/labels/other"}]'
expect "as it is said" "{\"other\":\"x\"}" "$(as "$a" get crd "things.$group" -o json | jq -c .metadata.labels)"
check "the platform takes the tenant's" upstream label crd "things.$a-$group" tenant.kubezoo.io/id-
eventually "the definition stays in the list" 30 is "$own"
expect "and is listed in pages" "$own" "$(names --chunk-size=1)"
check "a patch of something else" as "$a" patch crd "things.$group" --type merge -p '{"metadata":{"annotations":{"seen":"1"}}}'
expect "labels it again" "$a 1" "$(label "things.$a-$group") $(as "$a" get crd "things.$group" -o json | jq -r .metadata.annotations.seen)"
check "the platform makes one" upstream create -f - <<<"$(definition things "$a-made.$group")"
eventually "it is the tenant's" 30 is "things.$group things.made.$group widgets.$group"
check "which applies it" as "$a" apply --server-side --force-conflicts -f - <<<"$(definition things "made.$group")"
expect "and with it zood labels it" "$a" "$(label "things.$a-made.$group")"
expect "the list is still the same" "things.$group things.made.$group widgets.$group" "$(names)"

# ---- what the platform shares
check "a shared one" upstream create -f - <<<"$(definition rooms "$shared")"
eventually "stands among them" 30 is "rooms.$shared things.$group things.made.$group widgets.$group"
expect "in pages" "rooms.$shared things.$group things.made.$group widgets.$group" "$(names --chunk-size=2)"
"$KUBECTL" --kubeconfig "$TMPDIR/$a.kubeconfig" get crd -w --output-watch-events --no-headers >"$TMPDIR/watch" 2>&1 &
watcher=$!
seen() { [[ $(sed -n "s/^ADDED *\([^ ]*\).*/\1/p" "$TMPDIR/watch" | sort | xargs) == "$1" ]]; }
eventually "a watch begins with all of them" 30 seen "rooms.$shared things.$group things.made.$group widgets.$group"
check "a new one" as "$a" create -f - <<<"$(definition later $group)"
check "and the neighbour's" as "$b" create -f - <<<"$(definition later $group)"
eventually "the watch tells of the tenant's, once" 30 seen "later.$group rooms.$shared things.$group things.made.$group widgets.$group"
kill "$watcher" && wait "$watcher" 2>/dev/null
state=$(as "$a" get --raw "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=1" | jq -r 'select(.type == "ADDED") | .object.metadata.name' | sort | xargs)
expect "so does a state by watch" "later.$group rooms.$shared things.$group things.made.$group widgets.$group" "$state"

# ---- a ceiling counts the tenant's own
check "six at most" ctl tenant apply -f - <<<"{\"apiVersion\":\"tenant.kubezoo.io/v1alpha1\",\"kind\":\"Tenant\",\"metadata\":{\"name\":\"$b\"},\"spec\":{\"quota\":{\"customresourcedefinitions\":6}}}"
sixth() { as "$b" create -f - <<<"$(definition sixth $group)"; }
check "the sixth of $b" sixth
check_fails "the seventh" 'exceeded quota' as "$b" create -f - <<<"$(definition seventh $group)"

# ---- IDs and ends
occupied() { [[ $(ctl tenant create "$1" 2>&1) == *"$2"* ]]; }
free=$(random_id)
check "a definition under an ID of nobody's" upstream create -f - <<<"$(definition things "$free-$group")"
check "keeps a tenant from it" occupied "$free" "things.$free-$group"
check "with its label" upstream label crd "things.$free-$group" "tenant.kubezoo.io/id=$free"
check "likewise" occupied "$free" "things.$free-$group"
check "it goes" upstream delete crd "things.$free-$group"
check "the platform takes a label" upstream label crd "widgets.$a-$group" tenant.kubezoo.io/id-
check "the tenant goes" ctl tenant delete "$a" --wait
expect "with all its definitions" "" "$(upstream get crd -o name | grep -F ".$a-")"
