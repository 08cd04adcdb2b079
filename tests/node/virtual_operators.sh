#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: clusters
# step: all
# timeout: 900
# An operator that nobody here wrote in a virtual cluster, on real nodes: cert-manager by its own chart. It comes up by itself, makes
# certificates, its webhooks are asked by the cluster's own API server, and a server in the cluster uses what it has made.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/../functional/clusters/lib.bash"
# shellcheck source=tests/upstream/go-env.sh
. "$zoo_root/tests/upstream/go-env.sh"

helm=$(go_program "$zoo_root/packaging/helm") || { failed "build helm" <<<"see above"; exit 1; }
chart=$("$zoo_root/tests/node/up" manifests)/cert-manager
at_end() {
  ctl cluster delete t1 --ignore-not-found --timeout 60s >/dev/null 2>&1
  end_keeper
  remove_access
}
zoo_for_pods=1
# Pods ask the cluster's API server at an address of this machine that they reach.
zoo_clusters_listen=$machine:0
start_clusters
require "a cluster with both nodes" ctl cluster create t1 --node node-1 --node node-2
check "its kubeconfig" ctl cluster connect t1 --kubeconfig-file "$TMPDIR/t1.kubeconfig"
eventually "it is in step" 90 condition_is t1 Synced "True Synced"
require "CoreDNS runs" as t1 -n kube-system wait --for=condition=Available deployment/coredns --timeout=120s
helm_in() {
  local state=$TMPDIR/helm
  KUBECONFIG=$TMPDIR/t1.kubeconfig HELM_CACHE_HOME=$state HELM_CONFIG_HOME=$state HELM_DATA_HOME=$state "$helm" "$@"
}
require "helm install --wait" helm_in install cert-manager "$chart" --namespace cert-manager --create-namespace --set crds.enabled=true --wait --timeout 5m

# ---- certificates
as t1 apply -f - >/dev/null <<'YAML'
apiVersion: cert-manager.io/v1
kind: Issuer
metadata: {name: self}
spec: {selfSigned: {}}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: root}
spec: {isCA: true, commonName: root of t1, secretName: root, issuerRef: {name: self}}
---
apiVersion: cert-manager.io/v1
kind: Issuer
metadata: {name: authority}
spec: {ca: {secretName: root}}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: web}
spec: {dnsNames: [web.default.svc], secretName: web-tls, issuerRef: {name: authority}}
YAML
check "certificates become Ready" as t1 wait --for=condition=Ready certificate/root certificate/web --timeout=90s
check "a server that mounts one" create t1 "$(pod web "$agnhost" '{"volumes": [{"name": "tls", "secret": {"secretName": "web-tls"}}]}' \
  '{"ports": [{"containerPort": 8443}], "volumeMounts": [{"name": "tls", "mountPath": "/tls"}]}' -- \
  /agnhost netexec --http-port=8443 --tls-cert-file=/tls/tls.crt --tls-private-key-file=/tls/tls.key)"
check "its Service" as t1 expose pod web --port=443 --target-port=8443
check "a client that trusts its authority" create t1 "$(pod client "$tools" '{"volumes": [{"name": "ca", "secret": {"secretName": "web-tls", "items": [{"key": "ca.crt", "path": "ca.crt"}]}}]}' \
  '{"volumeMounts": [{"name": "ca", "mountPath": "/ca"}]}' -- /agnhost pause)"
require "they run" ready t1 pod/web pod/client
served() { inside t1 client curl -s --max-time 10 --cacert /ca/ca.crt https://web.default.svc/hostname; }
eventually "is served by its name" 30 says web served
check "the certificate is made anew" as t1 patch certificate web --type=merge -p '{"spec":{"dnsNames":["web.default.svc","more.default.svc"]}}'
renewed() { inside t1 web cat /tls/tls.crt | openssl x509 -noout -ext subjectAltName | says_line more.default.svc; }
eventually "and the server has it" 150 renewed

# ---- its webhooks, which the cluster's own API server asks
wrong='{"apiVersion": "cert-manager.io/v1", "kind": "Certificate", "metadata": {"name": "wrong"}, "spec": {"secretName": "wrong", "issuerRef": {"name": "self"}}}'
check_fails "a Certificate without a name is refused" 'webhook "webhook.cert-manager.io" denied the request: spec: Invalid value' create t1 "$wrong"
check "without its pods" as t1 scale -n cert-manager deployment cert-manager-webhook --replicas=0
as t1 wait -n cert-manager --for=delete pod -l app.kubernetes.io/name=webhook --timeout=60s >/dev/null
check_fails "it cannot be asked" 'failed calling webhook "webhook.cert-manager.io"' create t1 "$wrong"
check "with them" as t1 scale -n cert-manager deployment cert-manager-webhook --replicas=1
denied() { [[ $(create t1 "$wrong" 2>&1) == *"denied the request"* ]]; }
eventually "it answers again" 90 denied

# ---- the release
check "helm upgrade" helm_in upgrade cert-manager "$chart" --namespace cert-manager --set crds.enabled=true,webhook.timeoutSeconds=5 --wait --timeout 5m
errors() { as t1 logs -n cert-manager -l app.kubernetes.io/instance=cert-manager --tail=-1 --prefix | grep -E '\] E[0-9]{4}|"error"|level=error'; }
expect_no_match "none of its programs has told of a right that it lacks" 'forbidden|Unauthorized|x509' "$(errors)"
check "helm uninstall" helm_in uninstall cert-manager --namespace cert-manager --wait --timeout 3m
check_fails "and the webhook is gone" 'not found' as t1 get validatingwebhookconfiguration cert-manager-webhook
id=$(cluster_id t1)
check "the cluster goes" ctl cluster delete t1 --timeout 120s
expect "upstream has nothing of it" "" "$(upstream get namespaces -o name | grep -F "$id-")"
