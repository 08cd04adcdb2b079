# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: patches that grow: copies of copies, ten thousand operations, one operation of megabytes, apply with a deep tree, and of a
#   kind that zood keeps one long name with thousands of fields below, each of which is owned by its whole path.
# Without the fence: 30 copies of itself make a document of gigabytes; so do the paths.
# Rule: a patch goes upstream as a patch, whose limits hold (10,000 operations, 3 MiB). Of what zood keeps itself the paths are
#   counted before they are made.
made "an object" POST /api/v1/namespaces/team/configmaps json '{"metadata":{"name":"evil-bomb","annotations":{"a":"'"$(printf 'x%.0s' {1..1000})"'"}}}'
made "a fenced one" POST /apis/networking.k8s.io/v1/namespaces/team/networkpolicies json '{"metadata":{"name":"evil-bomb","annotations":{"a":"'"$(printf 'x%.0s' {1..1000})"'"}},"spec":{"podSelector":{}}}'
resident() { awk '$1 == "VmRSS:" { print int($2 / 1024) }' "/proc/${zood_pids[$zood_dir]}/status"; }
before=$(resident)
doubling=$(python3 -c 'print("[" + ",".join("{\"op\":\"copy\",\"from\":\"/metadata/annotations\",\"path\":\"/metadata/annotations/b%d\"}" % n for n in range(40)) + "]")')
many=$(python3 -c 'print("[" + ",".join("{\"op\":\"test\",\"path\":\"/kind\",\"value\":\"x\"}" for n in range(10001)) + "]")')
python3 -c 'print("[{\"op\":\"add\",\"path\":\"/data\",\"value\":{\"a\":\"" + "x" * (4 << 20) + "\"}}]", end="")' >"$TMPDIR/large"
deep=$(python3 -c 'print("[{\"op\":\"add\",\"path\":\"/spec\",\"value\":" + "[" * 9000 + "]" * 9000 + "}]")')
for path in /api/v1/namespaces/team/configmaps/evil-bomb /apis/networking.k8s.io/v1/namespaces/team/networkpolicies/evil-bomb; do
  try PATCH $path patch "$doubling"
  refused "copies of copies" '4..'
  curl_more=(--data-binary "@-" -H 'Content-Type: application/json-patch+json')
  printf %s "$many" >"$TMPDIR/many"
  curl_more=(--data-binary "@$TMPDIR/many" -H 'Content-Type: application/json-patch+json')
  try PATCH $path
  refused "ten thousand operations" '4..'
  curl_more=(--data-binary "@$TMPDIR/large" -H 'Content-Type: application/json-patch+json')
  try PATCH $path
  refused "four megabytes" '4..'
  try PATCH $path patch "$deep"
  expect_match "a deep one is answered: $code" '^[245]..$' "$code"
done
flows=/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas
made "one that zood keeps" POST $flows json '{"metadata":{"name":"evil-bomb"},"spec":{"priorityLevelConfiguration":{"name":"global-default"}}}'
python3 -c 'import json; print(json.dumps({"apiVersion": "flowcontrol.apiserver.k8s.io/v1", "kind": "FlowSchema", "k" * 200000: {"%x" % n: 0 for n in range(20000)}}), end="")' >"$TMPDIR/wide"
for ending in 'apply ?fieldManager=evil&force=true' 'merge ' 'merge /status'; do
  sed "s/\"k*\":/\"$([[ $ending == */status ]] && echo status || echo spec)\":{&/; s/}$/}}/" "$TMPDIR/wide" >"$TMPDIR/wide-in"
  curl_more=(--data-binary "@$TMPDIR/wide-in" -H "Content-Type: ${media_types[${ending%% *}]}")
  try PATCH "$flows/evil-bomb${ending#* }"
  refused "by ${ending%% *}${ending#* }" 413
done
after=$(resident)
if ((after < before + 150)); then passed "memory is bounded"; else failed "memory is bounded" <<<"$before MiB, then $after"; fi
# Within its limits upstream does what such a patch says: fourteen copies of itself are a thousandfold.
grows=$(python3 -c 'print("[{\"op\":\"add\",\"path\":\"/spec\",\"value\":{\"a\":\"" + "x" * 40 + "\"}}" + "".join(",{\"op\":\"copy\",\"from\":\"/spec\",\"path\":\"/spec/b%d\"}" % n for n in range(14)) + "]")')
would "let a patch of ${#grows} bytes grow" PATCH "/apis/$victim-vaults.example.com/v1/namespaces/$victim-team/safes/$vault" patch "$grows"
if ((${#answer} > 1000 * ${#grows})); then passed "a thousandfold"; else failed "a thousandfold" <<<"${#answer} bytes of ${#grows}"; fi
