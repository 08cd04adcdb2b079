#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: clusters app
# step: verify
# timeout: 300
# What pods of a virtual cluster need, on fake nodes: ConfigMaps and Secrets that they name are upstream as long as they do, follow what
# is changed, and come back where they were taken away; the cluster's own authority; tokens of its ServiceAccounts, which its API server
# takes and the upstream does not; volumes, which upstream provisions; two clusters with the same names; zood killed in between.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/../functional/clusters/lib.bash"

own_upstream --nodes 3
at_end() { end_keeper; }
sharing='shared: {storage_classes: ["fast"]}'
start_clusters "$sharing"

# there ID KIND NAME POINTER: of an object of the cluster's namespace default, as upstream has it; "" where it has none.
there() { upstream get "$2" -n "$1-default" "$3" -o json --ignore-not-found | jq -r "${4:-.metadata.name}"; }
there_is() { [[ $(there "$1" "$2" "$3" "$4") == "$5" ]]; }
gone_there() { [[ -z $(there "$1" "$2" "$3") ]]; }

require "a cluster with two nodes of the upstream" ctl cluster create t1 --node kwok-1 --node kwok-2
eventually "both sides were read" 90 condition_is t1 Synced "True Synced"
id1=$(cluster_id t1)

# ---- what a pod names -----------------------------------------------------------------------------------------------

in_cluster t1 apply -f - >/dev/null <<'YAML'
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, labels: {app: web}, annotations: {note: mine}}
data: {color: blue}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: unused}
data: {color: grey}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: fixed}
immutable: true
data: {a: "1"}
---
apiVersion: v1
kind: Secret
metadata: {name: password}
stringData: {word: s3cret}
---
apiVersion: v1
kind: Secret
metadata: {name: pull}
type: kubernetes.io/dockerconfigjson
stringData: {.dockerconfigjson: '{"auths":{"registry.example":{"auth":"dTpw"}}}'}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: robot}
---
apiVersion: v1
kind: Secret
metadata: {name: robot-token, annotations: {kubernetes.io/service-account.name: robot}}
type: kubernetes.io/service-account-token
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  serviceAccountName: robot
  imagePullSecrets: [{name: pull}]
  containers:
    - name: c
      image: registry.example/nginx:1
      envFrom: [{configMapRef: {name: settings}}]
      env: [{name: WORD, valueFrom: {secretKeyRef: {name: password, key: word}}}]
      volumeMounts: [{name: fixed, mountPath: /fixed}, {name: token, mountPath: /token}]
  volumes:
    - name: fixed
      projected: {sources: [{configMap: {name: fixed}}, {configMap: {name: later, optional: true}}, {serviceAccountToken: {path: t, audience: vault}}]}
    - name: token
      secret: {secretName: robot-token}
YAML
runs() { [[ $(in_cluster "$1" get pod "$2" -o 'jsonpath={.status.phase}') == Running ]]; }
eventually "a pod that names ConfigMaps and Secrets runs" 60 runs t1 web
eventually "its ConfigMap is upstream" 30 there_is "$id1" configmap settings .data.color blue
eventually "its Secret" 30 there_is "$id1" secret password .data.word "$(printf s3cret | base64)"
eventually "its credentials for images" 30 there_is "$id1" secret pull .type kubernetes.io/dockerconfigjson
eventually "and what cannot be changed" 30 there_is "$id1" configmap fixed .immutable true
eventually "a token Secret is bytes like others there" 30 there_is "$id1" secret robot-token .type Opaque
expect "with labels and annotations" "web mine" "$(there "$id1" configmap settings '"\(.metadata.labels.app) \(.metadata.annotations.note)"')"
expect "what no pod names stays where it is" "" "$(there "$id1" configmap unused)"
check "it is changed" in_cluster t1 patch configmap settings --type merge -p '{"data":{"color":"green"}}'
eventually "so is upstream's" 30 there_is "$id1" configmap settings .data.color green
check "one that the pod names comes later" in_cluster t1 create configmap later --from-literal=x=1
eventually "and is upstream" 30 there_is "$id1" configmap later .data.x 1
check "it goes" in_cluster t1 delete configmap later
eventually "there, too" 30 gone_there "$id1" configmap later
check "upstream's is changed by somebody" upstream patch configmap -n "$id1-default" settings --type merge -p '{"metadata":{"annotations":{"clusters.zoo.kubezoo.io/hash":"x"}},"data":{"color":"red"}}'
eventually "it is made right" 30 there_is "$id1" configmap settings .data.color green
check "or taken away" upstream delete secret -n "$id1-default" password
eventually "it comes back" 30 there_is "$id1" secret password .data.word "$(printf s3cret | base64)"
check "what cannot be changed is made anew in the cluster" in_cluster t1 delete configmap fixed
check "with other contents" in_cluster t1 create configmap fixed --from-literal=a=2
eventually "so it is upstream" 30 there_is "$id1" configmap fixed .data.a 2

