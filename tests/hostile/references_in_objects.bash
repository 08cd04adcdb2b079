# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: the fields in which names of namespaces and cluster-scoped objects hide: classes' parameters, secrets of volumes, the
# claims of resources, snapshots, sources of data, service accounts, owners of volumes.
# Without the fence: an object of one's own names the victim's, and a controller of the platform resolves it.
# Rule: each such field has a rule in the table: prefixed inward, or refused.
foreign() { stored "$1" '[.. | strings | select(startswith("'"$victim"'-") or . == "'"$victim-team"'")] | length'; }
tried() { # WHAT TENANT'S-PATH UPSTREAM'S-PATH BODY
  try POST "$2" json "$4"
  if [[ $code == 2* ]]; then
    expect "$1 names nothing of the victim's" 0 "$(foreign "$3")"
  else
    refused "$1"
  fi
}
holds_nothing_foreign() { # the same, of what upstream itself lets name the victim's
  tried "$@"
  would "let $1 name the victim's" POST "${3%/*}" json "$(jq -c '.metadata.name += "-direct"' <<<"$4")"
  expect_match "in it" "\"$victim-(team|$vault|vaults)" "$(jq -c 'del(.metadata)' <<<"$answer")"
}
holds_nothing_foreign "an IngressClass's parameters" /apis/networking.k8s.io/v1/ingressclasses "/apis/networking.k8s.io/v1/ingressclasses/$evil-evil" '{"metadata":{"name":"evil"},"spec":{"controller":"example.com/x","parameters":{"scope":"Namespace","namespace":"'"$victim-team"'","kind":"ConfigMap","name":"'"$vault"'"}}}'
for field in nodePublishSecretRef nodeStageSecretRef controllerPublishSecretRef controllerExpandSecretRef nodeExpandSecretRef; do
  holds_nothing_foreign "a volume's $field" /api/v1/persistentvolumes "/api/v1/persistentvolumes/$evil-evil-${field,,}" '{"metadata":{"name":"evil-'"${field,,}"'"},"spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],"csi":{"driver":"example.com","volumeHandle":"x","'"$field"'":{"name":"'"$vault"'","namespace":"'"$victim-team"'"}}}}'
done
for source in '"azureFile":{"shareName":"x","secretName":"'"$vault"'","secretNamespace":"'"$victim-team"'"}' '"cephfs":{"monitors":["1.2.3.4"],"secretRef":{"name":"'"$vault"'","namespace":"'"$victim-team"'"}}' '"iscsi":{"targetPortal":"1.2.3.4","iqn":"iqn.2001-04.com.example:x","lun":0,"chapAuthDiscovery":true,"secretRef":{"name":"'"$vault"'","namespace":"'"$victim-team"'"}}' \
  '"rbd":{"monitors":["1.2.3.4"],"image":"x","secretRef":{"name":"'"$vault"'","namespace":"'"$victim-team"'"}}' '"scaleIO":{"gateway":"x","system":"x","volumeName":"x","secretRef":{"name":"'"$vault"'","namespace":"'"$victim-team"'"}}' '"storageos":{"volumeName":"x","secretRef":{"kind":"Secret","name":"'"$vault"'","namespace":"'"$victim-team"'"}}' '"glusterfs":{"endpoints":"x","path":"/","endpointsNamespace":"'"$victim-team"'"}' '"flexVolume":{"driver":"example.com/x","secretRef":{"name":"'"$vault"'","namespace":"'"$victim-team"'"}}'; do
  kind=${source%%:*}
  kind=${kind//\"/}
  holds_nothing_foreign "a volume of $kind" /api/v1/persistentvolumes "/api/v1/persistentvolumes/$evil-evil-${kind,,}" '{"metadata":{"name":"evil-'"${kind,,}"'"},"spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],"claimRef":{"namespace":"'"$victim-team"'","name":"'"$vault"'"},'"$source"'}}'
done
# An account of another namespace upstream itself refuses.
tried "a pod's account" /api/v1/namespaces/team/pods "/api/v1/namespaces/$evil-team/pods/evil-account" '{"metadata":{"name":"evil-account"},"spec":{"serviceAccountName":"'"$victim-team:$vault"'","containers":[{"name":"c","image":"x"}]}}'
holds_nothing_foreign "a pod's classes" /api/v1/namespaces/team/pods "/api/v1/namespaces/$evil-team/pods/evil-class" '{"metadata":{"name":"evil-class"},"spec":{"runtimeClassName":"'"$victim-$vault"'","priorityClassName":"'"$victim-$vault"'","containers":[{"name":"c","image":"x"}]}}'
holds_nothing_foreign "a claim's class" /api/v1/namespaces/team/persistentvolumeclaims "/api/v1/namespaces/$evil-team/persistentvolumeclaims/evil-class" '{"metadata":{"name":"evil-class"},"spec":{"storageClassName":"'"$victim-$vault"'","accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}'
holds_nothing_foreign "a resource claim" /apis/resource.k8s.io/v1/namespaces/team/resourceclaims "/apis/resource.k8s.io/v1/namespaces/$evil-team/resourceclaims/evil" '{"metadata":{"name":"evil"},"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"'"$victim-$vault"'"}}]}}}'
holds_nothing_foreign "a quota's scope" /api/v1/namespaces/team/resourcequotas "/api/v1/namespaces/$evil-team/resourcequotas/evil" '{"metadata":{"name":"evil"},"spec":{"hard":{"'"$victim-$vault"'.storageclass.storage.k8s.io/requests.storage":"1"},"scopeSelector":{"matchExpressions":[{"scopeName":"PriorityClass","operator":"In","values":["'"$victim-$vault"'"]}]}}}'
holds_nothing_foreign "a binding's role" /apis/rbac.authorization.k8s.io/v1/namespaces/team/rolebindings "/apis/rbac.authorization.k8s.io/v1/namespaces/$evil-team/rolebindings/evil" '{"metadata":{"name":"evil"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"'"$victim-$vault"'"},"subjects":[{"kind":"ServiceAccount","name":"'"$vault"'","namespace":"'"$victim-team"'"}]}'
holds_nothing_foreign "an autoscaler" /apis/autoscaling/v2/namespaces/team/horizontalpodautoscalers "/apis/autoscaling/v2/namespaces/$evil-team/horizontalpodautoscalers/evil" '{"metadata":{"name":"evil"},"spec":{"maxReplicas":1,"scaleTargetRef":{"kind":"Safe","name":"'"$vault"'","apiVersion":"'"$victim"'-vaults.example.com/v1"}}}'
made "a class with parameters" POST /apis/storage.k8s.io/v1/storageclasses json '{"metadata":{"name":"evil-p"},"provisioner":"example.com/x","parameters":{"csi.storage.k8s.io/provisioner-secret-namespace":"'"$victim-team"'","csi.storage.k8s.io/provisioner-secret-name":"'"$vault"'","secretNamespace":"'"$victim-team"'","adminSecretNamespace":"'"$victim-team"'"}}'
expect "none of them is the victim's" 0 "$(foreign "/apis/storage.k8s.io/v1/storageclasses/$evil-evil-p")"
would "let a class hand out the victim's Secret" POST /apis/storage.k8s.io/v1/storageclasses json '{"metadata":{"name":"evil-p"},"provisioner":"example.com/x","parameters":{"csi.storage.k8s.io/provisioner-secret-namespace":"'"$victim-team"'","csi.storage.k8s.io/provisioner-secret-name":"'"$vault"'"}}'
