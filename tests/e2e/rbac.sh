#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: access authz gateway translate tenants
# step: verify
# timeout: 600
# The tenant's own RBAC decides: users, groups, ServiceAccounts and their tokens, aggregation, escalation,
# impersonation, reviews. Two tenants with the same names, so that what one grants is seen not to reach the other.
. "$(dirname "$0")/lib.sh"

start_zood
new_tenant a
new_tenant b

# user NAME [GROUP...]: a kubeconfig of tenant a for that user, used as `by NAME kubectl-arguments...`.
user() {
  local name=$1 groups=()
  shift
  for group in "$@"; do groups+=(--group "$group"); done
  rm -f "$TMPDIR/$name.kubeconfig"
  require "export a kubeconfig for $name" ctl kubeconfig export "$a" --user "$name" "${groups[@]}" -o "$TMPDIR/$name.kubeconfig"
}
by() {
  local name=$1
  shift
  "$KUBECTL" --kubeconfig "$TMPDIR/$name.kubeconfig" "$@"
}
# can NAME ARGUMENTS...: auth can-i says yes; cannot: it says no (and not that it failed).
can() { [[ $(by "$1" auth can-i "${@:2}" 2>/dev/null) == yes ]]; }
cannot() { [[ $(by "$1" auth can-i "${@:2}" 2>/dev/null) == no ]]; }

user jane
user dev developers
user nobody
check "namespaces" as "$a" create namespace team
check "something to read" as "$a" -n team create configmap settings --from-literal=a=b

# ---- nothing is allowed by itself ------------------------------------------------------------------------------------
expect "a refusal is Kubernetes' own" \
  'Error from server (Forbidden): pods is forbidden: User "jane" cannot list resource "pods" in API group "" in the namespace "default"' \
  "$(by jane get pods 2>&1)"
expect "in the whole cluster" \
  'Error from server (Forbidden): deployments.apps is forbidden: User "jane" cannot list resource "deployments" in API group "apps" at the cluster scope' \
  "$(by jane get deployments.apps -A 2>&1)"
expect "of one object" \
  'Error from server (Forbidden): namespaces "team" is forbidden: User "jane" cannot get resource "namespaces" in API group "" in the namespace "team"' \
  "$(by jane get namespace team 2>&1)"
expect "of a subresource" \
  'Error from server (Forbidden): pods "x" is forbidden: User "jane" cannot get resource "pods/log" in API group "" in the namespace "default"' \
  "$(by jane get --raw /api/v1/namespaces/default/pods/x/log 2>&1)"
expect "of a path" \
  'Error from server (Forbidden): forbidden: User "jane" cannot get path "/metrics"' "$(by jane get --raw /metrics 2>&1)"
check "discovery is everybody's" by jane api-resources
check "the version too" by jane version
expect_match "whoami" 'Username +jane' "$(by jane auth whoami)"
expect_match "and the group that everybody has" 'system:authenticated' "$(by jane auth whoami)"
expect_match "whoami shows groups" 'developers' "$(by dev auth whoami)"
check "the administrator may everything" as "$a" auth can-i '*' '*' -A

