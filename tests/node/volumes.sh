#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: gateway translate upstream
# timeout: 300
# Volumes of a tenant's pods: a ConfigMap and a Secret that change under a running container, and a claim for which the
# platform provisions a volume.
. "$(dirname "$0")/lib.sh"

start_zood_of_nodes
new_tenant id
new_tenant other
check "a ConfigMap" as "$id" create configmap settings --from-literal=color=green
check "a Secret" as "$id" create secret generic key --from-literal=word=first
check "a pod that mounts them" create "$id" "$(pod app "$busybox" \
  '{"volumes": [{"name": "settings", "configMap": {"name": "settings"}}, {"name": "key", "secret": {"secretName": "key"}}]}' \
  '{"volumeMounts": [{"name": "settings", "mountPath": "/settings"}, {"name": "key", "mountPath": "/key"}],
    "env": [{"name": "WORD", "valueFrom": {"secretKeyRef": {"name": "key", "key": "word"}}}]}' -- sleep 3600)"

# ---- a claim
claim() { # NAME CLASS
  jq -cn --arg name "$1" --arg class "$2" '{apiVersion: "v1", kind: "PersistentVolumeClaim", metadata: {name: $name},
    spec: ({accessModes: ["ReadWriteOnce"], resources: {requests: {storage: "64Mi"}}} + if $class == "" then {} else {storageClassName: $class} end)}'
}
keeps() { pod "$1" "$busybox" '{"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}' '{"volumeMounts": [{"name": "data", "mountPath": "/data"}]}' -- sh -c "$2"; }
expect_match "the platform's class is the tenant's default" '^local \(default\)' "$(as "$id" get storageclasses)"
check "a claim" create "$id" "$(claim data "")"
expect "waits for its first pod" Pending "$(as "$id" get pvc data -o 'jsonpath={.status.phase}')"
check "which writes" create "$id" "$(keeps writer 'echo kept >/data/file; sleep 3600')"
require "runs" ready "$id" pod/writer
expect "then the claim is bound" Bound "$(as "$id" get pvc data -o 'jsonpath={.status.phase}')"
volume=$(as "$id" get pvc data -o 'jsonpath={.spec.volumeName}')
expect "to a volume that the tenant sees, with its own claim" "default/data" "$(as "$id" get pv "$volume" -o 'jsonpath={.spec.claimRef.namespace}/{.spec.claimRef.name}')"
expect "and another tenant does not" "" "$(as "$other" get pv -o name)"
check_fails "not even by its name" 'not found' as "$other" get pv "$volume"
expect "on the pod's node" "$(as "$id" get pod writer -o 'jsonpath={.spec.nodeName}')" \
  "$(as "$id" get pv "$volume" -o 'jsonpath={.spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].values[0]}')"
folder=$(upstream get pv "$(upstream get pvc data -n "$id-default" -o 'jsonpath={.spec.volumeName}')" -o 'jsonpath={.spec.local.path}')
eventually "the node has what was written" 30 grep -qx kept "$folder/file"
check "the pod goes" as "$id" delete pod writer
check "the next one reads" create "$id" "$(keeps reader 'cat /data/file; sleep 3600')"
require "runs" ready "$id" pod/reader
eventually "what the first has written" 30 says kept as "$id" logs reader
check "it goes" as "$id" delete pod reader
check "and the claim" as "$id" delete pvc data
eventually "with it goes the volume" 60 says "" as "$id" get pv -o name
eventually "and its folder" 30 fails test -e "$folder"

# ---- what changes under a running container
require "the pod with the ConfigMap runs" ready "$id" pod/app
expect "and sees it" green "$(inside "$id" app cat /settings/color)"
expect "and the Secret" first "$(inside "$id" app cat /key/word)"
check "the ConfigMap changes" as "$id" patch configmap settings -p '{"data": {"color": "blue", "shape": "round"}}'
check "the Secret changes" as "$id" patch secret key -p '{"stringData": {"word": "second"}}'
eventually "the container sees the new color" 90 says blue inside "$id" app cat /settings/color
expect "and the key that was added" round "$(inside "$id" app cat /settings/shape)"
eventually "and the new word" 90 says second inside "$id" app cat /key/word
expect "its environment stays as it began" first "$(inside "$id" app sh -c 'echo $WORD')"
