# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: to reach out of itself by what a webhook of its own answers, when upstream calls it through the relay: patches that name
#   another namespace, kind or name, a node, the host's network, a volume of the node's, annotations of zood's, addresses of a Service;
#   patches that cannot be applied; and to be called by a URL of its own, or a path of the victim's.
# Without the fence: what a webhook answers goes past the proof of requests, and an answer is applied by upstream itself.
# Rule: an answer is proven by what comes of it, and upstream holds pods to its policies whoever changes them (docs/decisions/200).
# shellcheck source=tests/functional/relay/pods.bash
. "$zoo_root/tests/functional/relay/pods.bash"
hook_server hook.team.svc
pod_node
hook_pod "$evil" team
eventually "its webhooks are called through the relay" 60 relayed "$evil"
any='{operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: [configmaps, services, pods]}'
require "it has one that answers what it likes" as "$evil" create -f - <<<"$(hook_configuration MutatingWebhookConfiguration evil /patch "$any")"

asked_object() { # KIND PATCH: what such a patch is asked for
  jq -nc --arg kind "$1" --arg patch "$2" '{apiVersion: "v1", kind: $kind, metadata: {generateName: "evil-", annotations: {patch: $patch}}}
    + (if $kind == "Pod" then {spec: {containers: [{name: "c", image: "none.test/x"}]}} elif $kind == "Service" then {spec: {clusterIP: "None"}} else {} end)'
}
asked() { as "$evil" -n team create --dry-run=server -o json -f - <<<"$(asked_object "$@")" 2>&1; }
answers() { [[ $(asked ConfigMap '[{"op":"add","path":"/data","value":{"a":"b"}}]' | jq -r .data.a 2>/dev/null) == b ]]; }
eventually "what it may change it changes" 60 answers

while IFS='|' read -r kind words patch; do
  said=$(asked "$kind" "$patch")
  observe "$kind $patch" "$said"
  expect_match "$kind: ${patch:0:70}" "$words" "$said"
done <<T
ConfigMap|changes metadata.namespace|[{"op":"add","path":"/metadata/namespace","value":"$victim-team"}]
ConfigMap|changes metadata.namespace|[{"op":"replace","path":"/metadata/namespace","value":"default"}]
ConfigMap|changes kind|[{"op":"replace","path":"/kind","value":"Secret"}]
ConfigMap|changes apiVersion|[{"op":"replace","path":"/apiVersion","value":"v2"}]
ConfigMap|changes metadata.name|[{"op":"add","path":"/metadata/name","value":"kube-root-ca.crt"}]
ConfigMap|changes metadata.uid|[{"op":"add","path":"/metadata/uid","value":"x"}]
ConfigMap|does not stay inside the tenant|[{"op":"add","path":"/metadata/annotations/zoo.kubezoo.io~1namespace","value":"$victim-team"}]
ConfigMap|cannot be applied|[{"op":"replace","path":"/nowhere","value":1}]
ConfigMap|cannot be applied|[{"op":"copy","from":"","path":"/data"}]
ConfigMap|patch cannot be|{"op":"add"}
ConfigMap|patch cannot be|[{"op":"add","path":"/data
Pod|node_names|[{"op":"add","path":"/spec/nodeName","value":"$hook_node"}]
Pod|[Pp]od[Ss]ecurity|[{"op":"add","path":"/spec/hostNetwork","value":true}]
Pod|[Pp]od[Ss]ecurity|[{"op":"add","path":"/spec/volumes/-","value":{"name":"v","hostPath":{"path":"/"}}}]
T

# What a mutation may not change it is not asked about.
said=$(asked Service '[{"op":"add","path":"/spec/externalIPs","value":["192.0.2.1"]}]')
expect_no_match "it gives its Services no addresses" 'externalIPs": *\[' "$said"
# Names are its own, whatever they look like.
said=$(asked Pod '[{"op":"add","path":"/spec/priorityClassName","value":"'"$victim"'-high"}]')
expect_match "a class of the victim's is one of its own that is not there" 'no PriorityClass with name' "$said"

# ---- where upstream calls
group=/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations
direct GET "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/$evil-evil"
accepted "its webhook is stored"
url=$(jq -r '.webhooks[0].clientConfig.url' <<<"$answer")
expect_match "with the relay's address" "/w/$evil/mutating/$evil-evil/" "$url"
by_url() { # URL: a configuration that names it
  jq -nc --arg url "$1" '{apiVersion: "admissionregistration.k8s.io/v1", kind: "ValidatingWebhookConfiguration", metadata: {name: "url"}, webhooks: [{name: "u.example.com",
    clientConfig: {url: $url}, rules: [{operations: ["*"], apiGroups: [""], apiVersions: ["*"], resources: ["configmaps"]}], sideEffects: "None", admissionReviewVersions: ["v1"]}]}'
}
for each in "$url" "${url/\/w\/$evil\//\/w\/$victim\/}" "https://192.0.2.1/w/$evil/x"; do
  try DELETE "$group/url"
  try POST "$group" json "$(by_url "$each")"
  direct GET "$group/$evil-url"
  [[ $code != 200 ]] || expect "a URL of its own has no effect: ${each##*/w/}" '["cluster.zoo.kubezoo.io"]' "$(jq -c '.webhooks[0].rules[0].apiGroups' <<<"$answer")"
done
try PATCH "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/evil" patch '[{"op":"add","path":"/webhooks/0/clientConfig/url","value":"https://192.0.2.1/"}]'
direct GET "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/$evil-evil"
expect "a patch leaves the relay's address" "$url" "$(jq -r '.webhooks[0].clientConfig.url' <<<"$answer")"
# As upstream would see a request that zood had let pass.
would "name the relay's path of the victim" POST "$group" json "$(by_url "${url/\/w\/$evil\//\/w\/$victim\/}" | jq -c --arg name "$evil-past" '.metadata.name = $name')"
check "its configurations go" as "$evil" delete mutatingwebhookconfiguration/evil validatingwebhookconfiguration/url --ignore-not-found
check "with its pod" as "$evil" -n team delete pod/hook service/hook --grace-period 0 --force
end_hooks
