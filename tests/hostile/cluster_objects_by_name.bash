# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: the victim's cluster-scoped objects by name, with and without the prefix, by each verb.
# Without the fence: RBAC upstream knows no prefixes; zood's own credential reads and writes them all.
# Rule: the name of the path always gets the attacker's prefix; kinds that are shared are read-only.
for kind in /apis/rbac.authorization.k8s.io/v1/clusterroles /apis/rbac.authorization.k8s.io/v1/clusterrolebindings /apis/scheduling.k8s.io/v1/priorityclasses /apis/storage.k8s.io/v1/storageclasses \
  /apis/networking.k8s.io/v1/ingressclasses /apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations /api/v1/namespaces; do
  for name in "$vault" "$victim-$vault" "$victim-team" "..%2f$victim-$vault" "$evil-..%2f$victim-$vault"; do
    for request in "GET $kind/$name" "DELETE $kind/$name" "PATCH $kind/$name merge {\"metadata\":{\"labels\":{\"evil\":\"x\"}}}" "GET $kind?watch=true&resourceVersion=0&timeoutSeconds=1&fieldSelector=metadata.name%3D$name"; do
      [[ $request != *watch=true* || $name == "$victim-$vault" ]] || continue
      read -r method path type body <<<"$request"
      try "$method" "$path" "$type" "$body"
      [[ $path == *watch=true* ]] || refused "$method $path"
    done
  done
done
direct GET "/apis/rbac.authorization.k8s.io/v1/clusterroles/$victim-$vault"
accepted "upstream would show its administrator"
