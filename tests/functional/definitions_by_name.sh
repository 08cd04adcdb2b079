#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: upstream gateway
# step: all
# timeout: 900
# A tenant's definitions are read by their names where the cluster has many, and none of them is missed.
. "$(dirname "$0")/../e2e/lib.sh"

own_upstream # what others read there is not counted
shared=shared-$(random_id).example.org
start_zood_with "shared: {groups: [\"$shared\"]}"
new_tenant a
new_tenant b
unpack "$a"
mark=$(random_id)

# definition PLURAL GROUP KIND [TENANT]: as zood stores it
definition() {
  jq -cn --arg plural "$1" --arg group "$2" --arg kind "$3" --arg tenant "${4:-}" --arg mark "$mark" '{apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition",
    metadata: {name: ($plural + "." + $group), labels: ({definitions: $mark} + if $tenant == "" then {} else {"tenant.kubezoo.io/id": $tenant} end)},
    spec: {group: $group, scope: "Cluster", names: {plural: $plural, kind: $kind},
      versions: [{name: "v1", served: true, storage: true, schema: {openAPIV3Schema: {type: "object"}}}]}}'
}
names() { as "$a" get crd -o name "$@" 2>&1 | sed 's|.*/||' | xargs; }
is() { [[ $(names) == "$1" ]]; }
looks_at() { list_costs "$1" fetched customresourcedefinitions names; }

# ---- a neighbour with many: all are one kind, so that upstream serves the first of them alone
many=1100
for ((i = 0; i < many; i++)); do
  definition "many$i" "$b-many.example.com" Same "$b"
done >"$TMPDIR/many"
check "definitions of a neighbour" upstream create -f "$TMPDIR/many"
eventually "none of which is read for a tenant that has none" 30 looks_at "<= 0"
expect "and which it does not see" "" "$(names)"
check "one of the tenant's" upstream create -f - <<<"$(definition things "$a-example.com" Thing "$a")"
eventually "comes to its list" 30 is things.example.com
eventually "and is read alone" 30 looks_at "<= 1"
expect_match "as a table" '^things\.example\.com +' "$(as "$a" get crd --no-headers)"
expect "by a label" things.example.com "$(names -l "definitions=$mark")"
expect "not by another" "" "$(names -l definitions=no)"
expect "by its name" things.example.com "$(names --field-selector metadata.name=things.example.com)"
expect "in pages" things.example.com "$(names --chunk-size=1)"
version=$(as "$a" get --raw /apis/apiextensions.k8s.io/v1/customresourcedefinitions | jq -r .metadata.resourceVersion)
at_version() { as "$a" get --raw "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?resourceVersion=$version$1" | jq -r '.items[].metadata.name' | xargs; }
expect "at a version" things.example.com "$(at_version '&resourceVersionMatch=Exact')"
expect "from any" things.example.com "$(version=0 at_version '')"

expect "as a watch begins" things.example.com "$(begins "$a" /apis/apiextensions.k8s.io/v1/customresourcedefinitions | sort | xargs)"
eventually "for which it is read alone" 30 list_costs "<= 1" fetched customresourcedefinitions begins "$a" /apis/apiextensions.k8s.io/v1/customresourcedefinitions

# ---- beside the platform's
check "the platform shares one" upstream create -f - <<<"$(definition rooms "$shared" Room)"
eventually "which comes to the list" 30 is "rooms.$shared things.example.com"
eventually "two are read" 30 looks_at "<= 2"
expect "in pages both" "rooms.$shared things.example.com" "$(names --chunk-size=1)"

# ---- what the tenant writes is there at once
check "another one of its own" as "$a" create -f - <<<"$(definition alphas example.com Alpha)"
check "is not looked for by name, which is perhaps not known yet" looks_at ">= $many"
expect "is in the list" "alphas.example.com rooms.$shared things.example.com" "$(names)"
check "an older one goes" as "$a" delete crd things.example.com
expect "and is not" "alphas.example.com rooms.$shared" "$(names)"
check "the platform takes another" upstream delete crd "alphas.$a-example.com"
expect "which is gone as well" "rooms.$shared" "$(names)"
check "the platform's goes" upstream delete crd "rooms.$shared"
eventually "and nothing is left" 30 is ""
