# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: each subresource with a body that names the victim's object: scale, status, eviction, token, approval, resize, ephemeral
# containers, finalize, and the paths of subresources that zood does not know.
# Without the fence: the path is the attacker's, the body the victim's.
# Rule: the path decides; a body that names another object or namespace is refused.
made "a deployment" POST /apis/apps/v1/namespaces/team/deployments json '{"metadata":{"name":"evil"},"spec":{"replicas":0,"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"x"}]}}}}'
made "a pod" POST /api/v1/namespaces/team/pods json '{"metadata":{"name":"evil"},"spec":{"schedulerName":"none","containers":[{"name":"c","image":"x"}]}}'
who='"metadata":{"name":"'"$vault"'","namespace":"'"$victim-team"'"}'
n=0
while read -r path body; do
  n=$((n + 1))
  try PUT "$path" json "$body"
  refused "PUT $path of the victim's"
  try POST "$path" json "$body"
  refused "POST $path of the victim's"
done <<P
/apis/apps/v1/namespaces/team/deployments/evil/scale {"apiVersion":"autoscaling/v1","kind":"Scale",$who,"spec":{"replicas":3}}
/apis/apps/v1/namespaces/team/deployments/evil/status {"apiVersion":"apps/v1","kind":"Deployment",$who}
/api/v1/namespaces/team/pods/evil/eviction {"apiVersion":"policy/v1","kind":"Eviction",$who}
/api/v1/namespaces/team/pods/evil/status {"apiVersion":"v1","kind":"Pod",$who}
/api/v1/namespaces/team/pods/evil/ephemeralcontainers {"apiVersion":"v1","kind":"Pod",$who}
/api/v1/namespaces/team/pods/evil/resize {"apiVersion":"v1","kind":"Pod",$who}
/api/v1/namespaces/team/serviceaccounts/default/token {"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest",$who,"spec":{"audiences":["zood"]}}
/api/v1/namespaces/team/status {"apiVersion":"v1","kind":"Namespace",$who}
/api/v1/namespaces/team/finalize {"apiVersion":"v1","kind":"Namespace",$who}
/apis/certificates.k8s.io/v1/certificatesigningrequests/$vault/approval {"apiVersion":"certificates.k8s.io/v1","kind":"CertificateSigningRequest",$who}
/apis/apiextensions.k8s.io/v1/customresourcedefinitions/safes.vaults.example.com/status {"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",$who}
/api/v1/namespaces/team/pods/evil/unknown {"apiVersion":"v1","kind":"Pod",$who}
/api/v1/namespaces/team/pods/evil/status/more {"apiVersion":"v1","kind":"Pod",$who}
P
expect "the victim's pod is not evicted" "$vault" "$(stored "/api/v1/namespaces/$victim-team/pods/$vault" 'select(.metadata.deletionTimestamp == null) | .metadata.name')"
expect "$n bodies; the pod has no node" null "$(stored "/api/v1/namespaces/$evil-team/pods/evil" .spec.nodeName)"
try DELETE '/api/v1/namespaces/team/pods/evil?gracePeriodSeconds=0'
would "scale the victim's" PATCH "/apis/apps/v1/namespaces/$victim-team/deployments/$vault/scale" merge '{"spec":{"replicas":3}}'
would "evict the victim's" POST "/api/v1/namespaces/$victim-team/pods/$vault/eviction" json '{"apiVersion":"policy/v1","kind":"Eviction",'"$who"',"deleteOptions":{"dryRun":["All"]}}'
