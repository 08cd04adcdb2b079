# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: names so long that the prefix makes them too long: 57 to 63 characters for namespaces, 247 to 253 for others, by name
# and by generateName, of which upstream cuts what is too long.
# Without the fence: what is cut behind the prefix is another object's name; of two long names one would be the other.
# Rule: a name whose prefix does not fit is refused or unknown; nothing is ever cut.
a() { printf 'a%.0s' $(seq "$1"); }
for length in 56 57 58 62 63 64; do
  try POST /api/v1/namespaces json '{"metadata":{"name":"'"$(a $length)"'"}}'
  if ((length <= 56)); then accepted "a namespace of $length characters"; else refused "a namespace of $length characters"; fi
  try GET "/api/v1/namespaces/$(a $length)"
  if [[ $code == 200 ]]; then expect "is found by its whole name" "$(a $length)" "$(jq -r .metadata.name <<<"$answer")"; fi
  try GET "/api/v1/namespaces/$(a $length)/configmaps/kube-root-ca.crt"
  ((length <= 56)) || refused "and nothing in one of $length"
done
for length in 245 246 247 252 253 254; do
  for kind in /apis/rbac.authorization.k8s.io/v1/clusterroles /apis/scheduling.k8s.io/v1/priorityclasses /apis/storage.k8s.io/v1/storageclasses; do
    try POST $kind json '{"metadata":{"name":"'"$(a $length)"'"},"value":1,"provisioner":"example.com/none"}'
    if [[ $code == 2* ]]; then
      expect "$length characters stand upstream as a whole" "$evil-$(a $length)" "$(stored "$kind/$evil-$(a $length)" .metadata.name)"
    else
      refused "$length characters in $kind"
    fi
  done
done
for length in 45 52 58 63 200 240 253; do
  for kind in /api/v1/namespaces /apis/rbac.authorization.k8s.io/v1/clusterroles /apis/scheduling.k8s.io/v1/priorityclasses; do
    try POST $kind json '{"metadata":{"generateName":"'"$(a $length)"'"},"value":1}'
    [[ $code == 2* ]] || continue
    name=$(jq -r .metadata.name <<<"$answer")
    expect_match "generated from $length it begins as asked" '^a{20}' "$name"
    expect "and has the whole prefix" "$evil-$name" "$(stored "$kind/$evil-$name" .metadata.name)"
  done
done
for id in 222222 "$victim" "${evil%?}" "${evil}x"; do
  try POST /apis/rbac.authorization.k8s.io/v1/clusterroles json '{"metadata":{"generateName":"'"$id"'-"}}'
  accepted "a generated name that begins like a prefix"
  name=$(jq -r .metadata.name <<<"$answer")
  expect "is below the attacker's" "$evil-$name" "$(stored "/apis/rbac.authorization.k8s.io/v1/clusterroles/$evil-$name" .metadata.name)"
done
would "make what is cut" POST /apis/rbac.authorization.k8s.io/v1/clusterroles json '{"metadata":{"generateName":"'"$victim-$(a 100)"'"}}'
expect_match "of 107 characters 58 are left, and five of chance" "^$victim-a{51}[a-z0-9]{5}\$" "$(jq -r .metadata.name <<<"$answer")"
