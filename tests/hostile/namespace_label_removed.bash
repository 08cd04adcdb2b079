# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: to take the tenant label off its namespace, or to make it the victim's, by each kind of patch and by PUT.
# Without the fence: the namespace would change hands, and selectors of the fences would name it.
# Rule: a patch of a Namespace is proven by its dry run's result; the label's key is not a tenant's to write.
namespace=/api/v1/namespaces/team
whose() { stored "/api/v1/namespaces/$evil-team" '.metadata.labels["tenant.kubezoo.io/id"]'; }
for patch in 'merge {"metadata":{"labels":null}}' 'merge {"metadata":null}' 'merge {"metadata":{"labels":{"tenant.kubezoo.io/id":null}}}' \
  'merge {"metadata":{"labels":{"tenant.kubezoo.io/id":"'$victim'"}}}' \
  'strategic {"metadata":{"labels":{"$patch":"replace","a":"b"}}}' 'strategic {"metadata":{"$patch":"replace","name":"team"}}' \
  'strategic {"metadata":{"$retainKeys":["name"],"name":"team"}}' 'strategic {"metadata":{"labels":{"$retainKeys":["a"],"a":"b"}}}' \
  'strategic {"metadata":{"labels":{"$patch":"delete"}}}' \
  'patch [{"op":"remove","path":"/metadata/labels"}]' 'patch [{"op":"remove","path":"/metadata/labels/tenant.kubezoo.io~1id"}]' \
  'patch [{"op":"replace","path":"/metadata/labels","value":{"a":"b"}}]' 'patch [{"op":"add","path":"/metadata/labels","value":{}}]' \
  'patch [{"op":"move","from":"/metadata/labels","path":"/metadata/annotations"}]' \
  'patch [{"op":"copy","from":"/metadata/annotations","path":"/metadata/labels"}]' \
  'patch [{"op":"add","path":"/metadata/labels/x","value":"'$victim'"},{"op":"copy","from":"/metadata/labels/x","path":"/metadata/labels/tenant.kubezoo.io~1id"}]' \
  'patch [{"op":"add","path":"/metadata/labels/tenant.kubezoo.io~1id","value":"'$victim'"}]' \
  'patch [{"op":"replace","path":"","value":{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"team"}}}]' \
  'patch [{"op":"replace","path":"/metadata","value":{"name":"team"}}]'; do
  try PATCH "$namespace" "${patch%% *}" "${patch#* }"
  expect "after ${patch:0:90}" "$evil" "$(whose)"
done
try PATCH "$namespace?fieldManager=zood&force=true" apply '{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"team","labels":{}}}'
expect "apply as the manager that wrote it" "$evil" "$(whose)"
try PATCH "$namespace?fieldManager=x&force=true" apply '{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"team","labels":{"tenant.kubezoo.io/id":"'"$victim"'"}}}'
expect "apply of another's" "$evil" "$(whose)"
try PUT "$namespace" json '{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"team"}}'
expect "PUT without it" "$evil" "$(whose)"
try PUT "$namespace/finalize" json '{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"team","labels":{"tenant.kubezoo.io/id":"'"$victim"'"}},"spec":{"finalizers":[]}}'
expect "PUT finalize" "$evil" "$(whose)"
try PATCH "$namespace/status" merge '{"metadata":{"labels":{"tenant.kubezoo.io/id":"'"$victim"'"}}}'
expect "PATCH status" "$evil" "$(whose)"
expect_match "pod security is enforced still" '^(baseline|restricted)$' "$(stored "/api/v1/namespaces/$evil-team" '.metadata.labels["pod-security.kubernetes.io/enforce"]')"
direct PATCH "/api/v1/namespaces/$evil-team?dryRun=All" merge '{"metadata":{"labels":null}}'
accepted "upstream would let its administrator"
