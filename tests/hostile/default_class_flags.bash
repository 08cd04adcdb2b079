# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: to make its own StorageClass, IngressClass or PriorityClass the whole cluster's default.
# Without the fence: the victim's next claim, Ingress or pod would be the attacker's to provide for.
# Rule: the annotations are stored under another key, globalDefault in an annotation; patches are proven by result.
for kind in 'storage.k8s.io/v1/storageclasses storageclass.kubernetes.io/is-default-class "provisioner":"example.com/evil"' \
  'networking.k8s.io/v1/ingressclasses ingressclass.kubernetes.io/is-default-class "spec":{"controller":"example.com/evil"}'; do
  read -r classes key rest <<<"$kind"
  made "a class" POST "/apis/$classes" json '{"metadata":{"name":"evil","labels":{"a":"true"},"annotations":{"'"$key"'":"true"}},'"$rest"'}'
  fence() { stored "/apis/$classes/$evil-evil" '[.metadata.annotations // {} | keys[] | select(endswith("is-default-class") and (startswith("kept.") | not))] | length'; }
  expect "upstream has no default" 0 "$(fence)"
  after_each "/apis/$classes/evil" 0 <<P
merge {"metadata":{"annotations":{"$key":"true"}}}
merge {"metadata":{"annotations":{"${key/is-/\\u0069s-}":"true"}}}
strategic {"metadata":{"annotations":{"\$patch":"replace","$key":"true"}}}
patch [{"op":"add","path":"/metadata/annotations/${key//\//~1}","value":"true"}]
patch [{"op":"copy","from":"/metadata/labels/a","path":"/metadata/annotations/${key//\//~1}"}]
patch [{"op":"add","path":"/metadata/labels/${key//\//~1}","value":"true"},{"op":"copy","from":"/metadata/labels","path":"/metadata/annotations"}]
patch [{"op":"move","from":"/metadata/labels","path":"/metadata/annotations"}]
patch [{"op":"replace","path":"/metadata/annotations","value":{"$key":"true"}}]
P
done
made "the beta key" POST /apis/storage.k8s.io/v1/storageclasses json '{"metadata":{"name":"evil-beta","annotations":{"storageclass.beta.kubernetes.io/is-default-class":"true"}},"provisioner":"example.com/evil"}'
expect "neither" 0 "$(stored "/apis/storage.k8s.io/v1/storageclasses/$evil-evil-beta" '[.metadata.annotations // {} | keys[] | select(endswith("is-default-class") and (startswith("kept.") | not))] | length')"
would "make it everybody's default" POST /apis/storage.k8s.io/v1/storageclasses json '{"metadata":{"name":"'"$evil"'-direct","annotations":{"storageclass.kubernetes.io/is-default-class":"true"}},"provisioner":"example.com/evil"}'
would "make its class every Ingress's" POST /apis/networking.k8s.io/v1/ingressclasses json '{"apiVersion":"networking.k8s.io/v1","kind":"IngressClass","metadata":{"name":"'"$evil"'-direct","annotations":{"ingressclass.kubernetes.io/is-default-class":"true"}},"spec":{"controller":"example.com/evil"}}'
