# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: as an account of the tenant that may change but not make, look but not enter, write policies but not read: to make objects
#   by PUT and by apply, to open a shell by GET, to read Secrets as a policy's parameters.
# Without the fence: upstream asks for these rights while it handles the request, of zood's user, who has them all.
# Rule: zood asks the tenant's RBAC for them first; who may only change sends the UID of what he changes.
rbac=/apis/rbac.authorization.k8s.io/v1
admission=/apis/admissionregistration.k8s.io/v1
leases=/apis/coordination.k8s.io/v1/namespaces/team/leases
core=/api/v1/namespaces/team
made "an account" POST $core/serviceaccounts json '{"metadata":{"name":"evil-half"}}'
made "that changes" POST $rbac/clusterroles json '{"metadata":{"name":"evil-half"},"rules":[
  {"apiGroups":["","coordination.k8s.io","node.k8s.io","flowcontrol.apiserver.k8s.io","rbac.authorization.k8s.io","apps"],"resources":["configmaps","leases","runtimeclasses","flowschemas","roles","deployments"],"verbs":["get","update","patch"]},
  {"apiGroups":[""],"resources":["pods/exec","pods/attach","pods/portforward"],"verbs":["get"]},
  {"apiGroups":["admissionregistration.k8s.io"],"resources":["*"],"verbs":["create","update","patch"]}]}'
made "bound" POST $rbac/clusterrolebindings json '{"metadata":{"name":"evil-half"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"evil-half"},"subjects":[{"kind":"ServiceAccount","name":"evil-half","namespace":"team"}]}'
try POST $core/serviceaccounts/evil-half/token json '{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{"audiences":["zood"]}}'
token=$(jq -r '.status.token // empty' <<<"$answer")
half() { with_token "$@"; }
eventually "it may what it may" 30 eval 'half GET $core/configmaps/kube-root-ca.crt; [[ $code == 200 ]]'

# By apply, and by PUT.
map() { printf '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"evil-map"%s},"data":{"a":"%s"}}' "${2:-}" "$1"; }
half PATCH "$core/configmaps/evil-map?fieldManager=evil" apply "$(map 1)"
refused "nothing is made by apply" 403
expect_match "for want of the right to create" 'cannot create resource' "$answer"
half PATCH "$core/configmaps/evil-map?fieldManager=evil" apply $'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: evil-map\n'
refused "nor of YAML" 403
half PATCH "$core/configmaps/evil-map?fieldManager=evil" apply "$(map 1 ',"uid":"00000000-0000-0000-0000-000000000000"')"
refused "nor with a UID" '40[39]'
half PATCH "/apis/apps/v1/namespaces/team/deployments/evil?fieldManager=evil" apply '{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"evil"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"x"}]}}}}'
refused "nor where the result is proven" 403
half PUT $leases/evil json '{"metadata":{"name":"evil"},"spec":{"holderIdentity":"evil"}}'
refused "nor by PUT" 403
half PUT $rbac/namespaces/team/roles/evil json '{"metadata":{"name":"evil"},"rules":[]}'
refused "nor a role" 403
half PUT /apis/node.k8s.io/v1/runtimeclasses/evil json '{"metadata":{"name":"evil"},"handler":"evil"}'
refused "nor what has no namespace" 403
half PATCH '/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/evil?fieldManager=evil' apply '{"apiVersion":"flowcontrol.apiserver.k8s.io/v1","kind":"FlowSchema","metadata":{"name":"evil"},"spec":{"priorityLevelConfiguration":{"name":"global-default"}}}'
refused "nor what zood keeps" 403
made "the administrator makes one" PATCH "$core/configmaps/evil-map?fieldManager=root" apply "$(map 0)"
made "and a lease" PUT $leases/evil json '{"metadata":{"name":"evil"},"spec":{"holderIdentity":"root"}}'
half PATCH "$core/configmaps/evil-map?fieldManager=evil&force=true" apply "$(map 2)"
accepted "what is there is changed by apply"
expect "as he says" 2 "$(jq -r '.data.a // empty' <<<"${answer%$'\n'*}")"
half PATCH "$core/configmaps/evil-map?fieldManager=evil&force=true" apply "$(map 3 ',"uid":"00000000-0000-0000-0000-000000000000"')"
refused "but not another one" '409|422'
half GET $leases/evil
half PUT $leases/evil json "$(jq -c '.spec.holderIdentity = "half" | del(.metadata.uid)' <<<"${answer%$'\n'*}")"
accepted "and by PUT"
half PATCH "$core/configmaps/evil-map?fieldManager=evil&force=true" apply '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"uid":""},"metadata":{"name":"evil-map"}}'
refused "a body that can be read in two ways" 400

