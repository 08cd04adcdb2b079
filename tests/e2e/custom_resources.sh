#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: gateway translate upstream
# timeout: 900
# Two tenants define the same kind in the same group; each has its own.
. "$(dirname "$0")/lib.sh"

start_zood
new_tenant a
new_tenant b

definition() { # COLUMN: what tells the two apart
  cat <<Y
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: crontabs.stable.example.com}
spec:
  group: stable.example.com
  scope: Namespaced
  names: {plural: crontabs, singular: crontab, kind: CronTab, shortNames: [ct]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}}
    additionalPrinterColumns: [{name: $1, type: string, jsonPath: .spec.cronSpec}]
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {cronSpec: {type: string}, replicas: {type: integer}}}
          status: {type: object, properties: {replicas: {type: integer}}}
Y
}
crontab='{"apiVersion":"stable.example.com/v1","kind":"CronTab","metadata":{"name":"job"},"spec":{"cronSpec":"* * * * *","replicas":1}}'

for id in "$a" "$b"; do
  export KUBECACHEDIR=$TMPDIR/cache-$id
  check "$id: create the definition" as "$id" apply -f <(definition "Spec-$id")
  check "$id: it is established" as "$id" wait crd/crontabs.stable.example.com --for=condition=Established --timeout=120s
  expect "$id: definitions list" customresourcedefinition.apiextensions.k8s.io/crontabs.stable.example.com "$(as "$id" get crd -o name)"
  eventually "$id: discovery shows it" 30 as "$id" get crontabs
  check "$id: create one" as "$id" apply -f - <<<"$crontab"
  expect_match "$id: its own columns" "SPEC-${id^^}" "$(as "$id" get ct)"
  expect "$id: group in what it reads" stable.example.com/v1 "$(as "$id" get ct job -o jsonpath='{.apiVersion}')"
  expect "$id: managedFields too" stable.example.com/v1 "$(as "$id" get ct job -o jsonpath='{.metadata.managedFields[0].apiVersion}' --show-managed-fields)"
  check "$id: patch" as "$id" patch ct job --type=merge -p '{"spec":{"cronSpec":"1 * * * *"}}'
  check "$id: scale" as "$id" scale crontab/job --replicas=3
  expect "$id: across namespaces" 1 "$(as "$id" get ct -A --no-headers | wc -l)"
  expect_no_match "$id: nothing of upstream's names" "$a-|$b-" "$(as "$id" get ct,crd -A -o yaml --show-managed-fields)"
  explained() { grep -q cronSpec <<<"$(as "$id" explain crontab.spec)"; }
  eventually "$id: explain" 60 explained
done
expect "upstream has both" 2 "$(upstream get crd -o name | grep -cE "($a|$b)-stable.example.com")"
expect "groups of one's own only" stable.example.com "$(as "$b" api-versions | grep example.com | cut -d/ -f1)"

# An object owned by a custom resource: upstream's garbage collector must find the owner, and later miss it. It looks for new
# kinds every 30 s; what it could not look up before it tries again at double distances.
uid=$(as "$b" get ct job -o jsonpath='{.metadata.uid}')
check "create an owned object" as "$b" apply -f - <<Y
apiVersion: v1
kind: ConfigMap
metadata:
  name: owned
  ownerReferences: [{apiVersion: stable.example.com/v1, kind: CronTab, name: job, uid: $uid}]
Y
expect "the owner reads as it was written" stable.example.com/v1 "$(as "$b" get cm owned -o jsonpath='{.metadata.ownerReferences[0].apiVersion}')"
check "delete the owner" as "$b" delete ct job
gone() { ! as "$b" get cm owned; }
eventually "what it owned goes with it" 120 gone
check "delete the definition" as "$a" delete crd crontabs.stable.example.com --timeout=120s
expect "b keeps its own" 1 "$(as "$b" get crd -o name | wc -l)"

for id in "$a" "$b"; do check "delete tenant $id" ctl tenant delete "$id" --wait; done
expect "nothing of them is left upstream" "" "$(upstream get ns,crd,clusterroles -o name | grep -E "/($a|$b)-|\.($a|$b)-")"
