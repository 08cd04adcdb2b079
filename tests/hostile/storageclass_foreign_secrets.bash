# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: a StorageClass whose parameters name the victim's namespace as the place of the driver's secrets.
# Without the fence: the CSI driver, which may read all Secrets, would use the victim's for the attacker's volumes.
# Rule: the secret-namespace parameters are namespaces: prefixed on the way in; templates resolve to the claim's own.
classes=/apis/storage.k8s.io/v1/storageclasses
secrets='{"csi.storage.k8s.io/provisioner-secret-namespace":"'$victim-team'","csi.storage.k8s.io/node-publish-secret-namespace":"kube-system","csi.storage.k8s.io/node-stage-secret-namespace":"'$victim-team'",
  "csi.storage.k8s.io/controller-publish-secret-namespace":"'$victim-team'","csi.storage.k8s.io/controller-expand-secret-namespace":"'$victim-team'","csi.storage.k8s.io/node-expand-secret-namespace":"'$victim-team'",
  "adminSecretNamespace":"'$victim-team'","userSecretNamespace":"kube-system","secretNamespace":"'$victim-team'"}'
try POST $classes json '{"metadata":{"name":"evil-params","annotations":{"a":"'"$victim-team"'"}},"provisioner":"example.com/evil","parameters":'"$secrets"'}'
fence() {
  stored "/apis/storage.k8s.io/v1/storageclasses/$evil-evil-params" \
    '[.parameters // {} | to_entries[] | select(.key | ascii_downcase | endswith("namespace")) | select(.value | startswith("'"$evil"'-") | not)] | length'
}
expect "none names another's" 0 "$(fence)"
made "the claim's own namespace" POST $classes json '{"metadata":{"name":"evil-own"},"provisioner":"example.com/evil","parameters":{"csi.storage.k8s.io/node-publish-secret-namespace":"${pvc.namespace}"}}'
expect "is kept" '${pvc.namespace}' "$(stored "/apis/storage.k8s.io/v1/storageclasses/$evil-evil-own" '.parameters["csi.storage.k8s.io/node-publish-secret-namespace"]')"
for value in '${pvc.annotations[ns]}' '${pvc.name}' "$victim-\${pvc.name}"; do
  try POST $classes json '{"metadata":{"name":"evil-template"},"provisioner":"example.com/evil","parameters":{"csi.storage.k8s.io/node-publish-secret-namespace":"'"$value"'"}}'
  expect_match "nor through $value" "^(null|jq: .*|$evil-.*)$" "$(stored "/apis/storage.k8s.io/v1/storageclasses/$evil-evil-template" '.parameters["csi.storage.k8s.io/node-publish-secret-namespace"]')"
  try DELETE $classes/evil-template
done
would "store the victim's namespace as the place of secrets" POST $classes json '{"metadata":{"name":"'"$evil"'-direct"},"provisioner":"example.com/evil","parameters":'"$secrets"'}'
