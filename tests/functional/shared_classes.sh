#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: app translate gateway upstream
# shared.*: "*" shows tenants the platform's classes, of every kind that upstream serves, as they come and go.
. "$(dirname "$0")/../e2e/lib.sh"

printf 'dir: %s\nupstream: {kubeconfig: "%s"}\nshared:\n' "$zood_dir" "$ZOO_E2E_KUBECONFIG" >"$TMPDIR/zood.yaml"
for kind in storage ingress runtime priority volume_attributes device; do
  printf '  %s_classes: ["*"]\n' "$kind" >>"$TMPDIR/zood.yaml"
done
start_zood --config "$TMPDIR/zood.yaml"
new_tenant a

name=shared-$(random_id)
# class KIND: a class of the platform; its version is what upstream prefers.
class() {
  local version more=''
  version=$(upstream api-resources --no-headers | awk -v kind="$1" '$NF == kind { print $(NF - 2) }')
  [[ -n $version ]] || return 1
  case $1 in
    StorageClass) more='provisioner: example.com/disk' ;;
    IngressClass) more='spec: {controller: example.com/doors}' ;;
    RuntimeClass) more='handler: fast' ;;
    PriorityClass) more='value: 7' ;;
    VolumeAttributesClass) more=$'driverName: example.com\nparameters: {speed: high}' ;;
    DeviceClass) more='spec: {}' ;;
  esac
  printf 'apiVersion: %s\nkind: %s\nmetadata: {name: %s}\n%s\n' "$version" "$1" "$name" "$more"
}
gone() { ! as "$a" get "$1" "$name"; }

path=/apis/storage.k8s.io/v1/storageclasses
version=$(as "$a" get --raw "$path" | jq -r .metadata.resourceVersion)
as "$a" get --raw "$path?watch=1&timeoutSeconds=120&allowWatchBookmarks=true&resourceVersion=$version" >"$TMPDIR/watch" 2>&1 &
watching=$!
check "the platform begins to share one" upstream create -f - <<<"$(class StorageClass)"
eventually "the tenant sees it" 30 as "$a" get storageclass "$name"
check "a class of the tenant's own" as "$a" create -f - <<<"$(class StorageClass | sed "s/$name/own/")"
pages='' token=''
while page=$(as "$a" get --raw "$path?limit=1${token:+&continue=$token}") && [[ -n $page ]]; do
  pages="$pages $(jq -r '[.items[].metadata.name] | join(",")' <<<"$page")"
  token=$(jq -r '.metadata.continue // empty' <<<"$page")
  [[ -n $token ]] || break
done
expect "its list comes in pages of as many as were asked for" "$(as "$a" get --raw "$path" | jq -r '.items[].metadata.name' | xargs)" "${pages# }"
wait "$watching" # not by check, whose shell within the shell cannot wait for what is still running
expect "who watches is told to list again, for its creation has passed" 0 $?
expect "and nothing of what came behind it" "ERROR 410" "$(jq -r '.type + " " + (.object.code | tostring)' "$TMPDIR/watch" | xargs)"
check "it goes" upstream delete storageclass "$name"
eventually "for the tenant too" 30 gone storageclass

for kind in StorageClass IngressClass RuntimeClass PriorityClass VolumeAttributesClass DeviceClass; do
  if ! class "$kind" >"$TMPDIR/$kind.yaml"; then
    note "upstream serves no $kind"
    check_fails "no $kind where upstream has none" "doesn't have a resource type" as "$a" get "$kind"
    continue
  fi
  check "the platform has a $kind" upstream create -f "$TMPDIR/$kind.yaml"
  eventually "the tenant sees it" 30 as "$a" get "$kind" "$name"
  expect "in a list" "$name" "$(as "$a" get "$kind" -o name | grep -o "$name")"
  check_fails "and may not remove it" 'read-only' as "$a" delete "$kind" "$name"
  check "it goes" upstream delete "$kind" "$name"
  eventually "for the tenant too" 30 gone "$kind"
done
expect_no_match "nothing that upstream lacks was asked for" 'cannot list' "$(cat "$zood_dir.log")"