# ---- roles and bindings ------------------------------------------------------------------------------------------------
check "a role" as "$a" -n team create role reader --verb=get,list,watch --resource=configmaps,pods
check "a binding" as "$a" -n team create rolebinding readers --role=reader --user=jane --group=developers
eventually "it is in force" 30 can jane list configmaps -n team
expect "a user reads" configmap/settings "$(by jane -n team get configmap settings -o name)"
expect "a member of a group reads" configmap/settings "$(by dev -n team get configmap settings -o name)"
check_fails "somebody else does not" forbidden by nobody -n team get configmaps
check_fails "nor in another namespace" forbidden by jane get configmaps
check_fails "nor in all" forbidden by jane get configmaps -A
check_fails "nor does he write" 'cannot create resource "configmaps"' by jane -n team create configmap more
check_fails "the other tenant has given nothing" forbidden "$KUBECTL" --kubeconfig "$TMPDIR/$b.kubeconfig" --as jane get configmaps -n team
expect_match "can-i --list" 'configmaps +\[\] +\[\] +\[get list watch\]' "$(by jane auth can-i --list -n team)"
expect_match "can-i --list of the administrator" '\*\.\* +\[\] +\[\] +\[\*\]' "$(as "$a" auth can-i --list)"
check "a role for one object" as "$a" -n team create role one --verb=get,update --resource=configmaps --resource-name=settings
check "its binding" as "$a" -n team create rolebinding one --role=one --user=nobody
eventually "it is in force" 30 can nobody get configmap/settings -n team
check "by its name" by nobody -n team get configmap settings
check "and by a selector for its name" cannot nobody list configmaps -n team
check_fails "not without" forbidden by nobody -n team get configmaps
check "a clusterrole" as "$a" create clusterrole namespaces --verb=get,list,watch --resource=namespaces
check "a clusterrolebinding" as "$a" create clusterrolebinding namespaces --clusterrole=namespaces --user=jane
eventually "it is in force" 30 can jane list namespaces
expect_match "cluster-scoped objects" 'namespace/team' "$(by jane get namespaces -o name)"
check "a clusterrole bound in a namespace" as "$a" -n team create rolebinding editors --clusterrole=edit --group=developers
eventually "a system role is in force" 30 can dev create configmaps -n team
check "an editor writes" by dev -n team create configmap made
check_fails "an editor makes no roles" forbidden by dev -n team create role x --verb=get --resource=pods
check_fails "and nothing elsewhere" forbidden by dev create configmap made

# ---- a change is in force at once --------------------------------------------------------------------------------------
by jane -n team get configmaps -w -o name >"$TMPDIR/jane.out" 2>&1 &
watcher=$!
eventually "a watch is open" 30 grep -q configmap/settings "$TMPDIR/jane.out"
check "the binding goes" as "$a" -n team delete rolebinding readers
eventually "so does the right" 30 cannot jane list configmaps -n team
check_fails "for every request" forbidden by jane -n team get configmaps
ended() { ! kill -0 "$watcher" 2>/dev/null; }
eventually "and for the watch that was open" 30 ended

# ---- system roles --------------------------------------------------------------------------------------------------------
expect "cluster-admin is shown" '*' "$(as "$a" get clusterrole cluster-admin -o jsonpath='{.rules[0].verbs[0]}')"
expect_match "in a table" '^view +20' "$(as "$a" get clusterrole view --no-headers)"
expect_match "among the others" '^system:discovery ' "$(as "$a" get clusterroles --no-headers)"
expect_match "beside its own" '^namespaces ' "$(as "$a" get clusterroles --no-headers)"
roles_path=/apis/rbac.authorization.k8s.io/v1/clusterroles
all_roles=$(as "$a" get --raw "$roles_path" | jq -r '.items[].metadata.name' | xargs)
pages='' token=''
while page=$(as "$a" get --raw "$roles_path?limit=30${token:+&continue=$token}") && [[ -n $page ]]; do
  pages="$pages $(jq -r '.items[].metadata.name' <<<"$page" | xargs)" sizes="${sizes:+$sizes }$(jq '.items | length' <<<"$page")"
  token=$(jq -r '.metadata.continue // empty' <<<"$page")
  [[ -n $token ]] || break
