# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced by the scripts of the suite `node`: tests/e2e/lib.sh in front of a cluster whose pods really run. By hand:
#
#   ZOO_E2E_KUBECONFIG=$(tests/node/up start --dir /tmp/cluster) tests/node/SCRIPT.sh
#   tests/node/up stop --dir /tmp/cluster
. "$(dirname "${BASH_SOURCE[0]}")/../e2e/lib.sh"

# Images that the nodes' registry has (images.py): a shell with its tools, and Kubernetes' test server with network tools.
# shellcheck disable=SC2034 # for the scripts
busybox=registry.k8s.io/e2e-test-images/busybox:1.37.0-1 agnhost=registry.k8s.io/e2e-test-images/agnhost:2.63.0

real_nodes=$(upstream get nodes -o 'jsonpath={.items[*].metadata.name}' 2>/dev/null)
[[ " $real_nodes " == *" node-1 node-2 "* ]] || { echo "the upstream has no nodes node-1 and node-2: start one by tests/node/up"; exit 1; }

# A shell with all that looks around inside a pod: kubectl, curl, dig, Python with its client, and programs of probe/ and lookup.c.
# shellcheck disable=SC2034 # for the scripts
tools=zoo.test/inside:1

# The machine's address in the network of the nodes, where pods and the API server reach it.
machine=$(upstream get node node-1 -o json | jq -r '.status.addresses[] | select(.type == "InternalIP").address | sub("[0-9]+$"; "1")')

# The platform shares its StorageClass. MORE are lines of zood.yaml, ARGUMENTS those of zood.
start_zood_of_nodes() { start_zood_with "$(printf 'shared: {storage_classes: ["*"]}\n%s' "${1:-}")" "${@:2}"; }

# start_zood_for_pods [MORE [ARGUMENTS...]]: one that pods reach, so that it is the API server inside them.
zoo_for_pods=0
start_zood_for_pods() {
  zoo_for_pods=1
  start_zood_of_nodes "${1:-}" --listen "$machine:0" "${@:2}"
}

# given_access ID...: pods of these tenants are given access to zood; the script ends where they are not.
given_access() {
  local id
  for id; do
    eventually "pods of $id get access to their API server" 60 says True condition_of "$id" InClusterAccess
    require "they have it" says True condition_of "$id" InClusterAccess
  done
}
condition_of() { ctl tenant get "$1" -o json | jq -r --arg type "$2" '.status.conditions[] | select(.type == $type).status'; }

# tenants_names: CoreDNS answers tenants' names from here on, by the rules that zooctl prints, and names of example.com, which
# stand for those outside of the cluster. It stays so: the rules concern nobody else.
tenants_names() {
  local rules corefile
  rules=$(ctl dns corefile) || return 1
  corefile=$(upstream -n kube-system get configmap coredns -o 'jsonpath={.data.Corefile}')
  grep -q 'zoo.cluster.local' <<<"$corefile" && return 0
  rules+=$'\nhosts {\n    192.0.2.7 www.example.com\n    fallthrough\n}'
  corefile=$(rules=$rules awk '/^ *kubernetes / { print ENVIRON["rules"] } { print }' <<<"$corefile")
  set_corefile "$corefile"
}

# set_corefile TEXT: waits until CoreDNS goes by it.
set_corefile() {
  jq -n --arg file "$1" '{data: {Corefile: $file}}' >"$TMPDIR/corefile.json" &&
    upstream -n kube-system patch configmap coredns --patch-file "$TMPDIR/corefile.json" >/dev/null &&
    upstream -n kube-system rollout restart deployment/coredns >/dev/null &&
    upstream -n kube-system rollout status deployment/coredns --timeout=90s
}

# pod NAME IMAGE [MEMBERS of its spec [MEMBERS of its container]] -- COMMAND...: its manifest as JSON. It ends at once when told
# to, and has its name as the label `app`.
pod() {
  local name=$1 image=$2 spec='{}' container='{}'
  shift 2
  if [[ $1 != -- ]]; then spec=$1; shift; fi
  if [[ $1 != -- ]]; then container=$1; shift; fi
  shift
  jq -cn --arg name "$name" --arg image "$image" --argjson spec "$spec" --argjson container "$container" '{apiVersion: "v1", kind: "Pod",
    metadata: {name: $name, labels: {app: $name}}, spec: ({terminationGracePeriodSeconds: 1,
    containers: [{name: "main", image: $image, command: $ARGS.positional} + $container]} + $spec)}' --args -- "$@"
}

# create ID MANIFEST, applied ID MANIFEST
create() { as "$1" create -f - <<<"$2"; }
applied() { as "$1" apply -f - <<<"$2"; }

# ready ID WHAT...: waits until pods are Ready; a cold image takes its time.
ready() { as "$1" wait --for=condition=Ready --timeout=90s "${@:2}"; }

# inside ID POD COMMAND...: in a pod's container. within ID NAMESPACE POD COMMAND...: in that of another namespace.
inside() { as "$1" exec "$2" -- "${@:3}"; }
within() { as "$1" exec -q -n "$2" "$3" -- "${@:4}"; }

# put_pod ID NAMESPACE POD: reads it and puts it. Without the version that was read: kubelet may write the status in between.
put_pod() { as "$1" get -n "$2" pod "$3" -o json | jq 'del(.metadata.resourceVersion)' | as "$1" replace --raw "/api/v1/namespaces/$2/pods/$3" -f -; }

# says TEXT COMMAND...: it succeeds, and prints that text alone.
says() { local output; output=$("${@:2}") && [[ $output == "$1" ]] || { echo "$output"; return 1; }; }

# fails COMMAND...
fails() { ! "$@"; }

# remove_tenants: what tenants have run goes at the end, so that the nodes are free for the next script. It is not waited for. A
# script's own at_end calls it.
remove_tenants() {
  local file spaces=()
  for file in "$TMPDIR"/??????.kubeconfig; do
    [[ -e $file ]] || continue
    mapfile -t -O ${#spaces[@]} spaces < <(upstream get namespaces -o name | grep "^namespace/$(basename "$file" .kubeconfig)-")
  done
  ((${#spaces[@]} == 0)) || upstream delete "${spaces[@]}" --wait=false >/dev/null
}
# remove_access: what a zood has told upstream about pods stays when it ends, so that pods can be made while it is away. The next
# script's zood is another one, which does not remove what is not its own.
remove_access() {
  ((zoo_for_pods)) || return 0
  stop_zood
  upstream delete mutatingadmissionpolicybinding/zoo-pods-inside mutatingadmissionpolicy/zoo-pods-inside --ignore-not-found >/dev/null
  upstream -n zoo-system delete configmap/zoo-inside --ignore-not-found >/dev/null
}
at_end() {
  remove_access
  remove_tenants
}
