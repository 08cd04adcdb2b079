# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: many writes at the same moment for the last places under a ceiling: node ports, load balancers, objects, bytes,
# namespaces, definitions, webhook configurations, admission policies; creates, applies and patches mixed, with and without generateName.
# Without the fence: two writes that both see one free place take two; a platform's node ports are 2,768 for all.
# Rule: a write has its room before it leaves (docs/decisions/121-ceilings.md).
# race COUNT COMMAND: all at once, over connections of their own; $n is which. Their codes are left in $codes.
race() {
  local count=$1 n pids=()
  rm -f "$TMPDIR"/race.*
  for ((n = 1; n <= count; ++n)); do
    request "$n" >"$TMPDIR/race.$n" 2>&1 &
    pids+=($!)
  done
  wait "${pids[@]}"
  codes=$(cat "$TMPDIR"/race.*)
  exchanges=$((exchanges + count))
}
who=$evil where=https://$zood_address
ask() { # METHOD PATH TYPE BODY
  curl -s --max-time 60 --cacert "$TMPDIR/$who.ca" --cert "$TMPDIR/$who.crt" --key "$TMPDIR/$who.key" -o /dev/null -w '%{http_code}\n' -X "$1" \
    -H "Content-Type: ${media_types[$3]}" -d "$4" "$where$2"
}
service() { printf '{"apiVersion":"v1","kind":"Service","metadata":{%s},"spec":{"type":"%s","ports":[{"port":1}]}}' "$1" "$2"; }
services=/api/v1/namespaces/team/services
held() { # WHAT: what is used of it, as zooctl top says
  ctl top "$evil" -o json | jq -r '.items[0].usage.quota["'"$1"'"].limit // empty'
}
limit() { # WHAT LIMIT
  terms '{"spec":{"quota":{"'"$1"'":'"$2"'}}}'
  stands() { [[ "$(held "$1")" == "$2" ]]; }
  eventually "a ceiling of $2 $1" 30 stands "$1" "$2"
}

