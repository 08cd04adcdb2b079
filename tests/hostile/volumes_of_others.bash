# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: PersistentVolumes of its own making, claims of the victim's volumes, changes to what was provisioned.
# Without the fence: a volume of hostPath is the node; a volume of another's handle or claim is another's data.
# Rule: tenants make no volumes of a node's directories; claimRef and volumeName are the tenant's own.
volumes=/api/v1/persistentvolumes
# Of a claim that is not there: upstream's controller would bind it to the one that is, and so touch the victim itself.
direct POST $volumes json '{"metadata":{"name":"'"pvc-$victims_uid"'"},"spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],"storageClassName":"none","persistentVolumeReclaimPolicy":"Retain","csi":{"driver":"example.com","volumeHandle":"'"$canary"'"},"claimRef":{"namespace":"'"$victim-team"'","name":"'"$vault-gone"'"}}}'
accepted "the victim has a volume"
affinity='"nodeAffinity":{"required":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"kubernetes.io/hostname","operator":"Exists"}]}]}}'
for source in '"hostPath":{"path":"/"}' '"host\u0050ath":{"path":"/"}' '"hostPath":{"p\u0061th":"/"}' '"local":{"path":"/"},'"$affinity"; do
  try POST $volumes json '{"metadata":{"name":"evil"},"spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],"claimRef":{"namespace":"'"$victim-team"'","name":"'"$vault"'"},'"$source"'}}'
  refused "a volume of ${source:0:20}"
done
for name in "pvc-$victims_uid" "$victim-x"; do
  for request in "GET $volumes/$name" "DELETE $volumes/$name" "PATCH $volumes/$name merge {\"spec\":{\"claimRef\":{\"namespace\":\"team\",\"name\":\"evil\"}}}" "PATCH $volumes/$name/status merge {\"status\":{\"phase\":\"Available\"}}" \
    "PUT $volumes/$name json {\"metadata\":{\"name\":\"$name\"},\"spec\":{\"capacity\":{\"storage\":\"1Gi\"},\"accessModes\":[\"ReadWriteOnce\"]}}"; do
    read -r method path type body <<<"$request"
    try "$method" "$path" "$type" "$body"
    refused "$method $path" '[45]..'
  done
done
try GET $volumes
expect_no_match "it is not listed" "$canary" "$answer"
try DELETE $volumes
try POST /api/v1/namespaces/team/persistentvolumeclaims json '{"metadata":{"name":"evil-take"},"spec":{"storageClassName":"none","volumeName":"pvc-'"$victims_uid"'","accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}'
try GET /api/v1/namespaces/team/persistentvolumeclaims/evil-take
expect_no_match "claimed it is not bound" '"phase": ?"Bound"' "$answer"
try GET "$volumes/pvc-$victims_uid"
refused "nor seen by who claims it"
try GET $volumes
expect_no_match "nor listed then" "$canary" "$answer"
expect "the volume is as it was" "$victim-team $vault-gone" "$(stored "$volumes/pvc-$victims_uid" '.spec.claimRef.namespace + " " + .spec.claimRef.name')"
would "give the volume to another's claim" PATCH "$volumes/pvc-$victims_uid" merge '{"spec":{"claimRef":{"namespace":"'"$evil-team"'","name":"evil-take"}}}'
expect "which is the attacker's" "$evil-team evil-take" "$(jq -r '.spec.claimRef.namespace + " " + .spec.claimRef.name' <<<"$answer")"
would "make a volume of a node for the victim's claim" POST $volumes json '{"metadata":{"name":"evil"},"spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],"claimRef":{"namespace":"'"$victim-team"'","name":"'"$vault-gone"'"},"hostPath":{"path":"/"}}}'
would "delete the volume" DELETE "$volumes/pvc-$victims_uid"
direct DELETE "$volumes/pvc-$victims_uid"
