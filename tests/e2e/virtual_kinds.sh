#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: virtuals store gateway tenants translate
# step: verify
# timeout: 1200
# What zood keeps itself (FlowSchemas, priority levels, APIServices), certificate requests that it signs, and the kinds of
# which a tenant sees its own part: two tenants, the same names, all verbs, a restart in the middle, nothing left behind.
. "$(dirname "$0")/lib.sh"

start_zood
new_tenant first
new_tenant second

flow() { # NAME [LEVEL [LABELS]]
  cat <<EOF
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata: {name: $1, labels: {${3:-side: virtual}}}
spec:
  priorityLevelConfiguration: {name: ${2:-catch-all}}
  rules:
  - subjects: [{kind: Group, group: {name: developers}}]
    resourceRules: [{verbs: ["*"], apiGroups: ["*"], resources: ["*"], namespaces: ["team"]}]
EOF
}
level() { # NAME
  cat <<EOF
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: PriorityLevelConfiguration
metadata: {name: $1}
spec: {type: Limited, limited: {nominalConcurrencyShares: 3, limitResponse: {type: Reject}}}
EOF
}
kubectl_file() { # ID VERB... : from standard input
  local id=$1
  shift
  as "$id" "$@" -f -
}
json() { # ID KIND NAME PATH
  as "$1" get "$2" "$3" -o "jsonpath={$4}" 2>&1
}

# ---- what is there from the beginning
flows="catch-all exempt global-default kube-controller-manager kube-scheduler kube-system-service-accounts probes service-accounts system-leader-election system-node-high system-nodes"
levels="catch-all exempt global-default leader-election node-high system workload-high workload-low"
for id in "$first" "$second"; do
  expect "the FlowSchemas of $id" "$flows" "$(as "$id" get flowschemas -o 'jsonpath={.items[*].metadata.name}')"
  expect "the levels of $id" "$levels" "$(as "$id" get prioritylevelconfigurations -o 'jsonpath={.items[*].metadata.name}')"
  check "its served groups are available" as "$id" wait --for=condition=Available apiservice/v1.apps apiservice/v1. --timeout 10s
  expect_match "components are healthy" 'scheduler +Healthy +ok' "$(as "$id" get componentstatuses 2>&1)"
done
check_fails "what the platform provides stays" 'read-only' as "$first" delete flowschema exempt
check_fails "and cannot be made again" 'already exists' kubectl_file "$first" create <<<"$(flow exempt)"

# ---- two tenants, the same names, all verbs
for id in "$first" "$second"; do
  check "$id creates" kubectl_file "$id" create <<<"$(flow mine "$([[ $id == "$first" ]] && echo own || echo catch-all)")"
done
expect "the level is missing" True "$(json "$first" flowschema mine '.status.conditions[?(@.type=="Dangling")].status')"
check "its level" kubectl_file "$first" create <<<"$(level own)"
expect "and is found once it is there" False "$(json "$first" flowschema mine '.status.conditions[?(@.type=="Dangling")].status')"
expect "upstream's defaults" 1000 "$(json "$first" flowschema mine .spec.matchingPrecedence)"
expect_match "a table" '^mine +own +1000 +<none> +[0-9]+s +False' "$(as "$first" get flowschemas 2>&1)"
expect "each has its own" "" "$(comm -12 <(json "$first" flowschema mine .metadata.uid) <(json "$second" flowschema mine .metadata.uid))"
check_fails "upstream's validation" 'matchingPrecedence.*Invalid value' kubectl_file "$first" create <<<"$(flow bad | sed 's/^spec:/spec:\n  matchingPrecedence: 20000/')"
expect_no_match "in the tenant's names" "$first" "$(flow bad | sed 's/^spec:/spec:\n  matchingPrecedence: 20000/' | kubectl_file "$first" create 2>&1)"
check_fails "unknown fields are told" 'unknown field "spec.nonsense"' kubectl_file "$first" create --validate=strict <<<"$(flow bad | sed 's/^spec:/spec:\n  nonsense: 1/')"
check "merge patch" as "$first" patch flowschema mine --type merge -p '{"spec":{"matchingPrecedence":11}}'
check "JSON patch" as "$first" patch flowschema mine --type json -p '[{"op":"add","path":"/metadata/labels/json","value":"yes"}]'
check "strategic merge patch" as "$first" patch flowschema mine -p '{"metadata":{"labels":{"smp":"yes"}}}'
check "server-side apply" kubectl_file "$first" apply --server-side --force-conflicts <<<"$(flow mine own)"
check_fails "its conflict" 'conflict with "other"' bash -c "
  '$KUBECTL' --kubeconfig '$TMPDIR/$first.kubeconfig' patch flowschema mine --field-manager other --type merge -p '{\"spec\":{\"priorityLevelConfiguration\":{\"name\":\"exempt\"}}}' >/dev/null &&
  '$KUBECTL' --kubeconfig '$TMPDIR/$first.kubeconfig' apply --server-side -f - <<<'$(flow mine own)'"
