#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: gateway translate upstream tenants
# timeout: 900
# cert-manager by its own chart, at two tenants at the same time: it comes up by itself, makes certificates, and its webhooks hear of
# the tenant's objects in the tenant's words.
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/upstream/go-env.sh
. "$zoo_root/tests/upstream/go-env.sh"

helm=$(go_program "$zoo_root/packaging/helm") || { failed "build helm" <<<"see above"; exit 1; }
chart=$("$zoo_root/tests/node/up" manifests)/cert-manager
start_zood_for_pods
new_tenant a
new_tenant b
given_access "$a" "$b"
for id in "$a" "$b"; do eventually "webhooks of $id go through zood" 60 says True condition_of "$id" WebhooksRelayed; done

# helm_of ID ARGUMENTS...
helm_of() {
  local state=$TMPDIR/helm-$1
  KUBECONFIG=$TMPDIR/$1.kubeconfig HELM_CACHE_HOME=$state HELM_CONFIG_HOME=$state HELM_DATA_HOME=$state "$helm" "${@:2}"
}
install() { helm_of "$1" install cert-manager "$chart" --namespace cert-manager --create-namespace --set crds.enabled=true --wait --timeout 5m; }
install "$a" >"$TMPDIR/install-$a" 2>&1 &
first=$!
install "$b" >"$TMPDIR/install-$b" 2>&1 &
second=$!
wait "$first"
expect "helm install --wait of $a" "0 deployed" "$? $(sed -n 's/^STATUS: //p' "$TMPDIR/install-$a")"
wait "$second"
expect "of $b" "0 deployed" "$? $(sed -n 's/^STATUS: //p' "$TMPDIR/install-$b")"
((zoo_failures == 0)) || { cat "$TMPDIR"/install-*; for id in "$a" "$b"; do as "$id" get pods,events -A; done; exit 1; }

# ---- certificates
root='{"apiVersion": "cert-manager.io/v1", "kind": "Issuer", "metadata": {"name": "self"}, "spec": {"selfSigned": {}}}
{"apiVersion": "cert-manager.io/v1", "kind": "Certificate", "metadata": {"name": "root"},
  "spec": {"isCA": true, "commonName": "root of ID", "secretName": "root", "issuerRef": {"name": "self"}}}
{"apiVersion": "cert-manager.io/v1", "kind": "Issuer", "metadata": {"name": "authority"}, "spec": {"ca": {"secretName": "root"}}}
{"apiVersion": "cert-manager.io/v1", "kind": "Certificate", "metadata": {"name": "web"},
  "spec": {"dnsNames": ["web.default.svc"], "secretName": "web-tls", "issuerRef": {"name": "authority"}}}'
for id in "$a" "$b"; do
  check "issuers and certificates of $id" as "$id" apply -f - <<<"${root/root of ID/root of $id}"
done
for id in "$a" "$b"; do
  check "the certificates of $id become Ready" as "$id" wait --for=condition=Ready certificate/root certificate/web --timeout=90s
  for part in ca.crt tls.crt; do as "$id" get secret web-tls -o json | jq -r --arg part "$part" '.data[$part] | @base64d' >"$TMPDIR/$id-$part"; done
  check "the Secret has one for its name" openssl verify -CAfile "$TMPDIR/$id-ca.crt" -verify_hostname web.default.svc "$TMPDIR/$id-tls.crt"
  expect_match "by the tenant's own authority" "CN ?= ?root of $id" "$(openssl x509 -in "$TMPDIR/$id-tls.crt" -noout -issuer)"
  expect "asked for by its controller, as the webhook was told" system:serviceaccount:cert-manager:cert-manager \
    "$(as "$id" get certificaterequests -o json | jq -r '[.items[].spec.username] | unique | join(" ")')"
  expect "whose Lease is in the tenant's kube-system" cert-manager-controller "$(as "$id" get -n kube-system lease cert-manager-controller -o 'jsonpath={.metadata.name}')"
done

# ---- its webhooks
wrong='{"apiVersion": "cert-manager.io/v1", "kind": "Certificate", "metadata": {"name": "wrong"}, "spec": {"secretName": "wrong", "issuerRef": {"name": "self"}}}'
for id in "$a" "$b"; do
  check_fails "a Certificate without a name is refused by the webhook of $id" 'webhook "webhook.cert-manager.io" denied the request: spec: Invalid value' create "$id" "$wrong"
  expect_no_match "in words without the prefix" "$id-|$id\\." "$(create "$id" "$wrong" 2>&1)"
  expect "the tenant sees its webhook as the chart has it" '{"name":"cert-manager-webhook","namespace":"cert-manager","path":"/validate","port":443}' \
    "$(as "$id" get validatingwebhookconfiguration cert-manager-webhook -o json | jq -cS '.webhooks[0].clientConfig.service')"
  expect "with the authority that cainjector has written" "$(as "$id" get -n cert-manager secret cert-manager-webhook-ca -o 'jsonpath={.data.ca\.crt}')" \
    "$(as "$id" get validatingwebhookconfiguration cert-manager-webhook -o 'jsonpath={.webhooks[0].clientConfig.caBundle}')"
done
check "without its pods" as "$a" scale -n cert-manager deployment cert-manager-webhook --replicas=0
as "$a" wait -n cert-manager --for=delete pod -l app.kubernetes.io/name=webhook --timeout=60s >/dev/null
check_fails "what it looks at is refused, and why is told" 'failed calling webhook "webhook.cert-manager.io"' create "$a" "$wrong"
check_fails "the other tenant's webhook answers" 'denied the request' create "$b" "$wrong"
check "with them" as "$a" scale -n cert-manager deployment cert-manager-webhook --replicas=1
denied() { [[ $(create "$a" "$wrong" 2>&1) == *"denied the request"* ]]; }
eventually "it answers again" 60 denied

# ---- the release
check "helm upgrade" helm_of "$a" upgrade cert-manager "$chart" --namespace cert-manager --set crds.enabled=true,webhook.timeoutSeconds=5 --wait --timeout 5m
expect "changes the webhook" 5 "$(as "$a" get validatingwebhookconfiguration cert-manager-webhook -o 'jsonpath={.webhooks[0].timeoutSeconds}')"
errors() { as "$1" logs -n cert-manager -l app.kubernetes.io/instance=cert-manager --tail=-1 --prefix | grep -E '\] E[0-9]{4}|"error"|level=error'; }
expect_no_match "no program of $b has told of a right that it lacks" 'forbidden|Unauthorized|x509' "$(errors "$b")"
check "helm uninstall" helm_of "$a" uninstall cert-manager --namespace cert-manager --wait --timeout 3m
check_fails "and the webhook is gone" 'not found' as "$a" get validatingwebhookconfiguration cert-manager-webhook
check "while the other tenant's works" as "$b" get issuer self
