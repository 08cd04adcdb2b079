#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: resources admin tenants net http
# step: verify
# The admin API of a whole zood, by kubectl over its TLS door.
. "$(dirname "$0")/../e2e/lib.sh"
. "$(dirname "$0")/admin_checks.bash"

start_zood
[[ -r $zood_dir/admin.kubeconfig ]] || failed "zood writes admin.kubeconfig" < <(ls -l "$zood_dir")
expect "admin.kubeconfig is nobody else's" 600 "$(stat -c %a "$zood_dir/admin.kubeconfig")"
admin_checks "$KUBECTL" "$zood_dir/admin.kubeconfig"

socket=(curl -sS --max-time 20 --unix-socket "$zood_dir/zood.sock")
expect "the socket answers root" 200 "$("${socket[@]}" -o /dev/null -w '%{http_code}' http://zood/readyz)"
expect "errors are Status" Status "$("${socket[@]}" http://zood/nothing | jq -r .kind)"
if ((EUID == 0)) && command -v setpriv >/dev/null; then
  chmod o+rx "$TMPDIR" "$zood_dir" && chmod o+rw "$zood_dir/zood.sock"
  expect "a stranger is refused, even if the file's mode lets him in" Forbidden \
    "$(setpriv --reuid 65534 --regid 65534 --clear-groups "${socket[@]}" http://zood/zoo/v1/status | jq -r .reason)"
fi
