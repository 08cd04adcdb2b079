# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: selectors that name the victim's namespaces, the tenant label, or a negation of its own, on lists, watches and deletions.
# Without the fence: metadata.namespace=<victim>-team, or tenant.kubezoo.io/id!=<own>, would choose the others' objects.
# Rule: a selector narrows what is the tenant's already; namespaces in selectors are prefixed.
for selector in "fieldSelector=metadata.namespace%3D$victim-team" "fieldSelector=metadata.namespace%3D$victim-team,metadata.name%3D$vault" "fieldSelector=metadata.name%3D$vault" \
  "fieldSelector=metadata.namespace!%3D$evil-team" "fieldSelector=metadata.namespace!%3Dteam" "labelSelector=tenant.kubezoo.io/id%3D$victim" "labelSelector=tenant.kubezoo.io/id!%3D$evil" \
  "labelSelector=!tenant.kubezoo.io/id" "labelSelector=kubernetes.io/metadata.name%3D$victim-team" "labelSelector=kubernetes.io/metadata.name+notin+(team,default,$evil-team)" \
  "labelSelector=kept%3D$vault" "labelSelector=kept" "fieldSelector=&labelSelector=" "fieldSelector=metadata.name%3Dx&fieldSelector=metadata.namespace%3D$victim-team" \
  "labelSelector=kubernetes.io/metadata.name+in+(../$victim-team)" "fieldSelector=metadata.namespace%3D..%2f$victim-team" "fieldSelector=metadata.namespace%3Dteam%5C,metadata.namespace%3D$victim-team" \
  "fieldSelector=involvedObject.namespace%3D$victim-team" "fieldSelector=spec.nodeName%3Dkwok-1" "labelselector=kept" "limit=1000000&resourceVersion=0&labelSelector=kept" "resourceVersion=0&resourceVersionMatch=NotOlderThan"; do
  for kind in /api/v1/namespaces /api/v1/secrets /api/v1/pods /api/v1/events /apis/apiextensions.k8s.io/v1/customresourcedefinitions /apis/scheduling.k8s.io/v1/priorityclasses; do
    try GET "$kind?$selector"
    expect_no_match "GET $kind?$selector" "\"$victim-|$canary|\"$vault\",?$" "$(jq -c '.items[]? | .metadata.name' <<<"$answer" 2>/dev/null)"
  done
  try GET "/api/v1/secrets?watch=1&resourceVersion=0&timeoutSeconds=1&$selector"
  expect_no_match "a watch, $selector" "$canary" "$answer"
done
direct GET "/api/v1/secrets?fieldSelector=metadata.namespace%3D$victim-team"
expect_match "upstream would show its administrator" "$vault" "$answer"
