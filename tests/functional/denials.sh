#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: gateway translate tenants audit
# step: verify
# timeout: 600
# What no tenant may do is denied by a rule with a name, and the denial says what to do instead; what is stored without effect says so.
. "$(dirname "$0")/../e2e/lib.sh"

start_zood
new_tenant a
as "$a" create namespace team >"$TMPDIR/team" 2>&1
eventually "where pods can be made" 120 as "$a" -n team get serviceaccount default
make() { as "$a" create -f - <<<"$1"; }
pod() { echo '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"team"},"spec":{'"$1"'"containers":[{"name":"c","image":"none"'"${2:-}"'}]}}'; }
labelled() { echo '{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"n","labels":{"'"$1"'":"'"$2"'"}}}'; }
volume() { echo '{"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"v"},"spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],'"$1"'}}'; }

# ---- denied: WHAT, the rule and the way out, what is asked ----------------------------------------------------------

check_fails "hostPath in a pod" 'violates PodSecurity "baseline:latest".*hostPath volumes .*leave out what is named' make "$(pod '"volumes":[{"name":"v","hostPath":{"path":"/"}}],')"
check_fails "privileges" 'violates PodSecurity "baseline:latest".*must not set securityContext.privileged=true' make "$(pod '' ',"securityContext":{"privileged":true}')"
check_fails "hostPath behind a claim" 'hostPath.path .*rule node-paths.*let a PersistentVolumeClaim with a storageClassName' make "$(volume '"hostPath":{"path":"/"}')"
check_fails "a local volume" 'local.path .*rule node-paths' make "$(volume '"local":{"path":"/"},"nodeAffinity":{"required":{"nodeSelectorTerms":[{"matchFields":[{"key":"metadata.name","operator":"In","values":["kwok-1"]}]}]}}')"
check_fails "a foreign volume" 'let a PersistentVolumeClaim with a storageClassName provision one \(rule guards.volume_drivers' make "$(volume '"csi":{"driver":"d.example.com","volumeHandle":"h"}')"
check_fails "the scheduler is passed by" 'use a nodeSelector or an affinity \(rule guards.node_names' make "$(pod '"nodeName":"kwok-1",')"
check_fails "a binding to a node" 'rule bindings.*use a nodeSelector' as "$a" create --raw /api/v1/namespaces/team/bindings -f - <<<'{"apiVersion":"v1","kind":"Binding","metadata":{"name":"p"},"target":{"kind":"Node","name":"kwok-1"}}'
check_fails "a node is changed" "serves the pods of all tenants .rule nodes.: ask the platform" as "$a" label node kwok-1 x=y
check_fails "nodes/proxy" 'rule nodes-proxy.*use pods/log, pods/exec or pods/portforward' as "$a" get --raw /api/v1/nodes/kwok-1/proxy/pods
check_fails "addresses of others" 'externalIPs.*rule external-ips.*use type LoadBalancer' make '{"apiVersion":"v1","kind":"Service","metadata":{"name":"s","namespace":"team"},"spec":{"ports":[{"port":80}],"externalIPs":["192.0.2.1"]}}'
check_fails "the label of another tenant" 'rule reserved-names.*leave it out' make "$(labelled tenant.kubezoo.io/id "$a")"
check_fails "the same by a patch" 'rule reserved-names.*leave it out' as "$a" label namespace team --overwrite tenant.kubezoo.io/id=zzzzzz
check_fails "zood's own annotation" 'rule reserved-names.*leave it out' as "$a" annotate namespace team zoo.kubezoo.io/global-default=true
check_fails "every device" 'rule platform-keys.*leave it out' make "$(labelled resource.kubernetes.io/admin-access true)"
check_fails "a tenant's last namespaces" 'rule standing-namespaces.*delete what is in it' as "$a" delete namespace default
check_fails "a token that never expires" 'rule token-secrets.*kubectl create token' make '{"apiVersion":"v1","kind":"Secret","metadata":{"name":"t","namespace":"team","annotations":{"kubernetes.io/service-account.name":"default"}},"type":"kubernetes.io/service-account-token"}'
check_fails "a system role is changed" 'rule system-roles.*make one under another name' as "$a" delete clusterrole cluster-admin
check_fails "a namespace of the tenant's ID" 'may not begin with the tenant.s own ID' as "$a" create namespace "$a-x"
# By what comes of a patch, which the words of the patch do not tell:
make '{"apiVersion":"networking.k8s.io/v1","kind":"NetworkPolicy","metadata":{"name":"n","namespace":"team"},"spec":{"podSelector":{},"egress":[{"to":[{"namespaceSelector":{"matchLabels":{"a":"b"}}}]}]}}' >"$TMPDIR/policy" 2>&1
check_fails "a fence is removed" 'rule patch-results.*leave that member as it is' as "$a" -n team patch networkpolicy n --type json -p '[{"op":"remove","path":"/spec/egress/0/to/0/namespaceSelector/matchLabels"}]'
for type in 'json [{"op":"remove","path":"/metadata/labels"}]' 'merge {"metadata":{"labels":null}}'; do
  check "all labels of a namespace are taken away, ${type%% *}" as "$a" patch namespace team --type "${type%% *}" -p "${type#* }"
  expect "but those that are not the tenant's" "$a" "$(upstream get namespace "$a-team" -o 'jsonpath={.metadata.labels.tenant\.kubezoo\.io/id}')"