done
expect_match "in pages of as many as were asked for" '^30 30 [0-9]+$' "$sizes"
expect "which together are the list" "$all_roles" "${pages# }"
check_fails "where a page goes on is zood's to say" 'continue key is not valid' as "$a" get --raw "$roles_path?limit=30&continue=nowhere"
expect "none is zood's or the platform's" 0 "$(as "$a" get clusterroles -o name | grep -c zoo)"
expect "by label" 0 "$(as "$a" get clusterroles -l kubernetes.io/bootstrapping=rbac-defaults -o name | grep -c /namespaces)"
check_fails "they are read-only" forbidden as "$a" label clusterrole view x=y
check_fails "and cannot be deleted" forbidden as "$a" delete clusterrole admin
check_fails "nor made" 'names a system role' as "$a" create clusterrole system:node --verb=get --resource=pods
expect_match "their bindings are shown" '^cluster-admin +ClusterRole/cluster-admin' "$(as "$a" get clusterrolebindings --no-headers)"
expect "one of them" system:authenticated "$(as "$a" get clusterrolebinding system:discovery -o jsonpath='{.subjects[0].name}')"
check_fails "they are read-only too" forbidden as "$a" delete clusterrolebinding system:discovery
check_fails "and not made twice" 'already exists' as "$a" create clusterrolebinding cluster-admin --clusterrole=view --user=jane
"$KUBECTL" --kubeconfig "$TMPDIR/$a.kubeconfig" get clusterroles -w -o name >"$TMPDIR/roles.out" 2>&1 &
watcher=$!
eventually "a watch begins with them" 30 grep -q clusterrole.rbac.authorization.k8s.io/view "$TMPDIR/roles.out"
check "a role comes" as "$a" create clusterrole watched --verb=get --resource=pods
eventually "and shows its own" 30 grep -q clusterrole.rbac.authorization.k8s.io/watched "$TMPDIR/roles.out"
# Other names that begin with system: are the tenant's to give.
check "a role is called as some charts call theirs" as "$a" create clusterrole system:vpa-actor --verb=get --resource=persistentvolumes
eventually "the watch shows it" 30 grep -q clusterrole.rbac.authorization.k8s.io/system:vpa-actor "$TMPDIR/roles.out"
kill "$watcher" && wait "$watcher" 2>/dev/null
expect_match "so does a list" '^system:vpa-actor ' "$(as "$a" get clusterroles --no-headers)"
expect "upstream it is one of the prefix" "$a-system:vpa-actor" "$(upstream get clusterrole "$a-system:vpa-actor" -o jsonpath='{.metadata.name}')"
check "it is bound" as "$a" create clusterrolebinding system:vpa-actor --clusterrole=system:vpa-actor --user=vpa
expect "by that name" system:vpa-actor "$(as "$a" get clusterrolebinding system:vpa-actor -o jsonpath='{.roleRef.name}')"
vpa_may() { [[ $(as "$a" auth can-i get persistentvolumes --as vpa 2>/dev/null) == "$1" ]]; }
eventually "and gives what it says" 30 vpa_may yes
check "it may be changed" as "$a" label clusterrole system:vpa-actor rbac.authorization.k8s.io/aggregate-to-view=true
part_of_view() { as "$a" get clusterrole view -o jsonpath='{.rules[*].resources}' | says_line -w persistentvolumes; }
eventually "and be a part of others" 30 part_of_view
check_fails "who has less cannot give it" 'attempting to grant RBAC permissions not currently held|forbidden' \
  as "$a" create clusterrole system:more --verb=delete --resource=nodes --as vpa
check "it goes" as "$a" delete clusterrole/system:vpa-actor clusterrolebinding/system:vpa-actor
eventually "and so does the right" 30 vpa_may no

# ---- what Kubernetes takes for invalid ---------------------------------------------------------------------------------
invalid() { as "$a" create -f - <<<"{apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: x}, $1}"; }
role_ref='roleRef: {apiGroup: rbac.authorization.k8s.io, kind'
check_fails "a Role in the whole cluster" '^The ClusterRoleBinding "x" is invalid: roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"$' \
  invalid "kind: ClusterRoleBinding, $role_ref: Role, name: r}"
check_fails "another kind" 'roleRef.kind: Unsupported value: "Foo": supported values: "ClusterRole"$' invalid "kind: ClusterRoleBinding, $role_ref: Foo, name: r}"
check_fails "an account of no namespace" '^The ClusterRoleBinding "x" is invalid: subjects\[0\].namespace: Required value$' \
  invalid "kind: ClusterRoleBinding, $role_ref: ClusterRole, name: view}, subjects: [{kind: ServiceAccount, name: d}]"
