# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: to have an object stored in a namespace that is there only after zood has judged it: one that comes while upstream waits
#   for it (NamespaceLifecycle sleeps 50 ms), where its own mutation changes the object once more; and to apply a namespace that
#   goes between the trial and the write, so that it is made without its level of pod security.
# Without the fence: what zood asks in its own name upstream's policies for tenants do not look at (capacities of the platform's
#   classes, tokens that never expire), and an apply makes what is gone, whatever version it names: pods that own the node.
# Rule: it is asked in the tenant's name, with a group that has the tenant's rights there; an apply names the UID of the trial.
group=/apis/admissionregistration.k8s.io/v1
storage=/apis/storage.k8s.io/v1
race() { # METHOD PATH TYPE BODY: at the same time as what follows
  lists "$evil" -X "$1" -H "Content-Type: ${media_types[$3]}" --data-binary "$4" -o /dev/null -w '%{http_code}\n' "https://$zood_address$2" >>"$TMPDIR/raced"
}
: >"$TMPDIR/raced"

# ---- one that comes
capacity='{"metadata":{"name":"evil"},"storageClassName":"evil","nodeTopology":{},"capacity":"1Pi"}'
try GET $group/mutatingadmissionpolicies
if [[ $code == 200 ]]; then
  made "a mutation of its own" POST $group/mutatingadmissionpolicies json '{"metadata":{"name":"evil"},"spec":{"failurePolicy":"Ignore","reinvocationPolicy":"IfNeeded",
    "matchConstraints":{"resourceRules":[{"apiGroups":["storage.k8s.io"],"apiVersions":["*"],"operations":["CREATE"],"resources":["csistoragecapacities"]}]},
    "mutations":[{"patchType":"JSONPatch","jsonPatch":{"expression":"[JSONPatch{op: \"replace\", path: \"/storageClassName\", value: \"standard\"}]"}}]}}'
  made "its binding" POST $group/mutatingadmissionpolicybindings json '{"metadata":{"name":"evil"},"spec":{"policyName":"evil"}}'
  works() {
    try POST $storage/namespaces/team/csistoragecapacities json "$capacity"
    [[ $code == 4* && $answer == *"capacity of its own classes"* ]]
  }
  eventually "what comes of it upstream refuses" 60 works
  for ((i = 0; i < 16; i++)); do
    race POST $storage/namespaces/evil-comes-$i/csistoragecapacities json "$capacity" &
    racing=$!
    sleep "0.0$((i / 2 + 1))" # not until something is the case: the moment is what is sought
    made "a namespace" POST /api/v1/namespaces json '{"metadata":{"name":"evil-comes-'$i'"}}'
    wait "$racing"
  done
  direct GET $storage/csistoragecapacities
  expect "no capacity of the platform's class" "" "$(jq -r '.items[] | select(.metadata.namespace | startswith("'"$evil-"'")) | select(.storageClassName == "standard") | .metadata.namespace' <<<"$answer")"
  would "store it" POST "$storage/namespaces/$evil-evil-comes-0/csistoragecapacities" json "${capacity//\"evil\"/\"standard\"}"
fi

# ---- one that goes
many=12 apply='{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"NAME"}}'
for ((i = 0; i < many; i++)); do
  made "a namespace" POST /api/v1/namespaces json '{"metadata":{"name":"evil-goes-'$i'","finalizers":["evil.example.com/kept"]}}'
  try PATCH "/api/v1/namespaces/evil-goes-$i?fieldManager=evil&force=true" apply "${apply/NAME/evil-goes-$i}"
  accepted "applied"
  try DELETE /api/v1/namespaces/evil-goes-$i
  accepted "it goes"
done
emptied() { [[ $(stored "/api/v1/namespaces/$evil-evil-goes-$i" '.spec.finalizers // [] | length') == 0 ]]; }
for ((i = 0; i < many; i++)); do
  eventually "but for the attacker's finalizer" 120 emptied
  race PATCH "/api/v1/namespaces/evil-goes-$i?fieldManager=evil&force=true" apply "${apply/NAME/evil-goes-$i}" &
  racing=$!
  sleep "0.0$(printf %02d $((i * 2)))"
  race PATCH /api/v1/namespaces/evil-goes-$i merge '{"metadata":{"finalizers":null}}'
  wait "$racing"
  expect_no_match "no namespace without a level" '^without$' \
    "$(stored "/api/v1/namespaces/$evil-evil-goes-$i" 'if .kind == "Status" then "none" else .metadata.labels["pod-security.kubernetes.io/enforce"] // "without" end')"
done
curl_more=(-H "Impersonate-User: zoo:$evil" -H 'Impersonate-Group: zoo:tenants' -H 'Impersonate-Group: zoo:tenants-anywhere')
direct POST '/api/v1/namespaces?dryRun=All' json '{"metadata":{"name":"'"$evil"'-evil-bare","labels":{"tenant.kubezoo.io/id":"'"$evil"'"}}}'
refused "in the tenant's name upstream makes none" '403|422'
expect_match "by the policy" zoo-tenants-cluster-scoped "$answer"
expect_no_match "nothing broke" '^(5..|000)$' "$(cat "$TMPDIR/raced")"
would "make one" POST /api/v1/namespaces json '{"metadata":{"name":"'"$evil"'-evil-bare","labels":{"tenant.kubezoo.io/id":"'"$evil"'"}}}'
