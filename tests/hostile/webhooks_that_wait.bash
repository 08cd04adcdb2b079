# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: to make the scheduler and the kubelets of all tenants wait for its webhook, and zood work for minutes on a configuration of
#   a hundred thousand webhooks; to learn the platform's roles by a policy's `authorizer`.
# Without the fence: the scheduler patches pods/status in its one loop, half a minute each.
# Rule: no webhook of a tenant's is asked about a status or a binding, none takes more than ten seconds; translation is linear.
group=/apis/admissionregistration.k8s.io/v1
made "a Service" POST /api/v1/namespaces/team/services json '{"metadata":{"name":"evil-hole"},"spec":{"ports":[{"port":443}]}}'
made "that leads nowhere" POST /apis/discovery.k8s.io/v1/namespaces/team/endpointslices json '{"metadata":{"name":"evil-hole","labels":{"kubernetes.io/service-name":"evil-hole"}},"addressType":"IPv4","ports":[{"port":443}],"endpoints":[{"addresses":["203.0.113.1"]}]}'
hook() { printf '{"name":"w.a.b","timeoutSeconds":%s,"failurePolicy":"Fail","sideEffects":"None","admissionReviewVersions":["v1"],"clientConfig":{"service":{"namespace":"team","name":"evil-hole"}},"rules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["*"],"resources":["pods/status","pods/binding"]}]}' "$1"; }
made "a pod" POST /api/v1/namespaces/team/pods json '{"metadata":{"name":"evil-wait"},"spec":{"schedulerName":"none","containers":[{"name":"c","image":"x"}]}}'
for kind in validating mutating; do
  hooks=$group/${kind}webhookconfigurations
  made "a $kind webhook of half a minute" POST $hooks json '{"metadata":{"name":"evil"},"webhooks":['"$(hook 30)"']}'
  expect "takes ten seconds" 10 "$(jq '.webhooks[0].timeoutSeconds' <<<"$answer")"
  expect_no_match "its fence is not shown" own-objects "$(jq -c .webhooks <<<"$answer")"
  fence() { stored "$hooks/$evil-evil" '[.webhooks[]? | select((.timeoutSeconds // 10) > 10 or (any(.matchConditions[]?; .name == "zoo.kubezoo.io/own-objects" and (.expression | contains("status"))) | not))] | length'; }
  after_each $hooks/evil 0 <<P
merge {"webhooks":[$(hook 30)]}
merge {"webhooks":[{"name":"w.a.b","matchConditions":null}]}
patch [{"op":"replace","path":"/webhooks/0/timeoutSeconds","value":30}]
patch [{"op":"remove","path":"/webhooks/0/matchConditions"}]
strategic {"webhooks":[{"name":"w.a.b","timeoutSeconds":30}]}
strategic {"webhooks":[{"name":"w.a.b","matchConditions":[{"\$patch":"replace"}]}]}
P
  written() { direct PATCH "/api/v1/namespaces/$evil-team/pods/evil-wait/status" merge '{"status":{"message":"'"$1"'"}}'; }
  written "$kind"
  accepted "a kubelet writes a status"
  # Upstream's administrator takes the fence away, and it waits.
  direct PATCH "$hooks/$evil-evil" patch '[{"op":"remove","path":"/webhooks/0/matchConditions"},{"op":"replace","path":"/webhooks/0/timeoutSeconds","value":1}]'
  accepted "without the fence"
  waits() { written "$kind again"; [[ $code == 5* ]]; }
  eventually "it is held up" 30 waits
  try DELETE $hooks/evil
  python3 -c 'import json; print(json.dumps({"metadata": {"name": "evil-many"}, "webhooks": [{}] * 100000}), end="")' >"$TMPDIR/webhooks"
  curl_more=(--max-time 20 --data-binary "@$TMPDIR/webhooks" -H 'Content-Type: application/json')
  try POST "$hooks?dryRun=All"
  refused "a hundred thousand webhooks are answered: $code" '4..'
done
policy='{"metadata":{"name":"evil-asks"},"spec":{"failurePolicy":"Ignore","matchConstraints":{"resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["configmaps"]}]},"validations":[{"expression":"%s"}]}}'
for asks in "authorizer.serviceAccount('kube-system','generic-garbage-collector').group('').resource('secrets').check('list').allowed()" ".authorizer.path('/metrics').check('get').allowed()"; do
  # shellcheck disable=SC2059
  try POST $group/validatingadmissionpolicies json "$(printf "$policy" "$asks")"
  refused "no policy asks ${asks:0:14}" 403
  # shellcheck disable=SC2059
  would "ask" POST $group/validatingadmissionpolicies json "$(printf "$policy" "$asks" | sed "s/evil-asks/$evil-asks/")"
done
