#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: clusters
# timeout: 600
# Service Creation in Virtual Control Plane, and their external functionality, on real nodes: a web server's Deployment in a virtual cluster
# is reached with curl through its nodePort from outside; its pods resolve names by the cluster's own CoreDNS and ask the cluster's own API
# server with their token; logs, exec, cp and port-forward; a ConfigMap that changes under a running container; a claim whose data stay;
# NetworkPolicies, which know the cluster's own namespaces alone.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/../functional/clusters/lib.bash"

at_end() {
  ctl cluster delete t1 t2 --ignore-not-found --timeout 60s >/dev/null 2>&1
  end_keeper
  remove_access
}
zoo_for_pods=1
# Pods ask the clusters' API servers at an address of this machine that they reach.
zoo_clusters_listen=$machine:0
start_clusters 'shared: {storage_classes: ["*"]}'
for name in t1 t2; do
  require "virtual cluster $name with both nodes" ctl cluster create "$name" --node node-1 --node node-2
  check "its kubeconfig" ctl cluster connect "$name" --kubeconfig-file "$TMPDIR/$name.kubeconfig"
done
for name in t1 t2; do
  eventually "$name is in step" 90 condition_is "$name" Synced "True Synced"
  expect "its pods reach its API server" "True Reached" "$(condition "$name" PodsReachAPI)"
done
id=$(cluster_id t1)
require "CoreDNS runs in t1" as t1 -n kube-system wait --for=condition=Available deployment/coredns --timeout=120s

# ---- a Service, from outside -------------------------------------------------------------------------------------------

nginx=registry.k8s.io/e2e-test-images/nginx:1.27-0
web() { # REPLICAS: a Deployment of nginx, whose pods' names are its second page
  pod web "$nginx" '{}' '{"ports": [{"name": "http", "containerPort": 80}], "readinessProbe": {"httpGet": {"path": "/", "port": 80}, "periodSeconds": 1}}' -- \
    sh -c 'hostname >/usr/share/nginx/html/name; exec nginx -g "daemon off;"' |
    jq -c --argjson replicas "$1" '{apiVersion: "apps/v1", kind: "Deployment", metadata: {name: "web"},
      spec: {replicas: $replicas, selector: {matchLabels: {app: "web"}}, template: {metadata: {labels: {app: "web"}}, spec: .spec}}}'
}
check "a Deployment of a web server" create t1 "$(web 2)"
require "Service Creation in Virtual Control Plane" as t1 expose deployment web --type=NodePort --port=80 --target-port=http
port=$(as t1 get service web -o 'jsonpath={.spec.ports[0].nodePort}')
check "a client" create t1 "$(pod client "$tools" -- /agnhost pause)"
require "the Deployment is there" as t1 rollout status deployment/web --timeout=120s
require "and the client" ready t1 pod/client
node_ip() { upstream get node "$1" -o json | jq -r '.status.addresses[] | select(.type == "InternalIP").address'; }
from_outside() { curl -s --max-time 5 "http://$(node_ip "$1"):$port/$2"; }
welcomed() { from_outside "$1" "" | says_line 'Welcome to nginx!'; }
for node in node-1 node-2; do eventually "the web server is reached through the nodePort of $node" 30 welcomed "$node"; done
members=$(as t1 get pods -l app=web -o name | sed 's|^pod/||' | sort | xargs)
seen_names() { [[ $(for _ in $(seq 40); do from_outside node-1 name; done | sort -u | xargs) == "$members" ]]; }
eventually "by both pods of the Deployment" 60 seen_names
check "they become three" as t1 scale deployment web --replicas=3
require "and run" as t1 rollout status deployment/web --timeout=90s
members=$(as t1 get pods -l app=web -o name | sed 's|^pod/||' | sort | xargs)
eventually "all of them are asked" 60 seen_names
check "a pod is deleted" as t1 delete pod "${members%% *}"
eventually "and the web server is there" 30 welcomed node-2
check "the other cluster has a web server of the same name" create t2 "$(web 1)"
check "whose Service wants the same nodePort" as t2 expose deployment web --type=NodePort --port=80 --target-port=http
other_port=$(as t2 get service web -o 'jsonpath={.spec.ports[0].nodePort}')
check "and has another one" test "$other_port" != "$port"

