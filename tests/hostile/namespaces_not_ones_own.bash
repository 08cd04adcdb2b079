# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: to reach a namespace that stands upstream under the attacker's prefix, but is none of its own: made by somebody else,
# without the tenant's label, or with another's.
# Without the fence: whoever gets the ID "calico" owns calico-system.
# Rule: a namespace is the tenant's by prefix and label both; others are not listed, not reached, and doctor tells of them.
made "a role of who may change and not make" POST /apis/rbac.authorization.k8s.io/v1/clusterroles json '{"metadata":{"name":"evil-mender"},"rules":[{"apiGroups":[""],"resources":["configmaps"],"verbs":["patch"]}]}'
made "who has it" POST /apis/rbac.authorization.k8s.io/v1/clusterrolebindings json '{"metadata":{"name":"evil-mender"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"evil-mender"},"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"mender"}]}'
for pair in "adopted:{}" "others:{\"tenant.kubezoo.io/id\":\"$victim\"}"; do
  name=${pair%%:*}
  direct POST /api/v1/namespaces json '{"metadata":{"name":"'"$evil-$name"'","labels":'"${pair#*:}"'}}'
  accepted "a namespace of somebody else's, $name"
  direct POST "/api/v1/namespaces/$evil-$name/configmaps" json '{"metadata":{"name":"theirs"},"data":{"word":"'"$canary"'"}}'
  accepted "holds something"
  for path in "/api/v1/namespaces/$name" "/api/v1/namespaces/$name/configmaps" "/api/v1/namespaces/$name/configmaps/theirs" "/api/v1/namespaces/$name/secrets"; do
    try GET "$path"
    refused "$path is not there" '40[34]'
    curl_more=(--max-time 4)
    try GET "$path?watch=1&timeoutSeconds=1"
    expect_no_match "nor watched: $code" "$canary" "$answer"
  done
  for path in /api/v1/configmaps '/api/v1/configmaps?limit=1' '/api/v1/configmaps?watch=1&resourceVersion=0&timeoutSeconds=1' "/api/v1/configmaps?fieldSelector=metadata.namespace%3D$name" /api/v1/namespaces "/api/v1/namespaces?fieldSelector=metadata.name%3D$name" '/api/v1/namespaces?watch=1&resourceVersion=0&timeoutSeconds=1'; do
    try GET "$path"
    expect_no_match "$path shows nothing of it" "$canary|\"$name\"" "$answer"
  done
  try POST "/api/v1/namespaces/$name/configmaps" json '{"metadata":{"name":"evil"}}'
  refused "nothing is made in it" '40[34]'
  try DELETE "/api/v1/namespaces/$name/configmaps/theirs"
  refused "nothing is deleted" '40[34]'
  # Zood reads these itself, for its own among them may not go.
  direct POST "/apis/rbac.authorization.k8s.io/v1/namespaces/$evil-$name/rolebindings" json '{"metadata":{"name":"'"$canary"'"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"view"}}'
  accepted "and a binding, whose name is its secret"
  for query in '' '?dryRun=All' "?fieldSelector=metadata.name%3D$canary"; do
    try DELETE "/apis/rbac.authorization.k8s.io/v1/namespaces/$name/rolebindings$query"
    said "$canary"
    expect_no_match "bindings are not deleted, nor named: $code" "$canary" "$answer"
    refused "and the namespace is not there" 404
  done
  # Who may change what is there, and make nothing: is it there?
  for thing in theirs nothing; do
    curl_more=(-H 'Impersonate-User: mender')
    try PATCH "/api/v1/namespaces/$name/configmaps/$thing?fieldManager=m" apply '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"'"$thing"'"}}'
    refused "a change of $thing says nothing of it" 404
    expect_match "but of its namespace" 'namespaces' "$answer"
  done
  try DELETE "/api/v1/namespaces/$name"
  refused "nor itself" '4..'
  try PATCH "/api/v1/namespaces/$name" merge '{"metadata":{"labels":{"a":"b"}}}'
  refused "nor patched" '4..'
  try POST /api/v1/namespaces json '{"metadata":{"name":"'"$name"'"}}'
  refused "nor taken over by making it" '4..'
  expect "it has no binding of the tenant's" 404 "$(stored "/apis/rbac.authorization.k8s.io/v1/namespaces/$evil-$name/rolebindings/zoo-tenant" '.code // "there"')"
  would "show what it holds" GET "/api/v1/namespaces/$evil-$name/configmaps/theirs"
  expect_match "to whom it is nothing but a prefix" "$canary" "$answer"
  would "make something in it" POST "/api/v1/namespaces/$evil-$name/configmaps" json '{"metadata":{"name":"evil"}}'
  would "delete it" DELETE "/api/v1/namespaces/$evil-$name"
  direct DELETE "/api/v1/namespaces/$evil-$name"
done
# A watch that was opened before it stood there, or before it lost its label.
watched() { # FILE PATH
  curl -sN -D "$TMPDIR/$1.head" --max-time 90 --cacert "$TMPDIR/$evil.ca" --cert "$TMPDIR/$evil.crt" --key "$TMPDIR/$evil.key" "https://$zood_address$2" >"$TMPDIR/$1" &
  watchers+=($!)
}
watchers=()
watched early-all '/api/v1/configmaps?watch=1&resourceVersion=0'
watched early-one '/api/v1/namespaces/late/configmaps?watch=1&resourceVersion=0'
eventually "both have begun" 30 grep -q kube-root-ca.crt "$TMPDIR/early-all"
eventually "the one of a namespace too" 30 grep -q ' 200' "$TMPDIR/early-one.head"
direct POST /api/v1/namespaces json '{"metadata":{"name":"'"$evil-late"'"}}'
accepted "a namespace of somebody else's, later"
known() { [[ $(ctl doctor 2>&1) == *"$evil-late"* ]]; }
eventually "zood knows it" 30 known
direct POST "/api/v1/namespaces/$evil-late/configmaps" json '{"metadata":{"name":"theirs"},"data":{"word":"'"$canary"'"}}'
accepted "holds something"
made "the attacker's own" POST /api/v1/namespaces/team/configmaps json '{"metadata":{"name":"evil-mark"}}'
eventually "is heard" 30 grep -q evil-mark "$TMPDIR/early-all"
expect "and nothing of the other" 0 "$(cat "$TMPDIR/early-all" "$TMPDIR/early-one" | grep -c "$canary")"
kill "${watchers[@]}"
wait "${watchers[@]}" 2>/dev/null
direct DELETE "/api/v1/namespaces/$evil-late"