for ((n = 1; n <= 4; ++n)); do made "a Service of the cluster" POST $services json "$(service "\"name\":\"evil-inside-$n\"" ClusterIP)"; done
limit services.nodeports 3
request() {
  case $(($1 % 3)) in
  0) ask POST $services json "$(service '"generateName":"evil-g-"' NodePort)" ;;
  1) ask PATCH "$services/evil-n-$1?fieldManager=e&force=true" apply "$(service "\"name\":\"evil-n-$1\"" NodePort)" ;;
  2) if (($1 <= 12)); then ask PATCH "$services/evil-inside-$(($1 / 3 + 1))" merge '{"spec":{"type":"NodePort"}}'; else ask POST $services json "$(service "\"name\":\"evil-n-$1\"" NodePort)"; fi ;;
  esac
}
race 18
expect "of 18 node ports at once exactly 3 stand" 3 "$(stored "/api/v1/namespaces/$evil-team/services" '[.items[].spec.ports[]? | select(.nodePort)] | length')"
expect "and 3 writes were answered so" 3 "$(grep -c '^20' <<<"$codes")"
expect_no_match "the others were refused" '^(5..|000)$' "$codes"
limit services.loadbalancers 1
request() { ask POST $services json "$(service "\"name\":\"evil-l-$1\"" LoadBalancer | sed 's/"type"/"allocateLoadBalancerNodePorts":false,"type"/')"; }
race 8
expect "of 8 load balancers one" 1 "$(stored "/api/v1/namespaces/$evil-team/services" '[.items[] | select(.spec.type == "LoadBalancer")] | length')"
limit namespaces 3 # team is one
request() { ask POST /api/v1/namespaces json '{"metadata":{"name":"evil-'"$1"'"}}'; }
race 8
expect "of 8 namespaces two" 2 "$(stored "/api/v1/namespaces" '[.items[].metadata.name | select(startswith("'"$evil"'-evil-"))] | length')"
limit customresourcedefinitions 2
definitions=/apis/apiextensions.k8s.io/v1/customresourcedefinitions
definition() { printf '{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"%s.evil.example.com"},"spec":{"group":"evil.example.com","scope":"Namespaced","names":{"plural":"%s","singular":"%s","kind":"%s","listKind":"%sList"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}' "$1" "$1" "$1" "${1^}" "${1^}"; }
request() {
  if (($1 % 2)); then ask POST $definitions json "$(definition "evils$1")"; else ask PATCH "$definitions/evils$1.evil.example.com?fieldManager=e" apply "$(definition "evils$1")"; fi
}
race 8
expect "of 8 definitions two" 2 "$(stored $definitions '[.items[].metadata.name | select(contains("evil.example.com") and contains("'"$evil"'"))] | length')"
expect_no_match "definitions: the others were refused" '^(5..|000)$' "$codes"
limit webhooks 2
admission=/apis/admissionregistration.k8s.io/v1
webhooks() { printf '{"apiVersion":"admissionregistration.k8s.io/v1","kind":"%sWebhookConfiguration","metadata":{"name":"evil-%s"},"webhooks":[]}' "$1" "$2"; }
request() {
  case $(($1 % 3)) in
  0) ask POST $admission/validatingwebhookconfigurations json "$(webhooks Validating "$1")" ;;
  1) ask POST $admission/mutatingwebhookconfigurations json "$(webhooks Mutating "$1")" ;;
  2) ask PATCH "$admission/mutatingwebhookconfigurations/evil-$1?fieldManager=e" apply "$(webhooks Mutating "$1")" ;;
  esac
}
race 9
mine='[.items[].metadata.name | select(startswith("'"$evil"'-evil-"))] | length'
expect "of 9 webhook configurations two" 2 "$(($(stored $admission/validatingwebhookconfigurations "$mine") + $(stored $admission/mutatingwebhookconfigurations "$mine")))"
expect_no_match "configurations: the others were refused" '^(5..|000)$' "$codes"
limit policies 3
policy() { printf '{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicy","metadata":{"name":"evil-%s"},"spec":{"matchConstraints":{"resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["configmaps"]}]},"validations":[{"expression":"true"}]}}' "$1"; }
binding() { printf '{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicyBinding","metadata":{"name":"evil-%s"},"spec":{"policyName":"evil-1","validationActions":["Deny"]}}' "$1"; }
request() {
  case $(($1 % 3)) in
  0) ask POST $admission/validatingadmissionpolicies json "$(policy "$1")" ;;
  1) ask PATCH "$admission/validatingadmissionpolicies/evil-$1?fieldManager=e" apply "$(policy "$1")" ;;
  2) ask POST $admission/validatingadmissionpolicybindings json "$(binding "$1")" ;;
  esac
}
race 9
expect "of 9 policies and bindings three" 3 "$(($(stored $admission/validatingadmissionpolicies "$mine") + $(stored $admission/validatingadmissionpolicybindings "$mine")))"
expect_no_match "policies: the others were refused" '^(5..|000)$' "$codes"