check "client-side apply" kubectl_file "$second" apply <<<"$(flow mine catch-all)"
check "the status" as "$first" patch flowschema mine --subresource status --type merge -p '{"status":{"conditions":[{"type":"Told","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}'
expect "is written" True "$(json "$first" flowschema mine '.status.conditions[?(@.type=="Told")].status')"
expect "the other tenant's is as it was" "1000" "$(json "$second" flowschema mine .spec.matchingPrecedence)"
expect "upstream has nothing of it" "" "$(upstream get flowschemas,prioritylevelconfigurations,apiservices -o name | grep -E "mine|own$|$first|$second")"

# ---- lists and watches
for name in a b c d e; do check "flow $name" kubectl_file "$first" create <<<"$(flow "$name" exempt 'side: many')"; done
expect "labels" 5 "$(as "$first" get flowschemas -l side=many -o name | wc -l)"
expect "field selector" flowschema.flowcontrol.apiserver.k8s.io/a "$(as "$first" get flowschemas --field-selector metadata.name=a -o name)"
expect "pages" 17 "$(as "$first" get flowschemas --chunk-size 2 -o name | wc -l)"
token=$(as "$first" get --raw '/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas?limit=2' | jq -r .metadata.continue)
check_fails "a page's token is no other tenant's" 'continue key is not valid' as "$second" get --raw "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas?limit=2&continue=$token"
expect "a watch ends with a bookmark for who takes them" "BOOKMARK, not ADDED" \
  "$(for marks in true false; do as "$first" get --raw "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas?watch=1&timeoutSeconds=2&allowWatchBookmarks=$marks" | tail -n 1 | jq -r .type; done | xargs printf '%s, not %s')"
"$KUBECTL" --kubeconfig "$TMPDIR/$first.kubeconfig" get flowschemas --watch -o name >"$TMPDIR/watch.out" 2>&1 &
watch_pid=$!
"$KUBECTL" --kubeconfig "$TMPDIR/$second.kubeconfig" get flowschemas --watch -o name >"$TMPDIR/watch2.out" 2>&1 &
watch2_pid=$!
eventually "a watch begins with what is there" 30 grep -q '/e$' "$TMPDIR/watch.out"
check "a change" kubectl_file "$first" create <<<"$(flow watched)"
eventually "is seen" 30 grep -q '/watched$' "$TMPDIR/watch.out"
check "the same for the other" kubectl_file "$second" create <<<"$(flow other)"
eventually "sees its own" 30 grep -q '/other$' "$TMPDIR/watch2.out"
expect "and nothing else" "" "$(grep watched "$TMPDIR/watch2.out")"
raw=$(as "$first" get --raw '/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=1')
expect "initial events end with their bookmark" "ADDED BOOKMARK" "$(jq -r .type <<<"$raw" | sort -u | xargs)"
expect_match "which says so" 'k8s.io/initial-events-end' "$raw"
# More than a watch's client is given at once: the rest of the state comes when it has taken that.
filling=$(printf 'f%.0s' {1..3000})
for n in {10..39}; do
  flow "many-$n"
  printf '  # %s\n---\n' "$n"
