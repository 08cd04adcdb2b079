# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: handshakes that are begun and not ended, garbage, thousands that are ended, renegotiation.
# Without the fence: each costs a key operation and a place; renegotiation costs them without a new connection.
# Rule: 10 s a handshake, renegotiation is refused.
# Direct: none, because the handshakes are those of zood's listener.
# As many as the listener takes (limits.connections, 10,000), each with what OpenSSL holds for a handshake.
flood_memory=450 without_certificate=1 flood handshakes 4
FLOOD_PROCESSES=4 flood full_handshakes 4
answer=$( (printf 'R\n'; sleep 1) | timeout 10 openssl s_client -connect "$zood_address" -tls1_2 -CAfile "$TMPDIR/$evil.ca" 2>&1)
observe R "$answer"
expect_match "TLS 1.2 is spoken" 'Cipher is ECDHE-' "$answer"
expect_match "renegotiation is refused" 'no renegotiation|no_renegotiation|NO_RENEGOTIATION|unexpected message' "$answer"
for version in -ssl3 -tls1 -tls1_1; do
  expect_no_match "no $version" 'Cipher is [A-Z]' "$(timeout 10 openssl s_client -connect "$zood_address" $version </dev/null 2>&1)"
done
for suites in NULL aNULL EXPORT RC4 3DES PSK SRP; do
  expect_no_match "no $suites" 'Cipher is [A-Z0-9]{4}' "$(timeout 10 openssl s_client -connect "$zood_address" -tls1_2 -cipher "$suites:@SECLEVEL=0" </dev/null 2>&1)"
done
