# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: to write, read or take away what the platform has given a pod and a namespace: the annotation of the pod's namespace, a label
#   and an annotation of the namespace's, by each kind of patch, by PUT and through the status; to read the annotation by a fieldPath
#   of its own; to mention zood's ConfigMap; to lead a Service to the victim's and the platform's by their names.
# Without the fence: a pod would believe that it runs in another namespace, or in none; what the platform has decided about a namespace
#   would be gone; what is the victim's name upstream would be reached by it.
# Rule: such members are no tenant's to name (reserved-names), and survive what it writes (docs/decisions/193 to 195).
given='zoo.kubezoo.io/namespace'
pods=/api/v1/namespaces/team/pods
read_it='{"name":"N","valueFrom":{"fieldRef":{"apiVersion":"v1","fieldPath":"metadata.annotations['"'$given'"']"}}}'
# As upstream's policy makes it.
direct POST "/api/v1/namespaces/$evil-team/pods" json '{"metadata":{"name":"evil","annotations":{"a":"b","'$given'":"team"}},"spec":{"containers":[{"name":"c","image":"x","env":['"$read_it"']}],
  "volumes":[{"name":"v","projected":{"sources":[{"configMap":{"name":"zoo-root-ca.crt","items":[{"key":"namespace","path":"namespace"}]}}]}}]}}'
accepted "a pod that was given its namespace"
namespace_of_pod() { stored "/api/v1/namespaces/$evil-team/pods/evil" ".metadata.annotations[\"$given\"]"; }
try GET $pods/evil
expect_no_match "it is not shown" 'zoo\.kubezoo|zoo-root-ca' "$answer"
whole=$answer
patches() {
  cat <<'P'
merge {"metadata":{"annotations":null}}
merge {"metadata":{"annotations":{"zoo.kubezoo.io/namespace":null}}}
merge {"metadata":{"annotations":{"zoo.kubezoo.io/namespace":"kube-system"}}}
merge {"metadata":{"annotations":{"zoo.kubezoo.i\u006f/namespace":"kube-system"}}}
merge {"metadata":null}
merge {"metadata":{"annotations":null},"metadata":{"annotations":{}}}
strategic {"metadata":{"annotations":{"$patch":"replace"}}}
strategic {"metadata":{"annotations":{"$patch":"delete"}}}
strategic {"metadata":{"annotations":{"$retainKeys":["a"],"a":"b"}}}
strategic {"metadata":{"$patch":"replace","name":"evil"}}
strategic {"metadata":{"$retainKeys":["name"],"name":"evil"}}
strategic {"$patch":"replace","metadata":{"name":"evil"}}
strategic {"$patch":"delete"}
patch [{"op":"remove","path":"/metadata/annotations"}]
patch [{"op":"remove","path":"/metadata/annotations/zoo.kubezoo.io~1namespace"}]
patch [{"op":"replace","path":"/metadata/annotations","value":{}}]
patch [{"op":"replace","path":"/metadata/annotations","value":null}]
patch [{"op":"add","path":"/metadata/annotations","value":{"x":"y"}}]
patch [{"op":"add","path":"/metadata/annotations/zoo.kubezoo.io~1namespace","value":"kube-system"}]
patch [{"op":"add","path":"/metadata/annotations/x","value":"kube-system"},{"op":"move","from":"/metadata/annotations/x","path":"/metadata/annotations/zoo.kubezoo.io~1namespace"}]
patch [{"op":"copy","from":"/metadata/labels","path":"/metadata/annotations"}]
patch [{"op":"move","from":"/metadata/annotations","path":"/metadata/labels"}]
patch [{"op":"move","from":"/metadata/annotations","path":"/spec/nodeSelector"}]
patch [{"op":"move","from":"/metadata/annotations/zoo.kubezoo.io~1namespace","path":"/metadata/annotations/x"}]
patch [{"op":"remove","path":"/metadata"}]
patch [{"op":"replace","path":"/metadata","value":{"name":"evil"}}]
patch [{"op":"replace","path":"","value":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"evil"}}}]
apply {"apiVersion":"v1","kind":"Pod","metadata":{"name":"evil","annotations":{}}}
apply {"apiVersion":"v1","kind":"Pod","metadata":{"name":"evil","annotations":{"zoo.kubezoo.io/namespace":"kube-system"}}}
P
}
while read -r type body; do
  for at in "$pods/evil" "$pods/evil/status"; do
    query=$([[ $type == apply ]] && echo '?fieldManager=x&force=true')
    try PATCH "$at$query" "$type" "$body"
    expect "after $type ${body:0:90} of ${at##*/}" team "$(namespace_of_pod)"
  done
done < <(patches)
for at in "$pods/evil" "$pods/evil/status" "$pods/evil/resize" "$pods/evil/ephemeralcontainers"; do
  for change in 'del(.metadata.annotations)' '.metadata.annotations = {}' '.metadata = {name: "evil"}' "del(.spec)" \
    ".metadata.annotations[\"$given\"] = \"kube-system\""; do
    try PUT "$at" json "$(jq -c "del(.metadata.resourceVersion) | $change" <<<"$whole")"
    expect "after PUT of ${at##*/}: $change" team "$(namespace_of_pod)"
  done
