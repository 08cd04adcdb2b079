#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: gateway translate
# timeout: 600
# Helm 4, which applies on the server: install, upgrade, rollback and uninstall of a chart with a definition, a namespace and
# webhooks, while other managers have fields of their own in the same objects.
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/upstream/go-env.sh
. "$zoo_root/tests/upstream/go-env.sh"

helm=$(go_program "$zoo_root/packaging/helm") || { failed "build helm" <<<"see above"; exit 1; }
start_zood
new_tenant a
export KUBECONFIG=$TMPDIR/$a.kubeconfig HELM_CACHE_HOME=$TMPDIR/helm HELM_CONFIG_HOME=$TMPDIR/helm HELM_DATA_HOME=$TMPDIR/helm
h() { "$helm" "$@"; }
chart=$zoo_root/tests/e2e/chart
hooks() { as "$a" get validatingwebhookconfiguration web -o json | jq -c "$1"; }
# What cert-manager's cainjector does: no more than a caBundle, by the webhook's name.
inject() {
  as "$a" apply --server-side --field-manager cainjector -f - <<'Y'
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: web}
webhooks:
- {name: widgets.charts.example.com, clientConfig: {caBundle: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg==}}
- {name: all.charts.example.com, clientConfig: {caBundle: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg==}}
Y
}
# Names of managers of the webhooks' configuration.
managers() { as "$a" get validatingwebhookconfiguration web -o json --show-managed-fields | jq -r '[.metadata.managedFields[] | .manager + " " + .operation] | sort | join(",")'; }

expect_match "this is Helm 4" '^v4\.' "$(h version --template '{{.Version}}')"
check "install" h install web "$chart" --set admission=true --wait --timeout 90s
expect "on the server" "helm Apply" "$(managers)"
check "another manager names a caBundle" inject
expect "two selectors as the chart has them" '[{"matchLabels":{"team":"hello"}},{}]' "$(hooks '[.webhooks[].namespaceSelector]')"
check "a namespace of kubectl's" as "$a" create namespace other
check "gets a level by another manager" as "$a" apply --server-side --field-manager security -f - <<<'{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"other","labels":{"pod-security.kubernetes.io/enforce":"restricted"}}}'
check "upgrade" h upgrade web "$chart" --set admission=true,greeting=bye,level=restricted,replicas=2 --wait --timeout 90s
expect "selectors are the new ones" '[{"matchLabels":{"team":"bye"}},{}]' "$(hooks '[.webhooks[].namespaceSelector]')"
expect "and the caBundles stay" 2 "$(hooks '[.webhooks[].clientConfig.caBundle | select(. != null)] | length')"
expect "the level" restricted "$(as "$a" get namespace web-space -o json | jq -r '.metadata.labels["pod-security.kubernetes.io/enforce"]')"
expect "upstream has the fence" "[\"$a\",\"$a\"]" "$(upstream get "validatingwebhookconfiguration/$a-web" -o json | jq -c '[.webhooks[].namespaceSelector.matchLabels["tenant.kubezoo.io/id"]]')"
check "upgrade once more changes nothing" h upgrade web "$chart" --set admission=true,greeting=bye,level=restricted,replicas=2 --wait --timeout 90s
check "rollback" h rollback web 1 --wait --timeout 90s
expect "selectors are the first ones" '[{"matchLabels":{"team":"hello"}},{}]' "$(hooks '[.webhooks[].namespaceSelector]')"
expect "and so is the level" baseline "$(as "$a" get namespace web-space -o json | jq -r '.metadata.labels["pod-security.kubernetes.io/enforce"]')"
expect "of two managers" "cainjector Apply,helm Apply" "$(managers)"
expect_no_match "no prefix anywhere" "$a-|kubezoo" "$(h get manifest web; h status web; as "$a" get validatingwebhookconfiguration,namespaces,crd,widgets -A -o yaml --show-managed-fields)"
check "uninstall" h uninstall web --wait --timeout 90s
check_fails "its namespace is gone" 'not found' as "$a" get namespace web-space
check_fails "and its webhooks" 'not found' as "$a" get validatingwebhookconfiguration web