done | sed "s/metadata: {name: many-[0-9]*,/& annotations: {filling: $filling},/" >"$TMPDIR/many.yaml"
check "ninety thousand bytes of them" as "$second" apply -f "$TMPDIR/many.yaml"
listed=$(as "$second" get flowschemas -o name | sort)
raw=$(as "$second" get --raw '/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=10')
expect "are told once each, in order" "$listed" "$(jq -r 'select(.type == "ADDED") | "flowschema.flowcontrol.apiserver.k8s.io/" + .object.metadata.name' <<<"$raw")"
expect "and then that they are all" "BOOKMARK true" "$(sed -n "$(($(wc -l <<<"$listed") + 1))p" <<<"$raw" | jq -r '.type + " " + .object.metadata.annotations["k8s.io/initial-events-end"]')"
check "and go" as "$second" delete -f "$TMPDIR/many.yaml"
kill "$watch_pid" "$watch2_pid"
wait "$watch_pid" "$watch2_pid" 2>/dev/null

# ---- APIServices
cat >"$TMPDIR/apiservice.yaml" <<'EOF'
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1beta1.metrics.example.com}
spec: {group: metrics.example.com, version: v1beta1, groupPriorityMinimum: 100, versionPriority: 10}
EOF
check "a tenant's own APIService is kept" as "$first" apply -f "$TMPDIR/apiservice.yaml"
expect_match "as one that nobody else answers" 'Local +True' "$(as "$first" get apiservice v1beta1.metrics.example.com 2>&1)"
check_fails "the other has none" 'not found' as "$second" get apiservice v1beta1.metrics.example.com
expect "upstream has none" "" "$(upstream get apiservices -o name | grep metrics.example)"

# ---- certificate requests
openssl ecparam -name prime256v1 -genkey -noout -out "$TMPDIR/jane.key" 2>/dev/null
signing_request() { # NAME SUBJECT [SIGNER]
  cat <<EOF
apiVersion: certificates.k8s.io/v1
kind: CertificateSigningRequest
metadata: {name: $1}
spec:
  request: $(openssl req -new -key "$TMPDIR/jane.key" -subj "$2" 2>/dev/null | base64 -w0)
  signerName: ${3:-kubernetes.io/kube-apiserver-client}
  expirationSeconds: 86400
  usages: [client auth]
EOF
}
for id in "$first" "$second"; do check "$id asks for a certificate" kubectl_file "$id" create <<<"$(signing_request jane /O=developers/CN=jane)"; done
expect "the requester is the tenant's user" "admin" "$(json "$first" csr jane .spec.username)"
expect_match "groups too" 'zoo:cluster-admins.*system:authenticated' "$(json "$first" csr jane .spec.groups)"
expect "the signer is the one asked for" kubernetes.io/kube-apiserver-client "$(json "$first" csr jane .spec.signerName)"
expect_match "in the table as well" '^jane +[0-9]+s +kubernetes.io/kube-apiserver-client +admin +24h +Pending' "$(as "$first" get csr 2>&1)"
expect "upstream's signer does not see it" "$first-kubernetes.io/kube-apiserver-client" "$(upstream get csr "$first-jane" -o 'jsonpath={.spec.signerName}')"
expect "nothing is signed unasked" "" "$(json "$first" csr jane .status.certificate)"
check "approve" as "$first" certificate approve jane
eventually "it is signed" 30 bash -c "[[ -n \$('$KUBECTL' --kubeconfig '$TMPDIR/$first.kubeconfig' get csr jane -o 'jsonpath={.status.certificate}') ]]"
expect "the other tenant's still waits" "" "$(json "$second" csr jane .status.certificate)"
json "$first" csr jane .status.certificate | base64 -d >"$TMPDIR/jane.crt"
expect_match "the subject is built by zood" "OU *= *$first.*CN *= *jane|CN *= *jane.*OU *= *$first" "$(openssl x509 -in "$TMPDIR/jane.crt" -noout -subject)"
jane() { # ID ARGUMENTS: as the user of the certificate
  local id=$1
  shift
  unpack "$id"
  "$KUBECTL" --kubeconfig /dev/null --server "$(cat "$TMPDIR/$id.server")" --certificate-authority "$TMPDIR/$id.ca" \
    --client-certificate "$TMPDIR/jane.crt" --client-key "$TMPDIR/jane.key" "$@"
}
expect "it works as that user" "jane developers system:authenticated" "$(jane "$first" auth whoami -o json 2>&1 | jq -r '.status.userInfo | [.username] + .groups | join(" ")')"
check_fails "who has no rights yet" 'User "jane" cannot list' jane "$first" get pods
check "the tenant grants some" as "$first" create rolebinding jane --clusterrole view --user jane
eventually "and they hold" 30 jane "$first" get pods
approver() { # WITH RULES for jane, who may write approvals
  kubectl_file "$first" apply <<EOF
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: approver}
rules:
- {apiGroups: [certificates.k8s.io], resources: [certificatesigningrequests, certificatesigningrequests/approval], verbs: [get, list, watch, update]}
$1
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: approver}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: approver}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: jane}]
EOF
}
check "another request" kubectl_file "$first" create <<<"$(signing_request joe /CN=joe)"
check "jane may write approvals" approver ""
eventually "and read requests" 30 jane "$first" get csr joe
check_fails "but not for this signer" 'not permitted to approve requests with signerName' jane "$first" certificate approve joe
check "until she may" approver '- {apiGroups: [certificates.k8s.io], resources: [signers], resourceNames: ["kubernetes.io/*"], verbs: [approve]}'
eventually "then she approves" 30 jane "$first" certificate approve joe
check "deny" as "$second" certificate deny jane
expect "denied is not signed" "" "$(json "$second" csr jane .status.certificate)"
for subject in /O=system:masters/CN=root /CN=system:kube-scheduler /O=zoo:cluster-admins/CN=jane; do
  check "ask for $subject" kubectl_file "$first" create <<<"$(signing_request grab "$subject")"
  check "approve $subject" as "$first" certificate approve grab
  check "refused with a condition" as "$first" wait --for=condition=Failed csr/grab --timeout 120s
  expect_match "and its reason" 'must not begin with.*SignerValidationFailure' "$(json "$first" csr grab '.status.conditions[?(@.type=="Failed")]')"
  check "gone" as "$first" delete csr grab
