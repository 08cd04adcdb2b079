# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: labels and annotations of namespaces that upstream's admission obeys: pod security, DRA, node selectors.
# Without the fence: pod-security.kubernetes.io/enforce=privileged opens the nodes to hostPath.
# Rule: the cap is enforced, a tenant's wish above it is shown and kept beside; the others are refused.
made "a namespace that wishes" POST /api/v1/namespaces json '{"metadata":{"name":"evil-wish","labels":{"pod-security.kubernetes.io/enforce":"privileged","pod-security.kubernetes.io/enforce-version":"v1.0"},"annotations":{"a":"privileged"}}}'
expect "an older version is shown" v1.0 "$(jq -r '.metadata.labels["pod-security.kubernetes.io/enforce-version"]' <<<"$answer")"
fence() { stored "/api/v1/namespaces/$evil-evil-wish" '(.metadata.labels | [.["pod-security.kubernetes.io/enforce"] | IN("baseline","restricted")] + [.["resource.kubernetes.io/admin-access"] // .["pod-security.kubernetes.io/enforce-version"]]) + [.metadata.annotations["scheduler.alpha.kubernetes.io/node-selector"]] | tostring'; }
after_each /api/v1/namespaces/evil-wish '[true,null,null]' <<'P'
merge {"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"privileged"}}}
merge {"metadata":{"labels":{"pod-security.kubernetes.io/enforc\u0065":"privileged"}}}
merge {"metadata":{"labels":{"pod-security.kubernetes.io/enforce":null}}}
merge {"metadata":{"labels":{"resource.kubernetes.io/admin-access":"true"}}}
merge {"metadata":{"labels":{"pod-security.kubernetes.io/enforce-version":"v1.1"}}}
patch [{"op":"add","path":"/metadata/labels/pod-security.kubernetes.io~1enforce-version","value":"v1.2"}]
patch [{"op":"move","from":"/metadata/labels/kept.zoo.kubezoo.io~1pod-security-enforce-version","path":"/metadata/labels/pod-security.kubernetes.io~1enforce-version"}]
apply {"apiVersion":"v1","kind":"Namespace","metadata":{"name":"evil-wish","labels":{"pod-security.kubernetes.io/enforce-version":"v1.3"}}}
merge {"metadata":{"annotations":{"scheduler.alpha.kubernetes.io/node-selector":"a=b"}}}
strategic {"metadata":{"labels":{"$patch":"replace"}}}
patch [{"op":"remove","path":"/metadata/labels/pod-security.kubernetes.io~1enforce"}]
patch [{"op":"replace","path":"/metadata/labels/pod-security.kubernetes.io~1enforce","value":"privileged"}]
patch [{"op":"copy","from":"/metadata/annotations/a","path":"/metadata/labels/pod-security.kubernetes.io~1enforce"}]
patch [{"op":"test","path":"/metadata/name","value":"evil-wish"},{"op":"add","path":"/metadata/labels","value":{"pod-security.kubernetes.io/enforce":"privileged"}}]
merge {"metadata":{"labels":{"kept.zoo.kubezoo.io/x":"y"}}}
apply {"apiVersion":"v1","kind":"Namespace","metadata":{"name":"evil-wish","labels":{"pod-security.kubernetes.io/enforce":"privileged"}}}
P
try POST /api/v1/namespaces/evil-wish/pods json '{"metadata":{"name":"evil"},"spec":{"hostPID":true,"containers":[{"name":"c","image":"x"}]}}'
refused "a pod is measured by the cap"
direct PATCH "/api/v1/namespaces/$evil-evil-wish?dryRun=All" merge '{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"privileged"}}}'
accepted "upstream would let its administrator"
try DELETE /api/v1/namespaces/evil-wish