# ---- names, and the API server ------------------------------------------------------------------------------------------

address=$(as t1 get service web -o 'jsonpath={.spec.clusterIP}')
resolves() { inside t1 client getent hosts "$1" | awk '{ print $1 }'; }
eventually "pods resolve names by the cluster's CoreDNS" 30 says "$address" resolves web.default.svc.cluster.local
expect_match "and reach what they name" 'Welcome to nginx!' "$(inside t1 client curl -s --max-time 10 http://web)"
check "who may look at pods" as t1 create rolebinding sees --clusterrole=view --serviceaccount=default:default
folder=/var/run/secrets/kubernetes.io/serviceaccount
asks() { # with the authority, the token and the variables that each pod has
  inside t1 client sh -c "curl -s --max-time 10 --cacert $folder/ca.crt -H \"Authorization: Bearer \$(cat $folder/token)\" https://\$KUBERNETES_SERVICE_HOST:\$KUBERNETES_SERVICE_PORT$1"
}
names_of() { asks /api/v1/namespaces/default/pods | jq -r '[.items[].metadata.name] | sort | join(" ")'; }
expect "a pod asks its own API server with its token" "$(as t1 get pods -o json | jq -r '[.items[].metadata.name] | sort | join(" ")')" "$(names_of)"
expect "where it is a ServiceAccount of the cluster's" system:serviceaccount:default:default "$(inside t1 client probe whoami)"
expect "which is not told of other namespaces" Forbidden "$(asks /api/v1/namespaces/kube-system/secrets | jq -r .reason)"
expect "kubectl in it does the same" pod/client "$(inside t1 client kubectl get pods -l app=client -o name)"
expect "and by the Service's name" 200 "$(inside t1 client sh -c "curl -s -o /dev/null -w '%{http_code}' --max-time 10 --cacert $folder/ca.crt -H \"Authorization: Bearer \$(cat $folder/token)\" https://kubernetes.default.svc/api/v1/namespaces/default/pods")"
expect_no_match "nothing in the pod names the upstream's namespace" "$id" "$(inside t1 client sh -c "env; cat $folder/namespace /etc/resolv.conf /etc/hosts")"

# ---- logs, exec, attach, cp, port-forward --------------------------------------------------------------------------------

one=$(as t1 get pods -l app=web -o 'jsonpath={.items[0].metadata.name}')
expect_match "logs" 'GET /name' "$(as t1 logs -l app=web --tail=-1)"
expect "exec" "$one" "$(inside t1 "$one" hostname)"
check_status "ends as the command does" 7 inside t1 "$one" sh -c 'exit 7'
check "a pod that reads its input" create t1 "$(pod reader "$busybox" '{"restartPolicy": "Never"}' '{"stdin": true, "stdinOnce": true}' -- sh -c 'while read -r line; do echo "got $line"; done; echo end')"
require "runs" ready t1 pod/reader
printf 'one\ntwo\n' | timeout 60 "$KUBECTL" --kubeconfig "$TMPDIR/t1.kubeconfig" attach -i reader >"$TMPDIR/attached" 2>"$TMPDIR/attached.err"
eventually "attach gives it what is put in" 30 says $'got one\ngot two\nend' as t1 logs reader
expect_match "and shows what it answers" '^got one$' "$(cat "$TMPDIR/attached")"
eventually "the end of input ends it" 30 says Succeeded as t1 get pod reader -o 'jsonpath={.status.phase}'
# At a terminal, which kubectl takes for its user's own.
typed=$(printf 'until [ "$(stty size)" = "33 99" ]; do sleep 0.1; done; stty size; echo "sum: $((40 + 2))"; exit 5\n' |
  timeout 90 script -qefc "stty rows 33 cols 99; exec '$KUBECTL' --kubeconfig '$TMPDIR/t1.kubeconfig' run shell -it --rm --restart=Never --image=$busybox --override-type=strategic --overrides='{\"spec\": {\"terminationGracePeriodSeconds\": 1}}' --command -- sh" /dev/null)