check_fails "by a patch" 'ClusterRoleBinding "namespaces" is invalid: subjects\[0\].namespace: Required value$' \
  as "$a" patch clusterrolebinding namespaces --type merge -p '{"subjects":[{"kind":"ServiceAccount","name":"d"}]}'
check_fails "an aggregation of nothing" '^The ClusterRole "x" is invalid: aggregationRule.clusterRoleSelectors: Required value: at least one' \
  invalid "kind: ClusterRole, aggregationRule: {clusterRoleSelectors: []}"
check_fails "by what is no label" 'aggregationRule.clusterRoleSelectors\[0\].matchLabels: Invalid value: "bad key"' \
  invalid "kind: ClusterRole, aggregationRule: {clusterRoleSelectors: [{matchLabels: {bad key: x}}]}"

# ---- aggregation -----------------------------------------------------------------------------------------------------------
as "$a" apply -f - >/dev/null <<'Y'
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: crontabs-view, labels: {rbac.authorization.k8s.io/aggregate-to-view: "true"}}
rules: [{apiGroups: [stable.example.com], resources: [crontabs], verbs: [get, list]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: monitoring}
aggregationRule: {clusterRoleSelectors: [{matchLabels: {part-of: monitoring}}]}
rules: []
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: monitoring-endpoints, labels: {part-of: monitoring}}
rules: [{apiGroups: [""], resources: [services, endpoints], verbs: [get]}]
Y
gathered() {
  by nobody create --raw /apis/authorization.k8s.io/v1/selfsubjectaccessreviews -f - <<<'{"apiVersion": "authorization.k8s.io/v1",
    "kind": "SelfSubjectAccessReview", "spec": {"resourceAttributes": {"group": "stable.example.com", "resource": "crontabs",
    "verb": "list"}}}' | jq -e .status.allowed
}
check "bind both" as "$a" create clusterrolebinding view --clusterrole=view --user=nobody
check "and" as "$a" create clusterrolebinding monitoring --clusterrole=monitoring --user=jane
eventually "an aggregated role has what it gathers" 30 can jane get services
check "and no more" cannot jane list services
eventually "a system role gathers too" 30 gathered
expect "rules are filled in on read" '["services","endpoints"]' "$(as "$a" get clusterrole monitoring -o jsonpath='{.rules[0].resources}')"
expect_match "of system roles too" 'crontabs' "$(as "$a" get clusterrole view -o yaml)"
expect_match "and in lists" 'crontabs' "$(as "$a" get clusterroles -o json | jq -c '.items[] | select(.metadata.name == "edit") | .rules')"
expect_no_match "the other tenant's is its own" 'crontabs' "$("$KUBECTL" --kubeconfig "$TMPDIR/$b.kubeconfig" get clusterrole view -o yaml)"
expect_no_match "and upstream's the platform's" 'crontabs' "$(upstream get clusterrole view edit admin -o yaml)"
check "the part goes" as "$a" delete clusterrole monitoring-endpoints
eventually "so does the right" 30 cannot jane get services

# ---- escalation ------------------------------------------------------------------------------------------------------------
check "one who makes roles" as "$a" create clusterrole role-maker --verb='*' --resource=roles.rbac.authorization.k8s.io,rolebindings.rbac.authorization.k8s.io,clusterroles.rbac.authorization.k8s.io,clusterrolebindings.rbac.authorization.k8s.io
check "without escalate and bind" as "$a" patch clusterrole role-maker --type=json -p '[{"op":"replace","path":"/rules/0/verbs","value":["get","list","watch","create","update","patch","delete"]}]'
check "bound" as "$a" create clusterrolebinding role-maker --clusterrole=role-maker --user=jane
check "and some rights" as "$a" -n team create rolebinding readers --role=reader --user=jane
eventually "in force" 30 can jane create roles -n team
eventually "both" 30 can jane list pods -n team
check "he grants what he has" by jane -n team create role mine --verb=get,list --resource=pods
check_fails "but no more" 'roles.rbac.authorization.k8s.io "more" is forbidden: user "jane" \(groups=\["system:authenticated"\]\) is attempting to grant RBAC permissions not currently held:' \
  by jane -n team create role more --verb=get,delete --resource=pods