done

# A namespace.
space=/api/v1/namespaces/team
direct PATCH "/api/v1/namespaces/$evil-team" merge '{"metadata":{"labels":{"zoo.kubezoo.io/hostile":"kept"},"annotations":{"zoo.kubezoo.io/hostile":"kept"}}}'
accepted "the platform writes down something about a namespace"
space_kept() { stored "/api/v1/namespaces/$evil-team" '[.metadata.labels["zoo.kubezoo.io/hostile"], .metadata.annotations["zoo.kubezoo.io/hostile"], .metadata.labels["tenant.kubezoo.io/id"]] | join(" ")'; }
while read -r type body; do
  for map in annotations labels; do
    body=${body//evil/team}
    query=$([[ $type == apply ]] && echo '?fieldManager=x&force=true')
    try PATCH "$space$query" "$type" "$(sed "s/annotations/$map/g; s,zoo.kubezoo.io\\([~/]\\),zoo.kubezoo.io\\1,g; s/namespace\"/hostile\"/g; s/\"kind\":\"Pod\"/\"kind\":\"Namespace\"/" <<<"$body")"
    expect "after $type ${body:0:80} of $map" "kept kept $evil" "$(space_kept)"
  done
done < <(patches)
for at in "$space" "$space/status" "$space/finalize"; do
  try PUT "$at" json '{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"team"},"spec":{"finalizers":["kubernetes"]}}'
  expect "after PUT of ${at##*/}" "kept kept $evil" "$(space_kept)"
done

# Asked for by hand.
pod() { printf '{"metadata":{"name":"forged"},"spec":{"containers":[{"name":"c","image":"x"%s}]%s}}' "$1" "$2"; }
for wish in ',"env":['"$read_it"']|' ',"env":['"${read_it/namespace/other}"']|' ',"envFrom":[{"configMapRef":{"name":"zoo-root-ca.crt"}}]|' \
  '|,"volumes":[{"name":"v","configMap":{"name":"zoo-root-ca.crt"}}]' \
  '|,"volumes":[{"name":"v","projected":{"sources":[{"configMap":{"name":"zoo-root-ca.crt"}}]}}]' \
  '|,"volumes":[{"name":"v","downwardAPI":{"items":[{"path":"p","fieldRef":{"fieldPath":"metadata.labels['"'zoo.kubezoo.io/x'"']"}}]}}]'; do
  try POST $pods json "$(pod "${wish%%|*}" "${wish#*|}")"
  refused "a pod with ${wish:0:80}" 403
done
try POST $pods json '{"metadata":{"name":"forged","annotations":{"'$given'":"kube-system"}},"spec":{"containers":[{"name":"c","image":"x"}]}}'
refused "a pod with the annotation" 403
would "have it" POST "/api/v1/namespaces/$evil-team/pods" json '{"metadata":{"name":"forged","annotations":{"'$given'":"kube-system"}},"spec":{"containers":[{"name":"c","image":"x"}]}}'

# Names of Services.
leads_to() { stored "/api/v1/namespaces/$evil-team/services/evil" .spec.externalName; }
services=/api/v1/namespaces/team/services
made "a Service" POST $services json '{"metadata":{"name":"evil","annotations":{"n":"'"$vault.$victim-team.svc.cluster.local"'"}},"spec":{"type":"ExternalName","externalName":"'"$vault.$victim-team.svc.cluster.local"'"}}'
expect "leads to a namespace of the attacker's own" "$vault.$evil-$victim-team.svc.cluster.local" "$(leads_to)"
for patch in 'merge {"spec":{"externalName":"kubernetes.default.svc.cluster.local"}}' 'strategic {"spec":{"externalName":"kubernetes.default.svc"}}' \
  'patch [{"op":"replace","path":"/spec/externalName","value":"kubernetes.default.svc.cluster.local."}]' \
  'patch [{"op":"copy","from":"/metadata/annotations/n","path":"/spec/externalName"}]' \
  'patch [{"op":"move","from":"/metadata/annotations/n","path":"/spec/externalName"}]' \
  'patch [{"op":"replace","path":"/spec","value":{"type":"ExternalName","externalName":"kubernetes.default.svc.cluster.local"}}]' \
  'patch [{"op":"replace","path":"/spec/externalName","value":"kubernetes.default.svc.cluster.loca\u006c"}]'; do
  try PATCH $services/evil "${patch%% *}" "${patch#* }"
  expect_match "after ${patch:0:90}: its own still" "\.$evil-(default|$victim-team)\.svc" "$(leads_to)"
done
would "lead to the platform's" PATCH "/api/v1/namespaces/$evil-team/services/evil" merge '{"spec":{"externalName":"kubernetes.default.svc.cluster.local"}}'
for path in "$pods/evil" "$services/evil"; do try DELETE "$path"; done
