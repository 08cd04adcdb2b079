#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: cli accounts app
# timeout: 600
# zooctl account, space, whoami, can-i and kubeconfig account, as an administrator straight at the upstream and as a member
# through the account door.
. "$(dirname "$0")/../e2e/lib.sh"

own_upstream
start_zood_with "dir: $zood_dir
upstream: {kubeconfig: $ZOO_E2E_KUBECONFIG}
accounts: {enabled: true, listen: \"127.0.0.1:0\", self_service: true}"
listen=$(sed -n 's/.*the account door listens on //p' "$zood_dir.log" | tail -1)
require "the account door listens" test -n "$listen"

zooctl() { "$ZOO_BUILD/bin/zooctl" "$@"; }
administrator() { zooctl --kubeconfig "$ZOO_E2E_KUBECONFIG" "$@"; }
door=(--server "https://$listen" --certificate-authority "$zood_dir/pki/ca.crt")

require "an account" administrator account create blue --group blue-team --limit 2 --role kiosk-space-admin
require "and another" administrator account create green --user jane
expect_match "are listed" '^blue +[0-9]+/2 +1 +kiosk-space-admin ' "$(administrator account list)"
check_status "a name that is taken" 5 administrator account create blue
check_fails "a name that is not there" "did you mean 'blue'" administrator account describe blu
check "a member more" administrator account add-member blue --sa default/robot
expect "who is there" '["blue-team","robot"]' "$(administrator account get blue -o json | jq -c '[.spec.subjects[].name]')"
check "leaves" administrator account remove-member blue --sa default/robot

expect_match "another one is applied" 'red created' "$(administrator account apply red --user joe --limit 3)"
expect_match "and changed" 'red configured' "$(administrator account apply red --user joe --user jim)"
expect "to what is said alone" '[["joe","jim"],null]' "$(administrator account get red -o json | jq -c '[[.spec.subjects[].name], .spec.space.limit]')"
expect_match "or is that already" 'red unchanged' "$(administrator account apply red --user joe --user jim)"
check "and goes" administrator account delete red
check "where zood can be asked it says where its door is" ctl kubeconfig account --bare -o "$TMPDIR/bare.kubeconfig"
expect "with its address" "https://$listen" "$("$KUBECTL" --kubeconfig "$TMPDIR/bare.kubeconfig" config view -o jsonpath='{.clusters[0].cluster.server}')"
expect "and its CA" "$(cat "$zood_dir/pki/ca.crt")" \
  "$("$KUBECTL" --kubeconfig "$TMPDIR/bare.kubeconfig" config view --raw -o jsonpath='{.clusters[0].cluster.certificate-authority-data}' | base64 -d)"

require "a member's kubeconfig" administrator kubeconfig account --user john --group blue-team --ttl 1h "${door[@]}" -o "$TMPDIR/john.kubeconfig"
expect "is his alone" 600 "$(stat -c %a "$TMPDIR/john.kubeconfig")"
check_status "the cluster's own names get none" 64 administrator kubeconfig account --user system:admin
john() { zooctl --kubeconfig "$TMPDIR/john.kubeconfig" "$@"; }
knows() { grep -qx 'Accounts: blue' <<<"$(john whoami)"; }
eventually "he knows his account" 30 knows
expect "which is all that he sees" blue "$(john account list -o name)"
check_fails "others are not there" "there is no account 'green'|not found" john account describe green

check "a space of his only account" john space create web --label tier=front
check "a second one" john space create api --account blue
check_fails "not a third" 'space limit of 2 reached for account blue' john space create more
check_status "which is forbidden" 77 john space create more
expect "he sees these" "api web" "$(john space list -o name | xargs)"
expect_match "with their owner" '^web +blue +Active' "$(john space list --mine)"
expect_match "in full" '^ *tier=front|tier=front' "$(john space describe web)"
check_fails "not others" "there is no space 'kube-system' that you may see" john space describe kube-system

check "kubectl works in one" john space use web
expect "from then on" web "$("$KUBECTL" --kubeconfig "$TMPDIR/john.kubeconfig" config view --minify -o jsonpath='{.contexts[0].context.namespace}')"
check "and makes things" "$KUBECTL" --kubeconfig "$TMPDIR/john.kubeconfig" create configmap mine
check "in the other" john space use api
check "and back" john space use -
expect "in the first" web "$("$KUBECTL" --kubeconfig "$TMPDIR/john.kubeconfig" config view --minify -o jsonpath='{.contexts[0].context.namespace}')"
check_status "not where he sees nothing" 4 john space use kube-system
check "he may there" john can-i create deployments.apps
check_status "not elsewhere" 1 john can-i create deployments.apps -n kube-system
check_status "he moves nothing to others" 77 john space transfer web --to green
check_status "nor adopts" 4 john space adopt kube-system --account blue

# The administrator's kubeconfig with the door for its server.
"$KUBECTL" config view --raw --minify --flatten --kubeconfig "$ZOO_E2E_KUBECONFIG" -o json |
  jq --arg server "https://$listen" --arg ca "$(base64 -w0 <"$zood_dir/pki/ca.crt")" \
    '.clusters[0].cluster = {server: $server, "certificate-authority-data": $ca}' >"$TMPDIR/door.kubeconfig"
at_door() { zooctl --kubeconfig "$TMPDIR/door.kubeconfig" "$@"; }
require "a namespace of nobody" upstream create namespace old
adopts() { at_door space adopt old --account green; }
eventually "is adopted" 30 adopts
check_status "but not twice" 6 at_door space adopt old --account blue
check_fails "what the account has no room for stays" 'space limit of 2 reached' at_door space transfer old --to blue
check "a space goes" john space delete api
gone() { [[ $(john space list -o name | xargs) == web ]]; }
eventually "and is gone" 60 gone
transfers() { at_door space transfer old --to blue; }
eventually "then there is room" 60 transfers
sees() { [[ $(john space list -o name | xargs) == "old web" ]]; }
eventually "and he sees it" 30 sees
check_status "the upstream itself serves no spaces" 69 administrator space list
check "an account goes" administrator account delete green