expect_match "what is missing is named" '^\{APIGroups:\[""\], Resources:\["pods"\], Verbs:\["delete"\]\}$' "$(by jane -n team create role more --verb=get,delete --resource=pods 2>&1)"
check_fails "nor by a patch" 'not currently held' by jane -n team patch role mine --type=json -p '[{"op":"add","path":"/rules/0/verbs/-","value":"delete"}]'
check_fails "nor by apply" 'not currently held' by jane -n team apply --server-side -f - <<'Y'
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: more}
rules: [{apiGroups: [""], resources: [pods], verbs: [delete]}]
Y
check_fails "nor a clusterrole" 'not currently held' by jane create clusterrole more --verb=get --resource=pods
check_fails "nor an aggregation" 'must have cluster-admin privileges to use the aggregationRule' by jane create -f - <<'Y'
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: gather}
aggregationRule: {clusterRoleSelectors: [{matchLabels: {}}]}
Y
check_fails "nor a binding to more" 'rolebindings.rbac.authorization.k8s.io "more" is forbidden: user "jane" .* not currently held' \
  by jane -n team create rolebinding more --clusterrole=admin --user=jane
check_fails "nor for the whole cluster" 'not currently held' by jane create clusterrolebinding more --clusterrole=cluster-admin --user=jane
check_fails "a role that is not there" 'role.rbac.authorization.k8s.io "gone" not found' by jane -n team create rolebinding gone --role=gone --user=jane
check "he binds what he has" by jane -n team create rolebinding mine --role=mine --user=nobody
check "bind is a right of its own" as "$a" create clusterrole binder --verb=bind --resource=clusterroles.rbac.authorization.k8s.io --resource-name=admin
check "which he gets" as "$a" create clusterrolebinding binder --clusterrole=binder --user=jane
eventually "in force" 30 can jane bind clusterroles.rbac.authorization.k8s.io/admin
check "and uses" by jane -n team create rolebinding admins --clusterrole=admin --user=nobody
check_fails "for that role alone" 'not currently held' by jane -n team create rolebinding more --clusterrole=cluster-admin --user=nobody
check "escalate is one too" as "$a" create clusterrole escalator --verb=escalate --resource=roles.rbac.authorization.k8s.io
check "bound" as "$a" create clusterrolebinding escalator --clusterrole=escalator --user=jane
eventually "in force" 30 can jane escalate roles.rbac.authorization.k8s.io -n team
check "and used" by jane -n team create role more --verb='*' --resource='*'
check "auth reconcile" as "$a" auth reconcile -f - <<'Y'
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader, namespace: team}
rules: [{apiGroups: [""], resources: [secrets], verbs: [get]}]
Y
expect_match "adds rules" secrets "$(as "$a" -n team get role reader -o yaml)"

# ---- impersonation -----------------------------------------------------------------------------------------------------------
expect_match "the administrator is anybody" 'Username +max' "$(as "$a" auth whoami --as max --as-group one)"
expect_match "with the groups he says" 'one' "$(as "$a" auth whoami --as max --as-group one)"
check_fails "with their rights" 'User "max" cannot list resource "pods"' as "$a" get pods --as max
expect yes yes "$(as "$a" auth can-i list pods -n team --as jane)"
expect_match "a ServiceAccount has its groups" 'system:serviceaccounts:team' "$(as "$a" auth whoami --as system:serviceaccount:team:default)"
check_fails "others are nobody but themselves" 'users "max" is forbidden: User "jane" cannot impersonate resource "users" in API group "" at the cluster scope' by jane get pods --as max
check "a right to be somebody" as "$a" create clusterrole be-max --verb=impersonate --resource=users --resource-name=max
check "bound" as "$a" create clusterrolebinding be-max --clusterrole=be-max --user=jane
eventually "in force" 30 can jane impersonate users/max
expect_match "he is" 'Username +max' "$(by jane auth whoami --as max)"
check_fails "and nobody else" 'cannot impersonate resource "users"' by jane get pods --as joe
check_fails "nor a super-user" 'groups "system:masters" is forbidden' by jane get nodes --as max --as-group system:masters
check_fails "nor one without a user" 'without impersonating a user' as "$a" get --raw /api --as '' --as-group x
expect_match "UIDs too" 'UID +1234' "$(as "$a" auth whoami --as max --as-uid 1234)"

