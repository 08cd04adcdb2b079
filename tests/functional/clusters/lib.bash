# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced behind lib.sh: a zood with virtual clusters. Each script has loopback addresses and ports of its own.

# start_clusters [YAML]: a zood in zood_dir with virtual clusters, and what else `clusters:` is to have ("sleep: x" lines).
start_clusters() {
  if [[ -z ${zoo_clusters_network:-} ]]; then
    zoo_clusters_network=127.$((66 + RANDOM % 180)).$((RANDOM % 256)).0/24
    zoo_clusters_port=$((21000 + RANDOM % 110 * 100))
    zoo_clusters_version=$("$ZOO_UPSTREAM" versions | head -n 1)
    require "the programs of control planes" "$zoo_root/packaging/control-planes" "$zoo_clusters_version" --into "$TMPDIR/kubernetes"
  fi
  start_zood_with "dir: $zood_dir
log: {level: debug}
admin: {listen: \"127.0.0.1:0\"}
clusters:
  enabled: true
  binaries: $TMPDIR/kubernetes
  addresses: $zoo_clusters_network
  ports: $zoo_clusters_port-$((zoo_clusters_port + 99))
  upstream_crd: ${zoo_clusters_crd:-false}
${1:-}" --upstream "$ZOO_E2E_KUBECONFIG" ${zoo_clusters_listen:+--listen "$zoo_clusters_listen"}
}

# end_keeper: with all that it supervises; before it zood, which would start another one.
end_keeper() {
  local pid
  stop_zood || failed "zood drains and ends with status 0" <<<"$zood_dir: status $?"
  pid=$(cat "$zood_dir/clusters/keeper.lock" 2>/dev/null) || return 0
  kill -INT "$pid" 2>/dev/null || return 0
  while kill -0 "$pid" 2>/dev/null; do sleep 0.1; done
}

keeper_pid() { cat "$zood_dir/clusters/keeper.lock"; }

# field NAME POINTER: of the virtual cluster, as zood has it now.
field() { ctl cluster get "$1" -o json | jq -r "$2"; }
# condition NAME TYPE: "True Ready". condition_is NAME TYPE WANTED.
condition() { field "$1" "[.status.conditions[] | select(.type == \"$2\") | \"\\(.status) \\(.reason)\"][0]"; }
condition_is() { [[ $(condition "$1" "$2") == "$3" ]]; }
cluster_id() { field "$1" .status.id; }
# component_pids NAME: "etcd 12", a line each.
component_pids() { ctl cluster get "$1" -o json | jq -r '.status.components[] | "\(.name) \(.pid)"'; }
component_pid() { component_pids "$1" | awk -v name="$2" '$1 == name { print $2 }'; }
# in_cluster NAME ARGUMENTS...: kubectl in it.
in_cluster() { PATH=${KUBECTL%/*}:$PATH ctl cluster connect "$1" -- kubectl "${@:2}"; }
# processes_in DIRECTORY: what runs with arguments that name it.
processes_in() {
  local each
  for each in /proc/[0-9]*; do
    # One that has ended meanwhile is none of them.
    if { tr '\0' ' ' <"$each/cmdline"; } 2>/dev/null | says_line -F -- "$1/"; then echo "${each#/proc/}"; fi
  done
}
phase_is() { [[ $(field "$1" .status.phase) == "$2" ]]; }

# hook_server [ADDRESS [NAME]]: a webhook at loopback or there, its port in $hook_port and its process in $hook_pid, that answers each review with:
# no, and the words "asked by the cluster". Its certificate is $TMPDIR/hook.crt, of that address and name.
hook_server() {
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN=hook \
    -addext "subjectAltName=IP:${1:-127.0.0.1}${2:+,DNS:$2}" \
    -keyout "$TMPDIR/hook.key" -out "$TMPDIR/hook.crt" 2>/dev/null
  python3 -u "$zoo_root/tests/e2e/virtual/hook.py" "$TMPDIR/hook.crt" "$TMPDIR/hook.key" "${1:-127.0.0.1}" >"$TMPDIR/hook.port" 2>"$TMPDIR/hook.log" &
  hook_pid=$!
  eventually "the webhook listens" 30 test -s "$TMPDIR/hook.port"
  hook_port=$(head -n 1 "$TMPDIR/hook.port")
}

# hook_by MEMBERS [NAME [AUTHORITY]]: prints a webhook `hook` (or NAME) about new ConfigMaps; MEMBERS of its clientConfig say where it is,
# and AUTHORITY is the file of its certificate's authority; without one, what hook_server has made.
hook_by() {
  cat <<YAML
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: ${2:-hook}}
webhooks:
  - name: a.hook.test
    clientConfig: {$1, caBundle: $(base64 -w0 <"${3:-$TMPDIR/hook.crt}")}
    rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
    sideEffects: None
    admissionReviewVersions: [v1]
    timeoutSeconds: 10
    failurePolicy: Fail
YAML
}

# service_to NAME ADDRESS PORT: prints a Service without selector, of port 443, whose one endpoint is there.
service_to() {
  cat <<YAML
apiVersion: v1
kind: Service
metadata: {name: $1}
spec: {ports: [{name: p, port: 443, targetPort: $3}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: $1-1, labels: {kubernetes.io/service-name: $1}}
addressType: IPv4
endpoints: [{addresses: ["$2"], conditions: {ready: true}}]
ports: [{name: p, port: $3, protocol: TCP}]
---
YAML
}

# share_class CLUSTER [PARAMETERS]: StorageClass `fast` upstream, which zood.yaml shares, and waits until the cluster has it.
share_class() {
  upstream apply -f - >/dev/null <<YAML
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: fast}
provisioner: example.com/disks
volumeBindingMode: WaitForFirstConsumer
parameters: ${2:-{\}}
YAML
  has_class() { [[ $(in_cluster "$1" get storageclass fast -o 'jsonpath={.volumeBindingMode}' --ignore-not-found) == WaitForFirstConsumer ]]; }
  eventually "a StorageClass that is shared is in the cluster" 60 has_class "$1"
}

# metrics_api SERVICE PORT: prints the APIService of metrics.k8s.io behind that Service of namespace kube-system.
metrics_api() {
  cat <<YAML
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1beta1.metrics.k8s.io}
spec: {group: metrics.k8s.io, version: v1beta1, groupPriorityMinimum: 100, versionPriority: 100, insecureSkipTLSVerify: true, service: {namespace: kube-system, name: $1, port: $2}}
---
YAML
}

# at_plane ID ARGUMENTS...: kubectl at the cluster's API server itself, as zood does it, be zood there or not.
at_plane() {
  local dir=$zood_dir/clusters/$1
  "$KUBECTL" --kubeconfig "$dir/controller-manager.kubeconfig" --client-certificate "$dir/pki/zood.crt" --client-key "$dir/pki/zood.key" "${@:2}"
}

# disk: prints a claim `disk` of class `fast`. disk_and_writer: with a pod `writer` that mounts it.
disk() {
  cat <<'YAML'
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: disk}
spec: {storageClassName: fast, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
YAML
}
disk_and_writer() {
  disk
  cat <<'YAML'
apiVersion: v1
kind: Pod
metadata: {name: writer}
spec:
  containers: [{name: c, image: registry.example/x, volumeMounts: [{name: d, mountPath: /d}]}]
  volumes: [{name: d, persistentVolumeClaim: {claimName: disk}}]
---
YAML
}

# provision ID CLAIM [NODE]: makes the volume of a claim of class `fast` in the cluster's namespace default, as upstream's provisioner
# would; of one that is on that node.
provision() {
  local uid place=null
  [[ -z ${3:-} ]] || place="{required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [$3]}]}]}}"
  uid=$(upstream get pvc -n "$1-default" "$2" -o 'jsonpath={.metadata.uid}')
  upstream apply -f - >/dev/null <<YAML
apiVersion: v1
kind: PersistentVolume
metadata: {name: pvc-$uid, annotations: {pv.kubernetes.io/provisioned-by: example.com/disks}}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  persistentVolumeReclaimPolicy: Delete
  storageClassName: fast
  nfs: {server: secret-server-of-the-host, path: /}
  claimRef: {apiVersion: v1, kind: PersistentVolumeClaim, namespace: $1-default, name: $2, uid: $uid}
  nodeAffinity: $place
YAML
}

# backlog ID: how many things of the cluster the syncer still has to do.
backlog() { curl -s --unix-socket "$zood_dir/zood.sock" http://zood/metrics | sed -n "s/^zood_virtual_cluster_backlog{id=\"$1\"} //p"; }

# objects_there ID: what upstream has of the cluster; objects_here ID: what its API server has of these kinds, be zood there or not. A
# line an object: kind, name, UID, resourceVersion, labels of a namespace, and when it was asked to go.
zoo_object='"\(.kind) \(.metadata.namespace // "")/\(.metadata.name) \(.metadata.uid) \(.metadata.resourceVersion)" + (if .kind == "Namespace" then " \(.metadata.labels)" else "" end) + " \(.metadata.deletionTimestamp // "")"'
zoo_kinds=pods,services,endpointslices,configmaps,secrets,persistentvolumeclaims,persistentvolumes,networkpolicies,namespaces
objects_there() {
  upstream get "$zoo_kinds" -A -o json |
    jq -r --arg prefix "$1-" ".items[] | select((.spec.claimRef?.namespace // .metadata.namespace // .metadata.name) | startswith(\$prefix)) | $zoo_object" | sort
}
# Of namespace kube-system without ConfigMaps: kube-apiserver writes some when it starts.
objects_here() {
  at_plane "$1" get "$zoo_kinds" -A -o json |
    jq -r ".items[] | select(.kind != \"ConfigMap\" or .metadata.namespace != \"kube-system\") | $zoo_object" | sort
}
# nodes_here ID: a line a Node: name, UID, whether it is ready, and since when.
nodes_here() {
  at_plane "$1" get nodes -o json |
    jq -r '.items[] | "\(.metadata.name) \(.metadata.uid) \(.status.conditions[] | select(.type == "Ready") | "\(.status) \(.lastTransitionTime)")"' | sort
}
# is_at_rest ID: the syncer has nothing to do, and neither side has changed since this was asked the last time.
is_at_rest() {
  objects_there "$1" >"$TMPDIR/look" && objects_here "$1" >>"$TMPDIR/look" || return 1
  if [[ $(backlog "$1") == 0 ]] && cmp -s "$TMPDIR/look" "$TMPDIR/look.before"; then return 0; fi
  mv "$TMPDIR/look" "$TMPDIR/look.before"
  return 1
}