done
aggregated='{"apiVersion":"apiregistration.k8s.io/v1","kind":"APIService","metadata":{"name":"v1.x.example.com"},"spec":{"group":"x.example.com","version":"v1","groupPriorityMinimum":1,"versionPriority":1'
check_fails "an API of a server of one's own" 'rule aggregated-apis.*define the kinds by a CustomResourceDefinition' make "$aggregated"',"service":{"name":"s","namespace":"team"}}}'
check "one without a server" make "$aggregated}}"
check_fails "that is given one" 'rule aggregated-apis' as "$a" patch apiservice v1.x.example.com --type merge -p '{"spec":{"service":{"name":"s","namespace":"team"}}}'
openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$TMPDIR/key" -subj /O=system:nodes/CN=system:node:x -out "$TMPDIR/csr" 2>/dev/null
for signer in kubelet-serving kube-apiserver-client-kubelet legacy-unknown; do
  printf '{"apiVersion":"certificates.k8s.io/v1","kind":"CertificateSigningRequest","metadata":{"name":"%s"},"spec":{"signerName":"kubernetes.io/%s","usages":["client auth"],"request":"%s"}}' "$signer" "$signer" "$(base64 -w0 "$TMPDIR/csr")" >"$TMPDIR/request"
  for verb in create "apply --server-side"; do
    # shellcheck disable=SC2086
    check_fails "$verb of a request to $signer" "nobody signs for \"kubernetes.io/$signer\" here.*rule signers.*ask kubernetes.io/kube-apiserver-client" as "$a" $verb -f "$TMPDIR/request"
  done
done

# ---- in the same words, however it is written ------------------------------------------------------------------------

