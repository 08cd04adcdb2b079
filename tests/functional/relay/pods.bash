# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced. Webhooks that run in pods: a stand-in for a kubelet whose port-forwards lead to this machine, and a webhook
# server that listens here.
#
#   hook_server NAMES         in the background; leaves $hook_port, $hook_ca (base64) and $hook_calls, a line a call
#   pod_node                  a node of the script's own, $hook_node
#   hook_pod ID NAMESPACE     a pod `hook` on it, Ready, behind Service `hook` (443)
#   end_hooks                 for at_end
# shellcheck source=tests/upstream/go-env.sh
. "$zoo_root/tests/upstream/go-env.sh"

hook_server() {
  local program
  program=$(go_program "$zoo_root/tests/e2e/admission") || { failed "build the webhook" <<<"see above"; exit 1; }
  hook_calls=$TMPDIR/hook.calls
  "$program" --out "$TMPDIR/hook.json" --log "$hook_calls" --names "$1" >"$TMPDIR/hook.log" 2>&1 &
  hook_pid=$!
  eventually "the webhook listens" 30 test -s "$TMPDIR/hook.json"
  # shellcheck disable=SC2034 # for the scripts
  hook_ca=$(jq -r .ca "$TMPDIR/hook.json") hook_port=$(jq -r .port "$TMPDIR/hook.json")
}

pod_node() {
  local program
  program=$(go_program "$zoo_root/tests/e2e/streams") || { failed "build the stand-in" <<<"see above"; exit 1; }
  hook_node=hooks-$(random_id)
  "$program" kubelet --kubeconfig "$ZOO_E2E_KUBECONFIG" --node "$hook_node" --pod-ip 198.51.100.9 >"$TMPDIR/kubelet.log" 2>&1 &
  hook_kubelet_pid=$!
}

hook_pod() { # ID NAMESPACE
  require "$1: a pod that is the webhook" as "$1" -n "$2" apply -f - <<Y
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Pod
  metadata: {name: hook, labels: {app: hook}}
  spec:
    nodeSelector: {kubernetes.io/hostname: $hook_node}
    tolerations: [{operator: Exists}]
    terminationGracePeriodSeconds: 0
    containers: [{name: hook, image: none.test/hook, ports: [{name: https, containerPort: $hook_port}]}]
- apiVersion: v1
  kind: Service
  metadata: {name: hook}
  spec: {selector: {app: hook}, ports: [{port: 443, targetPort: https}]}
Y
  require "it runs" as "$1" -n "$2" wait --for=condition=Ready pod/hook --timeout 60s
}

end_hooks() {
  local pid
  for pid in ${hook_pid:-} ${hook_kubelet_pid:-}; do kill "$pid" 2>/dev/null && wait "$pid" 2>/dev/null; done
  [[ -z ${hook_node:-} ]] || upstream delete node "$hook_node" --ignore-not-found >/dev/null 2>&1
}

# hook_configuration KIND NAME PATH [RULES [MORE]]: of Service `hook` in namespace team.
hook_configuration() {
  local rules=${4:-'{operations: [CREATE], apiGroups: [""], apiVersions: ["*"], resources: [configmaps]}'}
  cat <<Y
apiVersion: admissionregistration.k8s.io/v1
kind: $1
metadata: {name: $2}
webhooks:
- name: $2.example.com
  clientConfig: {service: {namespace: team, name: hook, path: $3}, caBundle: $hook_ca}
  rules: [$rules]
  failurePolicy: Fail
  sideEffects: None
  timeoutSeconds: ${5:-5}
  admissionReviewVersions: [v1]
Y
}

# relayed ID: the Tenant says so.
relayed() { [[ $(ctl tenant get "$1" -o json | jq -r '.status.conditions[] | select(.type == "WebhooksRelayed") | .status + "/" + .reason') == "${2:-True/Relayed}" ]]; }
