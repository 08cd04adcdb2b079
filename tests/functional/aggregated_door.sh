#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: accounts app cli resources
# step: verify
# The aggregated door: tenancy.kiosk.sh straight at the upstream, by its aggregation layer. Who is believed there, and that
# no namespace of the upstream stays undeleted for longer than the door is registered and dead.
. "$(dirname "$0")/../e2e/lib.sh"

group=tenancy.kiosk.sh
service=v1alpha1.$group
# An EndpointSlice takes no loopback address: kube-apiserver comes by the machine's own.
ip=$(hostname -I | tr ' ' '\n' | grep -m 1 -E '^[0-9]+(\.[0-9]+){3}$') || skip "this machine has no IPv4 address but loopback"
# Nothing carries the Service's own address here, so kube-apiserver resolves its endpoints itself.
own_upstream --apiserver-arg --enable-aggregator-routing=true

start_accounts() {
  start_zood_with "accounts: {enabled: true, aggregated: {listen: \"$ip:0\"}}" "$@"
}
available() { [[ $(upstream get apiservice "$service" -o jsonpath='{.status.conditions[?(@.type=="Available")].status}') == True ]]; }
looked_at_off() { ctl account aggregated status -o json | jq -e '.off and .trouble == "" and .registered == false'; }
absent() { ! upstream get apiservice "$service" >/dev/null 2>&1; }
# api PATH [CURL ARGUMENTS...]: of the upstream, as its administrator.
api() { curl -sS --max-time 20 --cacert "$up/pki/ca.crt" --cert "$up/pki/admin.crt" --key "$up/pki/admin.key" "$(server)$1" "${@:2}"; }
server() { upstream config view --raw -o jsonpath='{.clusters[0].cluster.server}'; }
endpoint() { ctl account aggregated status -o json | jq -r '.endpoints[0]'; }
# at_door PATH [CURL ARGUMENTS...]: the status of what the door answers; kube-apiserver's name for it, and zood's authority.
at_door() {
  curl -sS -o "$TMPDIR/answer" -w '%{http_code}' --max-time 20 --cacert "$TMPDIR/door.ca" --connect-to "::$door" "https://zood-accounts.zoo-system.svc$1" "${@:2}"
}
by() { printf '%s\n' --cert "$TMPDIR/$1.crt" --key "$TMPDIR/$1.key"; }
# issue NAME CN CA-CERTIFICATE CA-KEY: a client certificate.
issue() {
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$2" -keyout "$TMPDIR/$1.key" -out "$TMPDIR/$1.csr" 2>/dev/null
  openssl x509 -req -in "$TMPDIR/$1.csr" -CA "$3" -CAkey "$4" -CAcreateserial -CAserial "$TMPDIR/serial" -days 1 \
    -extfile <(echo extendedKeyUsage=clientAuth) -out "$TMPDIR/$1.crt" 2>/dev/null
}
# deletes NAME: a namespace is made and goes, as long as nothing holds it up.
deletes() {
  upstream create namespace "$1" >/dev/null && upstream delete namespace "$1" --timeout=60s
}

# ---- served ---------------------------------------------------------------------------------------------------------

