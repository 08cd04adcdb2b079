# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: the nodes, the kubelet behind them, Services and pods of others through the proxy, and node objects of its own.
# Without the fence: nodes/proxy is exec in every container of the cluster; a taint stops everybody.
# Rule: the platform's nodes are read-only, a tenant's own never leave zood; nodes/proxy is refused always; proxies go to the tenant's own namespaces.
for request in 'PATCH /api/v1/nodes/kwok-1 merge {"spec":{"unschedulable":true}}' 'PATCH /api/v1/nodes/kwok-1 merge {"metadata":{"labels":{"evil":"x"}}}' 'PATCH /api/v1/nodes/kwok-1/status merge {"status":{"capacity":{"evil":"1"}}}' \
  'DELETE /api/v1/nodes/kwok-1' 'POST /api/v1/nodes json {"metadata":{"name":"kwok-1"}}' 'PUT /api/v1/nodes/kwok-1 json {"metadata":{"name":"kwok-1"}}' \
  'GET /api/v1/nodes/kwok-1/proxy/pods' 'GET /api/v1/nodes/kwok-1/proxy/' 'GET /api/v1/nodes/kwok-1:10250/proxy/runningpods/' 'GET /api/v1/nodes/https:kwok-1:10250/proxy/' 'POST /api/v1/nodes/kwok-1/proxy/run/x' 'GET /api/v1/nodes/127.0.0.1/proxy/' \
  "GET /api/v1/namespaces/default/services/https:kubernetes:https/proxy/api/v1/secrets" "GET /api/v1/namespaces/default/services/kubernetes/proxy/" "GET /api/v1/namespaces/$victim-team/services/$vault/proxy/" \
  "GET /api/v1/namespaces/$victim-team/pods/$vault/proxy/" "GET /api/v1/namespaces/$victim-team/pods/$vault/log" "POST /api/v1/namespaces/$victim-team/pods/$vault/exec?command=id&stdout=true" "POST /api/v1/namespaces/$victim-team/pods/$vault/portforward?ports=1" \
  "GET /api/v1/namespaces/team/services/../$victim-team/proxy/" "POST /api/v1/namespaces/$victim-team/pods/$vault/eviction json {\"apiVersion\":\"policy/v1\",\"kind\":\"Eviction\",\"metadata\":{\"name\":\"$vault\",\"namespace\":\"$victim-team\"}}" \
  "POST /api/v1/namespaces/team/pods/$vault/eviction json {\"apiVersion\":\"policy/v1\",\"kind\":\"Eviction\",\"metadata\":{\"name\":\"$vault\",\"namespace\":\"$victim-team\"}}" \
  "PATCH /api/v1/namespaces/$victim-team/pods/$vault/ephemeralcontainers strategic {\"spec\":{\"ephemeralContainers\":[{\"name\":\"evil\",\"image\":\"x\"}]}}" \
  'PATCH /apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/kwok-1 merge {"spec":{"holderIdentity":"evil"}}'; do
  read -r method path type body <<<"$request"
  try "$method" "$path" "$type" "$body"
  refused "$method $path" '[45]..'
done
for request in 'PATCH /api/v1/nodes/kwok-1 merge {"spec":{"unschedulable":true}}' 'PATCH /api/v1/nodes/kwok-1/status merge {"status":{"capacity":{"evil":"1"}}}' 'DELETE /api/v1/nodes/kwok-1' \
  "POST /api/v1/namespaces/$victim-team/pods/$vault/eviction json {\"apiVersion\":\"policy/v1\",\"kind\":\"Eviction\",\"metadata\":{\"name\":\"$vault\",\"namespace\":\"$victim-team\"}}" \
  "PATCH /api/v1/namespaces/$victim-team/pods/$vault/ephemeralcontainers strategic {\"spec\":{\"ephemeralContainers\":[{\"name\":\"evil\",\"image\":\"x\"}]}}" \
  'PATCH /apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/kwok-1 merge {"spec":{"holderIdentity":"evil"}}'; do
  read -r method path type body <<<"$request"
  would "$method $path" "$method" "$path" "$type" "$body"
done
# What a tenant makes of these kinds is its own, and nothing of it is upstream; what it deletes is its own as well.
uids='[.items[] | select(.metadata.name | startswith("streams-") | not).metadata.uid]' # but those of tests/e2e/kubelet_streams.sh
nodes=$(stored /api/v1/nodes "$uids")
for request in 'POST /api/v1/nodes json {"metadata":{"name":"evil"}}' \
  'POST /apis/storage.k8s.io/v1/csinodes json {"metadata":{"name":"evil"},"spec":{"drivers":[]}}' 'POST /apis/storage.k8s.io/v1/csidrivers json {"metadata":{"name":"evil.example.com"},"spec":{}}' \
  'POST /apis/storage.k8s.io/v1/volumeattachments json {"metadata":{"name":"evil"},"spec":{"attacher":"x","nodeName":"kwok-1","source":{"persistentVolumeName":"x"}}}' \
  'POST /apis/networking.k8s.io/v1/servicecidrs json {"metadata":{"name":"evil"},"spec":{"cidrs":["10.9.0.0/16"]}}' 'POST /apis/networking.k8s.io/v1/ipaddresses json {"metadata":{"name":"10.0.0.200"},"spec":{"parentRef":{"resource":"services","name":"x","namespace":"team"}}}' \
  'DELETE /api/v1/nodes'; do
  read -r method path type body <<<"$request"
  made "$method $path" "$method" "$path" "$type" "$body"
  would "do it to everybody's: $method $path" "$method" "$path" "$type" "$body"
  name=$(jq -r '.metadata.name // empty' <<<"$body")
  [[ -z $name ]] && continue
  direct GET "$path/$name"
  refused "upstream has no $path/$name" 404
done
expect "the platform's nodes are all there" "$nodes" "$(stored /api/v1/nodes "$uids")"
