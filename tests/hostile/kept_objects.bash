# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: to see, make, overwrite, empty, delete, adopt and mirror ConfigMap zoo-root-ca.crt and NetworkPolicy zoo-baseline, by every verb and encoding.
# Without the fence: a forged authority would have pods trust another API server, and a policy that went would open the tenant's network.
# Rule: both names are hidden in reads and refused in writes; lists and deletecollection ask upstream for all others; upstream's policy zoo-tenants-kept says so too.
terms '{"spec":{"guards":{"network":"isolated"}}}'
maps=/api/v1/namespaces/team/configmaps
policies=/apis/networking.k8s.io/v1/namespaces/team/networkpolicies
there_map=/api/v1/namespaces/$evil-team/configmaps/zoo-root-ca.crt
there_policy=/apis/networking.k8s.io/v1/namespaces/$evil-team/networkpolicies/zoo-baseline
eventually "the attacker's namespace is closed" 60 eval 'direct GET "$there_policy"; [[ $code == 200 ]]'
state() { stored "$there_map" '.metadata.uid, .data, .metadata.labels, .metadata.ownerReferences'; stored "$there_policy" '.metadata.uid, .spec, .metadata.labels'; }
before=$(state)

# ---- reads
for accept in application/json application/yaml application/vnd.kubernetes.protobuf 'application/json;as=Table;v=v1;g=meta.k8s.io' \
  'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io'; do
  for path in $maps/zoo-root-ca.crt $policies/zoo-baseline; do
    curl_more=(-H "Accept: $accept, application/json;q=0.1")
    try GET $path
    refused "$path is not there as ${accept:0:40}" 404
  done
done
for path in $maps $policies /api/v1/configmaps /apis/networking.k8s.io/v1/networkpolicies; do
  for query in '' '?limit=1' '?resourceVersion=0' '?fieldSelector=metadata.name%3Dzoo-root-ca.crt' '?fieldSelector=metadata.name%3D%3Dzoo-baseline' \
    '?fieldSelector=metadata.name!%3Dx,metadata.name!%3Dy' '?labelSelector=!x' '?watch=true&resourceVersion=0&timeoutSeconds=1' \
    '?watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3Dzoo-root-ca.crt' \
    '?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=1'; do
    for accept in application/json 'application/json;as=Table;v=v1;g=meta.k8s.io' 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io' application/vnd.kubernetes.protobuf; do
      [[ $accept == *protobuf && $query == *watch* ]] && continue
      [[ $accept == *MetadataList* && $query == *watch* ]] && accept='application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io'
      curl_more=(-H "Accept: $accept, application/json;q=0.1")
      try GET "$path$query"
      grep -aqE 'zoo-root-ca|zoo-baseline|remainingItemCount' <<<"$answer" && failed "$path$query as $accept" <<<"${answer:0:600}"
    done
  done
done
passed "no list, watch, Table or protobuf has one"
for path in /api/v1/watch/namespaces/team/configmaps/zoo-root-ca.crt /apis/networking.k8s.io/v1/watch/namespaces/team/networkpolicies/zoo-baseline; do
  try GET "$path?resourceVersion=0&timeoutSeconds=1"
  refused "nor the watch of old, $path" 404
done
for name in %7Aoo-root-ca.crt zoo%2Droot-ca.crt zoo-root-ca%2Ecrt zoo-root-ca.crt/ zoo-root-ca.crt/status zoo-root-ca.crt/scale; do
  try GET "$maps/$name"
  refused "nor in another spelling: $name" '40[045]'
done