# What upstream's controllers and zood make in the two new namespaces comes first: two ConfigMaps and a ServiceAccount in each.
made_all() { [[ "$(stored "/api/v1/configmaps" '[.items[] | select(.metadata.namespace | startswith("'"$evil"'-evil-"))] | length')" == 4 && "$(stored /api/v1/serviceaccounts '[.items[] | select(.metadata.namespace | startswith("'"$evil"'-evil-"))] | length')" == 2 ]]; }
eventually "the controllers are done" 120 made_all
limit objects 100000
try POST /api/v1/namespaces/team/configmaps json '{"metadata":{"name":"evil-counts"}}'
accepted "one is counted"
used=$(ctl top "$evil" -o json | jq -r '.items[0].usage.quota.objects.used')
limit objects $((used + 5))
request() { ask POST "/api/v1/namespaces/team/$( (($1 % 2)) && echo configmaps || echo secrets)" json '{"metadata":{"generateName":"evil-o-"}}'; }
race 16
expect "of 16 objects exactly 5" 5 "$(($(stored "/api/v1/namespaces/$evil-team/configmaps" '[.items[] | select(.metadata.name | startswith("evil-o-"))] | length') + $(stored "/api/v1/namespaces/$evil-team/secrets" '[.items[] | select(.metadata.name | startswith("evil-o-"))] | length')))"
terms '{"spec":{"quota":{"objects":null,"bytes":1073741824}}}'
try POST /api/v1/namespaces/team/configmaps json '{"metadata":{"name":"evil-weighs"}}'
accepted "bytes are counted"
weighed() { [[ "$(ctl top "$evil" -o json | jq -r '.items[0].usage.quota.bytes.used // empty')" -gt 1000 ]]; }
eventually "and known" 30 weighed
used=$(ctl top "$evil" -o json | jq -r '.items[0].usage.quota.bytes.used')
limit bytes $((used + 35000))
text=$(head -c 10000 /dev/zero | tr '\0' x)
request() { ask POST /api/v1/namespaces/team/configmaps json '{"metadata":{"name":"evil-b-'"$1"'"},"data":{"x":"'"$text"'"}}'; }
race 12
expect "of 12 objects of 10 KB 3 find room" 3 "$(stored "/api/v1/namespaces/$evil-team/configmaps" '[.items[] | select(.metadata.name | startswith("evil-b-"))] | length')"
weight() { ctl top "$evil" -o json | jq -r '.items[0].usage.quota.bytes.used'; }
note "$(weight) bytes are stored of $((used + 35000)): what upstream adds to writes under way is known when it has answered"
expect_no_match "nobody was told nonsense" '^(5..|000)$' "$codes"
# However a media type is spelled.
terms '{"spec":{"quota":{"namespaces":3}}}'
for spelling in application/Apply-Patch+yaml 'APPLICATION/APPLY-PATCH+YAML; charset=utf-8'; do
  for n in 1 2 3 4; do try PATCH "/api/v1/namespaces/evil-spelled-$n?fieldManager=e" "$spelling" '{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"evil-spelled-'"$n"'"}}'; done
  refused "a namespace more, as $spelling" '403|415'
done
expect "three there are" true "$(stored "/api/v1/namespaces?labelSelector=tenant.kubezoo.io/id%3D$evil" '[.items[].metadata.name | select(test("-(default|kube-system|kube-public|kube-node-lease)$") | not)] | length <= 3')"
# Upstream itself knows none of these ceilings: of as many at once all stand.
who=upstream where=$upstream_server
request() { ask POST "/api/v1/namespaces/$evil-team/services" json "$(service '"generateName":"evil-g-"' NodePort)"; }
race 8
expect "upstream itself would: 8 node ports beyond the 3" '201 8' "$(sort <<<"$codes" | uniq -c | awk '{ print $2, $1 }')"
would "take a load balancer more" POST "/api/v1/namespaces/$evil-team/services" json "$(service '"name":"evil-l-more"' LoadBalancer)"
would "take a namespace more" POST /api/v1/namespaces json '{"metadata":{"name":"'"$evil-evil-more"'"}}'
would "take a definition more" POST $definitions json "$(definition evilsmore)"
would "take a webhook configuration more" POST $admission/mutatingwebhookconfigurations json "$(webhooks Mutating "$evil-more")"
would "take a policy more" POST $admission/validatingadmissionpolicies json "$(policy "$evil-more")"
would "take an object and its bytes more" POST "/api/v1/namespaces/$evil-team/configmaps" json '{"metadata":{"name":"evil-b-more"},"data":{"x":"'"$text"'"}}'
direct DELETE "/api/v1/namespaces/$evil-team/services"
accepted "what stood is removed"