done
check "another signer" kubectl_file "$first" create <<<"$(signing_request custom /CN=x example.com/mine)"
check "is approved" as "$first" certificate approve custom
expect "by field selector" certificatesigningrequest.certificates.k8s.io/custom "$(as "$first" get csr --field-selector spec.signerName=example.com/mine -o name)"
expect "nobody signs it" "" "$(json "$first" csr custom .status.certificate)"
check "until its signer does" as "$first" patch csr custom --subresource status --type merge -p "{\"status\":{\"certificate\":\"$(base64 -w0 <"$TMPDIR/jane.crt")\"}}"

# ---- the tenant's part of what is everybody's
service_ip=$(as "$first" get service kubernetes -o 'jsonpath={.spec.clusterIP}')
expect "its services' addresses" "$service_ip" "$(as "$first" get ipaddresses -o json | jq -r '.items[] | select(.spec.parentRef.name == "kubernetes").metadata.name')"
expect "and no others" default "$(as "$first" get ipaddresses -o json | jq -r '.items[].spec.parentRef.namespace' | sort -u)"
expect "nor in a table" "$service_ip services/default/kubernetes" \
  "$(as "$first" get ipaddress "$service_ip" --no-headers | awk '{print $1, $2}')"
check_fails "not the other's" 'not found' as "$second" get --raw "/apis/networking.k8s.io/v1/ipaddresses/$service_ip"
check_fails "they are read-only" 'it belongs to a Service' as "$first" delete ipaddress "$service_ip"
cat <<EOF | upstream create -f - >/dev/null
apiVersion: v1
kind: PersistentVolume
metadata: {name: pvc-00000000-0000-4000-8000-0000000e2e01}
spec: {accessModes: [ReadWriteOnce], capacity: {storage: 1Mi}, csi: {driver: example.com, volumeHandle: e2e}, claimRef: {namespace: $first-default, name: data}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: $first-default}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}, volumeName: pvc-00000000-0000-4000-8000-0000000e2e01, storageClassName: ""}
---
apiVersion: storage.k8s.io/v1
kind: VolumeAttachment
metadata: {name: e2e-$first}
spec: {attacher: example.com, nodeName: nowhere, source: {persistentVolumeName: pvc-00000000-0000-4000-8000-0000000e2e01}}
EOF
attached() { [[ $(as "$first" get volumeattachments -o 'jsonpath={.items[*].metadata.name}') == "e2e-$first" ]]; }
eventually "the attachment of its claim's volume" 30 attached
expect "is nobody else's" "" "$(as "$second" get volumeattachments -o name)"
upstream delete volumeattachment "e2e-$first" >/dev/null
upstream delete pv pvc-00000000-0000-4000-8000-0000000e2e01 --wait=false >/dev/null