check "a namespace goes before there is a door" deletes before
start_accounts
eventually "the door is registered, and kube-apiserver reaches it" 60 available
expect_match "api-resources lists the group" '^spaces' "$(upstream api-resources --api-group "$group" --no-headers)"
expect_match "with its namespaced kind" "^templateinstances +$group/v1alpha1 +true +TemplateInstance" "$(upstream api-resources --api-group "$group" --no-headers)"
verbs() { api "/apis/$group/v1alpha1" | jq -r --arg name "$1" '.resources[] | select(.name == $name).verbs | join(" ")'; }
expect "of whose deletion it does not tell: the end of a namespace would wait for it" "create get list patch update watch" "$(verbs templateinstances)"
freshness() {
  api /apis -H 'Accept: application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList' |
    jq -r --arg group "$group" '.items[] | select(.metadata.name == $group).versions[].freshness'
}
is_stale() { [[ $(freshness) == Stale ]]; }
is_current() { [[ $(freshness) == Current ]]; }
eventually "aggregated discovery has it, and it is not stale" 60 is_current
has_schema() { api /openapi/v3 | jq -e --arg path "apis/$group/v1alpha1" '.paths[$path]' && api "/openapi/v3/apis/$group/v1alpha1" | jq -e .components; }
eventually "OpenAPI v3 of the upstream has it" 60 has_schema
has_old_schema() { api /openapi/v2 | jq -e --arg path "/apis/$group/v1alpha1/spaces" '.paths[$path]'; }
eventually "OpenAPI v2 of the upstream has it" 60 has_old_schema
check "kubectl explains the kind" upstream explain spaces
expect_match "an administrator lists every space" '^space.tenancy.kiosk.sh/kube-system$' "$(upstream get spaces -o name)"
john() { upstream --as=john "$@"; }
expect "a user sees none while he has a right to none" "" "$(john get spaces -o name)"
check_fails "and makes none without the right to" 'forbidden: User "john"' john create -f - <<<'{apiVersion: tenancy.kiosk.sh/v1alpha1, kind: Space, metadata: {name: johns}}'
upstream create namespace johns >/dev/null
setsid timeout 120 "$KUBECTL" --kubeconfig "$ZOO_E2E_KUBECONFIG" --as=john get spaces -o name --watch >"$TMPDIR/watched" 2>&1 &
watching=$!
eventually "his watch is open" 30 grep -q 'aggregated: john GET .*watch=true' "$zood_dir.log"
upstream create rolebinding john -n johns --clusterrole admin --user john >/dev/null
eventually "what he is granted he sees" 30 grep -qx 'space.tenancy.kiosk.sh/johns' "$TMPDIR/watched"
expect "and lists" space.tenancy.kiosk.sh/johns "$(john get spaces -o name)"
check_fails "what he has no right to does not exist for him" 'NotFound' john get space kube-system
kill -- "-$watching" 2>/dev/null || :
check "a namespace goes while the door is there" deletes while-on
instance() { printf '{"apiVersion":"%s/v1alpha1","kind":"TemplateInstance","metadata":{"name":"one","namespace":"johns"},"spec":{"template":"nothing"}}' "$group"; }
asks() { [[ $(john auth can-i delete "templateinstances.$group" -n johns) == yes ]]; }
eventually "an administrator of a namespace may ask for instances of templates" 60 asks
check_fails "which takes the right to those of config.kiosk.sh" 'API group "config.kiosk.sh" in the namespace "johns"' john create -f - <<<"$(instance)"
upstream create role instances -n johns --verb '*' --resource templateinstances.config.kiosk.sh >/dev/null
upstream create rolebinding instances -n johns --role instances --user john >/dev/null
makes() { john create -f - <<<"$(instance)"; }
eventually "with it he makes one" 30 makes
expect "sees it" nothing "$(john get templateinstances -n johns -o 'jsonpath={.items[*].spec.template}')"
check "and deletes it" john delete templateinstance one -n johns
check_fails "so that it is gone" NotFound upstream get templateinstance.config.kiosk.sh one -n johns
status=$(ctl account aggregated status)
expect_match "status says that it is registered" '^Registered: +yes$' "$status"
expect_match "status says that it is available" '^Available: +True: all checks passed$' "$status"
expect_match "status says where" "^Endpoint: +$ip:[0-9]+\$" "$status"
expect_match "doctor is content with it" 'aggregated door: registered, and available' "$(ctl doctor)"

# ---- who is believed ------------------------------------------------------------------------------------------------

door=$(endpoint)
upstream get apiservice "$service" -o jsonpath='{.spec.caBundle}' | base64 -d >"$TMPDIR/door.ca"
new_tenant id
unpack "$id"
cp "$up/pki/front-proxy.crt" "$up/pki/front-proxy.key" "$TMPDIR"
cp "$up/pki/admin.crt" "$TMPDIR/upstreams-admin.crt" && cp "$up/pki/admin.key" "$TMPDIR/upstreams-admin.key"
issue other-name somebody "$up/pki/front-proxy-ca.crt" "$up/pki/front-proxy-ca.key"
issue other-ca front-proxy "$up/pki/ca.crt" "$up/pki/ca.key"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj "/CN=upstream-front-proxy-ca" \
  -addext basicConstraints=critical,CA:TRUE -keyout "$TMPDIR/own-ca.key" -out "$TMPDIR/own-ca.crt" 2>/dev/null
issue forged front-proxy "$TMPDIR/own-ca.crt" "$TMPDIR/own-ca.key"
masters=(-H 'X-Remote-User: root' -H 'X-Remote-Group: system:masters')
spaces=/apis/$group/v1alpha1/spaces
mapfile -t proxy < <(by front-proxy)