# ---- the cluster's own API server -------------------------------------------------------------------------------------

check "the cluster's kubeconfig" ctl cluster connect t1 --kubeconfig-file "$TMPDIR/t1.kubeconfig"
unpack t1
authority() { there "$id1" configmap kube-root-ca.crt.cluster '.data["ca.crt"]'; }
is_own_authority() { [[ $(authority) == "$(<"$TMPDIR/t1.ca")" ]]; }
eventually "pods read the cluster's authority" 30 is_own_authority
expect_match "not the upstream's, which is there, too" "BEGIN CERTIFICATE" "$(there "$id1" configmap kube-root-ca.crt '.data["ca.crt"]')"
expect "by the name that it has there" kube-root-ca.crt.cluster \
  "$(there "$id1" pod web '[.spec.volumes[] | select(.name | startswith("kube-api-access")) | .projected.sources[] | select(.configMap) | .configMap.name] | join(" ")')"
uid=$(in_cluster t1 get pod web -o 'jsonpath={.metadata.uid}')
has_token() { [[ -n $(there "$1" secret "zoo-token-$2") ]]; }
eventually "a Secret has its tokens" 30 has_token "$id1" "$uid"
expect "which goes with the pod" "Pod $(upstream get pod -n "$id1-default" web -o 'jsonpath={.metadata.uid}')" "$(there "$id1" secret "zoo-token-$uid" '.metadata.ownerReferences[0] | "\(.kind) \(.uid)"')"
tokens() { there "$id1" secret "zoo-token-$uid" '.data | to_entries[] | .value' | while read -r each; do base64 -d <<<"$each"; echo; done; }
claims() { cut -d. -f2 <<<"$1" | tr '_-' '/+' | { cat; echo ==; } | base64 -d 2>/dev/null; }
for_api=$(tokens | while read -r each; do claims "$each" | jq -e '.aud | index("vault") | not' >/dev/null && echo "$each"; done)
for_vault=$(tokens | while read -r each; do claims "$each" | jq -e '.aud | index("vault")' >/dev/null && echo "$each"; done)
expect "a token for the audience that was asked for" system:serviceaccount:default:robot "$(claims "$for_vault" | jq -r .sub)"
# who SERVER TOKEN: whom the server takes the bearer for, or the status with which it refuses him.
who() {
  local answer
  answer=$(curl -ks --max-time 20 -w '\n%{http_code}' -H "Authorization: Bearer $2" -H 'Content-Type: application/json' \
    -d '{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}' "$1/apis/authentication.k8s.io/v1/selfsubjectreviews")
  if [[ ${answer##*$'\n'} == 201 ]]; then jq -r .status.userInfo.username <<<"${answer%$'\n'*}"; else echo "${answer##*$'\n'}"; fi
}
direct=$(field t1 .status.directServer)
expect "the cluster's API server takes the pod's token" system:serviceaccount:default:robot "$(who "$direct" "$for_api")"
expect "the upstream's does not" 401 "$(who "$(upstream config view -o 'jsonpath={.clusters[0].cluster.server}')" "$for_api")"
address=$(in_cluster t1 get service kubernetes -o 'jsonpath={.spec.clusterIP}')
expect "Service kubernetes has the same address on both sides" "$address" "$(there "$id1" service kubernetes .spec.clusterIP)"
check "which is not the host's" test "$address" != "$(upstream get service kubernetes -o 'jsonpath={.spec.clusterIP}')"
expect "containers are told of it" "$address" "$(there "$id1" pod web '[.spec.containers[0].env[] | select(.name == "KUBERNETES_SERVICE_HOST") | .value] | join(" ")')"
certified() { echo | openssl s_client -connect "${direct#https://}" 2>/dev/null | openssl x509 -noout -ext subjectAltName | says_line -F -- "IP Address:$address"; }
eventually "and its certificate says so" 60 certified
expect "where zood is at loopback alone, pods cannot reach it" "False NotReachable" "$(condition t1 PodsReachAPI)"

# Whatever its administrator can read, with what is packed in it: nothing of it is a credential of the host's, or names the cluster's room there.
unpack host "$ZOO_E2E_KUBECONFIG"
# everything: $TMPDIR/everything has each object of each kind, and what each text in it is in base64. A kind that cannot be listed is not left out in silence.
everything() {
  local kinds kind failed=0
  kinds=$(in_cluster t1 api-resources --verbs=list -o name) || return 1
  for kind in $kinds; do
    in_cluster t1 get "$kind" -A -o json >"$TMPDIR/listed" || failed=1
    jq -r '.items[] | ., (.. | strings | try @base64d catch empty)' "$TMPDIR/listed" || failed=1
  done
  return "$failed"
} >"$TMPDIR/everything"
check "its administrator lists all that there is" everything
check "its administrator reads its own keys there" grep -qF "$(sed -n 2p "$TMPDIR/t1.ca")" "$TMPDIR/everything"
for each in host.ca host.crt host.key; do
  expect "and none of the upstream's: $each" 0 "$(grep -cF -- "$(sed -n 2p "$TMPDIR/$each")" "$TMPDIR/everything")"
done
expect "nor zood's token" 0 "$(grep -cF -- "$(jq -r .token "$zood_dir/upstream.token")" "$TMPDIR/everything")"
expect "nor where the upstream is" 0 "$(grep -cF -- "$(<"$TMPDIR/host.server")" "$TMPDIR/everything")"
expect_no_match "nor the cluster's names there" "$id1-[a-z]" "$(<"$TMPDIR/everything")"

# ---- volumes ------------------------------------------------------------------------------------------------------------

share_class t1
disk | in_cluster t1 apply -f - >/dev/null
in_cluster t1 apply -f - >/dev/null <<'YAML'
apiVersion: v1
kind: Pod
metadata: {name: writer}
spec:
  containers: [{name: c, image: registry.example/x, volumeMounts: [{name: d, mountPath: /d}, {name: e, mountPath: /e}]}]
  volumes:
    - {name: d, persistentVolumeClaim: {claimName: disk}}
    - {name: e, ephemeral: {volumeClaimTemplate: {spec: {storageClassName: fast, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}}}
YAML
chosen() { [[ $(there "$id1" pvc "$1" '.metadata.annotations["volume.kubernetes.io/selected-node"] // ""') == kwok-[12] ]]; }
for claim in disk writer-e; do
  eventually "claim $claim is upstream, with the node that the cluster has chosen" 60 chosen "$claim"
  provision "$id1" "$claim"
done
bound() { [[ $(in_cluster t1 get pvc "$1" -o json | jq -r '"\(.status.phase) \(.spec.volumeName) \(.status.capacity.storage)"') == "Bound pvc-$(there "$id1" pvc "$1" .metadata.uid) 1Gi" ]]; }
eventually "it is bound in the cluster, too" 60 bound disk
eventually "and so is the one that a pod has made" 60 bound writer-e
eventually "the pod runs" 60 runs t1 writer
volume=$(in_cluster t1 get pvc disk -o 'jsonpath={.spec.volumeName}')
expect "the volume is bound to the cluster's claim" "Bound $(in_cluster t1 get pvc disk -o 'jsonpath={.metadata.uid}')" "$(in_cluster t1 get pv "$volume" -o json | jq -r '"\(.status.phase) \(.spec.claimRef.uid)"')"
expect_no_match "and does not say where it is" secret-server "$(in_cluster t1 get pv -o json)"
check "the pod goes" in_cluster t1 delete pod writer --timeout=60s
check "and its claim" in_cluster t1 delete pvc disk --timeout=60s
eventually "which is gone upstream" 60 gone_there "$id1" pvc disk
check "its provisioner takes the volume away" upstream delete pv "$volume" --wait=false
upstream patch pv "$volume" --type=merge -p '{"metadata":{"finalizers":null}}' >/dev/null 2>&1
no_volume() { [[ -z $(in_cluster t1 get pv "$volume" -o name --ignore-not-found) ]]; }
eventually "the cluster's goes behind it" 120 no_volume

# ---- two clusters -----------------------------------------------------------------------------------------------------

require "a second cluster" ctl cluster create t2 --node kwok-3
eventually "is read" 90 condition_is t2 Synced "True Synced"
id2=$(cluster_id t2)
in_cluster t2 create secret generic password --from-literal=word=other >/dev/null
in_cluster t2 run web --image=registry.example/x --overrides='{"spec":{"containers":[{"name":"c","image":"registry.example/x","envFrom":[{"secretRef":{"name":"password"}},{"secretRef":{"name":"pull"}}]}]}}' >/dev/null
eventually "a Secret of the same name is its own" 60 there_is "$id2" secret password .data.word "$(printf other | base64)"
expect "it has none of the other's" "" "$(there "$id2" secret pull)"
uid2=$(in_cluster t2 get pod web -o 'jsonpath={.metadata.uid}')
eventually "its pod has a token" 30 has_token "$id2" "$uid2"
token2=$(there "$id2" secret "zoo-token-$uid2" '.data["token-0"]' | base64 -d)
expect "which the first one does not take" 401 "$(who "$direct" "$token2")"

# ---- zood is killed -----------------------------------------------------------------------------------------------------

versions() { upstream get configmaps,secrets,services -n "$id1-default" -o json | jq -r '.items[] | "\(.kind) \(.metadata.name) \(.metadata.resourceVersion)"' | sort; }
patrolled() { (($(grep -c "$id1: patrol: .* secrets" "$zood_dir.log") > patrols)); }
stop_zood KILL
before=$(versions)
patrols=$(grep -c "$id1: patrol: .* secrets" "$zood_dir.log")
start_clusters "$sharing"
eventually "zood comes back and reads both sides" 90 patrolled
eventually "all is well" 60 condition_is t1 Synced "True Synced"
expect "it writes nothing that is there already" "$before" "$(versions)"
in_cluster t1 apply -f - >/dev/null <<'YAML'
apiVersion: v1
kind: Service
metadata: {name: missed}
spec: {ports: [{port: 80}]}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: missed}
spec: {podSelector: {}}
YAML
eventually "a policy is upstream" 30 there_is "$id1" networkpolicy missed .metadata.name missed
stop_zood KILL
check "while zood is away its ConfigMap is changed upstream" upstream patch configmap -n "$id1-default" kube-root-ca.crt.cluster --type merge -p '{"metadata":{"annotations":{"clusters.zoo.kubezoo.io/hash":"x"}},"data":{"ca.crt":"another"}}'
check "a Service of it" upstream patch service -n "$id1-default" missed --type merge -p '{"metadata":{"annotations":{"clusters.zoo.kubezoo.io/hash":"x"}},"spec":{"ports":[{"port":81}]}}'
check "a policy goes there" upstream delete networkpolicy -n "$id1-default" missed
check "and its token is about to end" upstream annotate secret -n "$id1-default" "zoo-token-$uid" --overwrite "clusters.zoo.kubezoo.io/token-ends=$(date +%s)"
check "a ConfigMap is changed while zood is away" at_plane "$id1" patch configmap settings --type merge -p '{"data":{"color":"white"}}'
check "a Secret goes" at_plane "$id1" delete secret password
start_clusters "$sharing"
eventually "the one follows" 90 there_is "$id1" configmap settings .data.color white
eventually "the other goes, too" 60 gone_there "$id1" secret password
eventually "what a watch has missed is made right" 60 is_own_authority
eventually "Services, too" 60 there_is "$id1" service missed '.spec.ports[0].port' 80
eventually "and policies" 60 there_is "$id1" networkpolicy missed .metadata.name missed
another_token() { local fresh; fresh=$(there "$id1" secret "zoo-token-$uid" '.data["token-0"]' | base64 -d) && [[ -n $fresh ]] && ! says_line -xF -- "$fresh" <<<"$for_api"$'\n'"$for_vault"; }
eventually "a token that ends is another one in time" 60 another_token
fresh=$(tokens | while read -r each; do claims "$each" | jq -e '.aud | index("vault") | not' >/dev/null && echo "$each"; done)
expect "which the cluster's API server takes" system:serviceaccount:default:robot "$(who "$direct" "$fresh")"

# ---- the end ------------------------------------------------------------------------------------------------------------

check "the pod goes" in_cluster t1 delete pod web --timeout=60s
refused_tokens() { [[ $(for each in "$for_api" "$fresh"; do who "$direct" "$each"; done | paste -sd' ') == "401 401" ]]; }
eventually "and its tokens are worth nothing" 30 refused_tokens
eventually "what it alone has named goes with it" 60 gone_there "$id1" configmap settings
eventually "its tokens" 60 gone_there "$id1" secret "zoo-token-$uid"
eventually "and the authority" 60 gone_there "$id1" configmap kube-root-ca.crt.cluster
check "the clusters go" ctl cluster delete t1 t2 --timeout 120s
expect "upstream has nothing of either" "" "$(upstream get ns -o name | grep -E "$id1|$id2")"
expect_no_match "zood took nothing for an error of its own" ' (error|critical) ' "$(grep -v 'cannot be told' "$zood_dir.log")"