expect "run -it ends as its command does" 5 $?
typed=$(tr -d '\r' <<<"$typed")
expect_match "which has read what was typed" '^sum: 42$' "$typed"
expect_match "at a terminal as large as its user's" '33 99$' "$typed"
no_shell() { ! as t1 get pod shell; }
eventually "and is gone" 30 no_shell
head -c 2000000 /dev/urandom >"$TMPDIR/bytes"
sum=$(sha256sum <"$TMPDIR/bytes")
check "cp into a container" as t1 cp "$TMPDIR/bytes" "$one:/usr/share/nginx/html/bytes"
as t1 port-forward "pod/$one" :80 >"$TMPDIR/forward" 2>&1 &
forwarding=$!
eventually "port-forward listens" 30 grep -q '127.0.0.1:' "$TMPDIR/forward"
local_port=$(sed -n 's/.*127\.0\.0\.1:\([0-9]*\) .*/\1/p' "$TMPDIR/forward" | head -n 1)
expect "and what was copied is had through it" "$sum" "$(curl -s --max-time 20 "http://127.0.0.1:$local_port/bytes" | sha256sum)"
kill "$forwarding"
wait "$forwarding" 2>/dev/null
check "cp out of it" as t1 cp "$one:/usr/share/nginx/html/bytes" "$TMPDIR/back"
expect "is whole" "$sum" "$(sha256sum <"$TMPDIR/back")"

# ---- a ConfigMap, a claim, a DaemonSet -------------------------------------------------------------------------------------

check "a ConfigMap" as t1 create configmap settings --from-literal=color=green
expect_match "the platform's class is the cluster's default" '^local \(default\)' "$(as t1 get storageclasses)"
check "a claim" create t1 '{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "64Mi"}}}}'
keeper=$(pod store "$busybox" '{"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}, {"name": "settings", "configMap": {"name": "settings"}}]}' \
  '{"volumeMounts": [{"name": "data", "mountPath": "/data"}, {"name": "settings", "mountPath": "/settings"}]}' -- \
  sh -c '[ -e /data/first ] || hostname >/data/first; sleep 3600' |
  jq -c '{apiVersion: "apps/v1", kind: "Deployment", metadata: {name: "store"}, spec: {strategy: {type: "Recreate"}, selector: {matchLabels: {app: "store"}}, template: {metadata: {labels: {app: "store"}}, spec: .spec}}}')
check "a Deployment that writes to it" create t1 "$keeper"
require "runs" as t1 rollout status deployment/store --timeout=120s
first=$(as t1 get pods -l app=store -o 'jsonpath={.items[0].metadata.name}')
expect "the claim is bound" Bound "$(as t1 get pvc data -o 'jsonpath={.status.phase}')"
volume=$(as t1 get pvc data -o 'jsonpath={.spec.volumeName}')
expect "to a volume that the cluster shows" "Bound default/data" "$(as t1 get pv "$volume" -o 'jsonpath={.status.phase} {.spec.claimRef.namespace}/{.spec.claimRef.name}')"
check "its pod is deleted" as t1 delete pod "$first"
require "another one comes" as t1 rollout status deployment/store --timeout=90s
second=$(as t1 get pods -l app=store -o json | jq -r '[.items[] | select(.metadata.deletionTimestamp == null) | .metadata.name] | join(" ")')
check "which is not the first" test "$second" != "$first"
expect "and has what the first has written" "$first" "$(inside t1 "$second" cat /data/first)"
check "the ConfigMap changes" as t1 patch configmap settings -p '{"data": {"color": "blue"}}'
eventually "and the running container sees it" 120 says blue inside t1 "$second" cat /settings/color
check "the Deployment goes" as t1 delete deployment store
check "and the claim" as t1 delete pvc data --timeout=60s
no_volume() { ! upstream get pv "$volume" >/dev/null 2>&1 && ! as t1 get pv "$volume" >/dev/null 2>&1; }
eventually "with it goes the volume, on both sides" 120 no_volume
check "a DaemonSet" create t1 "$(pod each "$busybox" -- sleep 3600 | jq -c '{apiVersion: "apps/v1", kind: "DaemonSet", metadata: {name: "each"}, spec: {selector: {matchLabels: {app: "each"}}, template: {metadata: {labels: {app: "each"}}, spec: .spec}}}')"
require "runs" as t1 rollout status daemonset/each --timeout=90s
expect "once on each node" "node-1 node-2" "$(upstream get pods -n "$id-default" -l app=each -o json | jq -r '[.items[].spec.nodeName] | sort | join(" ")')"