expect "kube-apiserver's own certificate is believed" 200 "$(at_door $spaces "${proxy[@]}" "${masters[@]}")"
expect "forged headers without a certificate are not" 401 "$(at_door $spaces "${masters[@]}")"
for who in upstreams-admin other-name other-ca forged "$id"; do
  mapfile -t shown < <(by "$who")
  for path in $spaces /apis /openapi/v2 /anything; do
    expect "forged headers with the certificate of $who are not: $path" 401 "$(at_door "$path" "${shown[@]}" "${masters[@]}")"
  done
done
expect "a bearer token is nothing here" 401 "$(at_door $spaces -H "Authorization: Bearer $(upstream create token default)")"
expect "who is not named is nobody" 401 "$(at_door $spaces "${proxy[@]}")"
as_john=("${proxy[@]}" -X DELETE -H 'X-Remote-User: john')
expect "impersonation is kube-apiserver's, not this door's" 403 \
  "$(at_door $spaces/kube-system "${as_john[@]}" -H 'Impersonate-User: root' -H 'Impersonate-Group: system:masters')"
expect "headers that the ConfigMap does not name say nothing" 403 \
  "$(at_door $spaces/kube-system "${as_john[@]}" -H 'X_Remote_Group: system:masters' -H 'X-Remote-Groups: system:masters')"
expect "who is anonymous has no right to list" 403 "$(at_door $spaces "${proxy[@]}" -H 'X-Remote-User: system:anonymous' -H 'X-Remote-Group: system:unauthenticated')"
expect "the right is asked for at the door, too" 403 "$(at_door $spaces/kube-system "${as_john[@]}" -H 'X-Remote-Group: system:authenticated')"
expect "and the refusal is a Status of the group" "$group" "$(jq -r .details.group "$TMPDIR/answer")"
expect "discovery needs no right" 200 "$(at_door "/apis/$group/v1alpha1" "${proxy[@]}" -H 'X-Remote-User: john')"
expect "a tenant's ServiceAccount is nobody here" 401 "$(at_door "/apis/$group/v1alpha1" "${proxy[@]}" -H "X-Remote-User: system:serviceaccount:$id-default:default")"
expect "another's ServiceAccount is somebody" 200 "$(at_door "/apis/$group/v1alpha1" "${proxy[@]}" -H 'X-Remote-User: system:serviceaccount:default:default')"
expect_no_match "tenants do not see the group" "$group" "$(as "$id" api-resources -o name)"
check_fails "a tenant's ServiceAccount straight at the upstream is nobody there either" 'Unauthorized|logged in' \
  upstream get --raw "/apis/$group/v1alpha1" --as="system:serviceaccount:$id-default:default" --as-group=system:authenticated
for path in / /api /api/v1/namespaces /version /metrics /apis/apps/v1 /zoo/v1/status; do
  expect "nothing else is served: $path" 404 "$(at_door "$path" "${proxy[@]}" "${masters[@]}")"
done
for path in /healthz /livez /readyz; do expect "whoever connects may ask for $path" 200 "$(at_door $path)"; done

# The ConfigMap is followed. kube-apiserver keeps what is its own there and lets stand what is more.
map=(configmap extension-apiserver-authentication -n kube-system)
trust() { # CERTIFICATES NAMES
  upstream patch "${map[@]}" --type merge -p "$(jq -n --arg ca "$1" --arg names "$2" '{data: {"requestheader-client-ca-file": $ca, "requestheader-allowed-names": $names}}')" >/dev/null
}
mapfile -t shown < <(by forged)
forged_is() { [[ $(at_door $spaces "${shown[@]}" "${masters[@]}") == "$1" ]]; }
require "a second authority of front proxies is made known" trust "$(cat "$up/pki/front-proxy-ca.crt" "$TMPDIR/own-ca.crt")" '["front-proxy"]'
eventually "it is believed without a restart" 30 forged_is 200
require "and is taken back" trust "$(cat "$up/pki/front-proxy-ca.crt")" '["front-proxy"]'
eventually "it is believed no more" 30 forged_is 401
expect "the first one still is" 200 "$(at_door $spaces "${proxy[@]}" "${masters[@]}")"

# ---- registered and withdrawn ---------------------------------------------------------------------------------------

upstream delete apiservice "$service" >/dev/null
eventually "an APIService that somebody removed is put back" 60 available
upstream patch apiservice "$service" --type merge -p '{"spec":{"versionPriority":5}}' >/dev/null
priority_is() { [[ $(upstream get apiservice "$service" -o jsonpath='{.spec.versionPriority}') == "$1" ]]; }
eventually "and one that somebody changed is set right" 60 priority_is 1000
upstream delete service zood-accounts -n zoo-system >/dev/null
eventually "the Service comes back, too" 60 upstream get service zood-accounts -n zoo-system
slice_owner() { upstream get endpointslices -n zoo-system -l kubernetes.io/service-name=zood-accounts -o jsonpath='{.items[*].metadata.ownerReferences[*].uid}'; }
owned() { [[ $(slice_owner) == "$(upstream get service zood-accounts -n zoo-system -o jsonpath='{.metadata.uid}')" ]]; }
eventually "with its endpoints, which go with it" 60 owned

