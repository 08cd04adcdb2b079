# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: certificate requests that ask for more: groups of the system, the victim's OU and UID, upstream's signers, approval.
# Without the fence: upstream's kube-apiserver-client signer would make the attacker system:masters of everybody.
# Rule: subjects are built by zood: the OU is the tenant's; system: groups are refused; upstream's signers never see one.
requests=/apis/certificates.k8s.io/v1/certificatesigningrequests
uri=$(openssl x509 -in "$TMPDIR/$victim.crt" -noout -ext subjectAltName | grep -o 'URI:[^,]*' | cut -c5-)
said "$uri"
n=0 n_made=0
openssl ecparam -name prime256v1 -genkey -noout -out "$TMPDIR/csr.key" 2>/dev/null
for subject in /O=system:masters/CN=admin "/OU=$victim/O=zoo:cluster-admins/CN=admin" "/OU=$evil/OU=$victim/O=x/CN=admin" /O=system:nodes/CN=system:node:kwok-1 "/CN=zoo:$victim/O=zoo:tenants" "/CN=system:kube-controller-manager"; do
  for signer in kubernetes.io/kube-apiserver-client kubernetes.io/kube-apiserver-client-kubelet kubernetes.io/legacy-unknown kubernetes.io/kubelet-serving; do
    n=$((n + 1))
    request=$(openssl req -new -key "$TMPDIR/csr.key" -subj "$subject" -addext "subjectAltName=URI:$uri" 2>/dev/null | base64 -w0)
    try POST $requests json '{"metadata":{"name":"evil-'$n'"},"spec":{"request":"'"$request"'","signerName":"'"$signer"'","usages":["client auth","digital signature"],"username":"system:admin","groups":["system:masters"]}}'
    if [[ $signer != kubernetes.io/kube-apiserver-client ]]; then
      refused "a request to $signer"
      continue
    fi
    [[ $code == 2* ]] || continue
    n_made=$((n_made + 1))
    expect_no_match "upstream sees no signer of its own ($signer)" '^kubernetes.io/' "$(stored "$requests/$evil-evil-$n" '.spec.signerName // empty')"
    try GET "$requests/evil-$n"
    try PUT "$requests/evil-$n/approval" json "$(jq -c '.status.conditions = [{"type":"Approved","status":"True","reason":"x","message":"x"}]' <<<"$answer")"
    for _ in 1 2 3 4 5; do
      try GET "$requests/evil-$n"
      certificate=$(jq -r '.status.certificate // empty' <<<"$answer" | base64 -d 2>/dev/null)
      [[ -n $certificate || $code != 200 || $answer == *Failed* ]] && break
      sleep 0.1
    done
    [[ -n $certificate ]] || continue
    said=$(openssl x509 -noout -subject -ext subjectAltName <<<"$certificate")
    expect_match "what is signed is the attacker's ($subject, $signer)" "OU = $evil" "$said"
    expect_no_match "and nothing more" "$victim|$uri|O = system:" "$said"
    printf '%s\n' "$certificate" >"$TMPDIR/signed.crt"
    got=$(curl -s --max-time 10 --cacert "$TMPDIR/$evil.ca" --cert "$TMPDIR/signed.crt" --key "$TMPDIR/csr.key" "https://$zood_address/api/v1/namespaces/team/secrets/$vault")
    observe "$vault" "$got"
    expect_no_match "it does not show the victim's" "$canary" "$got"
    got=$(curl -sk --max-time 10 --cert "$TMPDIR/signed.crt" --key "$TMPDIR/csr.key" -o /dev/null -w '%{http_code}' "$upstream_server/api/v1/secrets")
    expect_match "and upstream does not know it" '^(401|403|000)$' "$got"
  done
done
csr=$(openssl req -new -key "$TMPDIR/csr.key" -subj /O=system:nodes/CN=system:node:kwok-1 2>/dev/null | base64 -w0)
rest='"request":"'"$csr"'","usages":["client auth"]'
for body in '{"metadata":{"name":"evil-a"},"spec":{"signerName":"example.com/x",'"$rest"'},"spec":{"signerName":"kubernetes.io/kubelet-serving",'"$rest"'}}' \
  '{"metadata":{"name":"evil-b"},"spec":{"signerName":"example.com/x","signerName":"kubernetes.io/kubelet-serving",'"$rest"'}}' \
  '{"metadata":{"name":"evil-c"},"spec":{"signer\u004eame":"kubernetes.io/kubelet-serving",'"$rest"'}}' \
  '{"metadata":{"name":"evil-d"},"spec":{"signerName":"kubernetes\u002eio/kubelet-serving",'"$rest"'}}'; do
  try POST $requests json "$body"
  refused "a signer of nodes, ${body:0:90}"
done
try POST $requests yaml $'metadata: {name: evil-e}\nspec:\n  signerName: "kubernetes.io/kubelet-serving"\n  request: '"$csr"$'\n  usages: [client auth]'
refused "a signer of nodes in YAML"
try PATCH "$requests/evil-f?fieldManager=x&force=true" apply '{"apiVersion":"certificates.k8s.io/v1","kind":"CertificateSigningRequest","metadata":{"name":"evil-f"},"spec":{"signerName":"kubernetes.io/kubelet-serving",'"$rest"'}}'
refused "a signer of nodes by apply"
expect_match "some were made" '^[1-9]' "$n_made"
request=$(openssl req -new -key "$TMPDIR/csr.key" -subj "/O=zoo:tenants/CN=zoo:$victim" 2>/dev/null | base64 -w0)
would "take a request for the name that the victim has upstream, at its own signer" POST $requests json '{"metadata":{"name":"'"$evil"'-direct"},"spec":{"request":"'"$request"'","signerName":"kubernetes.io/kube-apiserver-client","usages":["client auth","digital signature"]}}'
try PUT "$requests/$vault/approval" json '{"metadata":{"name":"'"$vault"'"},"status":{"conditions":[{"type":"Approved","status":"True","reason":"x","message":"x"}]}}'
refused "another's is not approved"