unpack "$a"
send() { # METHOD PATH TYPE BODY: the Status and its code
  curl -s --max-time 20 --cacert "$TMPDIR/$a.ca" --cert "$TMPDIR/$a.crt" --key "$TMPDIR/$a.key" -w '\n%{http_code}\n' \
    -X "$1" -H "Content-Type: $3" --data-binary "$4" "https://$zood_address$2"
}
# alike WHAT RULE PATH NAME BODY: created and applied, 403 with the rule and the same words.
alike() {
  local made applied
  made=$(send POST "$3" application/json "$5")
  applied=$(send PATCH "$3/$4?fieldManager=t" application/apply-patch+yaml "$5")
  expect "$1 is refused alike by create and by apply" "$made" "$applied"
  expect_match "as forbidden" '^403$' "$made"
  expect_match "by a rule" "is forbidden: .*$2" "$made"
  expect_no_match "without a policy's name" 'AdmissionPolicy|zoo-' "$made"
}
pods=/api/v1/namespaces/team/pods
alike "hostPath" 'rule pod-security.*leave out what is named' $pods p "$(pod '"volumes":[{"name":"v","hostPath":{"path":"/"}}],')"
alike "a node's network" 'rule pod-security' $pods p "$(pod '"hostNetwork":true,')"
alike "a node's name" 'rule guards.node_names' $pods p "$(pod '"nodeName":"kwok-1",')"
alike "a priority of the system's" 'choose another PriorityClass' $pods p "$(pod '"priorityClassName":"system-node-critical",')"
alike "externalIPs" 'rule external-ips' /api/v1/namespaces/team/services s '{"apiVersion":"v1","kind":"Service","metadata":{"name":"s","namespace":"team"},"spec":{"ports":[{"port":80}],"externalIPs":["192.0.2.1"]}}'
alike "a volume on a node" 'rule node-paths' /api/v1/persistentvolumes v "$(volume '"hostPath":{"path":"/"}')"
alike "a foreign volume" 'rule guards.volume_drivers' /api/v1/persistentvolumes v "$(volume '"csi":{"driver":"d.example.com","volumeHandle":"h"}')"
alike "the tenant's label" 'rule reserved-names' /api/v1/namespaces n "$(labelled tenant.kubezoo.io/id "$a")"
alike "a token" 'rule token-secrets' /api/v1/namespaces/team/secrets t '{"apiVersion":"v1","kind":"Secret","metadata":{"name":"t","namespace":"team","annotations":{"kubernetes.io/service-account.name":"default"}},"type":"kubernetes.io/service-account-token"}'
# What controllers are told is told in events and conditions.
make '{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d","namespace":"team"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"volumes":[{"name":"v","hostPath":{"path":"/"}}],"containers":[{"name":"c","image":"none"}]}}}}' >"$TMPDIR/deployment" 2>&1
told() { as "$a" -n team get events -o json | jq -r '.items[] | select(.reason == "FailedCreate").message' | grep 'hostPath volumes'; }
eventually "the ReplicaSet's event tells of hostPath" 60 told
# What a mutation has put into a template is denied to the controller, here as if a webhook had done it.
upstream -n "$a-team" create -f - >"$TMPDIR/replicaset" 2>&1 <<'Y'
{"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"placed"},"spec":{"selector":{"matchLabels":{"a":"c"}},"template":{"metadata":{"labels":{"a":"c"}},"spec":{"nodeName":"kwok-1","containers":[{"name":"c","image":"none"}]}}}}
Y
placed() { as "$a" -n team get events -o json | jq -r '.items[] | select(.reason == "FailedCreate").message' | grep 'spec.nodeName goes past the scheduler.*(rule '; }
eventually "an event tells of a node's name, with a rule" 60 placed
expect_match "and the condition" 'spec.nodeName goes past the scheduler.*\(rule ' "$(as "$a" -n team get replicaset placed -o jsonpath='{.status.conditions}')"
seen=$(as "$a" -n team get events,deployments,replicasets -o yaml)
expect_match "and its condition" 'hostPath volumes' "$(as "$a" -n team get deployment d -o jsonpath='{.status.conditions}')"
expect_no_match "without a policy's name" "AdmissionPolicy|zoo-tenants|$a" "$seen"

# ---- stored without effect: a Warning says so -----------------------------------------------------------------------

warned() { # WHAT MESSAGE JSON
  make "$3" >"$TMPDIR/warned" 2>&1
  expect_match "$1 is stored" created "$(<"$TMPDIR/warned")"
  expect_match "$1 is told" "^Warning: .*$2" "$(<"$TMPDIR/warned")"
}
warned "a level of pod security" 'enforce="privileged" is stored but not effective.*level baseline .rule pod-security.; name baseline or restricted' "$(labelled pod-security.kubernetes.io/enforce privileged)"
warned "a default StorageClass" 'is-default-class is stored but not effective.*rule default-classes' '{"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"s","annotations":{"storageclass.kubernetes.io/is-default-class":"true"}},"provisioner":"kubernetes.io/no-provisioner"}'
warned "a provisioner" "nobody of the platform's acts for a class of a tenant's own .rule inert-classes" '{"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"t"},"provisioner":"x.example.com"}'
warned "a default priority" 'globalDefault is stored but not effective.*rule default-classes' '{"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{"name":"p"},"value":1,"globalDefault":true}'
warned "a runtime" 'rule inert-classes' '{"apiVersion":"node.k8s.io/v1","kind":"RuntimeClass","metadata":{"name":"r"},"handler":"runc"}'
as "$a" label namespace n --overwrite pod-security.kubernetes.io/enforce-version=v1.3 >"$TMPDIR/patched" 2>&1
expect_match "a patch is told as well" '^Warning: .*rule pod-security.; leave the label out' "$(<"$TMPDIR/patched")"
# What is served needs no words.
make "$(labelled pod-security.kubernetes.io/enforce restricted | sed 's/"n"/"restricted"/')" >"$TMPDIR/plain" 2>&1
expect_no_match "a level that holds is not warned of" Warning "$(<"$TMPDIR/plain")"
hook() { printf '{"apiVersion":"admissionregistration.k8s.io/v1","kind":"MutatingWebhookConfiguration","metadata":{"name":"%s"},"webhooks":[{"name":"a.b.c","sideEffects":"None","admissionReviewVersions":["v1"],"clientConfig":%s,"rules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["%s"]}]}]}' "$@"; }
warned "a webhook by URL" 'named by a URL.*rule webhook-urls.; name a Service' "$(hook u '{"url":"https://example.com/"}' configmaps)"
warned "a webhook over nodes" 'rule admission-reach.; leave them out' "$(hook n '{"service":{"name":"s","namespace":"team"}}' nodes)"