# ---- writes by name
mine='{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"zoo-root-ca.crt"},"data":{"ca.crt":"mine"}}'
open='{"apiVersion":"networking.k8s.io/v1","kind":"NetworkPolicy","metadata":{"name":"zoo-baseline"},"spec":{"podSelector":{},"ingress":[{}]}}'
for each in "$maps zoo-root-ca.crt $mine" "$policies zoo-baseline $open"; do
  read -r path name body <<<"$each"
  try POST $path json "$body"
  refused "$name is not made" 403
  expect_match "in words" 'rule reserved-names' "$answer"
  try POST "$path?dryRun=All" json "$body"
  refused "nor for a trial" 403
  try POST $path yaml "$body"
  refused "nor in YAML" 403
  try PUT $path/$name json "$body"
  refused "nor put" 403
  for type in merge strategic; do
    try PATCH $path/$name $type '{"metadata":{"labels":{"a":"b"},"ownerReferences":null},"data":null,"spec":{"ingress":[{}]}}'
    refused "nor patched ($type)" 403
  done
  try PATCH $path/$name patch '[{"op":"add","path":"/metadata/labels","value":{"a":"b"}}]'
  refused "nor patched (RFC 6902)" 403
  try PATCH "$path/$name?fieldManager=zood&force=true" apply "$body"
  refused "nor applied, in zood's name" 403
  try PATCH "$path/$name?fieldManager=evil&force=true" apply "${body/\"name\":\"$name\"/\"name\":\"$name\",\"finalizers\":[\"evil/x\"]}"
  refused "nor held by a finalizer" 403
  for query in '' '?propagationPolicy=Orphan' '?dryRun=All'; do
    try DELETE "$path/$name$query"
    refused "nor deleted $query" 403
  done
  for sub in status scale finalize; do
    try PATCH $path/$name/$sub merge '{}'
    refused "nor by $sub" '40[345]'
  done
  # ---- by another name
  try POST $path json "${body/\"name\":\"$name\"/\"generateName\":\"${name:0:8}\"}"
  expect_no_match "a name that upstream makes is another one" "\"name\":\"$name\"" "$answer"
  try POST $path json "${body/\"name\":\"$name\"/\"name\":\"innocent\",\"name\":\"$name\"}"
  refused "two names are one too many" '4..'
  try POST $path json "${body/\"name\":\"$name\"/\"name\":\"${name:0:2}\\u006f${name:3}\"}"
  refused "nor is it made in another spelling" 403
  try POST $path json "${body/\"name\":\"$name\"/\"name\":\"evil-innocent\"}"
  accepted "another object is"
  for type in merge apply; do
    try PATCH "$path/evil-innocent?fieldManager=evil&force=true" $type "${body}"
    refused "which does not become it ($type)" '4..'
  done
  try PATCH $path/evil-innocent patch '[{"op":"replace","path":"/metadata/name","value":"'$name'"}]'
  refused "nor by a patch" '4..'
done

# ---- many at once
for query in '' '?fieldSelector=metadata.name%3Dzoo-root-ca.crt' '?fieldSelector=metadata.name%3Dzoo-baseline' '?fieldSelector=metadata.name!%3Dx' '?labelSelector=!x' '?limit=1' \
  '?fieldSelector=metadata.name!%3Dzoo-root-ca.crt,metadata.name%3Dzoo-root-ca.crt' '?gracePeriodSeconds=0&propagationPolicy=Background'; do
  for path in $maps $policies; do
    try DELETE "$path$query"
    expect_no_match "a collection goes without them: $path$query" 'zoo-root-ca|zoo-baseline' "$answer"
  done
done

# ---- who owns whom
uid=$(stored "$there_map" .metadata.uid)
made "an object that calls itself its child" POST $maps json '{"metadata":{"name":"evil-child","ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"zoo-root-ca.crt","uid":"'"$uid"'","controller":true,"blockOwnerDeletion":true}]}}'
try DELETE $maps/evil-child
accepted "goes alone"

# ---- what kube-root-ca.crt says is upstream's and zood's
try PATCH $maps/kube-root-ca.crt merge '{"data":{"ca.crt":"mine"}}'
authority_is_back() { [[ $(upstream -n "$evil-team" get configmap kube-root-ca.crt -o 'jsonpath={.data.ca\.crt}') == *BEGIN* ]]; }
eventually "upstream's controller writes its own authority again" 60 authority_is_back
try GET $maps/kube-root-ca.crt
expect_no_match "and the tenant reads zood's" mine "$answer"

expect "both are as they were" "$before" "$(state)"
would "empty the authorities" DELETE "$there_map"
would "open the network" DELETE "$there_policy"
