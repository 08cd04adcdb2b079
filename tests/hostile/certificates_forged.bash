# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: certificates of one's own making: self-signed, signed by the tenant's own leaf, with the victim's OU and UID.
# Without the fence: OU names the tenant and O the groups, so a certificate that passes is whoever it says.
# Rule: zood's CA must have signed it, as a leaf; OU and the UID in the URI must be those of the same living tenant.
uid=$(ctl tenant get "$victim" -o json | jq -r .metadata.uid)
config=$TMPDIR/forged.cnf
printf '[v3]\nbasicConstraints=CA:FALSE\nextendedKeyUsage=clientAuth\nsubjectAltName=URI:%s\n' "urn:uuid:$uid" >"$config"
uri=$(openssl x509 -in "$TMPDIR/$victim.crt" -noout -ext subjectAltName | grep -o 'URI:[^,]*' | cut -c5-)
said "$uri"
sed -i "s|URI:.*|URI:$uri|" "$config"
subject="/OU=$victim/O=zoo:cluster-admins/CN=admin"
forged() { # WHAT: with forged.crt and forged.key
  local got
  got=$(curl -s --max-time 10 --cacert "$TMPDIR/$evil.ca" --cert "$TMPDIR/forged.crt" --key "$TMPDIR/forged.key" -o "$TMPDIR/body" -w '%{http_code}' "https://$zood_address/api/v1/namespaces/team/secrets/$vault")
  observe "$subject $vault $uri" "$(cat "$TMPDIR/body" 2>/dev/null)"
  expect_match "$1: $got" '^(401|403|000)$' "$got"
}
openssl ecparam -name prime256v1 -genkey -noout -out "$TMPDIR/forged.key" 2>/dev/null
openssl req -x509 -new -key "$TMPDIR/forged.key" -days 1 -subj "$subject" -addext "subjectAltName=URI:$uri" -out "$TMPDIR/forged.crt" 2>/dev/null
forged "self-signed"
openssl req -new -key "$TMPDIR/forged.key" -subj "$subject" -out "$TMPDIR/forged.csr" 2>/dev/null
# What the signature is worth: the same words and the same key, signed by zood's own CA, are the victim's administrator.
openssl x509 -req -in "$TMPDIR/forged.csr" -CA "$zood_dir/pki/ca.crt" -CAkey "$zood_dir/pki/ca.key" -set_serial 7 -days 1 -extfile "$config" -extensions v3 -out "$TMPDIR/signed.crt" 2>/dev/null
expect "signed by zood's CA it would be good" 200 "$(curl -s --max-time 10 --cacert "$TMPDIR/$evil.ca" --cert "$TMPDIR/signed.crt" --key "$TMPDIR/forged.key" -o /dev/null -w '%{http_code}' "https://$zood_address/api/v1/namespaces/team/secrets/$vault")"
openssl x509 -req -in "$TMPDIR/forged.csr" -CA "$TMPDIR/$evil.crt" -CAkey "$TMPDIR/$evil.key" -set_serial 7 -days 1 -extfile "$config" -extensions v3 -out "$TMPDIR/leaf.crt" 2>/dev/null
cat "$TMPDIR/leaf.crt" "$TMPDIR/$evil.crt" >"$TMPDIR/forged.crt"
forged "signed by the attacker's own certificate"
issuer=$(openssl x509 -in "$TMPDIR/$evil.ca" -noout -subject -nameopt RFC2253 | sed 's/^subject=//; s/,/\//g')
openssl req -x509 -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$TMPDIR/ca.key" -days 1 -subj "/$issuer" -out "$TMPDIR/ca.crt" 2>/dev/null
openssl x509 -req -in "$TMPDIR/forged.csr" -CA "$TMPDIR/ca.crt" -CAkey "$TMPDIR/ca.key" -set_serial 7 -days 1 -extfile "$config" -extensions v3 -out "$TMPDIR/forged.crt" 2>/dev/null
forged "signed by a CA of the same name"
cp "$TMPDIR/$victim.crt" "$TMPDIR/forged.crt"
cp "$TMPDIR/$evil.key" "$TMPDIR/forged.key"
forged "the victim's certificate without its key"
cp "$TMPDIR/upstream.crt" "$TMPDIR/forged.crt"
cp "$TMPDIR/upstream.key" "$TMPDIR/forged.key"
forged "upstream's own administrator"
openssl ecparam -name prime256v1 -genkey -noout -out "$TMPDIR/forged.key" 2>/dev/null
openssl req -x509 -new -key "$TMPDIR/forged.key" -days 1 -subj "/CN=admin$(printf '/O=a%.0s' {1..2000})" -out "$TMPDIR/forged.crt" 2>/dev/null
code=$(curl -s --max-time 10 --cacert "$TMPDIR/$evil.ca" --cert "$TMPDIR/forged.crt" --key "$TMPDIR/forged.key" -o /dev/null -w '%{http_code}' "https://$zood_address/version")
expect "one of $(stat -c %s "$TMPDIR/forged.crt") bytes is not read" 000 "$code"
code=$(curl -s --max-time 10 -k --cert "$TMPDIR/$evil.crt" --key "$TMPDIR/$evil.key" -o "$TMPDIR/body" -w '%{http_code}' "$upstream_server/api/v1/secrets")
observe "" "$(cat "$TMPDIR/body")"
# Not 403, which upstream tells anybody who has none at all.
refused "and the attacker's certificate is nothing upstream" 401
would "take whom its own CA has signed at the word" GET "/api/v1/namespaces/$victim-team/secrets/$vault"