# ---- NetworkPolicies -----------------------------------------------------------------------------------------------------

check "a namespace" as t1 create namespace team
check "with a client" as t1 create -n team -f - <<<"$(pod friend "$agnhost" -- /agnhost pause)"
check "the other cluster has it, too" as t2 create namespace team
check "and a client in it" as t2 create -n team -f - <<<"$(pod friend "$agnhost" -- /agnhost pause)"
require "the one runs" ready t1 -n team pod/friend
require "the other, too" ready t2 -n team pod/friend
target=$(as t1 get pod "$one" -o 'jsonpath={.status.podIP}')
# reaches CLUSTER NAMESPACE POD; cannot: it gets no connection.
reaches() { as "$1" exec -n "$2" "$3" -- curl -s -o /dev/null --max-time 3 "http://$target/"; }
cannot() {
  local status
  reaches "$@"
  status=$?
  ((status == 28)) || { echo "curl ended with $status, not by its time"; return 1; }
}
check "without a policy everybody reaches the web server" reaches t1 default client
check "pods of other clusters, too, for the network is one" reaches t2 team friend
policy() { jq -cn --argjson from "$1" '{apiVersion: "networking.k8s.io/v1", kind: "NetworkPolicy", metadata: {name: "web"}, spec: {podSelector: {matchLabels: {app: "web"}}, ingress: [{from: $from}]}}'; }
check "a policy that admits a namespace by its name" applied t1 "$(policy '[{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "team"}}}]')"
eventually "shuts out others" 30 cannot t1 default client
check "admits that one" reaches t1 team friend
check "and not the other cluster's of that name" cannot t2 team friend
check "a namespace is labelled" as t1 label namespace default color=blue
check "the other cluster's, too" as t2 label namespace team color=blue
check "one that admits namespaces by that label" applied t1 "$(policy '[{"namespaceSelector": {"matchLabels": {"color": "blue"}}}]')"
eventually "lets in what it names" 30 reaches t1 default client
eventually "shuts out what it does not" 30 cannot t1 team friend
check "and the other cluster's of that label" cannot t2 team friend
check "one that admits all namespaces" applied t1 "$(policy '[{"namespaceSelector": {}}]')"
eventually "lets in all of the cluster's" 30 reaches t1 team friend
check "of each namespace" reaches t1 default client
check "and nobody of the other cluster's" cannot t2 team friend
check "the policy goes" as t1 delete networkpolicy web
eventually "and all is open again" 30 reaches t2 team friend

# ---- the end ---------------------------------------------------------------------------------------------------------------

require "the other cluster's web server is there" as t2 rollout status deployment/web --timeout=90s
# service_of CLUSTER ID: as it is in the cluster, and upstream.
service_of() {
  as "$1" get service web -o json | jq -c '[.metadata.uid, .spec.clusterIP, .spec.ports[0].nodePort]'
  upstream get service web -n "$2-default" -o json | jq -c '[.metadata.uid, .spec.clusterIP, .spec.ports[0].nodePort]'
}
other=$(service_of t2 "$(cluster_id t2)")
check "the Service goes" as t1 delete service web
closed() { ! from_outside node-1 "" >/dev/null; }
eventually "and with it the nodePort" 30 closed
expect "and what is upstream of it" "" "$(upstream get service web -n "$id-default" -o name --ignore-not-found)"
expect "the other cluster's of the same name stays, on both sides" "$other" "$(service_of t2 "$(cluster_id t2)")"
port=$other_port
check "and leads to its web server" welcomed node-1
check "the clusters go" ctl cluster delete t1 t2 --timeout 120s
expect "upstream has nothing of them" "" "$(upstream get namespaces -o name | grep -F "$id-")"