# ---- ServiceAccounts -----------------------------------------------------------------------------------------------------------
check "an account" as "$a" -n team create serviceaccount robot
token=$(as "$a" -n team create token robot 2>&1)
claims=$(cut -d. -f2 <<<"$token" | tr '_-' '/+' | awk '{ while (length($0) % 4) $0 = $0 "="; print }' | base64 -d 2>/dev/null)
expect "its token is for zood" '["zood"]' "$(jq -c .aud <<<"$claims")"
unpack "$a"
server=$(cat "$TMPDIR/$a.server")
robot() { "$KUBECTL" --kubeconfig /dev/null --server "$server" --certificate-authority "$TMPDIR/$a.ca" --token "${robot_token:-$token}" "$@"; }
expect_match "with it the account comes in" 'Username +system:serviceaccount:team:robot' "$(robot auth whoami)"
expect_match "with its groups" 'system:serviceaccounts:team' "$(robot auth whoami)"
expect_no_match "and no prefix" "$a-" "$(robot auth whoami -o yaml)"
expect "it may know who signs" "$(jq -r .iss <<<"$claims")" "$(robot get --raw /.well-known/openid-configuration | jq -r .issuer)"
expect_match "and by which keys" 'kty' "$(robot get --raw /openid/v1/jwks)"
check_fails "others may not" forbidden by jane get --raw /openid/v1/jwks
expect "without rights" \
  'Error from server (Forbidden): configmaps is forbidden: User "system:serviceaccount:team:robot" cannot list resource "configmaps" in API group "" in the namespace "team"' \
  "$(robot -n team get configmaps 2>&1)"
check "a binding" as "$a" -n team create rolebinding robot --clusterrole=view --serviceaccount=team:robot
eventually "with them" 30 robot -n team get configmaps
check_fails "in its namespace" forbidden robot get configmaps
upstream_server=$(upstream config view --raw -o jsonpath='{.clusters[0].cluster.server}')
direct() { "$KUBECTL" --kubeconfig /dev/null --server "$upstream_server" --insecure-skip-tls-verify --token "$1" "${@:2}"; }
check_fails "upstream does not know the token" 'Unauthorized|must be logged in|provide credentials' direct "$token" get --raw /api/v1/namespaces/"$a"-team/configmaps
check_fails "not even for discovery" 'Unauthorized|must be logged in|provide credentials' direct "$token" get --raw /api/v1
# Which flow of upstream's a tenant's requests are in.
expect "a tenant's requests have a flow of their own" "$(upstream get flowschema zoo-tenants -o jsonpath='{.metadata.uid}')" \
  "$(upstream --as "zoo:$a" --as-group zoo:tenants -n "$a-team" get configmaps -v 8 2>&1 | grep -io 'X-Kubernetes-Pf-Flowschema-Uid[":= ]*[0-9a-f-]*' | tail -n 1 | grep -o '[0-9a-f]\{8\}-[0-9a-f-]*$')"
