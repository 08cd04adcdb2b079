# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: JSON that two readers understand differently: a mark of byte order, comments, what stands behind the end, lone
# surrogates, broken UTF-8, large numbers, deep nesting, keys escaped and given twice.
# Without the fence: zood proves what one reader sees and upstream stores what the other does.
# Rule: strict RFC 8259, one value; keys are compared unescaped; a key twice at or above a rule is refused.
configmaps=/api/v1/namespaces/team/configmaps
foreign='"namespace":"'$victim-team'"'
deep=$(printf '[%.0s' {1..12000})
for body in $'\xef\xbb\xbf{"metadata":{"name":"evil-a",'"$foreign"'}}' '{"metadata":{"name":"evil-b"}/*,'"$foreign"'*/}' '{"metadata":{"name":"evil-c"}}{"metadata":{'"$foreign"'}}' \
  '{"metadata":{"name":"evil-d"}} x' '{"metadata":{"name":"evil-e",},}' "{'metadata':{'name':'evil-f'}}" '{"metadata":{"name":"evil-g","namespace":NaN}}' '{"metadata":{"name":"evil-h","namespace":"team"'$'\xff''"}}' \
  '{"metadata":{"name":"evil-i","namespace":"\ud800'"$victim"'"}}' '{"metadata":{"name":"evil-j","namespace":"'"$victim"'-te\u0061m"}}' '{"metadata":{"name":"evil-k","n\u0061mespace":"'"$victim-team"'"}}' \
  '{"metadata":{"name":"evil-l","namespace":"team",'"$foreign"'}}' '{"metadata":{"name":"evil-m",'"$foreign"',"namespace":"team"}}' '{"metadata":{"name":"evil-n"},"metadata":{'"$foreign"'}}' \
  '{"metadata":{'"$foreign"'},"metadata":{"name":"evil-o","namespace":"team"}}' '{"metadat\u0061":{'"$foreign"'},"metadata":{"name":"evil-p"}}' '{"metadata":{"name":"evil-q","namespace":1e400}}' \
  '{"metadata":{"name":"evil-r","namespace":["team"]}}' '{"metadata":{"name":"evil-s","namespace":{"a":"b"}}}' '{"metadata":["name"]}' '{"metadata":"evil"}' '[]' '"evil"' 'null' '' ' ' '{' \
  '{"metadata":{"name":"evil-t"},"x":'"$deep" '{"metadata":{"name":"evil-u"},"x":"'$'\x01''"}' $'{"metadata":{"name":"evil\n-v"}}' '{"metadata":{"name":"evil-w","resourceVersion":"0x1"}}'; do
  try POST $configmaps json "$body"
  if [[ $code == 2* ]]; then
    name=$(jq -r .metadata.name <<<"$answer")
    expect "${body:0:60}: it lies in the attacker's namespace" "$evil-team" "$(stored "/api/v1/namespaces/$evil-team/configmaps/$name" .metadata.namespace)"
  else
    refused "${body:0:60}"
  fi
done
for type in 'text/plain' 'application/json;charset=utf-16' 'application/x-www-form-urlencoded' 'multipart/form-data; boundary=x' 'application/vnd.kubernetes.protobuf' 'application/cbor' '*/*' 'application/json, application/yaml' 'application/yaml;application/json' ' ' 'APPLICATION/JSON'; do
  try POST $configmaps "$type" '{"metadata":{"name":"evil-type",'"$foreign"'}}'
  refused "a foreign namespace as $type" '4..'
done
curl_more=(-H 'Content-Type: application/json' -H 'Content-Type: application/yaml' --data-binary '{"metadata":{"name":"evil-two",'"$foreign"'}}')
try POST $configmaps
refused "of two types" '4..'
expect "nothing came to the victim" 0 "$(stored "/api/v1/namespaces/$victim-team/configmaps" '[.items[].metadata.name | select(startswith("evil"))] | length')"
would "read an escaped key" POST "/api/v1/namespaces/$victim-team/configmaps" json '{"met\u0061data":{"n\u0061me":"evil-direct","namespace":"'"$victim-team"'"}}'
