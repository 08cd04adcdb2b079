# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: one DELETE over all objects of a cluster-scoped kind, with and without selectors.
# Without the fence: upstream deletes everybody's: all nodes, all classes, all definitions.
# Rule: expanded into a delete for each own object; shared kinds are not a tenant's to delete.
for kind in /api/v1/namespaces /api/v1/nodes /api/v1/persistentvolumes /apis/apiextensions.k8s.io/v1/customresourcedefinitions /apis/rbac.authorization.k8s.io/v1/clusterroles \
  /apis/rbac.authorization.k8s.io/v1/clusterrolebindings /apis/scheduling.k8s.io/v1/priorityclasses /apis/storage.k8s.io/v1/storageclasses /apis/storage.k8s.io/v1/csidrivers /apis/storage.k8s.io/v1/csinodes \
  /apis/storage.k8s.io/v1/volumeattachments /apis/networking.k8s.io/v1/ingressclasses /apis/networking.k8s.io/v1/servicecidrs /apis/networking.k8s.io/v1/ipaddresses /apis/node.k8s.io/v1/runtimeclasses \
  /apis/admissionregistration.k8s.io/v1/{mutating,validating}webhookconfigurations /apis/admissionregistration.k8s.io/v1/validatingadmissionpolic{ies,ybindings} \
  /apis/certificates.k8s.io/v1/certificatesigningrequests /apis/flowcontrol.apiserver.k8s.io/v1/{flowschemas,prioritylevelconfigurations} /apis/apiregistration.k8s.io/v1/apiservices; do
  for query in "" "?labelSelector=kept" "?fieldSelector=metadata.name!%3Dx" "?limit=500&resourceVersion=0"; do
    try DELETE "$kind$query"
    expect_match "DELETE $kind$query: $code" '^(2|4)..$' "$code"
  done
done
for kind in /api/v1/secrets /api/v1/pods /api/v1/services /apis/apps/v1/deployments "/apis/$victim-vaults.example.com/v1/safes"; do
  try DELETE "$kind"
  refused "no deletion over all namespaces of $kind"
done
direct DELETE "/apis/scheduling.k8s.io/v1/priorityclasses?dryRun=All"
expect_match "upstream would delete the victim's too" "$vault" "$answer"
