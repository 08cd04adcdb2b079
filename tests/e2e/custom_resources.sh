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
  check "$id: it is established" established crontabs.stable.example.com as "$id"
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

# What a definition says of its own group: upstream's objects have another one.
widget_definition() { # SCHEMA MORE: MORE are members of the version
  crd_manifest sql.widgets.test widgets Widget Namespaced "versions: [{name: v1, served: true, storage: true, $2 schema: {openAPIV3Schema: $1}}]"
}
spec_schema='kind: {type: string}, metadata: {type: object}, spec: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {size: {type: integer}, changed: {type: boolean}, ref: {type: object, properties: {apiVersion: {type: string, enum: [sql.widgets.test/v1]}}}}}'
schema="{type: object, x-kubernetes-validations: [
    {rule: \"self.apiVersion == 'sql.widgets.test/v1'\", messageExpression: \"'not ' + self.apiVersion\"},
    {rule: \"!has(self.spec.changed) || self.apiVersion != oldSelf.apiVersion\", messageExpression: \"'still ' + self.apiVersion\"}],
  properties: {apiVersion: {type: string, enum: [sql.widgets.test/v1, sql.widgets.test/v2], pattern: '^sql\\.widgets\\.test/', maxLength: 19,
    x-kubernetes-validations: [{rule: self.startsWith('sql')}]}, $spec_schema}}"
columns='additionalPrinterColumns: [{name: Version, type: string, jsonPath: .apiVersion}, {name: Owner, type: string, jsonPath: ".metadata.ownerReferences[0].apiVersion"}], selectableFields: [{jsonPath: .apiVersion}],'
widget() { # NAME SPEC [METADATA]
  echo "{apiVersion: sql.widgets.test/v1, kind: Widget, metadata: {name: $1 ${3:-}}, spec: {$2}}"
}
check "a definition that speaks of its own group" as "$a" create -f - <<<"$(widget_definition "$schema" "$columns")"
check "is established" established widgets.sql.widgets.test as "$a"
makes() { as "$a" create -f - <<<"$(widget one 'size: 1')"; }
eventually "takes its objects" 30 makes
of_version() { as "$a" get crd widgets.sql.widgets.test -o json | jq -c ".spec.versions[0].schema.openAPIV3Schema | $1"; }
expect "an enumeration reads as it was written" '["sql.widgets.test/v1","sql.widgets.test/v2"]' "$(of_version .properties.apiVersion.enum)"
expect "so do a pattern and a length" '["^sql\\.widgets\\.test/",19]' "$(of_version '[.properties.apiVersion | .pattern, .maxLength]')"
expect "so do rules" "self.apiVersion == 'sql.widgets.test/v1'" "$(of_version '."x-kubernetes-validations"[0].rule' | jq -r .)"
check_fails "a rule that is not fulfilled, in the tenant's words" 'still sql.widgets.test/v1' as "$a" patch widget one --type merge -p '{"spec":{"changed":true}}'
check "a reference within the object is what was written" as "$a" create -f - <<<"$(widget two 'ref: {apiVersion: sql.widgets.test/v1}' ", ownerReferences: [{apiVersion: sql.widgets.test/v1, kind: Widget, name: one, uid: $(as "$a" get widget one -o 'jsonpath={.metadata.uid}')}]")"
expect "columns show the tenant's group" "two sql.widgets.test/v1 sql.widgets.test/v1" "$(as "$a" get widget two --no-headers | tr -s ' ' | sed 's/ *$//')"
in_v3() { grep -qF "self.apiVersion == 'sql.widgets.test/v1'" <<<"$(as "$a" get --raw /openapi/v3/apis/sql.widgets.test/v1)"; }
eventually "OpenAPI shows rules as they were written" 60 in_v3
expect_no_match "without the prefix" "$a-" "$(as "$a" get --raw /openapi/v3/apis/sql.widgets.test/v1)"
expect "a field selector means it" "widget.sql.widgets.test/one widget.sql.widgets.test/two" "$(as "$a" get widgets --field-selector apiVersion=sql.widgets.test/v1 -o name | xargs)"
expect "and no other" "" "$(as "$a" get widgets -A --field-selector apiVersion=sql.widgets.test/v2 -o name)"
only_v2='[{"op":"replace","path":"/spec/versions/0/schema/openAPIV3Schema/properties/apiVersion/enum","value":["sql.widgets.test/v2"]}]'
check "a JSON patch of it" as "$a" patch crd widgets.sql.widgets.test --type json -p "$only_v2"
refuses_v1() { local said; said=$(as "$a" create --dry-run=server -f - 2>&1 <<<"$(widget three 'size: 1')"); [[ $said == *'apiVersion: Unsupported value: "sql.widgets.test/v1": supported values: "sql.widgets.test/v2"'* ]]; }
eventually "is what objects are held to, in the tenant's words" 30 refuses_v1
copied='[{"op":"copy","from":"/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/ref/properties/apiVersion/enum","path":"/spec/versions/0/schema/openAPIV3Schema/properties/apiVersion/enum"}]'
check "a copy from a place that is not translated" as "$a" patch crd widgets.sql.widgets.test --type json -p "$copied"
expect "reads as it says" '["sql.widgets.test/v1"]' "$(of_version .properties.apiVersion.enum)"
takes_three() { as "$a" create -f - <<<"$(widget three 'size: 1')"; }
eventually "and is made right" 30 takes_three
check "apply it on the server" as "$a" apply --server-side --force-conflicts -f - <<<"$(widget_definition "$schema" "$columns")"
expect "it reads as it was written" '["sql.widgets.test/v1","sql.widgets.test/v2"]' "$(of_version .properties.apiVersion.enum)"
check_fails "a pattern that cannot be held against another group" 'pattern of apiVersion .*rule definition-groups' as "$a" patch crd widgets.sql.widgets.test --type json -p '[{"op":"add","path":"/spec/versions/0/schema/openAPIV3Schema/properties/apiVersion/pattern","value":"\\bsql"}]'
expect_no_match "nothing of it has the prefix" "$a-" "$(as "$a" get crd widgets.sql.widgets.test -o yaml --show-managed-fields; as "$a" get widgets -o yaml --show-managed-fields)"
check "delete it" as "$a" delete crd widgets.sql.widgets.test --timeout=120s

# A volume is filled from what the platform's storage knows, or from nothing: never from a kind that it does not see.
claim() { # SPEC
  echo "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: restored}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}, $1}}"
}
snapshot='apiGroup: snapshot.storage.k8s.io, kind: VolumeSnapshot, name: s'
for source in dataSource dataSourceRef; do
  check_fails "a claim by $source from snapshots of the tenant's own" 'rule volume-snapshots' as "$a" create -f - <<<"$(claim "$source: {$snapshot}")"
  check_fails "nor applied on the server" 'rule volume-snapshots' as "$a" apply --server-side -f - <<<"$(claim "$source: {$snapshot}")"
done
template="metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}, dataSource: {$snapshot}}"
check_fails "nor in a StatefulSet's templates" 'rule volume-snapshots' as "$a" create -f - <<<"{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: s}, spec: {serviceName: s, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: none.test/x}]}}, volumeClaimTemplates: [{$template}]}}"
check_fails "nor for a pod's ephemeral volume" 'rule volume-snapshots' as "$a" create -f - <<<"{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: none.test/x}], volumes: [{name: v, ephemeral: {volumeClaimTemplate: {${template#*, }}}}]}}"
expect "from a populator of the tenant's own it is kept" fill.example.com "$(as "$a" create -o 'jsonpath={.spec.dataSourceRef.apiGroup}' -f - <<<"$(claim 'dataSourceRef: {apiGroup: fill.example.com, kind: Fill, name: f}')")"
check "delete it" as "$a" delete pvc restored --wait=false

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
