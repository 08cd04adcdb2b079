#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: tenants upstream cli
# timeout: 900
# `zooctl doctor` says which piece of the fence upstream is missing or was changed, whichever it is, and that zood put it
# back when it starts again. An upstream of its own, for its fence is taken down.
. "$(dirname "$0")/lib.sh"
own=$TMPDIR/upstream
require "an upstream of its own" eval '"$ZOO_UPSTREAM" start --dir "$own" --port 0 --nodes 0 --timeout 400 >"$TMPDIR/own.kubeconfig-path" 2>"$TMPDIR/own.out"'
at_end() { "$ZOO_UPSTREAM" stop --dir "$own" >/dev/null 2>&1; }
ZOO_E2E_KUBECONFIG=$(cat "$TMPDIR/own.kubeconfig-path")
start_zood
doctor() { ctl doctor -o json 2>&1; }
pieces=$("$ZOO_BUILD/bin/zood" --print-upstream-rbac |
  awk '/^kind:/ { kind = tolower($2) } /^metadata:/ { inside = 1 } inside && /^  name:/ { gsub("\"", "", $2); print kind, $2; inside = 0 }')
expect_match "there are pieces" '^[1-3][0-9]$' "$(wc -l <<<"$pieces")"
expect_no_match "at first all are there" 'missing|is not there|does not exist|differs' "$(ctl doctor 2>&1 | grep -i 'zoo')"
while read -r kind name; do
  case $kind/$name in
    # zood's own right to look: without it doctor says that it cannot.
    namespace/* | serviceaccount/* | */zoo:zood) continue ;;
    # What zood keeps while it runs: below.
    configmap/zoo-pods) continue ;;
  esac
  check "take away $kind $name" upstream delete "$kind" "$name" --wait=true
  told=$(ctl doctor 2>&1)
  expect_match "doctor names $kind $name" "$name" "$(grep -i "$kind" <<<"$told" | grep -Ei 'missing|not there|does not exist|not found|absent|no such')"
  expect_match "and what to do" 'print-upstream-rbac' "$told"
done <<<"$pieces"
stop_zood
start_zood
expect_no_match "zood put them back" 'missing|not there|does not exist|not found|absent' "$(ctl doctor 2>&1)"
new_tenant tenant
expect_no_match "the bindings of a tenant's namespaces are there" 'problem.*zoo-tenant|zoo-tenant.*problem' "$(ctl doctor 2>&1 | tr 'A-Z' 'a-z')"
space=$tenant-default
bound() { [[ $(ctl doctor 2>&1) != *"zoo-tenant in namespace $space"* ]]; }
check "exchange the binding of a namespace" upstream -n "$space" delete rolebinding zoo-tenant
check "for another one" upstream -n "$space" create rolebinding zoo-tenant --clusterrole=view --user="zoo:$tenant"
expect_match "doctor sees that it is another one" 'another one' "$(ctl doctor 2>&1 | grep "zoo-tenant in namespace $space")"
check "take it away" upstream -n "$space" delete rolebinding zoo-tenant
expect_match "doctor names it" missing "$(ctl doctor 2>&1 | grep "zoo-tenant in namespace $space")"
check "the tenant writes there" as "$tenant" -n default create configmap written
eventually "by which zood has put it back" 30 bound
check "a rule is widened" upstream patch clusterrole zoo:tenants-cluster --type=json -p '[{"op":"add","path":"/rules/-","value":{"apiGroups":[""],"resources":["nodes"],"verbs":["*"]}}]'
expect_match "doctor sees that it differs" 'zoo:tenants-cluster' "$(ctl doctor 2>&1 | grep -Ei 'warning|problem|differs')"
check "a policy is softened" upstream patch validatingadmissionpolicybinding zoo-tenants-cluster-scoped --type=merge -p '{"spec":{"validationActions":["Audit"]}}'
expect_match "doctor sees that too" 'zoo-tenants-cluster-scoped' "$(ctl doctor 2>&1 | grep -Ei 'warning|problem|differs')"
check "the terms of pods are taken away" upstream delete configmap zoo-pods --namespace zoo-system
eventually "and are back, for without them no tenant's pod is made" 90 upstream get configmap zoo-pods --namespace zoo-system