check "the door is switched off" ctl account aggregated off
check "the APIService is gone then" absent
check_fails "and the Service" NotFound upstream get service zood-accounts -n zoo-system
expect_match "status says so" '^Switch: +off$' "$(ctl account aggregated status)"
check "a namespace goes while the door is off" deletes while-off
registrations() { grep -c 'the aggregated door is registered upstream' "$zood_dir.log"; }
before=$(registrations)
stop_zood
start_accounts
eventually "zood has looked after a restart" 30 looked_at_off
check "off stays off over a restart" absent
expect "and nothing was registered meanwhile" "$before" "$(registrations)"
check "the door is switched on" ctl account aggregated on
eventually "and registered again" 60 available

stop_zood
check "an orderly end withdraws it" absent
expect "and its endpoints" "" "$(upstream get endpointslices -n zoo-system -l kubernetes.io/service-name=zood-accounts -o name)"
check "a namespace goes after an orderly end" deletes after-stop

# ---- zood is dead ---------------------------------------------------------------------------------------------------

start_accounts
eventually "registered once more" 60 available
# holds_up NAME: a namespace that does not go.
holds_up() {
  stop_zood KILL
  eventually "kube-apiserver knows that nobody serves the group" 120 is_stale
  upstream create namespace "$1" >/dev/null
  upstream delete namespace "$1" --wait=false >/dev/null
  eventually "with zood dead and the door registered a namespace does not go" 120 stuck "$1"
}
stuck() { [[ $(upstream get namespace "$1" -o jsonpath='{.status.conditions[?(@.type=="NamespaceDeletionDiscoveryFailure")].status}') == True ]]; }
gone() { ! upstream get namespace "$1" >/dev/null 2>&1; }
holds_up held-1
start_accounts
eventually "a zood that starts again frees it" 120 gone held-1
eventually "and is available" 60 available
holds_up held-2
check_fails "zood cannot be asked, and zooctl names the way out" 'upstream KUBECONFIG' ctl account aggregated off
unavailable() { ctl account aggregated status --upstream "$ZOO_E2E_KUBECONFIG" | grep -E '^Available: +False: .*refused'; }
eventually "status is upstream's own" 120 unavailable
check "off works without zood" ctl account aggregated off --upstream "$ZOO_E2E_KUBECONFIG"
check "the APIService is gone" absent
eventually "and the namespace goes" 120 gone held-2
start_accounts
eventually "zood has looked after this start, too" 30 looked_at_off
check "off stays off, though no zood heard of it" absent

# ---- another's ------------------------------------------------------------------------------------------------------

upstream apply -f - >/dev/null <<YAML
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: $service}
spec: {group: $group, version: v1alpha1, groupPriorityMinimum: 10000, versionPriority: 1000, insecureSkipTLSVerify: true, service: {name: kiosk, namespace: kiosk}}
YAML
check "the door is switched on beside another's APIService" ctl account aggregated on
foreign() { ctl account aggregated status | says_line "another's"; }
eventually "which is left alone" 30 foreign
expect_match "doctor says so" "APIService $service is another's" "$(ctl doctor)"
stop_zood
expect "and an orderly end leaves it" kiosk "$(upstream get apiservice "$service" -o jsonpath='{.spec.service.name}')"
start_accounts
expect_match "a zood that starts beside it serves all the same, and says so" "APIService $service is another's" "$(ctl doctor)"
stop_zood
upstream delete apiservice "$service" >/dev/null

check_status "an address that kube-apiserver cannot reach is refused" 64 "$ZOO_BUILD/bin/zood" --dir "$TMPDIR/other" --upstream "$ZOO_E2E_KUBECONFIG" \
  --listen 127.0.0.1:0 --config <(echo 'accounts: {enabled: true, aggregated: {listen: "127.0.0.1:0"}}')
check_fails "nor is an account door without an address to connect to" 'set accounts.advertise to HOST:PORT' "$ZOO_BUILD/bin/zood" --dir "$TMPDIR/other" \
  --upstream "$ZOO_E2E_KUBECONFIG" --listen 127.0.0.1:0 --config <(echo 'accounts: {enabled: true, listen: "0.0.0.0:0"}')
