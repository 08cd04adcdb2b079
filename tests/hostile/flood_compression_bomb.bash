# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: bodies that unpack to a thousandfold.
# Without the fence: 16 KiB on the wire are 16 MiB in memory, of as many requests as one likes.
# Rule: no coding of a request's body is ever undone, as in kube-apiserver: it is read as it is.
# Direct: none, because upstream undoes no coding of a body either: the bomb is for who looks into one on its way.
flood gzip_bomb 3
expect_match "what is compressed is no JSON" "'400': [1-9]" "$(tail -n 1 "$TMPDIR/flood")"
for coding in gzip deflate br zstd 'gzip, identity' x-gzip compress; do
  curl_more=(-H "Content-Encoding: $coding")
  try POST /api/v1/namespaces/team/configmaps json '{"metadata":{"generateName":"evil-coded-"}}'
  expect_match "$coding is not obeyed: $code" '^(201|4..)$' "$code"
done
