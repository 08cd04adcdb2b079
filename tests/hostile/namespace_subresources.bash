# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: the catalogue of namespace hijacking: main, status and finalize, by PUT and each kind of patch, of the victim's
# namespace, the platform's and one's own, with labels, forged UIDs, several owners, and finalizers.
# Without the fence: capsule's owners patched namespaces of others into their tenant (CVE-2024-39690) by status and finalize.
# Rule: the path's name gets the prefix; the label is zood's on every subresource.
mine() { stored "/api/v1/namespaces/$evil-team" '[.metadata.labels["tenant.kubezoo.io/id"], .metadata.name, (.metadata.ownerReferences | length), (.spec.finalizers | tostring)] | tostring'; }
before=$(mine)
owners='[{"apiVersion":"v1","kind":"Namespace","name":"'"$victim-team"'","uid":"'"$(stored "/api/v1/namespaces/$victim-team" .metadata.uid)"'"},{"apiVersion":"tenant.kubezoo.io/v1alpha1","kind":"Tenant","name":"'"$victim"'","uid":"'"$victims_uid"'"}]'
for sub in '' /status /finalize; do
  for name in "$victim-team" "$victim-$vault" kube-public "../$victim-team" zoo-system "$evil-team"; do
    for request in 'PUT json {"apiVersion":"v1","kind":"Namespace","metadata":{"name":"'"$name"'","labels":{"tenant.kubezoo.io/id":"'"$evil"'"}},"spec":{"finalizers":[]}}' \
      'PATCH merge {"metadata":{"labels":{"tenant.kubezoo.io/id":"'"$evil"'"}}}' 'PATCH patch [{"op":"add","path":"/metadata/labels/tenant.kubezoo.io~1id","value":"'"$evil"'"}]'; do
      read -r method type body <<<"$request"
      try "$method" "/api/v1/namespaces/$name$sub" "$type" "$body"
      [[ $name == kube-public ]] || refused "$method of $name$sub"
    done
  done
  for request in 'PUT json {"apiVersion":"v1","kind":"Namespace","metadata":{"name":"team","labels":{"tenant.kubezoo.io/id":"'"$victim"'"},"ownerReferences":'"$owners"'}}' 'PATCH merge {"metadata":{"labels":{"tenant.kubezoo.io/id":"'"$victim"'"},"uid":"'"$victims_uid"'"}}' \
    'PATCH strategic {"metadata":{"labels":{"$patch":"replace"},"ownerReferences":'"$owners"'}}' 'PATCH patch [{"op":"remove","path":"/metadata/labels"}]' 'PATCH patch [{"op":"test","path":"/metadata/labels/tenant.kubezoo.io~1id","value":"'"$evil"'"}]' 'PATCH merge {"metadata":{"finalizers":["evil.example.com/x"],"labels":null}}'; do
    read -r method type body <<<"$request"
    try "$method" "/api/v1/namespaces/team$sub" "$type" "$body"
    expect_match "$code: ${sub:-itself} keeps its label after $method ${body:0:60}" "^\\[\"$evil\",\"$evil-team\"," "$(mine)"
  done
  try PATCH "/api/v1/namespaces/team$sub?fieldManager=zood&force=true" apply '{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"team","labels":{"tenant.kubezoo.io/id":"'"$victim"'"}}}'
  expect_match "$code: after apply" "^\\[\"$evil\",\"$evil-team\"," "$(mine)"
done
for name in team "$victim-team"; do
  for more in '"labels":{"tenant.kubezoo.io/id":"'"$victim"'"}' '"ownerReferences":'"$owners" '"uid":"'"$victims_uid"'"' '"generateName":"'"$victim"'-","labels":{"kubernetes.io/metadata.name":"'"$victim-team"'"}'; do
    try POST /api/v1/namespaces json '{"metadata":{"name":"evil-'"$RANDOM"'",'"$more"'}}'
    [[ $code == 2* ]] || continue
    made_name=$(jq -r .metadata.name <<<"$answer")
    expect "a new one is the attacker's" "$evil" "$(stored "/api/v1/namespaces/$evil-$made_name" '.metadata.labels["tenant.kubezoo.io/id"]')"
  done
done
for sub in '' /status; do
  would "put its label on the victim's namespace${sub:+ by $sub}" PATCH "/api/v1/namespaces/$victim-team$sub" merge '{"metadata":{"labels":{"tenant.kubezoo.io/id":"'"$evil"'"}}}'
  expect "which would have it" "$evil" "$(jq -r '.metadata.labels["tenant.kubezoo.io/id"]' <<<"$answer")"
done
would "do so by /finalize" PUT "/api/v1/namespaces/$victim-team/finalize" json '{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"'"$victim-team"'","labels":{"tenant.kubezoo.io/id":"'"$evil"'"}},"spec":{"finalizers":["kubernetes"]}}'
expect "and it would have it" "$evil" "$(jq -r '.metadata.labels["tenant.kubezoo.io/id"]' <<<"$answer")"
note "it was $before, it is $(mine)"
