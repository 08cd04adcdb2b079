# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: on a platform whose tenants share an IngressClass, rules for the victim's host and for all hosts.
# Without the fence: the controller of the class sends the victim's visitors, and their cookies, to the attacker's pods.
# Rule: guards.ingress_hosts: patterns of hosts; rules without host and default backends are refused then, too.
ingresses=/apis/networking.k8s.io/v1/namespaces/team/ingresses
ingress() { printf '{"apiVersion":"networking.k8s.io/v1","kind":"Ingress","metadata":{"name":"%s"},"spec":{%s}}' "$1" "$2"; }
backend='"service":{"name":"s","port":{"number":1}}'
rule() { printf '"rules":[{"host":"%s","http":{"paths":[{"path":"/","pathType":"Prefix","backend":{%s}}]}}]' "$1" "$backend"; }
theirs=www.$victim.example.com
said "$theirs" # who knows the ID knows the host
terms '{"spec":{"guards":{"ingressHosts":["*.{tenant}.example.com"]}}}'
own() {
  try POST $ingresses json "$(ingress evil-own "$(rule "www.$evil.example.com")")"
  refused_others=$code
  try POST $ingresses json "$(ingress evil-probe "$(rule other.example.com)")"
  [[ $refused_others =~ ^(201|409)$ && $code == 403 ]]
}
eventually "hosts of its own alone" 30 own
while read -r what spec; do
  spec=${spec//THEIRS/$theirs} spec=${spec//MINE/www.$evil.example.com} spec=${spec//ID/$evil} spec=${spec//BACKEND/$backend}
  would "$what" POST "/apis/networking.k8s.io/v1/namespaces/$evil-team/ingresses" json "$(ingress evil-x "$spec")"
  try POST $ingresses json "$(ingress evil-x "$spec")"
  refused "$what" '400|403|422'
  try PATCH "$ingresses/evil-x?fieldManager=e" apply "$(ingress evil-x "$spec")"
  refused "$what by an apply" '4..'
  try PATCH $ingresses/evil-own merge "{\"spec\":{$spec}}"
  refused "$what by a merge patch" '4..'
  try PUT $ingresses/evil-own json "$(ingress evil-own "$spec")"
  refused "$what by an update" '4..'
done <<'S'
the-victims-host "rules":[{"host":"THEIRS","http":{"paths":[{"path":"/","pathType":"Prefix","backend":{BACKEND}}]}}]
behind-its-own "rules":[{"host":"MINE"},{"host":"THEIRS","http":{"paths":[{"path":"/","pathType":"Prefix","backend":{BACKEND}}]}}]
all-hosts "rules":[{"http":{"paths":[{"path":"/","pathType":"Prefix","backend":{BACKEND}}]}}]
a-wildcard "rules":[{"host":"*.example.com","http":{"paths":[{"path":"/","pathType":"Prefix","backend":{BACKEND}}]}}]
a-lone-backend "defaultBackend":{BACKEND}
a-backend-beside-rules "defaultBackend":{BACKEND},"rules":[{"host":"MINE","http":{"paths":[{"path":"/","pathType":"Prefix","backend":{BACKEND}}]}}]
a-certificate "tls":[{"hosts":["THEIRS"],"secretName":"s"}],"rules":[{"host":"MINE","http":{"paths":[{"path":"/","pathType":"Prefix","backend":{BACKEND}}]}}]
a-suffix "rules":[{"host":"xID.example.com","http":{"paths":[{"path":"/","pathType":"Prefix","backend":{BACKEND}}]}}]
S
for host in "\\u0077ww.$victim.example.com" "www.$evil.example.com.evil.org" "$evil.example.com" "WWW.$victim.EXAMPLE.com" "www.$victim.example.com."; do
  try POST $ingresses json "$(ingress evil-y "$(rule "$host")")"
  refused "host $host" '400|403|422'
done
try PATCH $ingresses/evil-own patch '[{"op":"add","path":"/metadata/annotations","value":{"h":"'"$theirs"'"}},{"op":"copy","from":"/metadata/annotations/h","path":"/spec/rules/0/host"}]'
refused "copied from an annotation"
try PATCH $ingresses/evil-own patch '[{"op":"remove","path":"/spec/rules/0/host"}]'
refused "its host removed"
try PATCH $ingresses/evil-own strategic '{"spec":{"$patch":"replace","defaultBackend":{'"$backend"'}}}'
refused "its rules replaced" '4..'
expect "its own rule stands as it was" "www.$evil.example.com" "$(stored "/apis/networking.k8s.io/v1/namespaces/$evil-team/ingresses/evil-own" '[.spec.rules[].host] | join(" ")')"
expect "and nothing else" evil-own "$(stored "/apis/networking.k8s.io/v1/namespaces/$evil-team/ingresses" '[.items[].metadata.name] | join(" ")')"