strong=$(upstream -n "$a-team" create token robot)
expect_match "where one for upstream would come in" 'Username +system:serviceaccount' "$(direct "$strong" auth whoami)"
check_fails "though to no rights" forbidden direct "$strong" get --raw /api/v1/namespaces/"$a"-team/configmaps
robot_token=$strong check_fails "and not at this door" 'Unauthorized|must be logged in|provide credentials' robot get --raw /api/v1
check_fails "other audiences are refused" 'audience' as "$a" -n team create token robot --audience https://kubernetes.default.svc
check_fails "nobody makes tokens without the right" forbidden by jane -n team create token robot
check "bound to a pod" as "$a" -n team create -f - <<'Y'
apiVersion: v1
kind: Pod
metadata: {name: holder}
spec: {serviceAccountName: robot, containers: [{name: c, image: x}]}
Y
robot_token=$(as "$a" -n team create token robot --bound-object-kind Pod --bound-object-name holder)
expect_match "a bound token comes in" 'holder' "$(robot_token=$robot_token robot auth whoami -o yaml)"
# ask TENANT PATH FIELD JSON: creates a review and prints a field of the answer.
ask() { "$KUBECTL" --kubeconfig "$TMPDIR/$1.kubeconfig" create --raw "$2" -f - <<<"$4" | jq -c "$3"; }
token_review='{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": "'$token'"}}'
expect "a TokenReview speaks the tenant's names" '["system:serviceaccount:team:robot",true,["zood"]]' \
  "$(ask "$a" /apis/authentication.k8s.io/v1/tokenreviews '.status | [.user.username, .authenticated, .audiences]' "$token_review")"
expect "and of strangers' tokens says nothing" '{"user":{},"error":"invalid bearer token"}' \
  "$(ask "$b" /apis/authentication.k8s.io/v1/tokenreviews .status "$token_review")"
check_fails "tokens that never expire are refused" 'kubectl create token' as "$a" -n team create -f - <<'Y'
apiVersion: v1
kind: Secret
metadata: {name: legacy, annotations: {kubernetes.io/service-account.name: robot}}
type: kubernetes.io/service-account-token
Y
check_fails "by apply too" 'kubectl create token' as "$a" -n team apply --server-side -f - <<'Y'
apiVersion: v1
kind: Secret
metadata: {name: legacy, annotations: {kubernetes.io/service-account.name: robot}}
type: kubernetes.io/service-account-token
Y
attributes='"user": "system:serviceaccount:team:robot", "resourceAttributes": {"namespace": "team", "resource": "configmaps", "verb": '
expect "SubjectAccessReview" 'true' "$(ask "$a" /apis/authorization.k8s.io/v1/subjectaccessreviews .status.allowed \
  '{"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": {'"$attributes"'"list"}}}')"
expect "with its reason" '"RBAC: allowed by RoleBinding \"robot/team\" of ClusterRole \"view\" to ServiceAccount \"robot/team\""' \
  "$(ask "$a" /apis/authorization.k8s.io/v1/subjectaccessreviews .status.reason \
  '{"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": {'"$attributes"'"list"}}}')"
expect "LocalSubjectAccessReview" false "$(ask "$a" /apis/authorization.k8s.io/v1/namespaces/team/localsubjectaccessreviews .status.allowed \
  '{"apiVersion": "authorization.k8s.io/v1", "kind": "LocalSubjectAccessReview", "metadata": {"namespace": "team"}, "spec": {'"$attributes"'"delete"}}}')"
# Without zood's own refusal, upstream's policy for tenants' requests would say no.
check_fails "upstream itself refuses such tokens to tenants" 'audience zood' upstream -n "$a-team" create token robot \
  --as "zoo:$a" --as-group zoo:tenants
check_fails "and such Secrets" 'no tokens that never expire' upstream -n "$a-team" create --as "zoo:$a" --as-group zoo:tenants -f - <<'Y'
apiVersion: v1
kind: Secret
metadata: {name: legacy, annotations: {kubernetes.io/service-account.name: robot}}
type: kubernetes.io/service-account-token
Y
check "the account goes" as "$a" -n team delete serviceaccount robot
unset robot_token
gone() { ! robot auth whoami; }
eventually "and its tokens with it" 30 gone
robot_token=garbage
check_fails "garbage is no token" 'Unauthorized|must be logged in|provide credentials' robot get --raw /api

# ---- stored RBAC grants nothing upstream ------------------------------------------------------------------------------------------
expect "no user of the tenant has rights upstream" no "$(upstream auth can-i list configmaps -n "$a-team" --as jane 2>/dev/null)"
expect "nor its accounts" no "$(upstream auth can-i list configmaps -n "$a-team" --as "system:serviceaccount:$a-team:robot" 2>/dev/null)"
