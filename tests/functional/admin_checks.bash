# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced after tests/e2e/lib.sh: what kubectl must be able to do with the admin API.
#
#   admin_checks KUBECTL KUBECONFIG    tenants adm001, adm002 and 123456 are made and deleted

admin_k() { "$admin_kubectl" --kubeconfig "$admin_config" "$@"; }

# admin_manifest ID DISPLAY-NAME [MORE SPEC LINES]
admin_manifest() {
  printf 'apiVersion: tenant.kubezoo.io/v1alpha1\nkind: Tenant\nmetadata:\n  name: "%s"\n  labels: {made-by: checks}\nspec:\n  displayName: %s\n%s' \
    "$1" "$2" "${3:-}"
}

admin_checks() {
  admin_kubectl=$1 admin_config=$2
  local output watch_log=$TMPDIR/watch.$RANDOM watcher

  check "api-resources lists tenants" grep -q '^tenants  *tn  *tenant.kubezoo.io/v1alpha1 *false *Tenant' \
    <(admin_k api-resources --no-headers)
  check "create (client's idea of apply) of one" admin_k apply -f <(admin_manifest adm001 First)
  expect_match "apply again changes nothing" '^tenant.tenant.kubezoo.io/adm001 unchanged$' \
    "$(admin_k apply -f <(admin_manifest adm001 First))"
  expect_match "apply of a change" 'configured' "$(admin_k apply -f <(admin_manifest adm001 Changed))"
  expect_match "server-side apply of a new one" 'adm002 serverside-applied' \
    "$(admin_k apply --server-side -f <(admin_manifest adm002 Second))"
  expect_match "server-side apply over it" 'adm002 serverside-applied' \
    "$(admin_k apply --server-side -f <(admin_manifest adm002 Other))"
  expect "what was applied is there" "Changed Other" \
    "$(admin_k get tenants adm001 adm002 -o jsonpath='{.items[*].spec.displayName}')"
  check "an ID that looks like a number" admin_k create -f <(admin_manifest 123456 Number)
  check "wait for Ready" admin_k wait --for=condition=Ready tenants -l made-by=checks --timeout=60s

  output=$(admin_k get tenants)
  expect_match "table: header" '^NAME +STATUS +DISPLAY NAME +EXPIRES +AGE$' "$output"
  expect_match "table: row" '^adm001 +Ready +Changed +[0-9]+[dy][^ ]* +[^ ]+$' "$output"
  expect_match "wide shows the UID" '^NAME .* WAITING FOR +UID$' "$(admin_k get tn -o wide)"
  expect "names" "tenant.tenant.kubezoo.io/123456" "$(admin_k get tenants -o name --field-selector metadata.name=123456)"
  expect "selectors" 3 "$(admin_k get tenants -l made-by=checks,made-by!=nobody -o name | wc -l)"
  expect_match "yaml quotes what looks like a number" 'name: "123456"' "$(admin_k get tenant 123456 -o yaml)"
  expect "json" '"123456"' "$(admin_k get tenant 123456 -o json | jq .metadata.name)"
  expect "no kubeconfig in lists" 0 "$(admin_k get tenants -o yaml | grep -c 'tenant.kubeconfig.base64')"
  expect_match "custom columns" '^adm002 +Other$' \
    "$(admin_k get tenants -o custom-columns=N:.metadata.name,D:.spec.displayName)"
  expect "pages" 3 "$(admin_k get tenants -l made-by=checks --chunk-size=1 -o name | wc -l)"

  expect_match "describe" 'Display Name: +Changed' "$(admin_k describe tenant adm001)"
  expect_match "explain" 'displayName[[:space:]]+<string>' "$(admin_k explain tenants.spec)"
  expect_match "explain of a field" 'What people call the tenant' "$(admin_k explain tenant.spec.displayName)"
  expect "auth can-i" yes "$(admin_k auth can-i create tenants.tenant.kubezoo.io 2>/dev/null)"
  expect_match "auth can-i, for what is not here" '^no - zood' "$(admin_k auth can-i create pods 2>/dev/null)"
  check "auth can-i --list" admin_k auth can-i --list
  check "version" admin_k version
  check "label" admin_k label tenant adm001 colour=red
  check "annotate" admin_k annotate tenant adm001 note='some words'
  check "patch --type=json" admin_k patch tenant adm001 --type=json \
    -p '[{"op":"replace","path":"/spec/displayName","value":"Patched"}]'
  expect "the patch is there" Patched "$(admin_k get tenant adm001 -o jsonpath='{.spec.displayName}')"
  check "edit" env KUBE_EDITOR='sed -i s/Patched/Edited/' "$admin_kubectl" --kubeconfig "$admin_config" edit tenant adm001
  expect "the edit is there" Edited "$(admin_k get tenant adm001 -o jsonpath='{.spec.displayName}')"
  # What was read is applied again, kubeconfig and all: it must not be kept.
  check "what get shows can be applied" admin_k apply -f <(admin_k get tenant adm001 -o json | jq 'del(.metadata.resourceVersion)')
  expect "and leaves no kubeconfig behind" 0 "$(admin_k get tenants -o yaml | grep -c 'tenant.kubeconfig.base64')"
  check "replace" admin_k replace -f <(admin_k get tenant adm001 -o json | jq 'del(.metadata.resourceVersion)')
  admin_k diff -f <(admin_manifest adm002 Different) >"$watch_log" 2>&1
  expect_match "diff" '^\+  displayName: Different' "$(<"$watch_log")"

  check "dry run on the server" admin_k create --dry-run=server -f <(admin_manifest adm009 Dry)
  check "dry run of apply" admin_k apply --dry-run=server -f <(admin_manifest adm001 Dry)
  check "dry run of delete" admin_k delete --dry-run=server tenant adm001
  expect "nothing came of them" "Edited " \
    "$(admin_k get tenant adm001 -o jsonpath='{.spec.displayName} {.metadata.deletionTimestamp}')"
  check_fails "a dry run's tenant is not there" 'NotFound' admin_k get tenant adm009
  check_fails "broken YAML" 'error' admin_k apply -f <(printf 'apiVersion: [tenant\n')
  check_fails "an unknown field" 'unknown field "?(spec\.)?displayNam' \
    admin_k apply --validate=true -f <(admin_manifest adm009 X $'  displayNam: y\n')
  expect_match "an unknown field, as a warning" 'unknown field' \
    "$(admin_k create --dry-run=server --validate=warn -f <(admin_manifest adm009 X $'  displayNam: y\n') 2>&1)"
  check_fails "a bad ID" 'six characters' admin_k create -f <(admin_manifest toolong1 X)
  check_fails "a number as a name" 'quote|invalid type|cannot unmarshal|unable to decode' \
    admin_k create -f <(admin_manifest 123457 X | tr -d '"')
  check_fails "a tenant that is there" 'AlreadyExists' admin_k create -f <(admin_manifest adm001 X)
  check_fails "a tenant that is not there" 'NotFound' admin_k get tenant nobody
  check_fails "a misspelt path" 'did you mean "tenants"' admin_k get --raw /apis/tenant.kubezoo.io/v1alpha1/tenats
  expect "zood's own status counts them" true "$(admin_k get --raw /zoo/v1/status | jq '.tenants.total >= 3')"

  admin_k get tenants -w --output-watch-events >"$watch_log" 2>/dev/null &
  watcher=$!
  eventually "get -w shows what is there" 30 grep -Eq '^ADDED +adm002 ' "$watch_log"
  check "delete waits" admin_k delete tenant adm002 --timeout=60s
  eventually "get -w shows the deletion" 30 grep -Eq '^DELETED +adm002 ' "$watch_log"
  kill "$watcher" 2>/dev/null
  wait "$watcher" 2>/dev/null
  check_fails "it is gone" 'NotFound' admin_k get tenant adm002
  check "delete by selector" admin_k delete tenants -l made-by=checks --timeout=60s
  expect "all are gone" "" "$(admin_k get tenants -l made-by=checks -o name)"
  check "delete --ignore-not-found" admin_k delete tenant adm001 --ignore-not-found
}
