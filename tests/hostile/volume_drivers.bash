# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: PersistentVolumes of every sort of storage with a handle of its choice, CSI drivers in odd spellings, changes of
# the source afterwards.
# Without the fence: a handle, an NFS export or an image name is another tenant's disk.
# Rule: guards.volume_drivers, empty unless the platform says otherwise: volumes come from claims and StorageClasses.
volumes=/api/v1/persistentvolumes
volume() { printf '{"metadata":{"name":"%s"},"spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],"storageClassName":"none",%s}}' "$1" "$2"; }
while read -r what source; do
  would "make a volume of $what" POST $volumes json "$(volume "$evil-evil" "$source")"
  try POST $volumes json "$(volume evil "$source")"
  refused "a volume of $what" '403|422'
  expect_match "$what: and says what to do" 'PersistentVolumeClaim|not allowed|forbidden|rule' "$answer"
done <<'S'
csi "csi":{"driver":"disk.example.com","volumeHandle":"vol-of-the-victim"}
csi-escaped "c\u0073i":{"driver":"disk.example.com","volumeHandle":"vol"}
nfs "nfs":{"server":"10.0.0.1","path":"/"}
iscsi "iscsi":{"targetPortal":"10.0.0.1:3260","iqn":"iqn.2001-04.com.example:storage","lun":0}
fc "fc":{"targetWWNs":["50060e801049cfd1"],"lun":0}
flex "flexVolume":{"driver":"example.com/x"}
S
try POST $volumes json "$(volume evil '"nothing":{}')"
refused "a volume of nothing"
terms '{"spec":{"guards":{"volumeDrivers":["disk.example.com"]}}}'
allowed() {
  try POST $volumes json "$(volume evil-own '"csi":{"driver":"disk.example.com","volumeHandle":"mine"}')"
  [[ $code == 201 ]]
}
eventually "with one driver allowed" 30 allowed
for source in '"csi":{"driver":"DISK.example.com","volumeHandle":"v"}' '"csi":{"driver":"disk.example.com.evil","volumeHandle":"v"}' '"csi":{"driver":"other.example.com","driver":"disk.example.com","volumeHandle":"v"}' \
  '"csi":{"driver":"disk.example.com","volumeHandle":"v"},"csi":{"driver":"other.example.com"}' '"nfs":{"server":"10.0.0.1","path":"/"}'; do
  try POST $volumes json "$(volume evil-other "$source")"
  refused "no other one: $source" '400|403|422'
done
try PATCH $volumes/evil-own merge '{"spec":{"csi":{"driver":"other.example.com","volumeHandle":"v"}}}'
expect "nor afterwards" "disk.example.com mine" "$(stored "$volumes/$evil-evil-own" '.spec.csi | .driver + " " + .volumeHandle')"
try PATCH $volumes/evil-own merge '{"spec":{"csi":{"nodePublishSecretRef":{"name":"'"$vault"'","namespace":"'"$victim-team"'"}}}}'
expect_no_match "its secrets are its own" "^$victim" "$(stored "$volumes/$evil-evil-own" '.spec.csi.nodePublishSecretRef.namespace // "none"')"
try POST $volumes json "$(volume evil-secret '"csi":{"driver":"disk.example.com","volumeHandle":"w","nodePublishSecretRef":{"name":"'"$vault"'","namespace":"'"$victim-team"'"}}')"
expect_no_match "from the beginning" "^$victim" "$(stored "$volumes/$evil-evil-secret" '.spec.csi.nodePublishSecretRef.namespace // "none"')"
for name in evil-own evil-secret; do try DELETE $volumes/$name; done
