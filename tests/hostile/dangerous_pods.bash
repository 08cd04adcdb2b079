# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: pods that reach the node: host namespaces, hostPath, privileges, bindings, ephemeral containers.
# Without the fence: one hostPath pod reads every tenant's Secrets from the kubelet's directory.
# Rule: pod security baseline is enforced on each namespace; bindings are refused.
pod() { printf '{"metadata":{"name":"evil-%s"},"spec":{"containers":[{"name":"c","image":"x"%s}]%s}}' "$1" "$2" "$3"; }
n=0
while read -r what container spec; do
  n=$((n + 1))
  for namespace in team default kube-system; do
    try POST "/api/v1/namespaces/$namespace/pods" json "$(pod $n "${container#-}" "${spec#-}")"
    refused "$what in $namespace"
  done
done <<'P'
hostNetwork - ,"hostNetwork":true
hostPID - ,"hostPID":true
hostIPC - ,"hostIPC":true
hostPath - ,"volumes":[{"name":"v","hostPath":{"path":"/"}}]
privileged ,"securityContext":{"privileged":true} -
capabilities ,"securityContext":{"capabilities":{"add":["SYS_ADMIN"]}} -
procMount ,"securityContext":{"procMount":"Unmasked"} -
hostPort ,"ports":[{"containerPort":1,"hostPort":1}] -
sysctls - ,"securityContext":{"sysctls":[{"name":"kernel.msgmax","value":"1"}]}
seccomp - ,"securityContext":{"seccompProfile":{"type":"Unconfined"}}
P
made "a harmless pod" POST /api/v1/namespaces/team/pods json "$(pod harmless '' ',"schedulerName":"none"')"
try PATCH /api/v1/namespaces/team/pods/evil-harmless/ephemeralcontainers strategic '{"spec":{"ephemeralContainers":[{"name":"e","image":"x","securityContext":{"privileged":true}}]}}'
refused "a privileged ephemeral container"
for body in '{"metadata":{"name":"evil-harmless"},"target":{"kind":"Node","name":"kwok-1"}}' '{"metadata":{"name":"evil-harmless","namespace":"team"},"target":{"apiVersion":"v1","kind":"Node","name":"kwok-1"}}'; do
  try POST /api/v1/namespaces/team/pods/evil-harmless/binding json "$body"
  refused "a binding"
  try POST /api/v1/namespaces/team/bindings json "$body"
  refused "the old binding"
done
expect "it has no node" null "$(stored "/api/v1/namespaces/$evil-team/pods/evil-harmless" .spec.nodeName)"
try PATCH /api/v1/namespaces/team/pods/evil-harmless patch '[{"op":"add","path":"/metadata/annotations","value":{"n":"kwok-1"}},{"op":"copy","from":"/metadata/annotations/n","path":"/spec/nodeName"}]'
expect "nor by a patch" null "$(stored "/api/v1/namespaces/$evil-team/pods/evil-harmless" .spec.nodeName)"
try PATCH /api/v1/namespaces/team/pods/evil-harmless/status merge '{"status":{"hostIP":"127.0.0.1","podIP":"127.0.0.1","podIPs":[{"ip":"127.0.0.1"}],"nominatedNodeName":"kwok-1"}}'
try GET '/api/v1/namespaces/team/pods/evil-harmless:6443/proxy/api/v1/secrets'
expect_no_match "a pod that says it is upstream is not proxied to" "$canary" "$answer"
try GET '/api/v1/namespaces/team/pods/https:evil-harmless:'"${upstream_server##*:}"'/proxy/api/v1/secrets'
expect_no_match "nor over TLS" "$canary" "$answer"
expect_match "($code)" '^[45]' "$code"
try DELETE '/api/v1/namespaces/team/pods/evil-harmless?gracePeriodSeconds=0'
while read -r what container spec; do
  would "$what" POST /api/v1/namespaces/default/pods json "$(pod direct "${container#-}" "${spec#-}")"
done <<'P'
hostNetwork - ,"hostNetwork":true
hostPath - ,"volumes":[{"name":"v","hostPath":{"path":"/"}}]
privileged ,"securityContext":{"privileged":true} -
P