# A shell.
made "a pod" POST $core/pods json '{"metadata":{"name":"evil"},"spec":{"schedulerName":"none","containers":[{"name":"c","image":"x"}]}}'
for what in exec?command=sh attach portforward?ports=80; do
  curl_more=(--http1.1 -H 'Connection: Upgrade' -H 'Upgrade: websocket' -H 'Sec-WebSocket-Version: 13' -H 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==' -H 'Sec-WebSocket-Protocol: v5.channel.k8s.io')
  half GET "$core/pods/evil/$what"
  refused "pods/$what by GET" 403
  expect_match "for want of the right to create" 'cannot create resource' "$answer"
done

# Parameters.
policy() { # KIND [VALUE]
  printf '{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicy","metadata":{"name":"evil-%s"},"spec":{"failurePolicy":"Ignore","paramKind":{"apiVersion":"v1","kind":"%s"},"matchConstraints":{"resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["pods"]}]},"validations":[{"expression":"false","messageExpression":"string(params.data)"}]}}' "${1,,}" "$1"
}
binding() { # KIND NAME
  printf '{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicyBinding","metadata":{"name":"evil-%s"},"spec":{"policyName":"evil-%s","validationActions":["Deny"],"paramRef":{"name":"%s","namespace":"team","parameterNotFoundAction":"Allow"}}}' "${1,,}" "${1,,}" "$2"
}
half POST $admission/validatingadmissionpolicies json "$(policy Secret)"
refused "no policy over Secrets" 403
expect_match "for want of the right to read" 'must have .*get.* permission' "$answer"
half PATCH "$admission/validatingadmissionpolicies/evil-secret?fieldManager=evil" apply "$(policy Secret)"
refused "nor by apply" 403
half POST $admission/validatingadmissionpolicies json "$(policy ConfigMap)"
accepted "one over what it may read"
for patch in 'merge {"spec":{"paramKind":{"kind":"Secret"}}}' 'patch [{"op":"replace","path":"/spec/paramKind/kind","value":"Secret"}]' 'strategic {"spec":{"paramKind":{"kind":"Secret","apiVersion":"v1"}}}'; do
  half PATCH $admission/validatingadmissionpolicies/evil-configmap "${patch%% *}" "${patch#* }"
  refused "not changed to ${patch#* }" 403
done
made "the administrator's policy over Secrets" POST $admission/validatingadmissionpolicies json "$(policy Secret)"
half PATCH $admission/validatingadmissionpolicies/evil-secret merge '{"metadata":{"labels":{"evil":"half"}}}'
accepted "its label is changed"
half POST $admission/validatingadmissionpolicybindings json "$(binding Secret evil-secret)"
refused "not bound to a Secret" 403
half POST $admission/validatingadmissionpolicybindings json "$(binding absent evil-secret)"
refused "nor before there is a policy" 403
half POST $admission/validatingadmissionpolicybindings json "$(binding ConfigMap kube-root-ca.crt)"
accepted "bound to a ConfigMap"
half PATCH $admission/validatingadmissionpolicybindings/evil-configmap merge '{"spec":{"policyName":"evil-secret","paramRef":{"name":"evil-secret"}}}'
refused "not changed to a Secret" 403
half PATCH "$admission/validatingadmissionpolicybindings/evil-secret?fieldManager=evil" apply "$(binding Secret evil-secret)"
refused "nor by apply" 403
try DELETE $admission/validatingadmissionpolicybindings
try DELETE $admission/validatingadmissionpolicies

# A role that upstream reads otherwise than who judges it.
made "with roles to write" PATCH $rbac/clusterroles/evil-half merge '{"rules":[{"apiGroups":["rbac.authorization.k8s.io"],"resources":["roles"],"verbs":["*"]},{"apiGroups":[""],"resources":["configmaps"],"verbs":["get"]}]}'
eventually "it writes roles, not beyond itself" 30 eval 'half POST "$rbac/namespaces/team/roles?dryRun=All" json '"'"'{"metadata":{"name":"evil-x"},"rules":[{"apiGroups":[""],"resources":["configmaps"],"verbs":["get"]}]}'"'"'; [[ $code == 201 ]]'
half PATCH $rbac/clusterroles/evil-half merge '{}'
refused "roles alone" 403
made "not to escalate" PATCH $rbac/clusterroles/evil-half merge '{"rules":[{"apiGroups":["rbac.authorization.k8s.io"],"resources":["roles"],"verbs":["create","get"]},{"apiGroups":[""],"resources":["configmaps"],"verbs":["get"]}]}'
eventually "it has less" 30 eval 'half DELETE $rbac/namespaces/team/roles/absent; [[ $code == 403 ]]'
for rule in '{"apiGroups":[""],"resources":["configmaps"],"resources":["secrets"],"verbs":["get"]}' '{"apiGroups":[""],"resources":["secrets"],"resources":["configmaps"],"verbs":["get"]}' \
  '{"apiGroups":[null],"resources":["configmaps"],"verbs":["get"]}' '{"apiGroups":[""],"resources":["configmaps",null],"verbs":["get"]}' '{"apiGroups":[""],"resources":["configmaps"],"verbs":["get",["*"]]}'; do
  half POST $rbac/namespaces/team/roles json '{"metadata":{"name":"evil-twice"},"rules":['"$rule"']}'
  refused "no role of $rule" '40[03]'
done
made "the role goes" DELETE $rbac/clusterrolebindings/evil-half
would "make it by apply" PATCH "/api/v1/namespaces/$evil-team/configmaps/evil-direct?fieldManager=evil" apply '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"evil-direct"}}'
would "read Secrets as parameters" POST $admission/validatingadmissionpolicies json "$(policy Secret | sed "s/\"evil-secret\"/\"$evil-direct\"/")"