# ---- what a cluster has without anybody having made it
unpack "$first"
expect "the clients' authority is published" "$(cat "$TMPDIR/$first.ca")" "$(as "$first" -n kube-system get configmap extension-apiserver-authentication -o 'jsonpath={.data.client-ca-file}')"
expect "and its reader's role" "get list watch" "$(as "$first" -n kube-system get role extension-apiserver-authentication-reader -o 'jsonpath={.rules[0].verbs[*]}')"
check "kube-root-ca.crt is there" as "$first" get configmap kube-root-ca.crt

# ---- a restart
before=$(as "$first" get flowschemas,prioritylevelconfigurations,apiservices -o json | jq -S '[.items[] | {kind, metadata, spec, status}]')
version=$(as "$first" get --raw /apis/flowcontrol.apiserver.k8s.io/v1/flowschemas | jq -r .metadata.resourceVersion)
stop_zood || failed "zood ends" <<<"status $?"
start_zood --listen "$zood_address"
expect "everything is as it was" "$before" "$(as "$first" get flowschemas,prioritylevelconfigurations,apiservices -o json | jq -S '[.items[] | {kind, metadata, spec, status}]')"
raw=$(as "$first" get --raw "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas?watch=1&resourceVersion=$version&timeoutSeconds=1" 2>&1)
expect_no_match "a watch goes on, or is told to list again" '"type":"(ADDED|DELETED)"' "$raw"
check "writes go on" as "$first" label flowschema mine after=restart
many() { as "$first" get flowschemas -l side=many -o name | wc -l; }
had=$(many)
takes_one() { # [TOKEN]
  curl -sS --max-time 20 --cacert "$TMPDIR/$first.ca" --cert "$TMPDIR/$first.crt" --key "$TMPDIR/$first.key" -X DELETE \
    "https://$zood_address/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas?labelSelector=side%3Dmany&limit=1${1:+&continue=$1}"
}
part=$(takes_one)
expect "deletecollection with a limit tells of one" 1 "$(jq '.items | length' <<<"$part")"
expect "and takes no more" $((had - 1)) "$(many)"
rest=$(takes_one "$(jq -r .metadata.continue <<<"$part")")
expect "it goes on behind that one" 1 "$(jq '.items | length' <<<"$rest")"
expect_match "in their order" true "$(jq -n --argjson a "$part" --argjson b "$rest" '$a.items[0].metadata.name < $b.items[0].metadata.name')"
expect "one by one" $((had - 2)) "$(many)"
future=$(as "$first" get --raw "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas?resourceVersion=9000000000" 2>&1)
expect_match "a version that is still to come is named as one" 'Too large resource version: 9000000000' "$future"
check "deletecollection" as "$first" delete flowschemas -l side=many
expect "took what matched" 0 "$(as "$first" get flowschemas -l side=many -o name | wc -l)"
check "a finalizer" as "$first" patch flowschema mine --type merge -p '{"metadata":{"finalizers":["example.com/hold"]}}'
check "delete" as "$first" delete flowschema mine --wait=false
expect_match "holds it" '^2' "$(json "$first" flowschema mine .metadata.deletionTimestamp)"
check "and lets it go" as "$first" patch flowschema mine --type merge -p '{"metadata":{"finalizers":null}}'
check_fails "gone" 'not found' as "$first" get flowschema mine

# ---- the end of a tenant
check "delete the tenant" ctl tenant delete "$first" --wait
expect "no request is left upstream" "" "$(upstream get csr -o name | grep "$first")"
check "under its ID another tenant" ctl tenant create "$first" --wait
export_kubeconfig "$first"
expect "has nothing of it" "$flows" "$(as "$first" get flowschemas -o 'jsonpath={.items[*].metadata.name}')"
expect "the other tenant's is still there" "$flows mine other" "$(as "$second" get flowschemas -o 'jsonpath={.items[*].metadata.name}' | sed 's/ mine other//;s/$/ mine other/')"
check_fails "and the old user is not let in" 'Unauthorized|must be logged in' jane "$first" auth whoami
