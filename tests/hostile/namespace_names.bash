# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: names that collide, overflow or are cut: upstream's, the victim's, 63 characters, generateName, capitals, Unicode.
# Without the fence: what is cut or folded after the prefix could be another's name.
# Rule: a name gets the prefix and is then upstream's to judge; nothing is cut or folded.
long=$(printf 'a%.0s' {1..63})
for name in "$victim-team" kube-system default "${long:0:57}" "$long" "Team" "ｔeam" "te\\u0000am" "../$victim-team" "$victim-team " "team/../$victim-team" "." ".." "" "-" "$evil-team"; do
  try POST /api/v1/namespaces json '{"metadata":{"name":"'"$name"'"}}'
  if [[ $code == 2* ]]; then
    expect "'$name' is under the prefix" Active "$(stored "/api/v1/namespaces/$evil-$name" .status.phase)"
    [[ $name == default || $name == kube-system ]] || try DELETE "/api/v1/namespaces/$name"
  else
    refused "'$name'"
  fi
done
for prefix in "$victim-" "evil-${long:0:58}" "" "../" "222222-"; do
  for kind in /api/v1/namespaces /apis/scheduling.k8s.io/v1/priorityclasses /apis/rbac.authorization.k8s.io/v1/clusterroles; do
    try POST $kind json '{"metadata":{"generateName":"'"$prefix"'"},"value":1}'
    name=$(jq -r '.metadata.name // empty' <<<"$answer" 2>/dev/null)
    [[ $code == 2* ]] || continue
    expect "generated from '$prefix' it is under the prefix" "$evil-$name" "$(stored "$kind/$evil-$name" .metadata.name)"
    try DELETE "$kind/$name"
  done
done
for name in "$victim-evil" 222222-evil evil; do would "make a namespace '$name'" POST /api/v1/namespaces json '{"metadata":{"name":"'"$name"'"}}'; done
would "generate a name of the victim's" POST /apis/rbac.authorization.k8s.io/v1/clusterroles json '{"metadata":{"generateName":"'"$victim-"'"}}'
expect_match "under its prefix" "^$victim-[a-z0-9]{5}\$" "$(jq -r .metadata.name <<<"$answer")"
